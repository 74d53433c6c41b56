"""How many cards it takes until every rank or suit has come: the coupon collector, without replacement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import comb, factorial

import numpy as np

from audit.stats.batch import Batch, Bytes
from audit.stats.families.sums import DeckStatistic
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import Counts as Ways
from audit.stats.nulls import Pmf


def collector_null(classes: int, size: int) -> Pmf:
    """Returns the distribution of the number of cards dealt until each of `classes` classes of `size` cards has come.

    By inclusion and exclusion over the classes that are missing among the first k cards.
    """
    n = classes * size
    complete = [
        factorial(k)
        * factorial(n - k)
        * sum((-1) ** j * comb(classes, j) * comb(n - j * size, k) for j in range(classes + 1))
        for k in range(classes - 1, n - size + 2)
    ]
    ways = tuple(later - earlier for earlier, later in pairwise(complete))
    return Ways(classes, ways).pmf()


def _by_rank(batch: Batch) -> Bytes:
    return batch.where.reshape(batch.n // 4, 4, batch.size)


def _by_suit(batch: Batch) -> Bytes:
    return _by_rank(batch).swapaxes(0, 1)


def _from_top(places: Bytes) -> Bytes:
    """Returns the number of cards from the top until each class (axis 0) has come."""
    dealt: Bytes = places.min(axis=1).max(axis=0) + np.uint8(1)
    return dealt


def _from_end(places: Bytes, n: int) -> Bytes:
    dealt: Bytes = np.uint8(n) - places.max(axis=1).min(axis=0)
    return dealt


def _ranks(n: int) -> Pmf:
    return collector_null(n // 4, 4)


def _suits(n: int) -> Pmf:
    return collector_null(4, n // 4)


STATISTICS = (
    DeckStatistic("every rank from the top", lambda batch: _from_top(_by_rank(batch)), _ranks),
    DeckStatistic("every suit from the top", lambda batch: _from_top(_by_suit(batch)), _suits),
    DeckStatistic("every rank from the end", lambda batch: _from_end(_by_rank(batch), batch.n), _ranks),
    DeckStatistic("every suit from the end", lambda batch: _from_end(_by_suit(batch), batch.n), _suits),
)


def _count(batch: Batch) -> Counts:
    return {statistic.name: statistic.histogram(batch) for statistic in STATISTICS}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    return [outcome for statistic in STATISTICS for outcome in statistic.outcomes(counts[statistic.name], n)]


COUPON_COLLECTOR = Family(
    "coupon collector",
    "A rank or suit that is kept from one end of the deck, or spread too evenly over it.",
    _count,
    _pvalues,
    suited=True,
    strata=False,
    statistics=STATISTICS,
    fewest_cards=8,
)
