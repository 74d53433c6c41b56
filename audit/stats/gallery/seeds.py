"""Shuffles that are right but for how few seeds there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audit.stats.gallery.shuffler import CARDS, Decks, by_keys

MILLISECONDS_A_DAY = 86_400_000


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output step of SplitMix64 (Steele, Lea and Flood, 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def deck_of_seed(seeds: NDArray[np.uint64]) -> Decks:
    """The one deck of each seed, by 64-bit sort keys."""
    steps = np.arange(1, CARDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return by_keys(_mixed(_mixed(seeds)[:, None] + steps))


def few_seeds(rng: np.random.Generator, count: int, bits: int) -> Decks:
    """A generator seeded from too small a space: each seed has its one deck, however good the generator is."""
    return deck_of_seed(rng.integers(0, 1 << bits, size=count, dtype=np.uint64))


def clock_seeds(rng: np.random.Generator, count: int) -> Decks:
    """Seeded by the milliseconds of the day (86.4 million, 2^26.4), as ASF Software's shuffle of 1999 was."""
    return deck_of_seed(rng.integers(0, MILLISECONDS_A_DAY, size=count, dtype=np.uint64))
