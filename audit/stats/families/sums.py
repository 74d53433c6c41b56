"""Statistics of one deck with an exact distribution: the test of their sum over decks and of their histogram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.family import Outcome
from audit.stats.nulls import Pmf, sum_tail
from audit.stats.nulls.pvalue import two_sided, worst_of_cells
from audit.stats.results import Bars

WIDEST = 128
"""Histograms with more values than these are tested by their sum alone."""


@dataclass(frozen=True)
class DeckStatistic:
    """A whole number worked out for each deck.

    Attributes:
        name: the statistic.
        values: from a batch to one value a deck, shape (N,).
        null: from n to its exact distribution.
        weight: of the test of the sum.
        largest: from n to a bound on the values.
    """

    name: str
    values: Callable[[Batch], NDArray[np.integer]]
    null: Callable[[int], Pmf]
    weight: float = 1.0
    largest: Callable[[int], int] = lambda n: n

    def histogram(self, batch: Batch) -> NDArray[np.int64]:
        """Counts the decks that have the value 0, 1, … up to the largest that there can be."""
        return np.bincount(self.values(batch), minlength=self.largest(batch.n) + 1).astype(np.int64)

    def outcomes(self, histogram: NDArray[np.int64], n: int) -> list[Outcome]:
        """Tests the statistic's histogram."""
        return histogram_outcomes(self.name, histogram, self.null(n), self.weight)


def histogram_outcomes(name: str, histogram: NDArray[np.int64], null: Pmf, weight: float = 1.0) -> list[Outcome]:
    """Tests the sum over all decks, and the most surprising value, against the exact distribution.

    Args:
        name: the statistic's name.
        histogram: how many decks have the value 0, 1, ….
        null: its distribution.
        weight: of the test of the sum.
    """
    decks = int(histogram.sum())
    total = int(histogram @ np.arange(len(histogram)))
    lowest = int(null.support[0])
    counts = histogram[lowest : lowest + len(null.prob)]
    possible = int(counts[null.prob > 0].sum()) == decks
    p = two_sided(*sum_tail(null.support, null.prob, decks, total)) if possible else 0.0
    mean = float(null.support @ null.prob)
    detail = f"{total / decks:.4f} a deck, expected {mean:.4f}"
    bars = Bars(name, counts, decks, null.prob, lowest=lowest) if len(null.support) <= WIDEST else None
    found = [Outcome(name, total / decks, p, 1, detail, weight=weight, bars=bars)]
    if 2 < len(null.support) <= WIDEST:
        p, worst = worst_of_cells(counts, decks, null.prob)
        looks = len(null.prob)
        detail = f"value {lowest + worst}: {counts[worst]} times, expected {decks * null.prob[worst]:.1f}"
        found.append(Outcome(f"{name}, one value", float(counts[worst]), p, looks, detail, bars=bars))
    return found
