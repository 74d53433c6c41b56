"""Exact odds of what players are dealt: poker categories, third-street hands and paired hole cards.

All are counts of equally likely card sets of a full 52-card deck (STATISTICS.md section 1, "what players get").
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from math import comb, factorial, prod

from audit.stats.nulls.permutations import Counts

CATEGORIES = (
    "high card", "one pair", "two pair", "three of a kind", "straight", "flush", "full house", "four of a kind",
    "straight flush",
)  # fmt: skip
"""Categories of the best five cards, worst first; a royal flush is a straight flush."""

THIRD_STREET = ("high card", "pair", "flush", "straight", "three of a kind", "straight flush")
"""Kinds of three cards, commonest first; the ace is high or low in a straight."""

_RANKS = 13
_SUITS = 4


def _has_straight(ranks: tuple[int, ...], length: int) -> bool:
    """Checks whether `ranks` (0 for the deuce to 12 for the ace) hold `length` in a row, the ace high or low."""
    have = {*ranks, *([-1] if _RANKS - 1 in ranks else [])}
    return any(all(low + step in have for step in range(length)) for low in range(-1, _RANKS - length + 1))


@cache
def _rank_sets(size: int, length: int) -> tuple[int, int]:
    """Counts the sets of `size` ranks that hold a straight of `length`, and those that do not."""
    straights = sum(_has_straight(ranks, length) for ranks in combinations(range(_RANKS), size))
    return straights, comb(_RANKS, size) - straights


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yields the ways to write `total` as a descending sum of parts of at most `largest`."""
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)


def _flush_ways(copies: tuple[int, ...], flush: int) -> int:
    """Counts the suit choices for ranks held `copies` times each in which some suit has `flush` cards or more."""
    in_suit = [1]
    for count in copies:
        here = [0] * (len(in_suit) + 1)
        for k, ways in enumerate(in_suit):
            here[k] += ways * comb(_SUITS - 1, count)
            here[k + 1] += ways * comb(_SUITS - 1, count - 1)
        in_suit = here
    return _SUITS * sum(in_suit[flush:])


def _plain_category(copies: tuple[int, ...]) -> int:
    """Returns the category by equal ranks alone of ranks held `copies` times each, most first."""
    most, second = copies[0], copies[1] if len(copies) > 1 else 0
    if most == 4:
        return 7
    if most == 3:
        return 6 if second >= 2 else 3
    if most == 2:
        return 2 if second == 2 else 1
    return 0


def _straight_flushes(cards: int) -> int:
    """Counts the hands of `cards` (at most 9, so that one suit has five) with five in a row in one suit."""
    return _SUITS * sum(
        _rank_sets(size, 5)[0] * comb((_SUITS - 1) * _RANKS, cards - size) for size in range(5, cards + 1)
    )


@cache
def category_counts(cards: int) -> Counts:
    """Counts the hands of five to seven cards by the category of their best five, in the order of `CATEGORIES`.

    Raises:
        ValueError: For other numbers of cards: with eight, a flush and a full house can be in one hand.
    """
    if not 5 <= cards <= 7:
        raise ValueError(f"categories are counted for five to seven cards, not {cards}")
    ways = [0] * len(CATEGORIES)
    for copies in _partitions(cards, _SUITS):
        if len(copies) > _RANKS:
            continue
        assignments = factorial(len(copies)) // prod(factorial(copies.count(part)) for part in set(copies))
        suits = prod(comb(_SUITS, part) for part in copies)
        flushes = _flush_ways(copies, 5)
        straight, other = (sets * assignments for sets in _rank_sets(len(copies), 5))
        plain = _plain_category(copies)
        ways[5] += (straight + other) * flushes
        ways[plain] += other * (suits - flushes)
        ways[max(plain, 4)] += straight * (suits - flushes)
    ways[8] = _straight_flushes(cards)
    ways[5] -= ways[8]
    return Counts(0, tuple(ways))


@cache
def third_street_counts() -> Counts:
    """Counts the C(52, 3) three-card hands by kind, in the order of `THIRD_STREET`."""
    straights, other = _rank_sets(3, 3)
    return Counts(
        0,
        (
            other * (_SUITS**3 - _SUITS),
            _RANKS * comb(_SUITS, 2) * (_RANKS - 1) * _SUITS,
            other * _SUITS,
            straights * (_SUITS**3 - _SUITS),
            _RANKS * comb(_SUITS, 3),
            straights * _SUITS,
        ),
    )


@cache
def paired_hole_counts(seats: int) -> Counts:
    """Counts the deals of two hole cards to each of `seats`, by how many seats hold a pair.

    Raises:
        ValueError: Unless there are 1 to 26 seats.
    """
    if not 1 <= seats <= 26:
        raise ValueError(f"hole cards go to 1 to 26 seats, not {seats}")
    cards = _RANKS * _SUITS
    # One rank gives no pair in one way, one seat a pair in C(4, 2) ways, two different seats a pair each in C(4, 2).
    pairs = comb(_SUITS, 2)
    paired = [1]
    for _ in range(_RANKS):
        longer = [0] * (len(paired) + 2)
        for seats_so_far, ways in enumerate(paired):
            free = (seats_so_far + 1, (seats_so_far + 2) * (seats_so_far + 1) // 2)
            longer[seats_so_far] += ways
            longer[seats_so_far + 1] += ways * pairs * free[0]
            longer[seats_so_far + 2] += ways * pairs * free[1]
        paired = longer
    at_least = [
        comb(seats, k) * paired[k] * prod(comb(cards - 2 * seat, 2) for seat in range(k, seats))
        for k in range(seats + 1)
    ]
    return Counts(
        0,
        tuple(sum((-1) ** (m - k) * comb(m, k) * at_least[m] for m in range(k, seats + 1)) for k in range(seats + 1)),
    )
