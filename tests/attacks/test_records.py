"""What is not wrong but not to be called valid: test records, unknown entries, missing keys, and which comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit import protocol
from audit.hand.escrow import EscrowKeys
from audit.hand.escrow_keys import read_keys
from tests.attacks.judging import ESCROW, assert_fails, audit, audit_folder, failed
from tests.attacks.maker import Book, Draft, Entry, EscrowPair, Signer, contributors, drawn, honest, many

UNKNOWN = b'{"schema":"cutcard/v2/commit"}'


def test_a_test_record_is_never_valid(tmp_path: Path) -> None:
    report = audit(honest(test=True), tmp_path)
    assert (report.verdict, report.exit_code) == ("test-record", 4)


def test_a_test_record_is_judged_when_asked_for(tmp_path: Path) -> None:
    report = audit(honest(test=True), tmp_path, allow_test=True)
    assert (report.verdict, report.exit_code) == ("test-record", 0)


def test_a_chosen_deck_stands_in_for_the_shuffle(tmp_path: Path) -> None:
    draft = Draft("chosen", test=True, cards=list(protocol.DECKS["standard52"])).deal()
    sealed = Draft("chosen too", number=2, test=True, cards=draft.cards, reveal="sealed").deal()
    book = Book(Signer("test.invalid/x")).play(draft).play(sealed)
    report = audit(book, tmp_path, allow_test=True)
    assert (report.verdict, report.exit_code, report.findings) == ("test-record", 0, ())


ORDERED = " ".join(protocol.DECKS["standard52"])


@pytest.mark.parametrize("deck", ["2c", "2c 3c", "As " * 51 + "As", f"{ORDERED} 2c"])
def test_a_test_records_deck_must_be_a_permutation(deck: str, tmp_path: Path) -> None:
    book = Book(Signer("test.invalid/x")).play(Draft("x", test=True).deal(), lambda entry: _chosen(entry, deck))
    assert_fails(audit(book, tmp_path, allow_test=True), "deck")


@pytest.mark.parametrize("deck", ["", "joker", "2C 3c", "1c", ORDERED.replace(" ", "  ", 1), f"{ORDERED} ", [], None])
def test_a_test_records_deck_must_be_cards_joined_by_single_spaces(deck: object, tmp_path: Path) -> None:
    book = Book(Signer("test.invalid/x")).play(Draft("x", test=True).deal(), lambda entry: _chosen(entry, deck))
    assert_fails(audit(book, tmp_path, allow_test=True), "schema")


def _chosen(entry: Entry, deck: object) -> None:
    if "deck_commitment" not in entry:
        entry["deck"] = deck


def test_a_test_record_that_fails_says_test_record_first(tmp_path: Path) -> None:
    book = honest(test=True)
    book.entries[1]["deck"] = ""  # type: ignore[call-overload]
    assert audit(book, tmp_path).verdict == "test-record"


def test_one_test_entry_under_a_production_key_makes_a_test_record(tmp_path: Path) -> None:
    book = honest().play(Draft("chosen", number=5, test=True).deal())
    assert audit(book, tmp_path).exit_code == 4
    assert audit(book, tmp_path).verdict == "test-record"


def test_production_entries_under_a_test_key_make_a_test_record(tmp_path: Path) -> None:
    book = Book(Signer("test.invalid/x")).play(Draft("x").deal())
    assert audit(book, tmp_path).verdict == "test-record"
    book.write(tmp_path)
    assert audit_folder(tmp_path).verdict == "test-record"


def test_a_production_close_has_no_deck(tmp_path: Path) -> None:
    book = Book().play(Draft("x").deal())
    book.entries[1]["deck"] = "2c"  # type: ignore[call-overload]
    assert failed(audit(book, tmp_path)) == {"schema"}


def test_an_unknown_schema_is_unreadable(tmp_path: Path) -> None:
    book = honest()
    book.add(UNKNOWN)
    report = audit(book, tmp_path)
    assert (report.verdict, report.exit_code) == ("unreadable", 4)


def test_an_unknown_entry_explains_a_gap_after_it(tmp_path: Path) -> None:
    book = Book().play(Draft("1").deal())
    book.add(UNKNOWN)
    book.play(Draft("3", number=3).deal())
    assert audit(book, tmp_path).verdict == "unreadable"


def test_an_unknown_entry_explains_no_gap_before_it(tmp_path: Path) -> None:
    book = Book().play(Draft("1").deal()).play(Draft("3", number=3).deal())
    book.add(UNKNOWN)
    assert_fails(audit(book, tmp_path), "lifecycle")


def test_an_unknown_entry_explains_a_missing_offer_after_it(tmp_path: Path) -> None:
    draft = Draft("x", values=contributors("x", "a")).deal()
    book = Book()
    offer = book.add(UNKNOWN)
    book.add(draft.close(book.add(draft.commit(offer))))
    assert audit(book, tmp_path).verdict == "unreadable"


def test_an_unknown_entry_explains_nothing_else(tmp_path: Path) -> None:
    book = Book()
    book.add(UNKNOWN)
    commit = book.add({**Draft("x").commit(), "entropy_digest": "0" * 64})
    book.add(Draft("x").deal().close(commit))
    assert_fails(audit(book, tmp_path), "entropy")


def test_an_unknown_entry_must_be_canonical(tmp_path: Path) -> None:
    book = honest()
    book.add(b'{ "schema":"cutcard/v2/commit"}')
    assert_fails(audit(book, tmp_path), "schema")


def test_a_bundle_that_is_not_there_explains_what_comes_after_it(tmp_path: Path) -> None:
    many(150).write(tmp_path)
    (tmp_path / "tile/entries/000").unlink()
    assert audit_folder(tmp_path, key=Signer().verifier).exit_code == 4


def test_sealed_hands_without_an_escrow_key_are_incomplete(tmp_path: Path) -> None:
    report = audit(honest(), tmp_path, escrow=EscrowKeys())
    assert (report.verdict, report.exit_code) == ("incomplete", 3)
    assert any("2 sealed hands stay" in text for text in report.missing)


def test_a_key_that_opens_no_sealed_hand_may_be_the_wrong_one(tmp_path: Path) -> None:
    other = read_keys([EscrowPair(drawn("x", 32)).private.hex()])
    report = audit(honest(), tmp_path, escrow=other)
    assert (report.verdict, report.exit_code, report.findings) == ("incomplete", 3, ())
    named = next(iter(ESCROW.by_id)).hex()
    (missing,) = report.missing
    assert missing == f"this key opens none of the 2 sealed hands, which name {named}: is it the right one?"


@pytest.mark.parametrize("entries", ["offer", "offer and commit"])
def test_an_open_sealed_hand_for_another_key_fails_reveal_where_others_name_ours(entries: str, tmp_path: Path) -> None:
    other = EscrowPair(drawn("x", 32))
    draft = Draft("x", table="x", reveal="sealed", values=contributors("x", "a"), escrow_public=other.public)
    book = honest()
    offer = book.add(draft.offer())
    if entries == "offer and commit":
        book.add(draft.commit(offer))
    assert_fails(audit(book, tmp_path), "reveal")
    alone = Book()
    offer = alone.add(draft.offer())
    if entries == "offer and commit":
        alone.add(draft.commit(offer))
    theirs = audit(alone, tmp_path / "alone", escrow=read_keys([other.private.hex()]))
    assert (theirs.verdict, theirs.exit_code) == ("incomplete", 3)
    assert "open" in theirs.missing[0]
    assert audit(alone, tmp_path / "alone").exit_code == 3
    closed = audit(alone, tmp_path / "alone", escrow=EscrowKeys()).missing
    assert any("1 sealed hand stays closed" in text for text in closed)


def test_failure_comes_before_unknown_and_missing(tmp_path: Path) -> None:
    book = honest()
    book.add(UNKNOWN)
    book.entries[1]["seed"] = "0" * 128  # type: ignore[call-overload]
    assert audit(book, tmp_path, escrow=EscrowKeys(), key=None).exit_code == 1


def test_unknown_comes_before_missing(tmp_path: Path) -> None:
    book = honest()
    book.add(UNKNOWN)
    assert audit(book, tmp_path, escrow=EscrowKeys(), key=None).exit_code == 4


def test_processes_do_not_change_the_report(tmp_path: Path) -> None:
    book = many(1100, sealed=False)
    book.entries[5]["seed"] = "0" * 128  # type: ignore[call-overload]
    one = audit(book, tmp_path, processes=1)
    two = audit(book, tmp_path, processes=2)
    assert one == two
    assert_fails(one, "seed")
