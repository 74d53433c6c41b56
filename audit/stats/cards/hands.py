"""Poker hands of many decks at once: the worth of five to seven cards as one comparable integer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.uint16]

CATEGORY_SHIFT = 26
"""`worth >> CATEGORY_SHIFT` is the category's index in `nulls.CATEGORIES`."""

_ALL = 1 << 13
_ACE, _WHEEL = 1 << 12, 0b1111


@cache
def _highest(count: int) -> Masks:
    """Returns for every set of ranks, a 13-bit mask with the deuce lowest, its `count` highest ranks."""
    table = np.zeros(_ALL, np.uint16)
    for mask in range(_ALL):
        left, kept = mask, 0
        for _ in range(count):
            if left:
                top = 1 << (left.bit_length() - 1)
                kept, left = kept | top, left ^ top
        table[mask] = kept
    return table


@cache
def _straight() -> Masks:
    """Returns for every set of ranks the top card of its best straight as a one-bit mask, or 0."""
    table = np.zeros(_ALL, np.uint16)
    for mask in range(_ALL):
        for top in range(12, 3, -1):
            if (mask >> (top - 4)) & 0b11111 == 0b11111:
                table[mask] = 1 << top
                break
        else:
            if mask & _WHEEL == _WHEEL and mask & _ACE:
                table[mask] = 1 << 3
    return table


@cache
def _kickers() -> Masks:
    """At `pairs * 2^13 + ranks`, for none, one or two pairs, the kickers of the other ranks: five, three or one."""
    return np.concatenate([_highest(5), _highest(3), _highest(1)])


def _worth(category: int, first: NDArray[Any], then: NDArray[Any] | int) -> NDArray[np.uint32]:
    """Joins category, deciding ranks and kickers."""
    joined: NDArray[np.uint32] = first.astype(np.uint32) << np.uint32(13)
    joined |= np.asarray(then, np.uint32)
    joined |= np.uint32(category << CATEGORY_SHIFT)
    return joined


def _has_flush(bits: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Hands with five cards or more of a suit."""
    in_suit = np.bitwise_count(bits.view(np.uint16))
    # A suit's count is a byte: three more than it has bit 3 set from five on.
    in_suit += np.uint8(3)
    return np.flatnonzero(in_suit.view(np.uint32) & np.uint32(0x08080808))


def hand_worth(bits: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Values the best five of up to seven cards: more is better, equal is a tie.

    Args:
        bits: for each hand its cards as bits 16 * suit + rank joined; contiguous.
    """
    clubs, diamonds, hearts, spades = ((bits >> np.uint64(16 * suit)).astype(np.uint16) for suit in range(4))
    minor_any, major_any = clubs | diamonds, hearts | spades
    minor_both, major_both = clubs & diamonds, hearts & spades
    ranks = minor_any | major_any
    two = minor_both | major_both | (minor_any & major_any)
    three = (minor_both & major_any) | (major_both & minor_any)

    # High card, one pair and two pair alike: the pairs, two at most, and the kickers that their number leaves.
    pairs = _highest(2)[two]
    number = np.bitwise_count(pairs)
    kickers = _kickers()[(number.astype(np.uint16) << np.uint16(13)) | (ranks ^ pairs)]
    worth = _worth(0, pairs, kickers)
    worth |= number.astype(np.uint32) << np.uint32(CATEGORY_SHIFT)

    # The rest is rare enough to be worked out only where it is.
    straight = _straight()[ranks]
    if (rare := np.flatnonzero(straight)).size:
        worth[rare] = np.maximum(worth[rare], _worth(4, straight[rare], 0))
    if (rare := np.flatnonzero(three)).size:
        some, paired = ranks[rare], two[rare]
        top1 = _highest(1)
        trips = top1[three[rare]]
        best = np.maximum(worth[rare], _worth(3, trips, _highest(2)[some & ~trips]))
        full = top1[paired & ~trips]
        best = np.where(full, _worth(6, trips, full), best)
        quads = (minor_both & major_both)[rare]
        worth[rare] = np.where(quads, _worth(7, quads, top1[some & ~quads]), best)
    if (rare := _has_flush(bits)).size:
        suits = [suit[rare] for suit in (clubs, diamonds, hearts, spades)]
        flush = np.maximum.reduce([np.where(np.bitwise_count(suit) >= 5, suit, 0) for suit in suits])
        best = np.maximum(worth[rare], _worth(5, _highest(5)[flush], 0))
        top = np.maximum.reduce([_straight()[suit] for suit in suits])
        worth[rare] = np.where(top, _worth(8, top, 0), best)
    return worth
