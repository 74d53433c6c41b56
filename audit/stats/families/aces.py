"""Aces that a seat is dealt on third street: a rig that forces a card on a seat forces an ace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.cards.deal import TABLE_SIZES, third_street
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import sum_tail
from audit.stats.nulls.pvalue import favoured, favoured_cell, sidak

ACE_DOWN_WEIGHT = 60.0
ACES_DOWN_WEIGHT = 40.0
THIRD_STREET_WEIGHT = 20.0
"""Nothing else sees an ace that is put into now one, now the other of a seat's hole cards, so these tests have larger
shares of alpha; with the door card there is more chance in the way, and less to be had for a share."""

_ACE = 12
_DOWN, _THIRD = 2, 3

PLACES = [(seats, seat) for seats in TABLE_SIZES for seat in range(seats)]
"""All seats of all numbers of seats, in the order of the counts."""


def holds_ace(cards: int) -> float:
    """Returns the chance that so many cards hold an ace."""
    return 1 - comb(48, cards) / comb(52, cards)


@cache
def _odds(cards: int) -> NDArray[np.float64]:
    """Returns how likely 0, 1, … aces are among so many cards."""
    return np.array([comb(4, aces) * comb(48, cards - aces) for aces in range(cards + 1)]) / comb(52, cards)


def aces_at(batch: Batch) -> NDArray[np.bool_]:
    """Marks the aces among the cards of third street, (positions, N)."""
    aces: NDArray[np.bool_] = batch.ranks[: _THIRD * TABLE_SIZES[-1]] == _ACE
    return aces


def _count(batch: Batch) -> Counts:
    aces = aces_at(batch)
    down, third = [], []
    for place in PLACES:
        one, two, door = third_street(*place)
        has = aces[one] | aces[two]
        down.append(np.count_nonzero(has))
        third.append(np.count_nonzero(has | aces[door]))
    return {
        "at": np.array([np.count_nonzero(row) for row in aces], np.int64),
        "down": np.array(down, np.int64),
        "third": np.array(third, np.int64),
    }


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    at = counts["at"]
    dealt = np.array([at[list(third_street(*place))] for place in PLACES])
    return [
        _seats_with("seats with an ace down", counts["down"], _DOWN, decks, ACE_DOWN_WEIGHT),
        _number("aces down", dealt[:, :_DOWN].sum(axis=1), _DOWN, decks, ACES_DOWN_WEIGHT),
        _seats_with("seats with an ace on third street", counts["third"], _THIRD, decks, THIRD_STREET_WEIGHT),
        _number("aces on third street", dealt.sum(axis=1), _THIRD, decks, THIRD_STREET_WEIGHT),
    ]


def _seats_with(name: str, found: NDArray[np.int64], cards: int, decks: int, weight: float) -> Outcome:
    """Tests the seat that holds any ace most surprisingly often, or rarely."""
    chance = holds_ace(cards)
    p, worst = favoured_cell(found, decks, chance)
    detail = f"{_seat(worst)}: {found[worst]} times, expected {decks * chance:.1f}"
    return Outcome(name, float(found[worst]), p, len(found), detail, weight=weight)


def _number(name: str, found: NDArray[np.int64], cards: int, decks: int, weight: float) -> Outcome:
    """Tests the seat that holds the most, or the fewest, aces over all decks."""
    most, least = int(found.argmax()), int(found.argmin())
    odds, support = _odds(cards), range(cards + 1)
    upper = sidak(sum_tail(support, odds, decks, int(found[most]))[1], len(found))
    lower = sidak(sum_tail(support, odds, decks, int(found[least]))[0], len(found))
    p, too_many = favoured(upper, lower)
    worst = most if too_many else least
    detail = f"{_seat(worst)}: {found[worst]} aces, expected {decks * cards / 13:.1f}"
    return Outcome(name, float(found[worst]), p, len(found), detail, weight=weight)


def _seat(index: int) -> str:
    seats, seat = PLACES[index]
    return f"seat {seat + 1} of {seats}"


ACES = Family(
    "aces",
    "A seat that is dealt an ace too often, whichever of its cards it is.",
    _count,
    _pvalues,
    cards=52,
)
