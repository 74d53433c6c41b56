"""Decks as numbers: cards packed into words, and fingerprints by which equal decks are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

BLOCK = 10
"""Cards in a word: as many as fit into 60 bits."""


@dataclass(frozen=True)
class KeyKind:
    """One kind of key.

    Attributes:
        name: what is equal when two keys are.
        space: how many equally likely keys there are.
        rows: its rows in an array of keys: one, or two for a fingerprint of 128 bits.
    """

    name: str
    space: float
    rows: tuple[int, ...]


def whole_deck_keys(decks: NDArray[np.uint8]) -> Keys:
    """Returns (2, N) fingerprints of decks given as rows, (N, n), as in the first two rows of `deck_keys`."""
    straight = ten_in_a_word(np.ascontiguousarray(decks.T))
    return np.stack([fingerprint(straight, which) for which in range(2)])


def ten_in_a_word(cards: Sequence[NDArray[np.uint8]] | NDArray[np.uint8]) -> list[Keys]:
    """Cards one after the other, ten in a word."""
    return [packed(cards[first : first + BLOCK]) for first in range(0, len(cards), BLOCK)]


def packed(cards: Sequence[NDArray[np.uint8]] | NDArray[np.uint8]) -> Keys:
    """Packs up to ten cards, six bits each, into one word."""
    word = cards[0].astype(np.uint64)
    for card in cards[1:]:
        word <<= np.uint64(6)
        word |= card
    return word


_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)


def fingerprint(words: Sequence[Keys], which: int) -> Keys:
    """Mixes several words into 64 bits: multiply, fold the high half down, go on."""
    multiplier, fold = np.uint64(_MULTIPLIERS[which]), np.uint64(32)
    state = np.full_like(words[0], multiplier)
    for word in words:
        state = (state ^ word) * multiplier
        state ^= state >> fold
        state *= multiplier
        state ^= state >> fold
    return state
