"""Values that come twice are found, in memory and on disk alike, and nothing is left behind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from audit.whole.repeats import Duplicates


@pytest.mark.parametrize("limit", [1 << 30, 1_000])
def test_every_second_coming_is_found(limit: int) -> None:
    generator = random.Random(3)
    keys = [generator.randbytes(16) for _ in range(500)]
    order = [*keys, *keys[:7], keys[0]]
    with Duplicates(16, 2, limit) as duplicates:
        for index, key in enumerate(order):
            duplicates.add(key, index, index.to_bytes(2, "big"))
        found = sorted((twice.second, twice.first) for twice in duplicates.found())
    assert found == [(500, 0), (501, 1), (502, 2), (503, 3), (504, 4), (505, 5), (506, 6), (507, 500)]


def test_distinct_keys_are_no_duplicates() -> None:
    with Duplicates(16, 0) as duplicates:
        for index in range(1_000):
            duplicates.add(index.to_bytes(16, "big"), index, b"")
        assert list(duplicates.found()) == []


def test_files_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Duplicates(16, 0, limit=1) as duplicates:
        duplicates.add(bytes(16), 0, b"")
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
