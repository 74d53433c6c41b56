"""Decks of a log: those of hands that pass verification, voids included, and a word on all others."""

import shutil
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from audit.errors import InputError
from audit.hand.escrow import EscrowKeys
from audit.hand.escrow_keys import read_keys
from audit.stats.sources import SHORT36, log_opener, open_source
from audit.stats.sources.logs import LogFailsError
from audit.tlog.keys import VerifierKey
from audit.whole.verify import Options
from tests.attacks.judging import ESCROW
from tests.attacks.maker import Book, Draft, honest, many
from tests.unit.stats.sources.test_text import as_lines
from tests.vectors.places import FOREIGN


def options(name="golden-log-200", escrow=True, **more):
    key = VerifierKey.parse((FOREIGN / f"{name}.vkey").read_text().strip())
    opens = read_keys([(FOREIGN / f"{name}.escrow-key.hex").read_text()]) if escrow else EscrowKeys()
    return Options(key, opens, **more)


def read(log, settings, only_passing=False, **more):
    source = open_source([str(log)], open_log=log_opener(settings, only_passing=only_passing), **more)
    return list(source), source


@pytest.fixture
def copy(tmp_path):
    """A copy of the 200-hand log that may be spoiled."""
    shutil.copytree(FOREIGN / "golden-log-200", tmp_path / "log")
    return tmp_path / "log"


def test_every_hand_of_a_valid_log_counts_voids_as_well():
    chunks, source = read(FOREIGN / "golden-log-200", options())
    (chunk,) = chunks
    assert chunk.decks.shape == (200, 52)
    assert source.notes == []
    assert source.total == 200
    assert len(set(chunk.ids)) == 200
    assert set(chunk.labels["dealer"]) == {"golden.example/room"}
    assert set(chunk.labels["table"]) == {"t0", "t1", "t2", "t3", "t4"}
    assert all(len(day) == 10 for day in chunk.labels["day"])
    assert all(int(seat) in range(1, 256) for seats in chunk.labels["seats"] for seat in seats.split(","))


def test_processes_change_nothing():
    (one,), (two,) = (read(FOREIGN / "golden-log-200", options(processes=n))[0] for n in (1, 2))
    assert np.array_equal(one.decks, two.decks)
    assert (one.ids, one.labels) == (two.ids, two.labels)


def test_sealed_decks_without_the_key_are_left_out_and_said():
    chunks, source = read(FOREIGN / "golden-log-200", options(escrow=False))
    assert len(chunks[0].decks) == 103
    assert any("97 sealed hands stay closed" in note for note in source.notes)
    (log,) = source.logs
    assert (log.counted, log.unknown, log.failed) == (103, 97, 0)


def test_other_deck_kinds_are_left_out_and_said():
    chunks, source = read(FOREIGN / "golden-log", options("golden-log"))
    assert len(chunks[0].decks) == 7
    assert (source.logs[0].counted, source.logs[0].of_other_decks) == (7, 1)
    chunks, source = read(FOREIGN / "golden-log", options("golden-log"), kind=SHORT36)
    assert chunks[0].decks.shape == (1, 36)


def test_a_hand_that_fails_does_not_count(copy):
    bundle = copy / "tile" / "entries" / "000"
    data = bundle.read_bytes()
    at = data.index(b'"seed":"') + 8
    bundle.write_bytes(data[:at] + (b"1" if data[at : at + 1] != b"1" else b"2") + data[at + 1 :])
    chunks, source = read(copy, options(), only_passing=True)
    assert len(chunks[0].decks) == 199
    (log,) = source.logs
    assert (log.counted, log.failed, log.checks["seed"]) == (199, 1, 1)
    with pytest.raises(LogFailsError, match=r"does not verify, failed are .*seed \(1\)") as caught:
        read(copy, options())
    assert caught.value.sample == replace(log, counted=0)


def test_a_log_that_cannot_be_read_is_unreadable(copy):
    (copy / "tile" / "entries" / "000").unlink()
    with pytest.raises(InputError, match="bundle tile/entries/000 is not there"):
        read(copy, options())
    (copy / "checkpoint").unlink()
    with pytest.raises(InputError, match="has no checkpoint"):
        read(copy, options())


def test_a_log_given_twice_counts_once(copy):
    source = open_source([str(FOREIGN / "golden-log-200"), str(copy)], open_log=log_opener(options()))
    assert sum(len(chunk.decks) for chunk in source) == 200
    assert source.notes[-1].endswith("log: 200 hands were in an earlier source as well and are counted once")


def test_a_log_and_a_file_add_up_with_labels_for_the_file(tmp_path):
    ((chunk,), _) = read(FOREIGN / "golden-log-200", options())
    (tmp_path / "more.txt").write_text(as_lines(chunk.decks[:3, ::-1]))
    (tmp_path / "tables.txt").write_text("x\ny\nz\n")
    source = open_source(
        [str(FOREIGN / "golden-log-200"), str(tmp_path / "more.txt")],
        open_log=log_opener(options()),
        strata=[("table", tmp_path / "tables.txt")],
    )
    log, more = list(source)
    assert more.labels == {"table": ["x", "y", "z"]}
    assert (log.first, more.first) == (0, 200)
    assert source.notes == []


def read_book(book, folder, only_passing=False, **more):
    settings = Options(book.signer.verifier, ESCROW, **more)
    chunks, source = read(book.write(folder), settings, only_passing)
    return [hand for chunk in chunks for hand in chunk.ids], source


def test_a_hand_that_stands_in_the_wrong_place_does_not_count(tmp_path):
    good, gap = Draft("one").deal(), Draft("three", number=3).deal()
    ids, source = read_book(Book().play(good).play(gap), tmp_path, only_passing=True)
    assert ids == [good.hand]
    assert (source.logs[0].failed, source.logs[0].checks) == (1, {"lifecycle": 1})


def test_more_findings_than_a_report_keeps_leave_out_all_their_hands(tmp_path, monkeypatch):
    monkeypatch.setattr("audit.whole.tally.KEPT", 3)
    book = many(30)
    seeds = [entry for entry in book.entries if entry["schema"].endswith("close")]
    for entry in seeds[1:]:
        entry["seed"] = seeds[0]["seed"]
    with pytest.raises(LogFailsError) as caught:
        read_book(book, tmp_path)
    assert len(caught.value.report.findings) < 29
    ids, source = read_book(book, tmp_path, only_passing=True)
    assert ids == [UUID(seeds[0]["hand"]).bytes]
    assert source.logs[0].failed == 29


def test_void_hands_count_and_open_and_lost_ones_have_no_deck(tmp_path):
    book = Book().play(Draft("void", outcome="void").deal("third"))
    book.add(Draft("open", number=2).commit())
    book.play(Draft("lost", table="table-2", outcome="lost"))
    ids, source = read_book(book, tmp_path)
    assert len(ids) == 1
    assert (source.logs[0].counted, source.logs[0].open, source.logs[0].lost) == (1, 1, 1)


def test_decks_come_in_the_order_of_the_log(tmp_path):
    book = many(30)
    closes = [UUID(entry["hand"]).bytes for entry in book.entries if entry["schema"].endswith("close")]
    ids, source = read_book(book, tmp_path)
    assert ids == closes
    assert source.notes == []


def test_a_test_record_is_read_only_if_asked_for(tmp_path):
    book = honest(test=True)
    with pytest.raises(InputError, match="--allow-test"):
        read_book(book, tmp_path)
    ids, source = read_book(book, tmp_path, allow_test=True)
    assert len(ids) == 6
    assert "whoever made it could choose its decks" in source.notes[0]
