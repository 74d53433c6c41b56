"""Shuffling by sorting: keys that are too short, and comparators that toss a coin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audit.stats.gallery.shuffler import CARDS, Decks, by_keys, new_decks


def short_keys(rng: np.random.Generator, count: int, bits: int) -> Decks:
    """Random sort keys that are too short: cards with equal keys keep their order in the new deck."""
    return by_keys(rng.integers(0, 1 << bits, size=(count, CARDS), dtype=np.uint32))


def insertion_sort(rng: np.random.Generator, count: int) -> Decks:
    """Insertion sort with a comparator that tosses a coin: `cards.sort(() => Math.random() - 0.5)` on short arrays.

    The browser choice screen that Microsoft showed to European users in 2010 was shuffled by a sort of this kind (Rob
    Weir found it). Each card moves up past a run of heads only.
    """
    moves = rng.geometric(0.5, size=(count, CARDS)) - 1
    decks = new_decks(count)
    position = np.arange(CARDS)
    for card in range(1, CARDS):
        to = np.maximum(card - moves[:, card, None], 0)
        # From `to` on the cards before `card` make room; the card itself goes to `to`.
        order = np.where((position > to) & (position <= card), position - 1, np.where(position == to, card, position))
        decks = np.take_along_axis(decks, order, axis=1)
    return decks


def _merge(rng: np.random.Generator, left: Decks, right: Decks) -> Decks:
    """Two piles into one, at each step from either by the toss of a coin until one is out."""
    count = len(left)
    total = left.shape[1] + right.shape[1]
    merged = np.empty((count, total), dtype=np.uint8)
    coins = rng.integers(0, 2, size=(count, total), dtype=np.uint8).astype(bool)
    rows = np.arange(count)
    of_left = np.zeros(count, dtype=np.intp)
    for at in range(total):
        of_right = at - of_left
        take_left = np.where(of_left == left.shape[1], False, np.where(of_right == right.shape[1], True, coins[:, at]))
        merged[:, at] = np.where(
            take_left,
            left[rows, np.minimum(of_left, left.shape[1] - 1)],
            right[rows, np.minimum(of_right, right.shape[1] - 1)],
        )
        of_left += take_left
    return merged


def merge_sort(rng: np.random.Generator, count: int) -> Decks:
    """Merge sort with a comparator that tosses a coin, as in browsers whose `sort` was a merge sort."""

    def sort(decks: Decks) -> Decks:
        if decks.shape[1] < 2:
            return decks
        half = decks.shape[1] // 2
        return _merge(rng, sort(decks[:, :half]), sort(decks[:, half:]))

    return sort(new_decks(count))


def quick_sort(rng: np.random.Generator, count: int) -> Decks:
    """Quick sort with a comparator that tosses a coin: each card goes before or after the pivot, whatever it is.

    The pivot is the first card of its part, and each part keeps its order.
    """
    decks = new_decks(count)
    parts: NDArray[np.int64] = np.zeros((count, CARDS), dtype=np.int64)
    while True:
        begins = np.ones((count, CARDS), dtype=bool)
        begins[:, 1:] = parts[:, 1:] != parts[:, :-1]
        if begins.all():
            return decks
        coins = rng.integers(0, 2, size=(count, CARDS))
        sides = np.where(begins, 1, 2 * coins)
        keys = 3 * parts + sides
        order = np.argsort(keys, axis=1, kind="stable")
        decks = np.take_along_axis(decks, order, axis=1)
        sorted_keys = np.take_along_axis(keys, order, axis=1)
        parts[:, 0] = 0
        parts[:, 1:] = np.cumsum(sorted_keys[:, 1:] != sorted_keys[:, :-1], axis=1)
