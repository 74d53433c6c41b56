"""Lost hands: named and never valid, and no way for a dealer to say more, or less, than that it lost them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.whole.report import Report
from audit.whole.tally import KEPT
from tests.attacks.judging import assert_fails, audit, failed
from tests.attacks.maker import Book, Draft, Entry, Signer, contributors

SEALED: dict[str, Any] = {"reveal": "sealed"}


def hand(number: int, **fields: Any) -> Draft:
    return Draft(f"hand {number}", number=number, **fields).deal()


def lost(number: int, last: str = "third", **fields: Any) -> Draft:
    return Draft(f"hand {number}", number=number, outcome="lost", **fields).deal(last)


def offered(number: int, **fields: Any) -> Draft:
    return Draft(f"hand {number}", number=number, values=contributors(f"hand {number}", "a", "b"), **fields)


def play_lost_offer(book: Book, draft: Draft) -> Book:
    book.add(draft.lost(book.add(draft.offer())))
    return book


def made(report: Report) -> dict[str, int]:
    return {check.name: check.made for check in report.checks}


def test_a_lost_hand_is_incomplete_named_and_counted(tmp_path: Path) -> None:
    book = Book().play(hand(1)).play(lost(2, silent={"b"}, values=contributors("hand 2", "a", "b"))).play(hand(3))
    report = audit(book, tmp_path)
    assert (report.verdict, report.exit_code, report.findings) == ("incomplete", 3, ())
    assert (report.hands.lost, report.hands.open, report.hands.total) == (1, 0, 3)
    assert report.tables["table-1"].life.lost == 1
    [named] = report.lost
    assert (named.hand, named.table, named.number) == (lost(2).id, "table-1", 2)
    assert (named.opened, named.closed, named.dealt, named.others) == (2, 4, True, 0)
    assert any(lost(2).id in text and "cards were dealt" in text for text in report.missing)
    counts = made(report)
    assert (counts["entropy"], counts["dealing"], counts["reveal"], counts["seed"], counts["deck"]) == (3, 3, 3, 2, 2)


@pytest.mark.parametrize("fields", [{}, SEALED], ids=["public", "sealed"])
def test_a_lost_offer_is_incomplete_and_its_table_goes_on(fields: dict[str, Any], tmp_path: Path) -> None:
    book = play_lost_offer(Book(), offered(1, **fields)).play(hand(2))
    report = audit(book, tmp_path)
    assert (report.verdict, report.exit_code, report.findings) == ("incomplete", 3, ())
    assert [(named.dealt, named.opened, named.closed) for named in report.lost] == [(False, 0, 1)]


@pytest.mark.parametrize("fields", [{}, SEALED], ids=["public", "sealed"])
def test_a_lost_test_record_has_no_deck(fields: dict[str, Any], tmp_path: Path) -> None:
    book = Book(Signer("test.invalid/x")).play(lost(1, test=True, **fields))
    play_lost_offer(book, offered(2, test=True, **fields))
    report = audit(book, tmp_path, allow_test=True)
    assert (report.verdict, report.exit_code, report.findings) == ("incomplete", 3, ())
    book.entries[1] = {**dict(book.entries[1]), "deck": "2c 3c"}  # type: ignore[arg-type]
    assert "schema" in failed(audit(book, tmp_path, allow_test=True))


def test_the_hands_that_went_on_are_counted_beside_a_lost_one(tmp_path: Path) -> None:
    """Two hands are lost together while two go on; a third is lost alone, later, while one goes on."""
    drafts = {name: Draft(name, table=name).deal("third") for name in ("a", "b", "c", "d")}
    later = Draft("e", table="e").deal("third")
    book = Book()
    commits = {name: book.add(draft.commit()) for name, draft in drafts.items()}

    def close(draft: Draft, commit: int, outcome: str) -> None:
        draft.outcome = outcome
        book.add(draft.close(commit))

    close(drafts["a"], commits["a"], "lost")  # beside b (lost next), c and d
    close(drafts["b"], commits["b"], "lost")
    close(drafts["c"], commits["c"], "void")
    last = book.add(later.commit())
    close(later, last, "lost")  # beside d
    close(drafts["d"], commits["d"], "void")
    report = audit(book, tmp_path)
    assert [(named.table, named.others) for named in report.lost] == [("a", 2), ("b", 2), ("e", 1)]


def test_more_lost_hands_than_are_kept_are_all_counted(tmp_path: Path) -> None:
    book = Book()
    for number in range(1, KEPT + 3):
        draft = offered(number)
        play_lost_offer(book, draft)
    report = audit(book, tmp_path)
    assert (report.hands.lost, len(report.lost), report.exit_code) == (KEPT + 2, KEPT, 3)
    assert "and 2 more lost hands" in report.missing


# What a lost close may not say: each is one member changed, and fails by its own name alone.


def _reveals(member: str, fields: dict[str, Any]) -> Callable[[Book], None]:
    def attack(book: Book) -> None:
        draft = hand(1, **fields)
        close = draft.close(book.add(draft.commit()))
        book.add({**lost(1).close(0), member: close[member]})

    attack.__name__ = f"with_{member}"
    return attack


def _history(book: Book) -> None:
    draft = lost(1)
    book.add({**draft.close(book.add(draft.commit())), "history": "0" * 64})


def _offer_reveals(book: Book) -> None:
    draft = offered(1)
    book.add({**draft.lost(book.add(draft.offer())), "seed": draft.seed.hex()})


def _offer_has_history(book: Book) -> None:
    draft = offered(1)
    book.add({**draft.lost(book.add(draft.offer())), "history": "0" * 64})


def _events_without_commit(book: Book) -> None:
    draft = offered(1).deal("third")
    book.add({**draft.lost(book.add(draft.offer())), "events": draft.events})


def _cards_out_of_order(book: Book) -> None:
    draft = lost(1)
    draft.events[0]["cards"][0][1] = 2
    book.play(draft)


def _offer_where_it_has_a_commit(book: Book) -> None:
    draft = offered(1)
    offer = book.add(draft.offer())
    book.add(draft.commit(offer))
    book.add(draft.lost(offer))


def _another_hands_offer(book: Book) -> None:
    one, two = offered(1), Draft("other", table="table-2", values=contributors("other", "a"))
    book.add(one.offer())
    second = book.add(two.offer())
    book.add(one.lost(second))


def _no_offer_there(book: Book) -> None:
    draft = offered(1)
    book.add(draft.offer())
    book.add(draft.lost(7))


def _commit_as_offer(book: Book) -> None:
    draft = Draft("hand 1")
    book.add(draft.lost(book.add(draft.commit())))


def _offer_as_commit(book: Book) -> None:
    draft = offered(1, outcome="lost")
    book.add(draft.close(book.add(draft.offer())))


def _committed_after_it_was_lost(book: Book) -> None:
    draft = offered(1, silent={"b"}).deal()
    offer = book.add(draft.offer())
    book.add(draft.lost(offer))
    book.add(draft.close(book.add(draft.commit(offer))))


def _left_open_after_it_was_lost(book: Book) -> None:
    draft = offered(1)
    offer = book.add(draft.offer())
    book.add(draft.lost(offer))
    book.add(draft.commit(offer))


def _closed_after_it_was_lost(book: Book) -> None:
    draft = hand(1)
    commit = book.add(draft.commit())
    book.add(lost(1).close(commit))
    book.add(draft.close(commit))


def _lost_after_it_was_closed(book: Book) -> None:
    draft = hand(1)
    commit = book.add(draft.commit())
    book.add(draft.close(commit))
    book.add(lost(1).close(commit))


def _lost_twice(book: Book) -> None:
    draft = offered(1)
    offer = book.add(draft.offer())
    book.add(draft.lost(offer))
    book.add(draft.lost(offer))


def _number_not_used(book: Book) -> None:
    book.play(lost(1)).play(Draft("next", number=1).deal())


def _another_kind_of_record(book: Book) -> None:
    draft = offered(1)
    offer = book.add(draft.offer())
    book.add({**draft.lost(offer), "schema": "cutcard-test/v1/close"})


def _wrong_digest(book: Book) -> None:
    draft = lost(1)
    book.add(draft.close(book.add({**draft.commit(), "entropy_digest": "0" * 64})))


def _both_indexes(book: Book) -> None:
    draft = lost(1)
    book.add({**draft.close(book.add(draft.commit())), "offer": 0})


def _no_index(book: Book) -> None:
    draft = lost(1)
    book.add(draft.commit())
    book.add({name: value for name, value in draft.close(0).items() if name != "commit"})


def _with_reason(book: Book) -> None:
    draft = lost(1)
    book.add({**draft.close(book.add(draft.commit())), "reason": "failure"})


def _void_by_offer(book: Book) -> None:
    draft = offered(1)
    book.add({**draft.lost(book.add(draft.offer())), "outcome": "void", "reason": "operator"})


ATTACKS: dict[str, list[Callable[[Book], None]]] = {
    "reveal": [
        _reveals("seed", {}),
        *(_reveals(member, SEALED) for member in ("card_commitments", "openings", "escrow")),
        _history,
        _offer_reveals,
        _offer_has_history,
    ],
    "dealing": [_events_without_commit, _cards_out_of_order],
    "entropy": [_wrong_digest],
    "lifecycle": [
        _offer_where_it_has_a_commit,
        _another_hands_offer,
        _no_offer_there,
        _commit_as_offer,
        _offer_as_commit,
        _committed_after_it_was_lost,
        _left_open_after_it_was_lost,
        _closed_after_it_was_lost,
        _lost_after_it_was_closed,
        _lost_twice,
        _number_not_used,
    ],
    "schema": [_both_indexes, _no_index, _with_reason, _void_by_offer],
}


@pytest.mark.parametrize(
    ("check", "attack"),
    [(check, attack) for check, attacks in ATTACKS.items() for attack in attacks],
    ids=lambda value: value if isinstance(value, str) else value.__name__.strip("_"),
)
def test_fails_by_its_own_name_alone(check: str, attack: Callable[[Book], None], tmp_path: Path) -> None:
    book = Book()
    attack(book)
    assert_fails(audit(book, tmp_path), check)


def test_a_lost_close_of_another_kind_fails_lifecycle(tmp_path: Path) -> None:
    book = Book()
    _another_kind_of_record(book)
    assert_fails(audit(book, tmp_path, allow_test=True), "lifecycle")


# Sealed seats: what offer and commit say of them.


def with_keys(number: int, **fields: Any) -> Draft:
    return Draft(f"hand {number}", number=number, seats=[4, 1, 7], seat_keys=(7, 4), **fields)


@pytest.mark.parametrize("values", [{}, contributors("seats", "a")], ids=["commit", "offer"])
@pytest.mark.parametrize("outcome", ["completed", "lost"])
def test_hands_with_seat_keys_are_checked_as_any_other(outcome: str, values: dict[str, bytes], tmp_path: Path) -> None:
    report = audit(Book().play(with_keys(1, values=values, outcome=outcome).deal()), tmp_path)
    assert (report.findings, report.exit_code) == ((), 0 if outcome == "completed" else 3)


BAD_KEYS: dict[str, Any] = {
    "nothing": [],
    "no list": {},
    "null": None,
    "of another seat": [[2, "0" * 64]],
    "of the board": [[0, "0" * 64]],
    "out of order": [[7, "0" * 64], [4, "1" * 64]],
    "a seat twice": [[4, "0" * 64], [4, "1" * 64]],
    "a digest twice": [[4, "0" * 64], [7, "0" * 64]],
    "short": [[4, "0" * 62]],
    "upper case": [[4, "A" * 64]],
    "no pair": [[4, "0" * 64, "0" * 64]],
    "no list in it": ["4"],
    "a seat as text": [["4", "0" * 64]],
    "a seat as truth": [[True, "0" * 64]],
}


@pytest.mark.parametrize("name", BAD_KEYS)
@pytest.mark.parametrize("entry", ["offer", "commit"])
@pytest.mark.parametrize("test", [False, True], ids=["record", "test record"])
def test_seat_keys_out_of_form(name: str, entry: str, test: bool, tmp_path: Path) -> None:
    draft = with_keys(1, test=test, values=contributors("seats", "a"))
    book = Book(Signer("test.invalid/x")) if test else Book()

    def add(kind: str, made: Entry) -> int:
        return book.add({**made, "seat_keys": BAD_KEYS[name]} if kind == entry else made)

    offer = add("offer", draft.offer())
    if entry == "commit":
        add("commit", draft.commit(offer))
    report = audit(book, tmp_path, allow_test=True)
    assert failed(report) == {"schema"}
    assert "seat_keys" in report.findings[0].detail


@pytest.mark.parametrize("seats", [(), (4,), (1, 4, 7)], ids=str)
def test_a_commit_repeats_the_offers_seat_keys(seats: tuple[int, ...], tmp_path: Path) -> None:
    values = contributors("seats", "a")
    draft, other = with_keys(1, values=values).deal(), with_keys(1, values=values)
    other.seat_keys = seats
    book = Book()
    offer = book.add(draft.offer())
    book.add(draft.close(book.add(other.commit(offer))))
    report = audit(book, tmp_path)
    assert_fails(report, "lifecycle")
    assert "seat_keys" in report.findings[0].detail


# The referee's history.


@pytest.mark.parametrize("game", ["seven-card-stud", "free-draw"])
def test_a_history_without_a_street_is_out_of_form(game: str, tmp_path: Path) -> None:
    draft = Draft("hand 1", game=game, outcome="void")
    if game == "free-draw":
        draft.draw((1, "down"))
    book = Book()
    book.add({**draft.close(book.add(draft.commit())), "history": "0" * 64})
    assert failed(audit(book, tmp_path)) == {"schema"}


def test_a_history_of_a_hand_with_a_street_is_taken(tmp_path: Path) -> None:
    draft = hand(1)
    book = Book()
    book.add({**draft.close(book.add(draft.commit())), "history": "0" * 64})
    assert audit(book, tmp_path).verdict == "valid"
