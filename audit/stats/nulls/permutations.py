"""Exact null distributions of permutation statistics: what a uniformly random deck of n cards does.

Every distribution is worked out in whole numbers: how many of the n! orders give each value (STATISTICS.md section 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import comb, factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Pmf(NamedTuple):
    """A distribution on consecutive integers: `support` (int64, ascending) and `prob` (float64, adds up to 1)."""

    support: NDArray[np.int64]
    prob: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(self.support @ self.prob)

    @property
    def variance(self) -> float:
        """The variance."""
        return float((self.support - self.mean) ** 2 @ self.prob)


class Counts(NamedTuple):
    """`ways[k]` equally likely outcomes, of `sum(ways)`, give the value `lowest + k`."""

    lowest: int
    ways: tuple[int, ...]

    def pmf(self) -> Pmf:
        """Returns the same as probabilities, each correctly rounded. The arrays are shared and read-only."""
        total = sum(self.ways)
        support = np.arange(self.lowest, self.lowest + len(self.ways), dtype=np.int64)
        prob = np.array([ways / total for ways in self.ways])
        support.flags.writeable = prob.flags.writeable = False
        return Pmf(support, prob)


@dataclass(frozen=True)
class Null:
    """The exact distribution of one statistic on uniformly random permutations.

    Attributes:
        name: The statistic.
        exact: From n to the number of permutations of n with each value.
    """

    name: str
    exact: Callable[[int], Counts]

    def counts(self, n: int) -> Counts:
        """Returns the number of permutations of `n` for each value; they add up to n!."""
        if n < 1:
            raise ValueError(f"{self.name}: a deck has at least one card, not {n}")
        return _counts(self, n)

    def pmf(self, n: int) -> Pmf:
        """Returns the support and the probabilities for decks of `n` cards; cached, read-only."""
        return _pmf(self, n)


@cache
def _counts(null: Null, n: int) -> Counts:
    return null.exact(n)


@cache
def _pmf(null: Null, n: int) -> Pmf:
    return null.counts(n).pmf()


def _eulerian(n: int) -> tuple[int, ...]:
    row = [1]
    for m in range(2, n + 1):
        row = [(k + 1) * (row[k] if k < m - 1 else 0) + (m - k) * (row[k - 1] if k else 0) for k in range(m)]
    return tuple(row)


def _mahonian(n: int) -> Counts:
    row = [1]
    for m in range(2, n + 1):
        # Times 1 + q + … + q^(m-1): a running sum over a window of m.
        longer, window = [], 0
        for k in range(len(row) + m - 1):
            window += row[k] if k < len(row) else 0
            window -= row[k - m] if k >= m else 0
            longer.append(window)
        row = longer
    return Counts(0, tuple(row))


def _stirling_first(n: int) -> Counts:
    row = [1]
    for m in range(1, n):
        row = [m * (row[k] if k < len(row) else 0) + (row[k - 1] if k else 0) for k in range(len(row) + 1)]
    return Counts(1, tuple(row))


def _rencontres(n: int) -> Counts:
    derangements = [1, 0]
    for m in range(2, n + 1):
        derangements.append((m - 1) * (derangements[-1] + derangements[-2]))
    return Counts(0, tuple(comb(n, k) * derangements[n - k] for k in range(n + 1)))


def _all_runs_shorter_than(bound: int, n: int) -> int:
    """Counts the permutations of n whose ascending runs are all shorter than `bound`.

    Their exponential generating function is 1 / sum_j (x^(bj) / (bj)! - x^(bj+1) / (bj+1)!), b = bound.
    """
    if bound < 2:
        return 0
    ways = [1]
    for m in range(1, n + 1):
        ways.append(
            sum(comb(m, k) * ways[m - k] * (1 if k % bound == 1 else -1) for k in range(1, m + 1) if k % bound < 2)
        )
    return ways[n]


def _longest_run(n: int) -> Counts:
    below = [_all_runs_shorter_than(bound, n) for bound in range(1, n + 2)]
    return Counts(1, tuple(below[k] - below[k - 1] for k in range(1, n + 1)))


def _longest_subsequence(n: int) -> Counts:
    """Counts the permutations of n by the length of their longest ascending subsequence.

    By the RSK correspondence these are pairs of standard Young tableaux of one shape with the first row k long.
    Shapes are built from the bottom row up. A longer row put on top leaves the hooks below it as they were, and with
    the shifted rows l_i = row_i + (rows beneath) its own hooks multiply to l! / prod_i (l - l_i).
    """
    factorials = [factorial(m) for m in range(n + 1)]
    ways = [0] * (n + 1)

    def put_on_top(left: int, shortest: int, shifted: tuple[int, ...], hooks: int) -> None:
        beneath = len(shifted)
        for row in (left, *range(shortest, left // 2 + 1)):
            own = row + beneath
            product = 1
            for lower in shifted:
                product *= own - lower
            longer = hooks * (factorials[own] // product)
            if row == left:
                ways[row] += (factorials[n] // longer) ** 2
            else:
                put_on_top(left - row, row, (*shifted, own), longer)

    put_on_top(n, 1, (), 1)
    return Counts(1, tuple(ways[1:]))


def _parity(n: int) -> Counts:
    return Counts(0, (1, 0) if n == 1 else (factorial(n) // 2, factorial(n) // 2))


@cache
def same_class_neighbours(kinds: int, size: int) -> Counts:
    """Counts the orders of `kinds * size` cards, `size` of each kind, by how many of their neighbours are of one kind.

    Glue the cards of each kind into blocks (Lah numbers), put all blocks in order, then undo the over-counting by
    inclusion and exclusion. The deck does not close to a circle: n cards have n - 1 pairs of neighbours.

    Args:
        kinds: How many kinds there are: 13 ranks, 4 suits or 2 colours.
        size: How many cards each kind has.
    """
    n = kinds * size
    lah = [0] + [comb(size - 1, blocks - 1) * factorial(size) // factorial(blocks) for blocks in range(1, size + 1)]
    glued = [1]
    for _ in range(kinds):
        product = [0] * (len(glued) + size)
        for i, before in enumerate(glued):
            for j, more in enumerate(lah):
                product[i + j] += before * more
        glued = product
    at_least = [factorial(n - k) * glued[n - k] for k in range(n)]
    ways = [sum((-1) ** (m - k) * comb(m, k) * at_least[m] for m in range(k, n)) for k in range(n)]
    while ways[-1] == 0:
        ways.pop()
    return Counts(0, tuple(ways))


DESCENTS = Null("descents", lambda n: Counts(0, _eulerian(n)))
"""Positions where a smaller card follows a larger one (Eulerian numbers)."""
RISING_SEQUENCES = Null("rising sequences", lambda n: Counts(1, _eulerian(n)))
"""Longest chains c, c+1, c+2, … that lie in the deck in this order: descents of the inverse, and one more."""
INVERSIONS = Null("inversions", _mahonian)
"""Pairs in the wrong order (Mahonian numbers)."""
CYCLES = Null("cycles", _stirling_first)
"""Cycles of the permutation (unsigned Stirling numbers of the first kind)."""
RECORDS = Null("records", _stirling_first)
"""Cards above all cards before them: distributed as the cycles are."""
FIXED_POINTS = Null("fixed points", _rencontres)
"""Cards in their own place (rencontres numbers)."""
LONGEST_RUN = Null("longest run", _longest_run)
"""The longest stretch of neighbours that only ascends, or, by symmetry, that only descends."""
LONGEST_SUBSEQUENCE = Null("longest subsequence", _longest_subsequence)
"""The longest ascending (or descending) subsequence, neighbours or not. Takes half a second for 52 cards."""
PARITY = Null("parity", _parity)
"""0 for an even permutation, 1 for an odd one."""

PERMUTATION_NULLS = (
    DESCENTS, RISING_SEQUENCES, INVERSIONS, CYCLES, RECORDS, FIXED_POINTS, LONGEST_RUN, LONGEST_SUBSEQUENCE, PARITY,
)  # fmt: skip
"""All of the above."""
