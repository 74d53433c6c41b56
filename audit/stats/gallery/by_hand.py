"""Shuffles of human hands and of machines that imitate them, each begun from a new deck."""

from __future__ import annotations

import numpy as np

from audit.stats.gallery.shuffler import CARDS, Decks, arrange, by_keys, inverted, new_decks

OVERHAND_CUT = 0.2
"""The chance that an overhand packet ends after a card: packets of five on average."""

SHELVES = 10


def riffle(rng: np.random.Generator, count: int, times: int) -> Decks:
    """Riffle shuffles in the model of Gilbert, Shannon and Reeds: cut by coin tosses, cards fall in proportion.

    Bayer and Diaconis, "Trailing the dovetail shuffle to its lair" (1992). Read backwards, `times` riffles sort the
    cards by as many random bits, which is how they are made here.
    """
    return inverted(by_keys(rng.integers(0, 1 << times, size=(count, CARDS), dtype=np.uint32)))


def overhand(rng: np.random.Generator, count: int, times: int) -> Decks:
    """Overhand shuffles: packets of five cards or so slide off the deck and pile up in reverse order.

    Robin Pemantle, "Randomization time for the overhand shuffle" (1989): thousands would be needed.
    """
    decks = new_decks(count)
    for _ in range(times):
        packets = np.zeros((count, CARDS), dtype=np.int8)
        np.cumsum(rng.random((count, CARDS - 1)) < OVERHAND_CUT, axis=1, out=packets[:, 1:])
        decks = arrange(decks, np.argsort(-packets, axis=1, kind="stable"))
    return decks


def shelf_machine(rng: np.random.Generator, count: int) -> Decks:
    """A shelf-shuffling machine with ten shelves, gone through once: each card goes on top of or below a random pile.

    Diaconis, Fulman and Holmes, "Analysis of casino shelf shuffling machines" (2013), who were asked by the maker.
    """
    places = rng.integers(0, 2 * SHELVES, size=(count, CARDS))
    shelf, below = places // 2, places % 2
    # Within a shelf what went on top lies in reverse order above what went below in order.
    dealt = np.arange(CARDS)
    keys = shelf * 4 * CARDS + np.where(below == 1, 2 * CARDS + dealt, CARDS - dealt)
    return by_keys(keys)
