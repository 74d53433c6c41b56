"""The page on which a player checks a hand: built, opened from disk in headless Chromium, and looked at whole."""

from __future__ import annotations

import base64
import json
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.commands import page as command
from tests.attacks.maker import Signer
from tests.attacks.test_hand_files import draft, made
from tests.integration.player_package import PLAYER, chromium, installed, node

MOST_BYTES = 60 * 1024


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as `make page` and `audit page` make it, with the key in it."""
    installed()
    built = subprocess.run(["node", "page/build.mjs"], cwd=PLAYER, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    out = tmp_path_factory.mktemp("page") / "verify.html"
    done = CliRunner().invoke(cli, ["page", str(out), "--key", str(Signer().verifier)])
    assert done.exit_code == 0, done.output
    return out


def link(content: dict[str, Any]) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps(content).encode()) + packer.flush()
    return "#h=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def test_it_is_small_and_the_same_when_built_again(page: Path) -> None:
    built = PLAYER / "bundle" / "verify.html"
    first = built.read_bytes()
    assert len(first) <= MOST_BYTES
    subprocess.run(["node", "page/build.mjs"], cwd=PLAYER, check=True, capture_output=True, timeout=120)
    assert built.read_bytes() == first
    assert b"default-src 'none'" in first
    assert b"unsafe" not in first


def test_a_checkout_without_it_says_how_to_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BUILT", (tmp_path / "verify.html",))
    done = CliRunner().invoke(cli, ["page", str(tmp_path / "out.html")])
    assert done.exit_code == 2
    assert "make page" in done.output
    assert not (tmp_path / "out.html").exists()


def test_a_player_checks_hands_on_it(page: Path, tmp_path: Path) -> None:
    good = made(draft(), seat=True)
    private = made(draft(reveal="sealed"), seat=True)
    lie = made(draft())
    lie["cards"][0]["card"] = lie["cards"][1]["card"]
    (tmp_path / "good.json").write_text(json.dumps(good))
    desktop = {"width": 1280, "height": 800}
    plan: list[dict[str, Any]] = [
        {"by": "choose", "value": str(tmp_path / "good.json")},
        {"by": "link", "value": link(private), "scheme": "dark"},
        {"by": "paste", "value": json.dumps(lie), "viewport": desktop},
        {"by": "paste", "value": "nonsense", "scheme": "dark", "viewport": desktop},
        {"by": "paste", "value": json.dumps(good), "key": ""},
    ]
    (tmp_path / "plan.json").write_text(json.dumps([{"file": str(page), **step} for step in plan]))
    said = node("test/page.mjs", str(tmp_path / "plan.json"), CHROMIUM=chromium())
    results = said["results"]
    assert [each["verdict"] for each in results] == ["VALID", "INCOMPLETE", "INVALID", "UNREADABLE", "INCOMPLETE"]
    assert results[2]["failed"] == ["card 1"]
    assert "It came with this page" in results[0]["key"]
    assert "It is not believed" in results[4]["words"]
    assert "Only these cards are known here" in results[1]["words"]
    assert results[0]["arithmetic"] > 52
    assert [url for url in said["requests"] if not url.startswith("file:")] == []
    assert said["errors"] == []
    for step, result in zip(plan, results, strict=True):
        assert result["unnamed"] == []
        assert result["controls"] >= 4
        assert [each for each in result["axe"] if each.startswith(("serious", "critical"))] == []
        assert result["width"] <= step.get("viewport", {"width": 390})["width"]
