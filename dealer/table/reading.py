"""Reads hands: the best high and the best low in seven cards, and the five cards that make them (STUD.md, section 5).

A value compares with other values of its half: greater is better, equal hands split.
"""

from collections.abc import Sequence
from itertools import combinations

from phevaluator import evaluate_5cards, evaluate_cards

from dealer.core.cards import DECK_KINDS, RANKS, SUITS

_CARD = DECK_KINDS["standard52"]
_ID = {card: number for number, card in enumerate(_CARD)}
"""The evaluator's own number for each card: by rank and then suit, as our reference order. Numbers are read faster."""
_LOW_RANKS = "A" + RANKS[:-1]
_LOW_ORDER = {rank + suit: 4 * r + s for r, rank in enumerate(_LOW_RANKS) for s, suit in enumerate(SUITS)}
_LOW_BIT = {card: 1 << order // 4 for card, order in _LOW_ORDER.items() if order // 4 < 8}
"""One bit for each rank that may stand in a low, eight or lower, the ace's the lowest."""


def high_value(cards: Sequence[str]) -> int:
    """Returns the value of the best five of five to seven cards as a high hand."""
    return -int(evaluate_cards(*[_ID[card] for card in cards]))


def high_five(cards: Sequence[str], value: int) -> tuple[str, ...]:
    """Returns the five cards of the best high hand, highest first, by rank (ace high) and then suit (spades first).

    Where several fives make the same hand, it is the first in this order: `combinations` keeps the order of what it
    is given, so the first that it comes to.

    Args:
        cards: five to seven cards.
        value: their `high_value`.
    """
    ordered = sorted([_ID[card] for card in cards], reverse=True)
    return tuple([_CARD[card] for card in next(c for c in combinations(ordered, 5) if evaluate_5cards(*c) == -value)])


def high_order(five: Sequence[str]) -> list[int]:
    """Sorts tied high hands: of two, the greater gets the odd chip first (STUD.md, section 6)."""
    return [_ID[card] for card in five]


def low_value(cards: Sequence[str]) -> int | None:
    """Returns the value of the best low, five different ranks of eight or lower, ace low; None where there is no low.

    As a set of bits, the low whose highest card is lowest, then the next, is the smallest number.
    """
    ranks = 0
    for card in cards:
        ranks |= _LOW_BIT.get(card, 0)
    while ranks.bit_count() > 5:
        ranks ^= 1 << (ranks.bit_length() - 1)
    return -ranks if ranks.bit_count() == 5 else None


def low_five(cards: Sequence[str]) -> tuple[str, ...]:
    """Returns the five cards of the best low, highest first, by rank (ace lowest) and then suit (spades first).

    The cards must hold a low. Of two cards of one rank, the higher suit stands for it.
    """
    best: dict[str, str] = {}
    for card in sorted(cards, key=_LOW_ORDER.__getitem__):
        if card in _LOW_BIT:
            best[card[0]] = card
    return tuple(reversed(list(best.values())[:5]))


def low_order(five: Sequence[str]) -> list[int]:
    """Sorts tied lows: of two, the greater gets the odd chip first (STUD.md, section 6)."""
    return [_LOW_ORDER[card] for card in five]
