"""Counting in pieces, processes and parts gives the counts of one run, to the last digit."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from audit.errors import InputError
from audit.stats.counting.corpus import Corpus
from audit.stats.counting.count import count_source
from audit.stats.counting.parts import merge_parts, read_part, write_part
from audit.stats.families import BATTERY
from audit.stats.families.card_positions import CARD_POSITIONS
from audit.stats.judging.battery import judge
from audit.stats.results import BatteryResult
from tests.unit.stats.decks import Given, fair

DECKS = fair(900, 11)
LABELS = {
    "day": ["mon" if row < 420 else "tue" for row in range(900)],
    "seats": ["1,2,3" if row % 2 else "3,1,2" for row in range(900)],
}


def _counted(first: int, last: int, size: int = 16_384, processes: int = 1, piece: int = 16_384) -> Corpus | None:
    labels = {name: values[first:last] for name, values in LABELS.items()}
    source = Given(DECKS[first:last], labels, size)
    return count_source(source, dimensions=("day", "seats"), processes=processes, piece=piece, for_merging=True)


def _verdict(corpus: Corpus | None) -> BatteryResult:
    """What is compared: all but the names of what was read, and the pictures, which follow from the counts."""
    return replace(judge(corpus), sources=(), notes=(), pictures=None)


@pytest.fixture(scope="module")
def whole() -> BatteryResult:
    return _verdict(_counted(0, 900))


def _same(one: BatteryResult, other: BatteryResult) -> bool:
    # Text, so that NaN equals NaN; floats are written to the last digit.
    return repr(one) == repr(other)


def test_chunks_of_any_size_give_the_same(whole: BatteryResult) -> None:
    assert _same(_verdict(_counted(0, 900, size=37)), whole)


def test_several_processes_give_the_same(whole: BatteryResult) -> None:
    assert _same(_verdict(_counted(0, 900, processes=2, piece=128)), whole)


@pytest.mark.parametrize("cuts", [(0, 500, 900), (0, 5, 11, 450, 460, 900), (0, 899, 900)])
def test_parts_of_any_lengths_give_the_same(tmp_path: Path, whole: BatteryResult, cuts: tuple[int, ...]) -> None:
    paths = []
    for first, last in pairwise(cuts):
        paths.append(tmp_path / f"{first}.part")
        write_part(_counted(first, last), paths[-1])
    assert _same(_verdict(merge_parts(paths)), whole)


def test_merged_parts_can_be_merged_again(tmp_path: Path, whole: BatteryResult) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c", "ab")]
    for path, (first, last) in zip(paths, [(0, 300), (300, 600), (600, 900)], strict=False):
        write_part(_counted(first, last), path)
    write_part(merge_parts(paths[:2]), paths[3])
    assert _same(_verdict(merge_parts([paths[3], paths[2]])), whole)


def test_a_part_given_twice_is_counted_once_and_said(tmp_path: Path, whole: BatteryResult) -> None:
    write_part(_counted(0, 900), tmp_path / "one")
    write_part(_counted(0, 900), tmp_path / "two")
    merged = merge_parts([tmp_path / "one", tmp_path / "two"])
    assert merged is not None
    assert _same(_verdict(merged), whole)
    assert "counted once" in merged.notes[-1]


def test_no_deck_makes_a_part_that_changes_nothing(tmp_path: Path, whole: BatteryResult) -> None:
    write_part(None, tmp_path / "none")
    write_part(_counted(0, 900), tmp_path / "all")
    assert read_part(tmp_path / "none") is None
    assert _same(_verdict(merge_parts([tmp_path / "none", tmp_path / "all"])), whole)


def test_parts_counted_otherwise_are_refused_and_what_differs_is_said(tmp_path: Path) -> None:
    write_part(count_source(Given(DECKS[:50]), processes=1), tmp_path / "plain")
    write_part(count_source(Given(DECKS[:50]), names=("precedence",), processes=1), tmp_path / "tests")
    order = np.arange(52, dtype=np.uint8)[::-1].copy()
    write_part(count_source(Given(DECKS[:50]), order=order, processes=1), tmp_path / "order")
    write_part(count_source(Given(fair(50, 1, n=36)), processes=1), tmp_path / "cards")
    for name, what in (("tests", "--tests"), ("order", "--order"), ("cards", "number of cards")):
        with pytest.raises(InputError, match=what):
            merge_parts([tmp_path / "plain", tmp_path / name])


@pytest.mark.parametrize("content", [b"", b"not a part", b"PK\x03\x04 broken"])
def test_what_is_no_part_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(InputError, match="bad"):
        read_part(tmp_path / "bad")


def test_a_damaged_part_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "part"
    write_part(_counted(0, 200), path)
    bytes_of = bytearray(path.read_bytes())
    bytes_of[len(bytes_of) // 2] ^= 0x55
    path.write_bytes(bytes_of)
    with pytest.raises(InputError, match="part"):
        read_part(path)


def test_a_part_that_another_version_counted_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_part(_counted(0, 200), tmp_path / "part")
    wider = replace(CARD_POSITIONS, count=lambda batch: {"cards": np.zeros((53, 53), np.int64)})
    others = tuple(family for family in BATTERY if family is not CARD_POSITIONS)
    monkeypatch.setattr("audit.stats.counting.corpus.BATTERY", (wider, *others))
    with pytest.raises(InputError, match="another version counts card x position otherwise"):
        read_part(tmp_path / "part")
