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
    """For every set of ranks, as a 13-bit mask with the deuce lowest, its `count` highest ranks."""
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
    """For every set of ranks the top card of its best straight as a one-bit mask, 0 where there is none."""
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
def _flush_best() -> Masks:
    """For every set of ranks of one suit its five highest where there are five, otherwise nothing."""
    table = _highest(5).copy()
    table[np.bitwise_count(np.arange(_ALL, dtype=np.uint16)) < 5] = 0
    return table


def _worth(category: int, first: NDArray[Any], then: NDArray[Any] | int, holds: NDArray[Any]) -> NDArray[np.uint32]:
    """Category, deciding ranks and kickers joined; 0 where `holds` is 0."""
    joined: NDArray[np.uint32] = first.astype(np.uint32) << np.uint32(13)
    joined |= np.asarray(then, np.uint32)
    joined |= np.uint32(category << CATEGORY_SHIFT)
    joined[holds == 0] = 0
    return joined


def hand_worth(bits: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """What the best five of up to seven cards are worth: more is better, equal is a tie.

    Args:
        bits: for each hand its cards as bits 16 * suit + rank joined.
    """
    clubs, diamonds, hearts, spades = (
        (bits >> np.uint64(16 * suit)).astype(np.uint16) & np.uint16(_ALL - 1) for suit in range(4)
    )
    minor_any, major_any = clubs | diamonds, hearts | spades
    minor_both, major_both = clubs & diamonds, hearts & spades
    ranks = minor_any | major_any
    two = minor_both | major_both | (minor_any & major_any)
    three = (minor_both & major_any) | (major_both & minor_any)
    four = minor_both & major_both

    top1, top2, top3, top5 = _highest(1), _highest(2), _highest(3), _highest(5)
    flushes = _flush_best()
    flush = flushes[clubs] | flushes[diamonds] | flushes[hearts] | flushes[spades]
    straight = _straight()[ranks]

    worth = _worth(0, np.zeros_like(ranks), top5[ranks], ranks)
    one_pair = top1[two]
    np.maximum(worth, _worth(1, one_pair, top3[ranks & ~one_pair], two), out=worth)
    two_pair = top2[two]
    np.maximum(worth, _worth(2, two_pair, top1[ranks & ~two_pair], two_pair ^ one_pair), out=worth)
    np.maximum(worth, _worth(4, straight, 0, straight), out=worth)
    np.maximum(worth, _worth(5, flush, 0, flush), out=worth)
    # The rest is rare enough to be worked out only where it is.
    rare = np.flatnonzero(three)
    if rare.size:
        some, pairs = ranks[rare], two[rare]
        trips = top1[three[rare]]
        full = top1[pairs & ~trips]
        best = np.maximum(worth[rare], _worth(3, trips, top2[some & ~trips], trips))
        np.maximum(best, _worth(6, trips, full, full), out=best)
        quads = four[rare]
        np.maximum(best, _worth(7, quads, top1[some & ~quads], quads), out=best)
        worth[rare] = best
    rare = np.flatnonzero((flush != 0) & (straight != 0))
    if rare.size:
        straights = _straight()
        top = straights[clubs[rare]] | straights[diamonds[rare]] | straights[hearts[rare]] | straights[spades[rare]]
        worth[rare] = np.maximum(worth[rare], _worth(8, top, 0, top))
    return worth
