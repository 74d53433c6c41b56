"""Coherent lies: everything is worked out again after the lie and signed with the log's own key, and it still shows."""

from __future__ import annotations

from pathlib import Path

from audit import protocol
from tests.attacks.judging import assert_fails, audit
from tests.attacks.maker import Book, Draft, EscrowPair, contributors, drawn, honest


def test_a_seed_used_twice(tmp_path: Path) -> None:
    book = honest()
    book.play(Draft("again", number=5, seed=Draft("board").seed).deal())
    report = audit(book, tmp_path)
    assert_fails(report, "seed")
    assert report.findings[0].index == len(book.entries) - 1


def test_a_sealed_seed_used_twice(tmp_path: Path) -> None:
    again = Draft("again", number=5, seed=Draft("sealed").seed, reveal="sealed").deal(folds={"third": [1, 2]})
    assert_fails(audit(honest().play(again), tmp_path), "seed")


def test_two_hands_that_share_an_id(tmp_path: Path) -> None:
    again = Draft("board", number=5, seed=drawn("another seed", 64)).deal()
    assert_fails(audit(honest().play(again), tmp_path), "seed")


def test_seats_turned_between_offer_and_commit(tmp_path: Path) -> None:
    values = contributors("turned", "a")
    offered = Draft("turned", values=values, seats=[1, 2, 3])
    turned = Draft("turned", values=values, seats=[2, 3, 1]).deal()
    book = Book()
    offer = book.add(offered.offer())
    book.add(turned.close(book.add(turned.commit(offer))))
    assert_fails(audit(book, tmp_path), "lifecycle")


def test_an_offer_given_up_for_a_better_one(tmp_path: Path) -> None:
    values = contributors("better", "a")
    book = Book()
    book.add(Draft("worse", values=values).offer())
    book.play(Draft("better", values=values).deal())
    assert_fails(audit(book, tmp_path), "lifecycle")


def test_an_offer_given_up_and_its_number_passed_over(tmp_path: Path) -> None:
    values = contributors("better", "a")
    book = Book()
    book.add(Draft("worse", values=values).offer())
    book.play(Draft("better", number=2, values=values).deal())
    assert_fails(audit(book, tmp_path), "lifecycle")


def test_contributions_in_the_dealers_order(tmp_path: Path) -> None:
    values = contributors("order", "a", "b")
    offered = Draft("order", values=values)
    played = Draft("order", values=dict(reversed(values.items()))).deal()
    book = Book()
    offer = book.add(offered.offer())
    book.add(played.close(book.add(played.commit(offer))))
    assert_fails(audit(book, tmp_path), "entropy")


def test_another_seed_in_the_escrow(tmp_path: Path) -> None:
    draft = Draft("escrow", reveal="sealed", escrowed=drawn("another", 64)).deal(folds={"third": [1, 2]})
    assert_fails(audit(Book().play(draft), tmp_path), "seed")


def test_another_key_under_the_auditors_name(tmp_path: Path) -> None:
    other = EscrowPair(drawn("another key", 32)).public
    draft = Draft("escrow", reveal="sealed", escrow_public=other, escrow_named=EscrowPair().public)
    assert_fails(audit(Book().play(draft.deal(folds={"third": [1, 2]})), tmp_path), "seed")


def test_another_key_in_its_own_name(tmp_path: Path) -> None:
    other = EscrowPair(drawn("another key", 32)).public
    draft = Draft("escrow", table="x", reveal="sealed", escrow_public=other)
    assert_fails(audit(honest().play(draft.deal(folds={"third": [1, 2]})), tmp_path), "reveal")


def _ace_twice() -> list[str]:
    cards = protocol.shuffle(protocol.DECKS["standard52"], Draft("ace").material)
    cards[cards.index("2c")] = "As"
    return cards


def test_a_deck_with_the_ace_twice(tmp_path: Path) -> None:
    assert_fails(audit(Book().play(Draft("ace", cards=_ace_twice()).deal()), tmp_path), "deck")


def test_a_sealed_deck_with_the_ace_twice_both_shown(tmp_path: Path) -> None:
    cards = ["As", "As", *[card for card in protocol.DECKS["standard52"] if card != "As"]][:52]
    draft = Draft("ace", cards=cards, reveal="sealed", seats=[1, 2]).deal().show(0, 1)
    report = audit(Book().play(draft), tmp_path)
    assert_fails(report, "deck", "opening")
    assert any("As is opened at more than one position" in found.detail for found in report.findings)


def test_a_sealed_deck_of_the_dealers_choice(tmp_path: Path) -> None:
    # Both lines of section 10 say so: the seed does not give this deck, and the opened cards are not the seed's.
    draft = Draft("choice", cards=list(protocol.DECKS["standard52"]), reveal="sealed").deal(folds={"third": [1, 2]})
    assert_fails(audit(Book().play(draft), tmp_path), "deck", "opening")


def test_completed_after_third_street(tmp_path: Path) -> None:
    assert_fails(audit(Book().play(Draft("short").deal("third")), tmp_path), "lifecycle")


def test_void_after_third_street_is_no_lie(tmp_path: Path) -> None:
    assert audit(Book().play(Draft("short", outcome="void").deal("third")), tmp_path).verdict == "valid"
