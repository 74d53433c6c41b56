"""Whoever is tested does not choose the sample: of a log that does not verify nothing is tested, and never `pass`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.stats.sources import STANDARD52
from audit.stats.sources.logs import LogDecks, LogFailsError
from audit.whole.verify import Options
from tests.attacks.judging import ESCROW, MemoryLog, audit_entries, find
from tests.attacks.maker import Book, Draft, Signer, canonical, drawn, honest, log_files, many
from tests.attacks.mutating import found_at, places

HANDS = 110
"""Enough for every test, so that decks that are let through give `pass`."""


def read(signer: Signer, raws: list[bytes]) -> LogDecks:
    """The log's decks, all of them read."""
    source = LogDecks(MemoryLog(log_files(signer, raws)), Options(signer.verifier, ESCROW), STANDARD52)
    assert sum(len(chunk.decks) for chunk in source) == source.total
    return source


@pytest.mark.parametrize(("sealed", "hands"), [(False, HANDS), (True, 30)])
def test_each_hand_broken_in_turn_stops_the_statistics(sealed: bool, hands: int) -> None:
    book = many(hands, sealed=sealed)
    raws = book.raws()
    assert read(book.signer, raws).total == hands
    for index, entry in enumerate(book.entries):
        assert isinstance(entry, dict)
        if entry["schema"].endswith("close"):
            member = "card_commitments" if sealed else "seed"
            other = "1" if entry[member][0] != "1" else "2"
            broken = canonical({**entry, member: other + entry[member][1:]})
            with pytest.raises(LogFailsError):
                read(book.signer, [*raws[:index], broken, *raws[index + 1 :]])


def test_what_verify_calls_invalid_the_statistics_do_not_read() -> None:
    book = honest()
    raws, generator, refused = book.raws(), random.Random(1), 0
    for index, entry in enumerate(book.entries):
        assert isinstance(entry, dict)
        for place in generator.sample(list(places(entry)), 8):
            mutant = json.loads(canonical(entry))
            del found_at(mutant, place[:-1])[place[-1]]
            others = [*raws[:index], canonical(mutant), *raws[index + 1 :]]
            if audit_entries(book.signer, others).exit_code == 1:
                refused += 1
                with pytest.raises(LogFailsError):
                    read(book.signer, others)
    assert refused > 80


def _seeds(book: Book) -> None:
    for number in range(30):
        entry = find(book, "/close", Draft(f"many {number}").id)
        entry["seed"] = drawn(f"other {number}", 64).hex()


def _dropped(book: Book) -> None:
    del book.entries[40:60]


def _hand_twice(book: Book) -> None:
    book.entries += book.entries[:2]


def _stats(folder: Path, book: Book, *more: str) -> Result:
    return CliRunner().invoke(cli, ["stats", str(folder), "--key", str(book.signer.verifier), "--jobs", "1", *more])


@pytest.mark.parametrize("lie", [_seeds, _dropped, _hand_twice])
def test_the_command_ends_with_four_and_names_the_check(lie: Callable[[Book], None], tmp_path: Path) -> None:
    book = many(130)
    lie(book)
    folder = book.write(tmp_path / "log")
    text = _stats(folder, book)
    assert text.exit_code == 4
    assert text.output.startswith("UNREADABLE  Nothing was tested: a log does not verify:")
    report = json.loads(_stats(folder, book, "--json").output)
    assert (report["verdict"], report["tests"]) == ("unreadable", [])
    checks = {found["check"] for found in report["findings"]}
    assert checks == set(report["logs"][0]["checks"])
    assert all(check in text.output for check in checks)


def test_a_log_signed_by_another_key_is_not_tested(tmp_path: Path) -> None:
    book = many(HANDS)
    folder = book.write(tmp_path / "log")
    other = Book(Signer(private=drawn("another log key", 32)))
    result = _stats(folder, other)
    assert result.exit_code == 4
    assert "checkpoint failed" in " ".join(result.output.split())
    assert _stats(folder, book).exit_code == 0


def test_only_hands_that_pass_are_tested_where_that_is_asked_for_and_the_headline_counts_the_others(
    tmp_path: Path,
) -> None:
    book = many(140)
    _seeds(book)
    book.add(Draft("open", table="table-9").commit())
    folder = book.write(tmp_path / "log")
    result = _stats(folder, book, "--only-hands-that-pass")
    assert result.exit_code == 0
    headline = " ".join(result.output.split())
    assert "30 hands were left out" in headline
    assert "seed failed 30 times" in headline
    assert "1 open hand" in headline
    report = json.loads(_stats(folder, book, "--only-hands-that-pass", "--json").output)
    assert (report["verdict"], report["decks"]) == ("pass", 110)
    assert report["left_out"] == {"open": 1, "lost": 0, "failed": 30}
    about = report["of"]
    assert (about["origin"], about["size"], about["hands"]) == (book.signer.origin, len(book.entries), 141)
    assert about["key_id"] == book.signer.verifier.key_id.hex()


def test_a_counted_part_carries_what_was_left_out(tmp_path: Path) -> None:
    book = many(140)
    _seeds(book)
    folder, part = str(book.write(tmp_path / "log")), str(tmp_path / "part")
    run = CliRunner()
    assert run.invoke(cli, ["count", folder, "-o", part]).exit_code == 4
    assert run.invoke(cli, ["count", folder, "-o", part, "--only-hands-that-pass", "--jobs", "1"]).exit_code == 0
    merged = run.invoke(cli, ["merge", part])
    assert merged.exit_code == 0
    assert "30 hands were left out" in " ".join(merged.output.split())
    assert "no verifier key was given" in " ".join(merged.output.split())
