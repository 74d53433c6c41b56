"""Right shuffles on generators as the field has them: seeded from too little, repeating, shared out or foreseeable."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

from audit.stats.gallery.shuffler import CARDS, STEPS_DOWN, Decks, swap_in_turn

THREADS = 8
REPEATS = 1 / 300
"""How often a word is the one before once more."""
HANDS_A_PAGE = 256
"""Hands that one page of a browser deals."""

_DRAWS = CARDS - 1
_BLOCK = 64
"""Numbers that the browser makes at a time, and gives out from the last to the first."""

Words = NDArray[np.uint64]


def of_words(words: NDArray[np.unsignedinteger]) -> Decks:
    """Shuffles new decks by 32-bit words, (N, 51), each multiplied into its range.

    The bias, a part in 80 million, is none that decks show.
    """
    return swap_in_turn(STEPS_DOWN, words.astype(np.uint64) * (STEPS_DOWN + 1).astype(np.uint64) >> np.uint64(32))


def mersenne_twister(seeds: NDArray[np.integer], decks: int = 1) -> NDArray[np.uint32]:
    """Returns MT19937's words for so many decks of each seed, (seeds * decks, 51), seeded as C++ does from one word."""
    generator = np.random.RandomState(0)
    drawn = bytearray()
    for seed in seeds.tolist():
        generator.seed(seed)
        drawn += generator.bytes(4 * _DRAWS * decks)
    return np.frombuffer(bytes(drawn), "<u4").reshape(-1, _DRAWS)


def a_word_a_deck(rng: np.random.Generator, count: int) -> Decks:
    """One 32-bit word seeds a generator of 19,937 bits for each deck: `mt19937 g(random_device{}())`, then `shuffle`.

    However long the period, there are 2^32 decks.
    """
    return of_words(mersenne_twister(rng.integers(0, 1 << 32, size=count)))


def repeating_device(rng: np.random.Generator, count: int) -> Decks:
    """The same on a processor whose RDSEED repeats: one word in 300 is the one before, and the deck is dealt twice.

    The word is marked as good, and a `random_device` passes it on.
    """
    words = rng.integers(0, 1 << 32, size=count)
    again = rng.random(count) < REPEATS
    again[:1] = False
    latest = np.maximum.accumulate(np.where(again, 0, np.arange(count)))
    return of_words(mersenne_twister(words[latest]))


def threads(rng: np.random.Generator, count: int, words: int) -> Decks:
    """One generator a thread, MT19937 seeded once from one 32-bit word; hands fall to eight threads as they come."""
    seeds = rng.integers(0, 1 << 32, size=words)
    thread = rng.integers(0, THREADS, size=count)
    drawn = np.empty((count, _DRAWS), np.uint32)
    for number in range(THREADS):
        rows = np.flatnonzero(thread == number)
        drawn[rows] = mersenne_twister(seeds[number % words, None], len(rows))
    return of_words(drawn)


def browser(rng: np.random.Generator, count: int) -> Decks:
    """A browser's `Math.random`: `floor(random() * (i + 1))` on xorshift128+; a page deals 256 hands."""
    pages = -(-count // HANDS_A_PAGE)
    states = rng.integers(0, 1 << 64, size=(2, pages), dtype=np.uint64)
    fractions = browser_fractions(states, min(count, HANDS_A_PAGE) * _DRAWS)
    slots = (fractions.reshape(pages, -1, _DRAWS) * (STEPS_DOWN + 1)).astype(np.int64)
    return swap_in_turn(STEPS_DOWN, slots.reshape(-1, _DRAWS)[:count])


def browser_fractions(states: Words, numbers: int) -> NDArray[np.float64]:
    """Returns what `Math.random` gives, (pages, numbers), from the states of xorshift128+ of each page, (2, pages).

    As the engine of most has it since 2015: 52 bits of one half of the state, in blocks of 64 given out backwards.
    """
    one, other = states.copy()
    blocks = -(-numbers // _BLOCK)
    made = np.empty((blocks * _BLOCK, states.shape[1]), np.uint64)
    for row in made:
        mixed = one ^ (one << np.uint64(23))
        one = other
        other = mixed ^ (mixed >> np.uint64(17)) ^ other ^ (other >> np.uint64(26))
        row[:] = one
    given = made.reshape(blocks, _BLOCK, -1)[:, ::-1].reshape(blocks * _BLOCK, -1)[:numbers]
    return (given.T >> np.uint64(12)) / 2.0**52


def cipher_keyed_from_jitter(rng: np.random.Generator, count: int, timings: int) -> Decks:
    """A stream cipher keyed from jitter, for each deck: ChaCha20, its key the SHA-256 of how long loops took.

    A loop takes a thousand ticks and a deviation of one and a half, which is 2.4 bits against coincidence, however many
    bits the digest has.
    """
    ticks = np.rint(rng.normal(1_000, 1.5, size=(count, timings))).astype("<u4")
    drawn = bytearray()
    for row in ticks:
        key = hashlib.sha256(row.tobytes()).digest()
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        drawn += stream.update(bytes(4 * _DRAWS))
    return of_words(np.frombuffer(bytes(drawn), "<u4").reshape(-1, _DRAWS))
