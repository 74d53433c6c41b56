"""examples/sealed_node plays a sealed seat at the real server and the double; `audit` reads the hand file it leaves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import cli
from dealer.testing import StackedDealer
from tests.integration.player_package import PLAYER, ROOT, install, installed
from tests.integration.running import run_tool, running

EXAMPLE = ROOT / "examples" / "sealed_node"


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    installed()
    built = subprocess.run(["npm", "run", "--silent", "build"], cwd=PLAYER, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stdout
    install(EXAMPLE)


def play(address: str, key: str, out: Path) -> list[str]:
    command = ["node", "sealed.js", address, key, str(out), "t"]
    done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.splitlines()


def check(lines: list[str]) -> None:
    assert lines[0] == "hand 1 of t: this player's value is in the deck, and its key at seat 2"
    assert lines[1].count("2:sealed") == 2
    assert "sealed" not in lines[1].split(";")[1]


def test_at_the_double(stacked_dealer: StackedDealer, tmp_path: Path) -> None:
    stacked_dealer.stack_seats("t", third={1: "As Ad | 7c", 2: "Kh Kd | 2h", 3: "Qh Qd | 9s"})
    lines = play(stacked_dealer.address, stacked_dealer.key, tmp_path / "hand.json")
    check(lines)
    assert lines[1].endswith("seat 2 sees 2:Kh 2:Kd 2:2h")
    assert "Kh" not in lines[1].split(";")[0]
    assert lines[-1].startswith("test-record")


def test_at_the_real_server_and_by_audit(tmp_path: Path) -> None:
    run_tool("dealer", "escrow-keygen", str(tmp_path / "auditor"))
    with running(tmp_path / "data", "--escrow-public-key", str(tmp_path / "auditor.pub")) as dealer:
        key = dealer.verifier_key()
        lines = play(dealer.address, key, tmp_path / "hand.json")
    check(lines)
    assert lines[-1].startswith("incomplete")
    assert [line for line in lines if line.startswith("fail")] == []
    words = ["receipt", str(tmp_path / "hand.json"), "--key", key, "--escrow-key", str(tmp_path / "auditor.key")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "VALID" in done.output
