"""Odds of poker hands: as published, and as every hand has it."""

from collections import Counter
from itertools import combinations
from math import comb

import pytest

from audit.stats.nulls import CATEGORIES, THIRD_STREET, category_counts, paired_hole_counts, third_street_counts

FIVE = {
    "straight flush": 40, "four of a kind": 624, "full house": 3744, "flush": 5108, "straight": 10200,
    "three of a kind": 54912, "two pair": 123552, "one pair": 1098240, "high card": 1302540,
}  # fmt: skip
SIX = {
    "straight flush": 1844, "four of a kind": 14664, "full house": 165984, "flush": 205792, "straight": 361620,
    "three of a kind": 732160, "two pair": 2532816, "one pair": 9730740, "high card": 6612900,
}  # fmt: skip
SEVEN = {
    "straight flush": 41584, "four of a kind": 224848, "full house": 3473184, "flush": 4047644, "straight": 6180020,
    "three of a kind": 6461620, "two pair": 31433400, "one pair": 58627800, "high card": 23294460,
}  # fmt: skip


@pytest.mark.parametrize(("cards", "published"), [(5, FIVE), (6, SIX), (7, SEVEN)])
def test_categories_as_published(cards, published):
    assert dict(zip(CATEGORIES, category_counts(cards).ways, strict=True)) == published
    assert sum(category_counts(cards).ways) == comb(52, cards)


def test_eight_cards_are_refused():
    with pytest.raises(ValueError, match="five to seven"):
        category_counts(8)


def kind(hand):
    ranks = sorted(card // 4 for card in hand)
    if ranks[0] == ranks[2]:
        return "three of a kind"
    if len(set(ranks)) == 2:
        return "pair"
    straight = ranks in ([r, r + 1, r + 2] for r in range(11)) or ranks == [0, 1, 12]
    flush = len({card % 4 for card in hand}) == 1
    return {(1, 1): "straight flush", (1, 0): "straight", (0, 1): "flush", (0, 0): "high card"}[straight, flush]


def test_third_street_agrees_with_every_hand():
    assert Counter(map(kind, combinations(range(52), 3))) == dict(
        zip(THIRD_STREET, third_street_counts().ways, strict=True)
    )


def test_one_seat_is_paired_once_in_seventeen():
    unpaired, paired = paired_hole_counts(1).ways
    assert (paired, unpaired + paired) == (78, 1326)


def test_two_seats_agree_with_every_deal_in_proportion():
    rank_of = [card // 4 for card in range(52)]
    both = sum(
        rank_of[a] == rank_of[b] and rank_of[c] == rank_of[d]
        for a, b in [(0, 1), (0, 2), (0, 3)]
        for c, d in combinations(sorted(set(range(52)) - {a, b}), 2)
    )
    # By symmetry each of the 78 pairs leaves the same number of pairs: three of them stand for all.
    assert paired_hole_counts(2).ways[2] == 78 * both // 3
    assert sum(paired_hole_counts(2).ways) == comb(52, 2) * comb(50, 2)


@pytest.mark.parametrize("seats", [1, 2, 8, 23, 26])
def test_paired_seats_add_up(seats):
    counts = paired_hole_counts(seats)
    assert min(counts.ways) >= 0
    assert counts.pmf().mean == pytest.approx(seats / 17)
