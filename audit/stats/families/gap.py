"""How far the first two cards of a rank or suit lie apart: the gap test, of a deck dealt without replacement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import comb

import numpy as np

from audit.protocol import RANKS, SUITS
from audit.stats.batch import Batch, Bytes
from audit.stats.families.sums import DeckStatistic
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import Counts as Ways
from audit.stats.nulls import Pmf


def gap_null(n: int, size: int) -> Pmf:
    """Returns the distribution of the distance between the first two of `size` cards among n.

    With the first at a, `C(n - a - d, size - 2)` places are left for the others; over all a that is C(n - d, size - 1).
    """
    return Ways(1, tuple(comb(n - d, size - 1) for d in range(1, n - size + 2))).pmf()


def _first_gap(places: Bytes) -> Bytes:
    """Returns the distance between the two smallest of each column."""
    first = np.partition(places, 1, axis=0)
    gap: Bytes = first[1] - first[0]
    return gap


def _rank_gap(rank: int, batch: Batch) -> Bytes:
    return _first_gap(batch.where[4 * rank : 4 * rank + 4])


def _suit_gap(suit: int, batch: Batch) -> Bytes:
    return _first_gap(batch.where[suit::4])


def _rank_null(n: int) -> Pmf:
    return gap_null(n, 4)


def _suit_null(n: int) -> Pmf:
    return gap_null(n, n // 4)


def _statistic(what: str, values: Callable[[Batch], Bytes], null: Callable[[int], Pmf]) -> DeckStatistic:
    return DeckStatistic(f"gap of {what}", values, null)


_BY_SUIT = tuple(_statistic(suit, partial(_suit_gap, at), _suit_null) for at, suit in enumerate(SUITS))


def statistics(n: int) -> tuple[DeckStatistic, ...]:
    """Returns the statistics of decks of n cards: one of each rank, highest last, and one of each suit."""
    ranks = RANKS[len(RANKS) - n // 4 :]
    by_rank = [_statistic(rank, partial(_rank_gap, at), _rank_null) for at, rank in enumerate(ranks)]
    return (*by_rank, *_BY_SUIT)


def _count(batch: Batch) -> Counts:
    return {statistic.name: statistic.histogram(batch) for statistic in statistics(batch.n)}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    return [outcome for statistic in statistics(n) for outcome in statistic.outcomes(counts[statistic.name], n)]


GAP = Family(
    "gap",
    "Cards of one rank or suit that come too soon after each other, or too late.",
    _count,
    _pvalues,
    suited=True,
    strata=False,
    statistics=_BY_SUIT,
    fewest_cards=8,
)
