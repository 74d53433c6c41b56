"""Who would win if every seat stayed to the end, and which hands are made: what a rigged deal is for in the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.cards.deal import TABLE_SIZES, seventh_street
from audit.stats.cards.hands import CATEGORY_SHIFT, hand_worth
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import CATEGORIES, category_counts
from audit.stats.nulls.pvalue import worst_cell, worst_of_cells
from audit.stats.results import Bars

WINS_WEIGHT = 60.0
"""Only who wins shows a rig that hands the better cards to one seat, so this test gets more of alpha than others."""

_FIVE_CARD_HANDS = 10


def joined_bits(batch: Batch, positions: Sequence[int]) -> NDArray[np.uint64]:
    """Joins the cards at some positions into one word of bits a deck, as `hand_worth` takes them."""
    bits: NDArray[np.uint64] = batch.bits[positions[0]].copy()
    for position in positions[1:]:
        bits |= batch.bits[position]
    return bits


def winners(worths: Sequence[NDArray[np.uint32]]) -> NDArray[np.int64]:
    """Counts how often each seat alone had the best hand; decks with a tie for the best count for nobody."""
    best = np.maximum.reduce(worths)
    has_best = np.stack([worth == best for worth in worths])
    alone = np.add.reduce(has_best, axis=0, dtype=np.uint8) == 1
    return np.array([np.count_nonzero(row & alone) for row in has_best], dtype=np.int64)


def _count_wins(batch: Batch) -> Counts:
    counts: Counts = {}
    for seats in TABLE_SIZES:
        worths = [hand_worth(joined_bits(batch, seventh_street(seats, seat))) for seat in range(seats)]
        counts[f"wins of {seats}"] = winners(worths)
        counts[f"hands of {seats}"] = np.stack(
            [np.bincount(worth >> np.uint32(CATEGORY_SHIFT), minlength=len(CATEGORIES)) for worth in worths]
        )
    return counts


def _win_pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes = []
    ways = np.array(category_counts(7).ways, dtype=np.float64)
    odds = ways / ways.sum()
    for seats in TABLE_SIZES:
        wins = counts[f"wins of {seats}"]
        decided = int(wins.sum())
        # Of two seats one loses what the other wins.
        p, seat = worst_cell(wins, decided, 1 / seats, seats if seats > 2 else 1)
        outcomes.append(
            Outcome(
                f"each of {seats} seats wins equally often",
                float(wins[seat]),
                p,
                seats,
                f"seat {seat + 1} has the best hand in {wins[seat]} of {decided} decks without a tie, "
                f"expected {decided / seats:.1f}",
                weight=WINS_WEIGHT,
                bars=Bars("seat that wins", wins, decided, 1 / seats, lowest=1),
            )
        )
    for seats in TABLE_SIZES:
        hands = counts[f"hands of {seats}"]
        p, worst = worst_of_cells(hands.reshape(-1), decks, np.tile(odds, seats))
        seat, category = divmod(worst, len(CATEGORIES))
        outcomes.append(
            Outcome(
                f"seven-card hands of {seats} seats",
                float(hands.flat[worst]),
                p,
                hands.size,
                f"seat {seat + 1}, {CATEGORIES[category]}: {hands.flat[worst]} times, "
                f"expected {decks * odds[category]:.1f}",
                bars=Bars(f"hands of seat {seat + 1}", hands[seat], decks, odds, CATEGORIES),
            )
        )
    return outcomes


SHOWDOWNS = Family(
    "showdowns",
    "A seat that is given the better hands, which cards and positions one by one may hide.",
    _count_wins,
    _win_pvalues,
    cards=52,
)


def _count_five(batch: Batch) -> Counts:
    return {
        "hands": np.stack(
            [
                np.bincount(
                    hand_worth(joined_bits(batch, range(5 * hand, 5 * hand + 5))) >> np.uint32(CATEGORY_SHIFT),
                    minlength=len(CATEGORIES),
                )
                for hand in range(_FIVE_CARD_HANDS)
            ]
        )
    }


def _five_pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    hands = counts["hands"]
    ways = np.array(category_counts(5).ways, dtype=np.float64)
    odds = ways / ways.sum()
    p, worst = worst_of_cells(hands.reshape(-1), decks, np.tile(odds, len(hands)))
    place, category = divmod(worst, len(CATEGORIES))
    detail = (
        f"{CATEGORIES[category]} in positions {5 * place} to {5 * place + 4}: {hands.flat[worst]} times, "
        f"expected {decks * odds[category]:.1f}"
    )
    return [Outcome("five cards in a row", float(hands.flat[worst]), p, hands.size, detail)]


FIVE_CARDS = Family(
    "five-card hands",
    "Poker hands among five cards that lie together: a new deck's order that shows through.",
    _count_five,
    _five_pvalues,
    cards=52,
)
