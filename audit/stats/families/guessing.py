"""A guessing player: how many cards somebody gets right who remembers what was dealt and bets on this room's habits.

Before each card he names one that has not come yet. On fair decks whatever he names is right with chance 1 in the cards
left, so the number right is distributed as the cycles of a permutation, whatever his method; its mean with 52 cards is
1/52 + 1/51 + … + 1/1 = 4.54. His habits come from the `LAGS` decks before alone, never from the deck that he bets on.
So counts need no more of other decks than those at the seams, and add up however the decks were cut.

He plays a deck if the top card of the one before it is the reference order's first: one deck in 52, enough for faults
that a player can use, and quick. The choice depends on nothing in the deck that he plays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audit.stats.batch import LAGS, Batch, Bytes, Index, invert
from audit.stats.families.sums import histogram_outcomes
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import CYCLES

ONE_IN = 52
"""He plays after a deck whose top card's index is a multiple of this."""

_AT_ONCE = 1024
"""Games played at once: memory stays the same where each deck has the same card on top."""
_NEAR = 32
"""Games whose memories are counted at once: they stay in the processor's cache."""

Ints = NDArray[np.int64]
Weights = NDArray[np.float32]


def played(batch: Batch, one_in: int = ONE_IN) -> tuple[Index, Ints]:
    """Plays a batch.

    Args:
        batch: the decks, and those before them, from which he has his first habits.
        one_in: he plays after a deck whose top card's index is a multiple of this; 1 for all but a run's first.

    Returns:
        The decks that are played, by their index in the batch, and how many cards of each are guessed right.
    """
    earlier = len(batch.before)
    at = np.flatnonzero(batch.along[0, :-1] % one_in == 0) + 1
    at = at[at >= earlier]
    lay = _lay(batch)
    right = [_play(batch, lay, at[first : first + _AT_ONCE]) for first in range(0, len(at), _AT_ONCE)]
    return at - earlier, np.concatenate(right) if right else np.empty(0, np.int64)


def _lay(batch: Batch) -> Bytes:
    """Returns where each card of a deck lay one deal earlier, for all of `batch.along` but its first deck."""
    if len(batch.before) < 2:
        return batch.following.cards
    earlier = Batch(batch.before[1:], before=batch.before[:1])
    return np.concatenate([earlier.following.cards, batch.following.cards], axis=1)


def _play(batch: Batch, lay: Bytes, at: Index) -> Ints:
    """Plays the decks in columns `at` of `batch.along`."""
    habits = [_habits(batch, lay, at[first : first + _NEAR]) for first in range(0, len(at), _NEAR)]
    steps, shifts, moves = (np.concatenate(weights) for weights in zip(*habits, strict=True))
    return guessed_right(steps, shifts, moves, invert(_named(batch, at - 1)).T, _named(batch, at).T)


def _habits(batch: Batch, lay: Bytes, at: Index) -> tuple[Weights, Weights, Weights]:
    """Returns the weights of steps, shifts and moves (`guessed_right`) before each of the decks in columns `at`."""
    n, count = batch.n, len(at)
    places = np.arange(n)[:, None]
    games, columns = _remembered(at, LAGS, 0)
    decks = _named(batch, columns).astype(np.intp)
    steps, shifts = _weights(decks[1:] - decks[:-1], games, count, n), _weights(decks - places, games, count, n)
    # What is before the oldest deck that he remembers is not known to him: one pair of decks fewer.
    games, columns = _remembered(at, LAGS - 1, 1)
    return steps, shifts, _weights(lay[:, columns - 1].astype(np.intp) - places, games, count, n)


def _remembered(at: Index, memory: int, first: int) -> tuple[Index, Index]:
    """Returns each game with each of the `memory` columns before its deck, none before `first`."""
    columns = at[:, None] - np.arange(memory, 0, -1)
    games, which = np.nonzero(columns >= first)
    return games, columns[games, which]


def _named(batch: Batch, columns: Index) -> Bytes:
    """Returns decks of `batch.along` with each card named by its place before the shuffle."""
    cards = batch.along[:, columns]
    return cards if batch.order is None else batch.order[cards]


def _weights(values: Index, games: Index, count: int, n: int) -> Weights:
    """Returns, (count, n), one more than how often each value came in each game, round a circle of n.

    Args:
        values: above -n and below n, (cells, len(games)).
        games: which game each column is of.
        count: games.
        n: cards.
    """
    twice = np.bincount((values + (games * (2 * n) + n)).reshape(-1), minlength=2 * n * count).reshape(count, 2 * n)
    return (twice[:, :n] + twice[:, n:] + 1).astype(np.float32)


def guessed_right(steps: Weights, shifts: Weights, moves: Weights, lay: Bytes, decks: Bytes) -> Ints:
    """Counts right guesses of one who names the unseen card with the largest product of weights, the first of equals.

    All arrays are (games, n); cards are named by their place before the shuffle.

    Args:
        steps: the weight of how far a card is from the one dealt before it, round the order before the shuffle.
        shifts: of how far a card is from where it was before the shuffle.
        moves: of how far it is from where it lay in the last deck.
        lay: where each card lay in the last deck.
        decks: what is dealt.
    """
    games, n = decks.shape
    row = np.arange(games)
    # Each circle twice, so that any turn of it is a slice; behind that of moves zeros, for cards that were seen.
    turned_steps = sliding_window_view(np.tile(steps, 2), n, axis=1)
    twice_shifts = np.tile(shifts, 2)
    twice_moves = np.concatenate([moves, moves, np.zeros_like(moves)], axis=1).reshape(-1)
    at = row[:, None] * (3 * n) + lay
    seen = row * (3 * n) + 2 * n - 1
    right = np.zeros(games, np.int64)
    for place in range(n):
        weight = twice_moves[n - place :].take(at)
        weight *= twice_shifts[:, n - place : 2 * n - place]
        if place:
            weight *= turned_steps[row, n - decks[:, place - 1].astype(np.intp)]
        dealt = decks[:, place]
        right += weight.argmax(axis=1) == dealt
        at[row, dealt] = seen
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
