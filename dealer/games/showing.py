"""Showing hands: who brings in and who opens, by the up cards alone (STUD.md, section 2)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from dealer.core.cards import RANKS, SUITS

_BITS, _MOST = 3, 7
COUNTS: Mapping[str, int] = {rank + suit: 1 << _BITS * RANKS.index(rank) for rank in RANKS for suit in SUITS}
"""A number for each card, whose sum over up to seven cards tells how often each rank is among them."""
_DOORS = {rank + suit: (RANKS.index(rank), SUITS.index(suit)) for rank in RANKS for suit in SUITS}


def door_value(card: str) -> tuple[int, int]:
    """Orders single up cards: by rank, ace high, then by suit, clubs lowest and spades highest.

    Args:
        card: Two characters, rank then suit, such as "Td".

    Returns:
        A value that compares as the cards do.
    """
    return _DOORS[card]


def showing_value(cards: Iterable[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ranks a hand showing: four of a kind, three of a kind, two pair, pair, then high cards, with kickers.

    There are no straights or flushes, and suits do not count. Hands that are compared have the same number of cards.

    Args:
        cards: One to four up cards of one seat.

    Returns:
        How often each rank is there and the ranks themselves, both with the ranks that come most often first; it
        compares as the hands showing do.
    """
    return _value(sum([COUNTS[card] for card in cards]))


@lru_cache(maxsize=4096)
def _value(counts: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the value of up cards by the sum of their `COUNTS`, of which four cards have 2,379."""
    groups = sorted(((counts >> _BITS * rank & _MOST, rank) for rank in range(len(RANKS))), reverse=True)
    return tuple(count for count, _ in groups if count), tuple(rank for count, rank in groups if count)


def lowest_door(cards: Mapping[int, str], order: Sequence[int]) -> int:
    """Names the seat with the lowest door card, which brings in.

    Args:
        cards: The door card of each seat.
        order: Seats that may bring in, at least one; a referee leaves out those that are all-in.

    Returns:
        The seat. No two cards are equal, so there are no ties.
    """
    return min(order, key=lambda seat: door_value(cards[seat]))


def highest_showing(cards: Mapping[int, Sequence[str]], order: Sequence[int]) -> int:
    """Names the seat with the highest hand showing, which opens from fourth street on.

    Args:
        cards: The up cards of each seat, the board card not among them.
        order: Seats that may open, in dealing order, at least one; a referee leaves out those that are all-in.

    Returns:
        The seat; of equal hands, the first in `order`.
    """
    return highest_counts({seat: sum([COUNTS[card] for card in cards[seat]]) for seat in order}, order)


def highest_counts(counts: Mapping[int, int], order: Sequence[int]) -> int:
    """Names the same seat as `highest_showing`, of up cards that are given by the sum of their `COUNTS`."""
    values = [_value(counts[seat]) for seat in order]
    return order[values.index(max(values))]


def shows_pair(cards: Iterable[str]) -> bool:
    """Says whether the up cards hold at least a pair."""
    return showing_value(cards)[0][0] > 1
