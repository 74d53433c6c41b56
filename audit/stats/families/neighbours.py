"""Neighbours of the same rank, suit or colour: clumps that a few riffles leave, whatever the order was before."""

from __future__ import annotations

from collections.abc import Sequence

from audit.stats.batch import Batch
from audit.stats.families.permutations import column_sums
from audit.stats.families.sums import DeckStatistic
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import Pmf, same_class_neighbours


def _ranks(n: int) -> Pmf:
    return same_class_neighbours(n // 4, 4).pmf()


def _suits(n: int) -> Pmf:
    return same_class_neighbours(4, n // 4).pmf()


def _colours(n: int) -> Pmf:
    return same_class_neighbours(2, n // 2).pmf()


STATISTICS = (
    DeckStatistic("neighbours of one rank", lambda batch: column_sums(batch.ranks[1:] == batch.ranks[:-1]), _ranks),
    DeckStatistic("neighbours of one suit", lambda batch: column_sums(batch.suits[1:] == batch.suits[:-1]), _suits),
    DeckStatistic("neighbours of one colour", lambda batch: column_sums(batch.reds[1:] == batch.reds[:-1]), _colours),
)


def _count(batch: Batch) -> Counts:
    return {statistic.name: statistic.histogram(batch) for statistic in STATISTICS}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    return [outcome for statistic in STATISTICS for outcome in statistic.outcomes(counts[statistic.name], n)]


NEIGHBOURS = Family(
    "neighbours",
    "Cards of one rank, suit or colour that stay together or are kept apart.",
    _count,
    _pvalues,
    suited=True,
    statistics=STATISTICS,
    fewest_cards=8,
)
