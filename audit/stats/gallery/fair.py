"""Fair shufflers: against these the battery must keep silent."""

from __future__ import annotations

import numpy as np

from audit import protocol
from audit.stats.gallery.shuffler import CARDS, Decks, by_keys, fair_decks


def permuted(rng: np.random.Generator, count: int) -> Decks:
    """A fair shuffle: Fisher and Yates by numpy's generator, which is good for simulations but not for money."""
    return fair_decks(rng, count)


def cutcard(rng: np.random.Generator, count: int) -> Decks:
    """This product's own shuffle (protocol, section 4): SHAKE256 words, refused above a limit, a seed for each hand."""
    reference = protocol.DECKS["standard52"]
    index = {card: number for number, card in enumerate(reference)}
    digest = protocol.entropy_digest(bytes(16), [])
    decks = np.empty((count, CARDS), dtype=np.uint8)
    for deck in decks:
        source = protocol.material(rng.bytes(16), digest, rng.bytes(protocol.SEED_BYTES))
        deck[:] = [index[card] for card in protocol.shuffle(reference, source)]
    return decks


def keys_without_ties(rng: np.random.Generator, count: int) -> Decks:
    """Sort by 32-bit keys, with all 52 drawn again if two are equal: without ties every order is equally likely."""
    keys = rng.integers(0, 1 << 32, size=(count, CARDS), dtype=np.uint32)
    while len(tied := np.flatnonzero((np.diff(np.sort(keys, axis=1), axis=1) == 0).any(axis=1))):
        keys[tied] = rng.integers(0, 1 << 32, size=(len(tied), CARDS), dtype=np.uint32)
    return by_keys(keys)
