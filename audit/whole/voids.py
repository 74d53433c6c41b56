"""Who would have won the void hands: every seat's rank by its whole deck, dealt to all seats as if nobody folded.

The ranks use nothing but the deck, so whatever happened in the play cannot have moved them; and every deck being as
likely as any other, each seat is equally likely to have each rank. `audit.whole.rates` tests void hands against that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from audit import protocol
from audit.hand.replay import stud_street
from audit.record.entries import STUD_GAMES, Commit
from audit.record.events import STREETS

_RANKS = {rank: value for value, rank in enumerate(protocol.RANKS, 2)}
_WHEEL = {14, 2, 3, 4, 5}
THIRD_STREET_CARDS = 3


class VoidedHand(NamedTuple):
    """A void hand's seats and, for each, its rank among them (1 is best): by three cards, and by the whole hand."""

    table: str
    seats: tuple[int, ...]
    third: tuple[int, ...]
    whole: tuple[int, ...]


@lru_cache(maxsize=64)
def _owners(seats: tuple[int, ...], size: int) -> tuple[tuple[int, ...], ...]:
    """The positions of each seat's cards, in the order dealt, where nobody folds; the board's belong to everybody."""
    positions: dict[int, list[int]] = {seat: [] for seat in seats}
    dealt = 0
    for street in STREETS:
        cards = stud_street(street, seats, dealt, size - dealt)
        for position, seat in zip(cards.positions, cards.seats, strict=True):
            for owner in (seat,) if seat else seats:
                positions[owner].append(position)
        dealt += len(cards.positions)
    return tuple(tuple(positions[seat]) for seat in seats)


def voided_hand(commit: Commit, deck: Sequence[str]) -> VoidedHand | None:
    """Returns the ranks of a void hand's seats; None for games whose hands this page cannot deal to the end.

    Args:
        commit: the hand's commit.
        deck: its whole deck, top first.
    """
    if commit.game not in STUD_GAMES:
        return None
    hands = [[deck[position] for position in owned] for owned in _owners(commit.seats, len(deck))]
    third = _order([hand[:THIRD_STREET_CARDS] for hand in hands])
    return VoidedHand(commit.table, commit.seats, third, _order(hands))


def _order(hands: list[list[str]]) -> tuple[int, ...]:
    # Equal hands are ordered by their cards with suits, which no two seats share: as fair as any lot, and repeatable.
    keys = [(strength(hand), sorted(((_RANKS[c[0]], c[1]) for c in hand), reverse=True)) for hand in hands]
    best_first = sorted(keys, reverse=True)
    return tuple(best_first.index(key) + 1 for key in keys)


def strength(cards: Sequence[str]) -> tuple[int, ...]:
    """Returns how strong the best five (or fewer) of these cards are as a high hand; higher tuples win.

    The first number is the kind: 8 straight flush, 7 four of a kind, 6 full house, 5 flush, 4 straight, 3 three of a
    kind, 2 two pair, 1 pair, 0 high card; the rest orders hands of one kind.

    >>> strength(["Ah", "As", "7c"]) > strength(["Kd", "Kh", "Ac"])
    True
    >>> strength(["2c", "3d", "4h", "5s", "Ac", "Kc", "9d"])
    (4, 5)
    """
    values = [_RANKS[card[0]] for card in cards]
    suits: dict[str, list[int]] = {}
    for card, value in zip(cards, values, strict=True):
        suits.setdefault(card[1], []).append(value)
    flush = next((sorted(suited, reverse=True) for suited in suits.values() if len(suited) >= 5), None)
    if flush is not None and (top := _straight(set(flush))):
        return 8, top
    counts = sorted(Counter(values).items(), key=lambda item: (item[1], item[0]), reverse=True)
    (first, most) = counts[0]
    rest = sorted((value for value in set(values) if value != first), reverse=True)
    if most == 4:
        return 7, first, *rest[:1]
    second = next((value for value, count in counts[1:] if count >= 2), 0)
    if most == 3 and second:
        return 6, first, max(value for value, count in counts[1:] if count >= 2)
    if flush is not None:
        return 5, *flush[:5]
    if top := _straight(set(values)):
        return 4, top
    if most == 3:
        return 3, first, *rest[:2]
    if most == 2 and second:
        return 2, first, second, *[value for value in rest if value != second][:1]
    if most == 2:
        return 1, first, *rest[:3]
    return 0, first, *rest[:4]


def _straight(values: set[int]) -> int:
    """Returns the highest card of the best straight among these values, 0 where there is none."""
    for top in range(14, 5, -1):
        if all(top - step in values for step in range(5)):
            return top
    return 5 if values >= _WHEEL else 0
