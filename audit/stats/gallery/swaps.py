"""Fisher-Yates shuffles with one thing wrong."""

from __future__ import annotations

import numpy as np

from audit.stats.gallery.shuffler import CARDS, STEPS_DOWN, Decks, fair_partners, swap_in_turn


def any_position(rng: np.random.Generator, count: int) -> Decks:
    """Swap with any position: `for i: swap(i, random(52))`, the first shuffle that most people write.

    52^52 equally likely runs cannot be shared out evenly among 52! orders. Robert Sedgewick's lectures and Jeff
    Atwood's "The danger of naïveté" (2007) made it famous.
    """
    return swap_in_turn(np.arange(CARDS), rng.integers(0, CARDS, size=(count, CARDS)))


def never_itself(rng: np.random.Generator, count: int) -> Decks:
    """Off by one, Sattolo's algorithm: `random(i)` for `random(i + 1)`, so that no card stays where it is at its turn.

    Sandra Sattolo (1986) wanted it: it gives cyclic permutations only, each equally likely. As a shuffle it never
    leaves a card in its own place.
    """
    return swap_in_turn(STEPS_DOWN, rng.integers(0, STEPS_DOWN, size=(count, CARDS - 1)))


def one_slot_never_chosen(rng: np.random.Generator, count: int) -> Decks:
    """Off by one at the far end: the first swap draws from 1 … 51, so that the top slot is never chosen there.

    `1 + random(51)` where `random(52)` was meant; every other swap is right.
    """
    partners = fair_partners(rng, count)
    partners[:, 0] = rng.integers(1, CARDS, size=count)
    return swap_in_turn(STEPS_DOWN, partners)


def last_card_out_of_reach(rng: np.random.Generator, count: int) -> Decks:
    """Swap with any position but the last: `random(51) + 1` for 52 cards, as in the shuffle that ASF Software showed.

    Brad Arkin, Frank Hill, Scott Marks, Matt Schmid and Thomas Walls, "How we learned to cheat at online poker" (1999):
    together with 32-bit seeds from the clock it let them know every card of a live table.
    """
    return swap_in_turn(np.arange(CARDS), rng.integers(0, CARDS - 1, size=(count, CARDS)))


def modulo(rng: np.random.Generator, count: int, bits: int) -> Decks:
    """Modulo bias: `word % (i + 1)` of a word that holds no whole number of such ranges; low slots come too often."""
    words = rng.integers(0, 1 << bits, size=(count, CARDS - 1))
    return swap_in_turn(STEPS_DOWN, words % (STEPS_DOWN + 1))


def scaled(rng: np.random.Generator, count: int, bits: int) -> Decks:
    """Multiply instead of modulo: `int(u * (i + 1))` with a `u` of a few bits, the bias spread over the slots."""
    words = rng.integers(0, 1 << bits, size=(count, CARDS - 1))
    return swap_in_turn(STEPS_DOWN, words * (STEPS_DOWN + 1) >> bits)


def rounded(rng: np.random.Generator, count: int) -> Decks:
    """Rounded instead of cut off: `round(u * i)`, so that the first and the last slot get half of their share."""
    u = rng.random(size=(count, CARDS - 1))
    return swap_in_turn(STEPS_DOWN, np.rint(u * STEPS_DOWN).astype(np.int64))


def last_swap_missing(rng: np.random.Generator, count: int) -> Decks:
    """The last swap missing: the loop ends at i = 2 instead of 1, and the two top cards are not swapped at the end."""
    return swap_in_turn(STEPS_DOWN[:-1], fair_partners(rng, count)[:, :-1])


def first_swap_missing(rng: np.random.Generator, count: int) -> Decks:
    """The first swap missing: the loop begins at i = 50, and the last card of a new deck stays at the bottom."""
    return swap_in_turn(STEPS_DOWN[1:], fair_partners(rng, count)[:, 1:])


def even_only(rng: np.random.Generator, count: int) -> Decks:
    """Even permutations only: half of all orders never come, as after a fixed number of swaps of unlike cards."""
    partners = fair_partners(rng, count)
    odd = np.count_nonzero(partners != STEPS_DOWN, axis=1) % 2 == 1
    decks = swap_in_turn(STEPS_DOWN, partners)
    decks[odd, :2] = decks[odd, 1::-1]
    return decks


def low_bits_of_a_counter(rng: np.random.Generator, count: int) -> Decks:
    """Low bits of a linear congruential generator (a = 1103515245, c = 12345, mod 2^31): they alternate even and odd.

    The example generator of the C standard, used with `rand() % (i + 1)`, each deck begun at a place of its own.
    """
    state = rng.integers(0, 1 << 31, size=count)
    partners = np.empty((count, CARDS - 1), dtype=np.int64)
    for step, position in enumerate(STEPS_DOWN.tolist()):
        state = (state * 1103515245 + 12345) % (1 << 31)
        partners[:, step] = state % (position + 1)
    return swap_in_turn(STEPS_DOWN, partners)
