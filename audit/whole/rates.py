"""How often each table's hands were void and values withheld, and whether its voids seem to depend on the deck.

These are observations: an auditor reports them and draws no verdict from them (PROTOCOL.md section 10). To stay silent
or to void is a choice that somebody may make with knowledge; only rates can show it.

The test: over a table's void hands, how often was each seat's hand the best (`audit.whole.voids`), and how did it
rank by its first three cards and by the whole hand? If voids do not look at the deck, a seat among S is best with
probability 1/S and its rank is uniform on 1 to S, whatever the players do. The p-values are exact (normal beyond
`EXACT_HANDS` hands), of both sides, and adjusted for the number of seats and for there being three statistics (the
first weighs most).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from audit.whole.lifecycle import TableLife
from audit.whole.voids import VoidedHand

EXACT_HANDS = 400
LEAST_HANDS = 5
NOTABLE = 0.05
_WEIGHTS = {"best": 0.8, "whole hand": 0.1, "third street": 0.1}
_SLACK = 1 + 1e-9


@dataclass(slots=True)
class _Seat:
    """Over the void hands of one seat: how many at each number of seats, times best, sums of ranks."""

    hands: dict[int, int] = field(default_factory=dict)
    best: int = 0
    whole: int = 0
    third: int = 0


@dataclass(frozen=True, slots=True)
class SeatVoids:
    """One seat over a table's void hands.

    Attributes:
        seat: its number.
        hands: void hands with known decks that it sat in.
        best: in how many its hand would have been the best.
        expected: in how many it should have been, on average.
        statistic: which of the statistics stands out most: `best`, `whole hand` or `third street`.
        p: the p-value of that one.
        p_adjusted: the same, adjusted for all seats and statistics of the table.
    """

    seat: int
    hands: int
    best: int
    expected: float
    statistic: str
    p: float
    p_adjusted: float

    @property
    def notable(self) -> bool:
        """Whether it stands out at the table."""
        return self.p_adjusted < NOTABLE


class VoidTest:
    """Gathers void hands by table and seat, and tests them; memory grows with tables and seats alone."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[int, _Seat]] = {}

    def add(self, hands: Iterable[VoidedHand]) -> None:
        """Adds void hands, in any order."""
        for hand in hands:
            table = self._tables.setdefault(hand.table, {})
            size = len(hand.seats)
            for number, third, whole in zip(hand.seats, hand.third, hand.whole, strict=True):
                seat = table.setdefault(number, _Seat())
                seat.hands[size] = seat.hands.get(size, 0) + 1
                seat.best += whole == 1
                seat.whole += whole
                seat.third += third

    def result(self, table: str) -> tuple[SeatVoids, ...]:
        """Returns every seat of a table that was in enough void hands, the one that stands out most first."""
        seats = {n: s for n, s in self._tables.get(table, {}).items() if sum(s.hands.values()) >= LEAST_HANDS}
        rows = []
        for number, seat in sorted(seats.items()):
            values = {
                "best": _p_best(seat.hands, seat.best),
                "whole hand": _p_ranks(seat.hands, seat.whole),
                "third street": _p_ranks(seat.hands, seat.third),
            }
            adjusted = {name: min(1.0, p * len(seats) / _WEIGHTS[name]) for name, p in values.items()}
            name = min(adjusted, key=lambda each: (adjusted[each], values[each]))
            expected = sum(count / size for size, count in seat.hands.items())
            rows.append(
                SeatVoids(number, sum(seat.hands.values()), seat.best, expected, name, values[name], adjusted[name])
            )
        return tuple(sorted(rows, key=lambda row: (row.p_adjusted, row.p, row.seat)))


def _two_sided(distribution: list[float], observed: int) -> float:
    """Returns the probability of everything that is no likelier than what was observed."""
    bar = distribution[observed] * _SLACK
    return min(1.0, math.fsum(p for p in distribution if p <= bar))


def _normal(observed: float, mean: float, variance: float) -> float:
    distance = max(0.0, abs(observed - mean) - 0.5)
    return math.erfc(distance / math.sqrt(2 * variance)) if variance > 0 else 1.0


_Hands = tuple[tuple[int, int], ...]
"""How many hands there were at each number of seats, ascending: the same for most seats of a table."""


def _p_best(hands: dict[int, int], best: int) -> float:
    """Returns the P-value of being best `best` times, where `hands` counts hands by their number of seats."""
    if sum(hands.values()) > EXACT_HANDS:
        mean = sum(count / size for size, count in hands.items())
        return _normal(best, mean, sum(count / size * (1 - 1 / size) for size, count in hands.items()))
    return _two_sided(_best_distribution(tuple(sorted(hands.items()))), best)


@lru_cache(maxsize=256)
def _best_distribution(hands: _Hands) -> list[float]:
    distribution = [1.0]
    for size, count in hands:
        for _ in range(count):
            longer = [p * (1 - 1 / size) for p in distribution] + [0.0]
            for i, p in enumerate(distribution):
                longer[i + 1] += p / size
            distribution = longer
    return distribution


def _p_ranks(hands: dict[int, int], total: int) -> float:
    """Returns the P-value of ranks that sum to `total`, each uniform on 1 to its hand's number of seats."""
    drawn = sum(hands.values())
    if drawn > EXACT_HANDS:
        mean = sum(count * (size + 1) / 2 for size, count in hands.items())
        return _normal(total, mean, sum(count * (size * size - 1) / 12 for size, count in hands.items()))
    return _two_sided(_rank_distribution(tuple(sorted(hands.items()))), total - drawn)


@lru_cache(maxsize=256)
def _rank_distribution(hands: _Hands) -> list[float]:
    """Of the sum of ranks, each counted from 0."""
    distribution = [1.0]
    for size, count in hands:
        for _ in range(count):
            longer = []
            window = 0.0
            for i in range(len(distribution) + size - 1):
                window += distribution[i] if i < len(distribution) else 0.0
                window -= distribution[i - size] if i >= size else 0.0
                longer.append(max(window, 0.0) / size)
            distribution = longer
    return distribution


@dataclass(frozen=True, slots=True)
class TableRates:
    """What a report says of one table: counts, and the void test's rows (empty where there were too few voids)."""

    life: TableLife
    voids: tuple[SeatVoids, ...]

    @property
    def void(self) -> int:
        """How many hands were void."""
        return sum(self.life.void.values())

    @property
    def open(self) -> int:
        """How many hands are open."""
        return self.life.hands - self.ended

    @property
    def ended(self) -> int:
        """How many hands were closed, however they ended."""
        return self.life.completed + self.void + self.life.lost

    @property
    def void_rate(self) -> float:
        """Void hands among those that ended."""
        return self.void / self.ended if self.ended else 0.0

    @property
    def contributors(self) -> dict[str, tuple[int, int]]:
        """For each contributor: how often invited, how often silent; in the order of their ids."""
        names = sorted({*self.life.taken, *self.life.withheld})
        silent = self.life.withheld
        return {name: (self.life.taken.get(name, 0) + silent.get(name, 0), silent.get(name, 0)) for name in names}
