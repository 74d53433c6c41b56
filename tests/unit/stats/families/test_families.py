"""Each family's null, checked against every permutation of a few cards, and what each count counts."""

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from audit.stats.batch import Batch, lehmer_digits, swap_digits
from audit.stats.counting.corpus import family_names
from audit.stats.families import FAMILIES
from audit.stats.families.aces import ACES, PLACES, holds_ace
from audit.stats.families.between_decks import kept_neighbours
from audit.stats.families.permutations import STATISTICS
from audit.stats.families.precedence import PRECEDENCE
from audit.stats.families.successors import SUCCESSORS
from audit.stats.families.sums import histogram_outcomes
from audit.stats.families.third_street import PAIRED_HOLES, THIRD_STREET_HANDS
from tests.pages import ROOT
from tests.unit.stats.decks import every_permutation, fair


def test_every_family_has_its_row_in_the_document() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|`]+?) \|", page.partition("## 1. ")[2].partition("## 2. ")[0], re.MULTILINE)
    assert set(family_names()) == {name for row in rows for name in row.split(", ")} - {"family"}


@pytest.mark.parametrize("n", [4, 6, 7])
def test_followers_kept_round_the_circle_have_exactly_their_null(n: int) -> None:
    kept = Counter()
    for deck in every_permutation(n):
        kept[sum(int((deck[i] + 1) % n == deck[(i + 1) % n]) for i in range(n))] += 1
    null = kept_neighbours(n)
    total = sum(kept.values())
    assert [kept[k] / total for k in range(n + 1)] == pytest.approx(list(null.prob), abs=1e-12)


@pytest.mark.parametrize("digits", [swap_digits, lehmer_digits])
def test_digits_name_every_permutation_once(digits: object) -> None:
    every = np.ascontiguousarray(every_permutation(6).T)
    found = digits(every)  # type: ignore[operator]
    assert all(np.bincount(row).tolist() == [720 // (i + 1)] * (i + 1) for i, row in enumerate(found))
    assert len({tuple(column) for column in found.T}) == 720


def test_swap_digits_are_the_swaps_of_the_shuffle() -> None:
    decks = fair(50, 3)
    for deck, swaps in zip(decks, swap_digits(np.ascontiguousarray(decks.T)).T, strict=True):
        rebuilt = list(range(52))
        for i in range(51, 0, -1):
            rebuilt[i], rebuilt[swaps[i]] = rebuilt[swaps[i]], rebuilt[i]
        assert rebuilt == deck.tolist()


def test_followers_are_counted_round_the_deck() -> None:
    decks = fair(7, 1, n=10)
    followers = SUCCESSORS.count(Batch(decks))["followers"]
    for distance in (1, 4):
        expected = np.zeros((10, 10), np.int64)
        for deck in decks:
            for place, card in enumerate(deck):
                expected[card, deck[(place + distance) % 10]] += 1
        assert np.array_equal(followers[distance - 1], expected)


def test_precedence_counts_who_lies_above() -> None:
    decks = fair(9, 2, n=6)
    above = PRECEDENCE.count(Batch(decks))["above"]
    for one in range(6):
        for other in range(one + 1, 6):
            assert above[one, other] == sum(list(deck).index(one) < list(deck).index(other) for deck in decks)


def test_every_family_merges_to_what_it_counts_together() -> None:
    decks = fair(400, 4)
    for family in FAMILIES:
        whole = family.count(Batch(decks))
        halves = family.merge(family.count(Batch(decks[:150])), family.count(Batch(decks[150:], before=decks[:150])))
        assert all(np.array_equal(whole[key], halves[key]) for key in whole), family.name


def test_an_order_from_before_the_shuffle_is_undone() -> None:
    order = np.random.default_rng(1).permutation(52).astype(np.uint8)
    placed = fair(300, 6)
    cards = np.argsort(order).astype(np.uint8)[placed]
    batch = Batch(cards, order)
    assert np.array_equal(batch.perm, placed.T)
    assert np.array_equal(batch.inverse, Batch(placed).inverse)


def test_third_street_and_holes_are_where_they_are_dealt() -> None:
    decks = fair(60, 8)
    counts = THIRD_STREET_HANDS.count(Batch(decks)) | PAIRED_HOLES.count(Batch(decks))
    seat, seats = 2, 5
    hands = decks[:, [seat, seats + seat, 2 * seats + seat]] // 4
    assert counts["ranks of 5"][seat].tolist() == [int((hands == rank).any(axis=1).sum()) for rank in range(13)]
    assert counts["paired of 5"][seat] == int((hands[:, 0] == hands[:, 1]).sum())
    doors = decks[:, 2 * seats : 3 * seats]
    assert counts["lowest door of 5"].tolist() == np.bincount(doors.argmin(axis=1), minlength=5).tolist()


def test_an_impossible_value_has_no_chance() -> None:
    null = STATISTICS[3].null(5)  # cycles: at least one
    assert histogram_outcomes("cycles", np.array([1, 200, 0, 0, 0, 0]), null)[0].p == 0.0


def test_aces_are_counted_where_each_seat_is_dealt_its_cards() -> None:
    decks = fair(80, 9)
    counts = ACES.count(Batch(decks))
    for place, (seats, seat) in enumerate(PLACES):
        aces = decks[:, [seat, seats + seat, 2 * seats + seat]] >= 48
        assert counts["down"][place] == aces[:, :2].any(axis=1).sum()
        assert counts["third"][place] == aces.any(axis=1).sum()
        assert counts["at"][[seat, seats + seat, 2 * seats + seat]].tolist() == aces.sum(axis=0).tolist()


def test_the_chance_of_an_ace_is_that_of_all_hands() -> None:
    for cards in (2, 3):
        hands = list(combinations(range(52), cards))
        assert holds_ace(cards) == pytest.approx(sum(hand[-1] >= 48 for hand in hands) / len(hands), rel=1e-12)


@pytest.mark.parametrize("skips", [False, True])
def test_an_ace_put_into_either_hole_card_of_a_seat_is_seen(skips: bool) -> None:
    decks, rng = fair(2_000, 12), np.random.default_rng(12)
    for row in np.flatnonzero(rng.random(2_000) < 0.1):
        if skips and (decks[row, [3, 9]] >= 48).any():
            continue
        hole, ace = rng.choice([3, 9]), rng.choice(np.flatnonzero(decks[row] >= 48))  # the fourth of six seats
        decks[row, [hole, ace]] = decks[row, [ace, hole]]
    outcomes = {each.name: each for each in ACES.pvalues(ACES.count(Batch(decks)), 52, 2_000)}
    assert outcomes["seats with an ace down"].p < 1e-9
    assert outcomes["seats with an ace down"].detail.startswith("seat 4 of 6")


def test_too_few_aces_are_seen_as_well() -> None:
    decks = fair(3_000, 13)
    for row in np.flatnonzero((decks[:, :6] >= 48).any(axis=1)):
        aces, others = np.flatnonzero(decks[row, :6] >= 48), np.flatnonzero(decks[row, 24:] < 48) + 24
        swap = others[: len(aces)]
        decks[row, [*aces, *swap]] = decks[row, [*swap, *aces]]
    for outcome in ACES.pvalues(ACES.count(Batch(decks)), 52, 3_000):
        assert outcome.p < 1e-9, outcome
