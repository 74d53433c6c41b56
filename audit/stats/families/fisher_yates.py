"""Swap indices of Fisher-Yates worked back from the deck: the strongest test against such a shuffle gone wrong."""

from __future__ import annotations

from collections.abc import Sequence

from audit.stats.batch import Batch
from audit.stats.families.digits import digit_counts, digit_outcomes, signature_outcome, slot_outcome, trend_outcome
from audit.stats.family import Counts, Family, Outcome

DIRECTIONS = ("downwards", "upwards", "inside out", "inside out from the end")
"""Swaps from the last place to the first, from the first to the last, and the same of the inverse deck."""


def _count(batch: Batch) -> Counts:
    return {
        direction: digit_counts(digits)
        for direction, digits in zip(DIRECTIONS, (*batch.deck_swaps, *batch.inverse_swaps), strict=True)
    }


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes: list[Outcome] = []
    for direction in DIRECTIONS:
        outcomes += digit_outcomes(counts[direction], decks, direction)
        outcomes.append(trend_outcome(counts[direction], decks, direction))
        outcomes.append(slot_outcome(counts[direction], decks, direction))
        outcomes.append(signature_outcome(counts[direction], decks, direction))
    return outcomes


FISHER_YATES = Family(
    "Fisher-Yates digits",
    "Swaps that choose some places too often: off by one, modulo bias, swap with any place, a swap left out.",
    _count,
    _pvalues,
    ordered=True,
)
