"""The odd chips of docs/table.md: its hands, and what it says of Robert's Rules of Poker, hold of the referee."""

import re
from pathlib import Path

from dealer.core.cards import DECK_KINDS
from dealer.table.payouts import Half, award_pots, read_hand
from dealer.table.pots import Pot

PAGE = Path(__file__).parents[3] / "docs" / "table.md"
SECTION = PAGE.read_text("utf-8").partition("### Odd chips")[2].partition("\n## ")[0]
HANDS = [f"{five} {rest}".split() for five, rest in re.findall(r"`([^`]{14})`\s+and\s+`([^`]{5})`", SECTION)]
ORDER = DECK_KINDS["standard52"]


def tied(hands, half, *, hi_lo):
    """Who of seats 1 and 2 has which share of a pot in which this half has an odd chip."""
    shown = {seat: read_hand(cards, hi_lo=hi_lo) for seat, cards in enumerate(hands, 1)}
    awards = award_pots([Pot(102 if hi_lo else 101, (1, 2))], shown, 1)
    return [(winner.seat, winner.share) for award in awards if award.half is half for winner in award.winners]


def test_the_page_has_two_pairs_of_hands():
    assert [len(hand) for hand in HANDS] == [7, 7, 7, 7]


def test_a_tied_high_goes_by_the_five_cards_and_not_by_all():
    assert tied(HANDS[:2], Half.HIGH, hi_lo=False) == [(2, 51), (1, 50)]
    highest = [max(hand, key=ORDER.index) for hand in HANDS[:2]]
    assert max(highest, key=ORDER.index) == highest[0] == "Ks"  # by all cards it were seat 1's


def test_a_tied_low_goes_by_its_highest_card_and_not_by_the_lowest():
    assert tied(HANDS[2:], Half.LOW, hi_lo=True) == [(1, 26), (2, 25)]
    lowest = [min(hand, key=lambda card: (card[0] != "A", ORDER.index(card))) for hand in HANDS[2:]]
    assert min(lowest, key=ORDER.index) == lowest[1] == "Ac"  # by the lowest card it were seat 2's
