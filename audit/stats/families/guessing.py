"""A guessing player: how many cards somebody gets right who remembers what was dealt and bets on this room's habits.

Before each card he names one that has not come yet. On fair decks whatever he names is right with chance 1 in the cards
left, so the number right is distributed as the cycles of a permutation, whatever his method; its mean with 52 cards is
1/52 + 1/51 + … + 1/1 = 4.54. His habits come from the `LAGS` decks before alone, never from the deck that he bets on.
So counts need no more of other decks than those at the seams, and add up however the decks were cut.

He plays a deck if the top card of the one before it is one of a few: a thirteenth of all decks, enough for faults that
a player can use and quick. The choice depends on nothing in the deck that he plays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import LAGS, Batch, Bytes, Index, invert
from audit.stats.families.sums import histogram_outcomes
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import CYCLES

ONE_IN = 13
"""He plays after a deck whose top card's index is a multiple of this."""

Weights = NDArray[np.int64]


def played(batch: Batch) -> tuple[Index, Weights]:
    """Plays a batch.

    Returns:
        The decks that are played, by their index in the batch, and how many cards of each are guessed right.
    """
    earlier, along = len(batch.before), batch.along
    at = np.flatnonzero(along[0, :-1] % ONE_IN == 0) + 1
    at = at[at >= earlier]
    named = along if batch.order is None else batch.order[along]
    where = invert(np.ascontiguousarray(named[:, :-1]))
    n = batch.n
    places = np.arange(n)[:, None]
    steps = _seen(_less(named[1:], named[:-1], n), n, at, LAGS)
    shifts = _seen(_less(named, places, n), n, at, LAGS)
    lay = where.reshape(-1)[named[:, 1:] * np.intp(where.shape[1]) + np.arange(where.shape[1])]
    # The deck before the oldest that he remembers is not known to him: one pair of decks fewer.
    moves = _seen(_less(lay, places, n), n, at - 1, LAGS - 1)
    return at - earlier, guessed_right(steps, shifts, moves, where[:, at - 1].T, named[:, at].T)


def _less(one: NDArray[np.integer], other: NDArray[np.integer], n: int) -> NDArray[np.uint16]:
    """Returns one - other round a circle of n places."""
    ahead = one + (n - other).astype(np.uint16)
    return np.minimum(ahead, ahead - np.uint16(n))  # below n the second wraps to something large


def _seen(values: NDArray[np.integer], n: int, at: Index, memory: int) -> Weights:
    """Returns, (games, n), one more than how often each value came in the `memory` columns before each of `at`."""
    columns = values.shape[1]
    flat = np.bincount((values + np.arange(columns) * n).reshape(-1), minlength=columns * n)
    total = np.zeros((columns + 1, n), np.int64)
    np.cumsum(flat.reshape(columns, n), axis=0, out=total[1:])
    weights: Weights = total[at] - total[np.maximum(at - memory, 0)] + 1
    return weights


def guessed_right(steps: Weights, shifts: Weights, moves: Weights, lay: Bytes, decks: Bytes) -> Weights:
    """Counts right guesses of one who names the unseen card of most weight, the first of equal ones.

    All arrays are (games, n); cards are named by their place before the shuffle.

    Args:
        steps: the weight of how far a card is from the one dealt before it, round the order before the shuffle.
        shifts: of how far a card is from where it was before the shuffle.
        moves: of how far it is from where it lay in the last deck.
        lay: where each card lay in the last deck.
        decks: what is dealt.
    """
    games, n = decks.shape
    row, cards = np.arange(games)[:, None], np.arange(n)
    unseen = np.ones((games, n), np.int64)
    right = np.zeros(games, np.int64)
    for place in range(n):
        weight = unseen * shifts[:, (cards - place) % n] * moves[row, (lay.astype(np.int64) - place) % n]
        if place:
            weight *= steps[row, (cards - decks[:, place - 1, None].astype(np.int64)) % n]
        dealt = decks[:, place]
        right += weight.argmax(axis=1) == dealt
        unseen[row[:, 0], dealt] = 0
    return right


def _count(batch: Batch) -> Counts:
    return {"right": np.bincount(played(batch)[1], minlength=batch.n + 1).astype(np.int64)}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    games = int(counts["right"].sum())
    if not games:
        return [Outcome("cards right", 0.0, 1.0, detail="no deck was played", decks=0)]
    found, *_ = histogram_outcomes("cards right", counts["right"], CYCLES.pmf(n))
    detail = f"{found.statistic:.2f} of {n} cards right, by luck {CYCLES.pmf(n).mean:.2f}, in {games:,} decks"
    return [Outcome(found.name, found.statistic, found.p, 1, detail, games, bars=found.bars)]


GUESSING = Family(
    "guessing player",
    "Habits that a player can use who saw the decks before and remembers what was dealt.",
    _count,
    _pvalues,
    strata=False,
    looks_back=True,
)
