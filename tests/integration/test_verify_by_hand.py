"""What docs/verify-by-hand.md shows is what its commands print, and its log is what its script makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.console import ROOT, filled
from tests.vectors.make_audit_log import make

PAGE = ROOT / "docs" / "verify-by-hand.md"


@pytest.mark.skipif(not all(map(shutil.which, ("bash", "xxd", "openssl", "sha256sum"))), reason="a tool is missing")
def test_the_page_shows_real_output() -> None:
    page = PAGE.read_text("utf-8")
    assert filled(page) == page


def test_the_log_is_what_its_script_makes(tmp_path: Path) -> None:
    make(tmp_path)
    kept = ROOT / "tests" / "vectors" / "audit"
    files = sorted(path.relative_to(kept) for path in kept.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    for file in files:
        assert (kept / file).read_bytes() == (tmp_path / file).read_bytes(), file
