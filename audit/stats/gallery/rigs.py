"""Decks that were shuffled fairly and then tampered with, or not shuffled anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.cards.hands import hand_worth
from audit.stats.gallery.shuffler import CARDS, Decks, Make, fair_decks, new_decks

Change = Callable[[Decks, np.random.Generator], Decks]

TABLE_OF = 6
"""Players at the rigged table."""
SEAT = 2
"""The favoured seat, from 0 in dealing order."""
ACCOMPLICE = 4
"""The other seat of a pair that plays together."""
DAYS = 30
BAD_DAY = 17


def not_reset(rng: np.random.Generator, count: int, swaps: int) -> Decks:
    """A deck that is not reset: each hand starts from the last one's order and makes a few random swaps."""
    decks = np.empty((count, CARDS), dtype=np.uint8)
    deck = fair_decks(rng, 1)[0]
    moves = new_decks(count)
    rows = np.arange(count)
    for a, b in rng.integers(0, CARDS, size=(swaps, 2, count)):
        moves[rows, a], moves[rows, b] = moves[rows, b], moves[rows, a]
    for row, move in enumerate(moves):
        deck = deck[move]
        decks[row] = deck
    return decks


def dealt_again(rng: np.random.Generator, count: int, every: int, change: Change) -> Decks:
    """Every so many hands an earlier deck is dealt again, as it was or changed a little."""
    decks = fair_decks(rng, count)
    for row in range(every - 1, count, every):
        decks[row] = change(decks[rng.integers(0, row)], rng)
    return decks


def whole(deck: Decks, rng: np.random.Generator) -> Decks:
    """The same deck once more."""
    return deck


def cut(deck: Decks, rng: np.random.Generator) -> Decks:
    """The same deck, cut once."""
    return np.roll(deck, rng.integers(1, CARDS))


def first_cards(deck: Decks, rng: np.random.Generator, cards: int = 20) -> Decks:
    """The same first cards, the stub shuffled."""
    return np.concatenate([deck[:cards], rng.permutation(deck[cards:])])


def _chosen(rng: np.random.Generator, count: int, share: float) -> NDArray[np.intp]:
    """Rows of the hands that are tampered with."""
    return np.flatnonzero(rng.random(count) < share)


def _bring(decks: Decks, row: int, card: int, position: int) -> None:
    """Swaps a card to a position of one deck."""
    deck = decks[row]
    at = int(np.flatnonzero(deck == card)[0])
    deck[at], deck[position] = deck[position], deck[at]


def forced_ace(rng: np.random.Generator, count: int, share: float) -> Decks:
    """One seat's first hole card is made an ace in a share of the hands."""
    decks = fair_decks(rng, count)
    for row in _chosen(rng, count, share).tolist():
        _bring(decks, row, CARDS - 4 + int(rng.integers(4)), SEAT)
    return decks


def two_paired(rng: np.random.Generator, count: int, share: float) -> Decks:
    """Two seats that play together are both dealt paired hole cards in a share of the hands."""
    decks = fair_decks(rng, count)
    for row in _chosen(rng, count, share).tolist():
        for seat in (SEAT, ACCOMPLICE):
            # Of the other seat's cards none may be taken away again.
            rank = int(decks[row, seat]) // 4
            held = {int(card) for card in decks[row, [seat, ACCOMPLICE, TABLE_OF + SEAT]]}
            mates = [card for card in range(4 * rank, 4 * rank + 4) if card not in held]
            if mates:
                _bring(decks, row, mates[int(rng.integers(len(mates)))], TABLE_OF + seat)
    return decks


def _best_seats(decks: Decks) -> NDArray[np.intp]:
    """The seat with the best seven cards of each deck, the first of equals."""
    bits = Batch(decks).bits
    hands = [np.bitwise_or.reduce(bits[seat : 7 * TABLE_OF : TABLE_OF]) for seat in range(TABLE_OF)]
    best: NDArray[np.intp] = np.argmax([hand_worth(hand) for hand in hands], axis=0)
    return best


def moved_win(rng: np.random.Generator, count: int, share: float) -> Decks:
    """The best seven cards at the table change places with one seat's in a share of the hands.

    The cards and categories of all hands together stay exactly as they should be: only who gets them is wrong.
    """
    decks = fair_decks(rng, count)
    chosen = _chosen(rng, count, share)
    if not len(chosen):
        return decks
    winners = _best_seats(decks[chosen])
    hand = np.arange(7) * TABLE_OF
    for row, winner in zip(chosen.tolist(), winners.tolist(), strict=True):
        mine, best = decks[row, hand + SEAT].copy(), decks[row, hand + winner].copy()
        decks[row, hand + SEAT], decks[row, hand + winner] = best, mine
    return decks


def on_one_day(rng: np.random.Generator, count: int, rig: Make) -> Decks:
    """A rig on one day in thirty, fair on all others: only a look at each day apart sees it early."""
    decks = fair_decks(rng, count)
    first, last = _day_bounds(count)
    decks[first:last] = rig(rng, last - first)
    return decks


def _day_bounds(count: int) -> tuple[int, int]:
    return count * BAD_DAY // DAYS, count * (BAD_DAY + 1) // DAYS


def days(count: int) -> dict[str, list[str]]:
    """The label `day` of each deck, `DAYS` days of as many hands each."""
    return {"day": [f"2026-03-{1 + row * DAYS // count:02d}" for row in range(count)]}
