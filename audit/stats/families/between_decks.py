"""From one deck to the next: a deck that is not reset between hands, or a generator that remembers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import LAGS, Batch, Bytes
from audit.stats.families.card_positions import position_counts, position_outcome
from audit.stats.families.digits import digit_counts, digit_outcomes, signature_outcome, slot_outcome
from audit.stats.families.permutations import STATISTICS, column_sums
from audit.stats.families.sums import histogram_outcomes
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import FIXED_POINTS, Pmf
from audit.stats.nulls import Counts as Ways

DIRECTIONS = ("downwards", "upwards")
"""Of the swaps that would take one deck to the next."""


@cache
def kept_neighbours(n: int) -> Pmf:
    """Returns the distribution of how many of n cards, in a circle at random, are followed by the same card as before.

    k given cards keep their followers in (n-k-1)! circles, all n in one; inclusion and exclusion does the rest.
    """
    at_least = [comb(n, k) * factorial(n - k - 1) for k in range(n)] + [1]
    ways = tuple(sum((-1) ** (m - k) * comb(m, k) * at_least[m] for m in range(k, n + 1)) for k in range(n + 1))
    return Ways(0, ways).pmf()


def _histogram(one: Bytes, other: Bytes) -> NDArray[np.int64]:
    """Counts the decks that agree with their earlier deck in 0 … n places."""
    return np.bincount(column_sums(one == other), minlength=len(one) + 1).astype(np.int64)


STILL, KEPT = "cards in the same place", "cards followed by the same card"
FOLLOWING = tuple(statistic for statistic in STATISTICS if not statistic.name.startswith(("longest", "fixed points")))
"""What is asked of the permutation that takes one deck to the next."""


def _count(batch: Batch) -> Counts:
    counts: Counts = {}
    for lag in range(1, LAGS + 1):
        counts[f"{STILL} {lag}"] = _histogram(*batch.at_lag(lag))
        counts[f"{KEPT} {lag}"] = _histogram(*batch.successors_at_lag(lag))
    following = batch.following
    counts["places"] = position_counts(following.perm)
    for direction, digits in zip(DIRECTIONS, following.deck_swaps, strict=True):
        counts[direction] = digit_counts(digits)
    return counts | {statistic.name: statistic.histogram(following) for statistic in FOLLOWING}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes = []
    for lag in range(1, LAGS + 1):
        for what, null in ((STILL, FIXED_POINTS.pmf), (KEPT, kept_neighbours)):
            histogram = counts[f"{what} {lag}"]
            tested = histogram_outcomes(f"{what} {lag} deals apart", histogram, null(n))
            outcomes += _between(tested, int(histogram.sum()))
    pairs = int(counts["places"].sum()) // n
    following: list[Outcome] = [position_outcome(counts["places"], pairs, "place")]
    for direction in DIRECTIONS:
        following += digit_outcomes(counts[direction], pairs, direction)
        following.append(slot_outcome(counts[direction], pairs, direction))
        following.append(signature_outcome(counts[direction], pairs, direction))
    for statistic in FOLLOWING:
        following += statistic.outcomes(counts[statistic.name], n)
    return outcomes + _between(following, pairs, "next deck against the last: ")


def _between(outcomes: Sequence[Outcome], pairs: int, prefix: str = "") -> list[Outcome]:
    # Ordinary weights: what is worth a larger share of alpha in a deck is one of many things between decks.
    return [Outcome(prefix + each.name, each.statistic, each.p, each.looks, each.detail, pairs) for each in outcomes]


BETWEEN_DECKS = Family(
    "between decks",
    "Decks that depend on those before: not reset, shuffled too little in between, or a generator that repeats.",
    _count,
    _pvalues,
    looks_back=True,
    statistics=FOLLOWING,
)
