"""GLI-19's seven tests as a laboratory reads them plainly, to be tried beside our battery: theirs against ours.

Not `--view`, which is our battery under their names: here each test is the plain one that the text suggests, of the
first card of each deck unless it says otherwise, with an exact null, two-sided, at 99 % over all seven (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import erfc, sqrt

import numpy as np
from scipy.special import chdtr, chdtrc

from audit.stats.batch import Batch, Bytes
from audit.stats.families.card_positions import position_counts, position_outcome
from audit.stats.families.successors import SUCCESSORS
from audit.stats.nulls import Pmf, sum_tail
from audit.stats.nulls.pvalue import binomial_tails, sidak, two_sided

LEVEL = 0.01
"""The chance that one of the seven fails a fair room."""
WINDOW = 236
"""Decks after which all 52 first cards have come half the time, the mean of the coupon collector's wait."""


@dataclass(frozen=True)
class PlainTest:
    """One of the seven.

    Attributes:
        name: as GLI-19 has it.
        read_as: how the text was read.
        p: from decks, (N, n), in the order of the deal, to a p-value.
    """

    name: str
    read_as: str
    p: Callable[[Bytes], float]


def _total_distribution(decks: Bytes) -> float:
    return position_outcome(position_counts(decks.T), len(decks), "card").p


def _overlaps(decks: Bytes) -> float:
    n = decks.shape[1]
    outcomes = SUCCESSORS.pvalues(SUCCESSORS.count(Batch(decks)), n, len(decks))
    ps = [each.p for each in outcomes if each.name in ("neighbours at distance 1", "order at distance 1")]
    return sidak(min(ps), len(ps))


@cache
def distinct_null(n: int, draws: int) -> Pmf:
    """Returns the distribution of the number of distinct values among `draws` with replacement from n."""
    chance = np.zeros(n + 1)
    chance[0] = 1.0
    for _ in range(draws):
        seen = np.arange(n + 1) / n
        chance = chance * seen + np.concatenate([[0.0], (chance * (1 - seen))[:-1]])
    return Pmf(np.arange(n + 1), chance)


def _coupon_collector(decks: Bytes) -> float:
    windows = len(decks) // WINDOW
    if not windows:
        return 1.0
    null = distinct_null(decks.shape[1], WINDOW)
    first = np.sort(decks[: windows * WINDOW, 0].reshape(windows, WINDOW), axis=1)
    distinct = int(windows + np.count_nonzero(first[:, 1:] != first[:, :-1]))
    return two_sided(*sum_tail(null.support, null.prob, windows, distinct))


def _runs(decks: Bytes) -> float:
    high = decks[:, 0] >= decks.shape[1] // 2
    return two_sided(*binomial_tails(int(np.count_nonzero(high[1:] != high[:-1])), len(high) - 1, 0.5))


def _interplay(decks: Bytes) -> float:
    n = decks.shape[1]
    kinds = n // 4
    cells = np.bincount((decks[:, 0] >> 2).astype(np.intp) * kinds + (decks[:, -1] >> 2), minlength=kinds**2)
    chance = np.full((kinds, kinds), 16.0)
    np.fill_diagonal(chance, 12.0)  # without replacement: 3 of 51, not 4 of 52
    chance /= n * (n - 1)
    expected = len(decks) * chance.reshape(-1)
    statistic = float(((cells - expected) ** 2 / expected).sum())
    return two_sided(*_chi_square_tails(statistic, kinds**2 - 1))


def _chi_square_tails(statistic: float, df: int) -> tuple[float, float]:
    return float(chdtr(df, statistic)), float(chdtrc(df, statistic))


def _serial_correlation(decks: Bytes) -> float:
    """Knuth's: the circular correlation of the first cards, with its mean and variance over all their orders."""
    first = decks[:, 0].astype(np.float64)
    count = len(first)
    centred = first - first.mean()
    square = float(centred @ centred)
    if square == 0:
        return 0.0
    found = float(centred @ np.roll(centred, -1)) / square
    mean, variance = -1 / (count - 1), count**2 / ((count - 1) ** 2 * (count - 2))
    return erfc(abs(found - mean) / sqrt(2 * variance))


def _duplicates(decks: Bytes) -> float:
    same = int(np.count_nonzero(decks[1:, 0] == decks[:-1, 0]))
    return two_sided(*binomial_tails(same, len(decks) - 1, 1 / decks.shape[1]))


SEVEN = (
    PlainTest("total distribution", "chi-square of cards by position, 2601 degrees of freedom", _total_distribution),
    PlainTest("overlaps", "which card follows which, overlapping pairs round the deck", _overlaps),
    PlainTest("coupon collector", f"distinct first cards in each {WINDOW} decks in a row", _coupon_collector),
    PlainTest("runs", "runs of first cards above and below the middle", _runs),
    PlainTest("interplay", "ranks of first and last card, 3 of 51 on the diagonal and not 4 of 52", _interplay),
    PlainTest("serial correlation", "first card of a deck and of the next", _serial_correlation),
    PlainTest("duplicates", "first cards that equal the one before", _duplicates),
)  # fmt: skip


def examine_plainly(decks: Bytes) -> tuple[bool, str, float]:
    """Makes the seven tests; returns whether one fails, the most surprising one, and its p with all seven paid for."""
    ps = {test.name: test.p(decks) for test in SEVEN}
    name = min(ps, key=lambda each: ps[each])
    p = min(1.0, len(SEVEN) * ps[name])
    return p < LEVEL, name, p
