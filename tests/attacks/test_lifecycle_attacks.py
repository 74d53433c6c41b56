"""Entries that are each in order and do not belong together so: `lifecycle`, at the entry where it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.judging import assert_fails, audit, failed
from tests.attacks.maker import Book, Draft, contributors, drawn, honest


def hand(number: int, **fields: object) -> Draft:
    return Draft(f"hand {number}", number=number, **fields).deal()  # type: ignore[arg-type]


def _gap(book: Book) -> None:
    book.play(hand(1)).play(hand(3))


def _not_from_one(book: Book) -> None:
    book.play(hand(2)).play(hand(3))


def _repeat(book: Book) -> None:
    book.play(hand(1)).play(Draft("another", number=1).deal())


def _swap(book: Book) -> None:
    book.play(hand(2)).play(hand(1))


def _two_in_play(book: Book) -> None:
    one, two = hand(1), hand(2)
    first, second = book.add(one.commit()), book.add(two.commit())
    book.add(one.close(first))
    book.add(two.close(second))


def _left_open(book: Book) -> None:
    book.add(hand(1).commit())
    book.play(hand(2))


def _closed_twice(book: Book) -> None:
    book.play(hand(1))
    book.add(hand(1).close(0))


def _closed_twice_with_another_outcome(book: Book) -> None:
    book.play(hand(1))
    book.add(hand(1, outcome="void").close(0))


def _committed_twice(book: Book) -> None:
    draft = hand(1)
    commit = book.add(draft.commit())
    book.add(draft.commit())
    book.add(draft.close(commit))


def _committed_to_two_decks(book: Book) -> None:
    book.add(hand(1).commit())
    better = Draft("hand 1", seed=drawn("better", 64)).deal()
    book.add(better.close(book.add(better.commit())))


def _close_without_commit(book: Book) -> None:
    book.play(hand(1))
    book.add(hand(2).close(0))


def _close_before_commit(book: Book) -> None:
    draft = hand(1)
    book.add(draft.close(1))
    book.add(draft.commit())


def _close_names_another_entry(book: Book) -> None:
    draft = hand(1)
    book.add(draft.commit())
    book.add(draft.close(7))


def _close_names_another_hand(book: Book) -> None:
    draft = hand(1)
    book.add({**draft.close(book.add(draft.commit())), "hand": Draft("stranger").id})


def _offer_closed_without_commit(book: Book) -> None:
    draft = hand(1, values=contributors("x", "a"), outcome="void")
    book.add(draft.close(book.add(draft.offer())))
    book.play(hand(2))


def _offered_twice(book: Book) -> None:
    draft = hand(1, values=contributors("x", "a"))
    offer = book.add(draft.offer())
    book.add(draft.offer())
    book.add(draft.close(book.add(draft.commit(offer))))


def _offer_not_named(book: Book) -> None:
    draft = hand(1, values=contributors("x", "a"))
    book.add(draft.offer())
    book.add(draft.close(book.add(draft.commit())))


def _offer_named_amiss(book: Book) -> None:
    draft = hand(1, values=contributors("x", "a"))
    book.add(draft.offer())
    book.add(draft.close(book.add(draft.commit(5))))


def _repeated_member(member: str, value: object) -> Callable[[Book], None]:
    def attack(book: Book) -> None:
        draft = hand(1, values=contributors("x", "a"), silent={"a"})
        offer = book.add({**draft.offer(), member: value})
        book.add(draft.close(book.add(draft.commit(offer))))

    attack.__name__ = f"_offer_with_another_{member}"
    return attack


ATTACKS = [
    _gap,
    _not_from_one,
    _repeat,
    _swap,
    _two_in_play,
    _left_open,
    _closed_twice,
    _closed_twice_with_another_outcome,
    _committed_twice,
    _committed_to_two_decks,
    _close_without_commit,
    _close_names_another_entry,
    _close_names_another_hand,
    _offer_closed_without_commit,
    _offered_twice,
    _offer_not_named,
    _offer_named_amiss,
    _repeated_member("game", "seven-card-stud-hi-lo"),
    _repeated_member("seats", [3, 1, 2]),
    _repeated_member("seed_commitment", "0" * 64),
    _repeated_member("table", "table-9"),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_fails_lifecycle_and_nothing_else(attack: Callable[[Book], None], tmp_path: Path) -> None:
    book = Book()
    attack(book)
    assert_fails(audit(book, tmp_path), "lifecycle")


def test_close_before_commit_also_leaves_the_hand_open(tmp_path: Path) -> None:
    book = Book()
    _close_before_commit(book)
    report = audit(book, tmp_path)
    assert_fails(report, "lifecycle")
    assert "is open" in report.missing[0]


def test_a_missing_offer_fails_lifecycle_and_entropy(tmp_path: Path) -> None:
    draft = hand(1, values=contributors("x", "a"))
    book = Book()
    book.add(draft.close(book.add(draft.commit(4))))
    assert_fails(audit(book, tmp_path), "lifecycle", "entropy")


def test_hands_may_cross_at_different_tables(tmp_path: Path) -> None:
    one, two = hand(1), Draft("other", table="table-2").deal()
    book = Book()
    first, second = book.add(one.commit()), book.add(two.commit())
    book.add(two.close(second))
    book.add(one.close(first))
    assert audit(book, tmp_path).verdict == "valid"


def test_open_and_the_latest_is_incomplete(tmp_path: Path) -> None:
    book = honest()
    book.add(Draft("late", number=5).commit())
    report = audit(book, tmp_path)
    assert (report.verdict, report.exit_code, report.hands.open) == ("incomplete", 3, 1)


def test_offered_and_the_latest_is_incomplete(tmp_path: Path) -> None:
    book = honest()
    book.add(Draft("late", number=5, values=contributors("late", "a")).offer())
    assert audit(book, tmp_path).exit_code == 3


def test_a_fault_of_an_open_hand_is_found(tmp_path: Path) -> None:
    book = honest()
    book.add({**Draft("late", number=5).commit(), "entropy_digest": "0" * 64})
    assert failed(audit(book, tmp_path)) == {"entropy"}
