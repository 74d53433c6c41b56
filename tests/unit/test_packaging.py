"""What a wheel brings, and that no message sends anybody to a registry for a name that is not ours."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built with what is installed here; hatchling asks no network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_a_wheel_brings_the_protos_as_they_are(wheel: zipfile.ZipFile) -> None:
    protos = {path.relative_to(ROOT / "proto").as_posix(): path.read_bytes() for path in ROOT.glob("proto/**/*.proto")}
    brought = {name.partition("/share/cutcard/proto/")[2]: name for name in wheel.namelist() if name.endswith(".proto")}
    assert {name: wheel.read(place) for name, place in brought.items()} == protos
    assert "dealer/v1/dealer.proto" in protos


def test_a_wheel_brings_both_packages_whole(wheel: zipfile.ZipFile) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in ("dealer", "audit")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if name.startswith(("dealer/", "audit/"))} == ours


def test_nothing_sends_anybody_to_a_registry_for_our_name() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    sources = [path for package in ("dealer", "audit", "benchmarks") for path in (ROOT / package).rglob("*.py")]
    named = re.compile(r"\bcutcard\[|\binstall (--?\S+ )*['\"`]?cutcard\b")
    assert len(sources) > 100
    found = [
        str(p.relative_to(ROOT))
        for p in [*pages, *sources]
        if "node_modules" not in p.parts and named.search(p.read_text("utf-8"))
    ]
    assert found == []
