"""E-values: bets against fair decks that may be looked at after any deck (STATISTICS.md section 2).

For something that happens in each deck with a known chance q, a bet that is fair under q multiplies its wealth by
p^x (1-p)^(1-x) / (q^x (1-q)^(1-x)). Averaged over a beta distribution of p around q the wealth has a closed form; its
expectation never exceeds 1 on fair decks, so by Ville's inequality it ever reaches 1/alpha with chance at most alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp

from audit.stats.batch import Batch
from audit.stats.cards.deal import TABLE_SIZES, seventh_street, third_street
from audit.stats.cards.hands import hand_worth
from audit.stats.families.aces import PLACES, aces_at, holds_ace
from audit.stats.families.guessing import played
from audit.stats.families.showdowns import joined_bits
from audit.stats.families.third_street import BOTH_PAIRED, HOLDS_RANK, HOLES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_STRENGTHS = (10.0, 100.0, 1000.0)
"""How many decks' worth the beta distributions weigh: bets on large, middling and small faults, averaged."""
_ODDS = tuple(exp(sign * 2.0**-power) for power in range(-1, 13) for sign in (1, -1))
"""How many times the odds of a right guess are bet to be what luck gives, averaged: the smallest bets keep a share of
the wealth on fair decks, however many there are."""
PLAYER = "guessing player"
_CLUBS = 4
"""The player bets on a deck in four, that after one with a club on top."""


def log_wealth(hits: Ints, trials: Ints, chances: Floats) -> Floats:
    """Returns the natural logarithm of the average wealth of the cells' e-processes, at each look.

    Args:
        hits: (looks, cells), how often each event has happened so far.
        trials: (looks, cells), how often it could have.
        chances: (cells,).
    """
    x, n = hits.astype(np.float64), trials.astype(np.float64)
    null = x * np.log(chances) + (n - x) * np.log1p(-chances)
    wealth = []
    for strength in _STRENGTHS:
        a, b = strength * chances, strength * (1 - chances)
        wealth.append(betaln(a + x, b + n - x) - betaln(a, b) - null)
    whole = logsumexp(np.concatenate(wealth, axis=1), axis=1)
    result: Floats = whole - np.log(len(_STRENGTHS) * hits.shape[1])
    return result


def log_wealth_of_guesses(hits: Ints, trials: Ints, chances: Floats) -> Floats:
    """Returns the natural logarithm of the average wealth of bets on the number of cards guessed right, at each look.

    A guess among k cards is right with chance 1/k. A bet that the odds are `odds` times those pays
    odds / (1 + (odds - 1)/k) for a right guess and 1 / (1 + (odds - 1)/k) for a wrong one, which is fair, so the wealth
    after any number of decks needs only the number of right guesses and of decks.

    Args:
        hits: (looks, 1), guesses that were right so far.
        trials: (looks, 1), decks played so far.
        chances: (n,), the chance of each guess of a deck.
    """
    odds = np.array(_ODDS)
    price = np.log1p((odds[:, None] - 1) * chances).sum(axis=1)
    whole = logsumexp(hits * np.log(odds) - trials * price, axis=1)
    result: Floats = whole - np.log(len(odds))
    return result


@dataclass(frozen=True)
class Bets:
    """A group of events that are bet on.

    Attributes:
        name: what is bet on.
        sees: what a won bet points at.
        cards: the deck size that it is for; None for all with ranks.
        events: from a batch to (hits, trials, chances): hits and trials (cells, N), chances (cells,); trials None where
            every deck is one.
        weigh: from hits and trials so far and chances to the logarithm of the wealth at each look.
    """

    name: str
    sees: str
    cards: int | None
    events: Callable[[Batch], tuple[Bools | Ints, Bools | None, Floats]]
    weigh: Callable[[Ints, Ints, Floats], Floats] = log_wealth


def _ranks_at_positions(batch: Batch) -> tuple[Bools, Bools | None, Floats]:
    kinds = batch.n // 4
    hits = (batch.ranks[:, None, :] == np.arange(kinds, dtype=np.uint8)[None, :, None]).reshape(-1, batch.size)
    return hits, None, np.full(len(hits), 1 / kinds)


def _ranks_held(batch: Batch) -> tuple[Bools, Bools | None, Floats]:
    bits = np.uint16(1) << batch.ranks.astype(np.uint16)
    rows = []
    for seats in TABLE_SIZES:
        for seat in range(seats):
            one, two, door = third_street(seats, seat)
            held = bits[one] | bits[two] | bits[door]
            rows += [(held >> np.uint16(rank)) & np.uint16(1) for rank in range(13)]
    hits = np.stack(rows).astype(np.bool_)
    return hits, None, np.full(len(hits), HOLDS_RANK)


def _aces_held(batch: Batch) -> tuple[Bools, Bools | None, Floats]:
    aces = aces_at(batch)
    down = [aces[seat] | aces[seats + seat] for seats, seat in PLACES]
    third = [has | aces[2 * seats + seat] for has, (seats, seat) in zip(down, PLACES, strict=True)]
    return np.stack(down + third), None, np.repeat([holds_ace(2), holds_ace(3)], len(PLACES))


def _both_paired(batch: Batch) -> tuple[Bools, Bools | None, Floats]:
    rows = []
    for seats in HOLES:
        paired = batch.ranks[:seats] == batch.ranks[seats : 2 * seats]
        rows += [one & other for one, other in combinations(paired, 2)]
    hits = np.stack(rows)
    return hits, None, np.full(len(hits), BOTH_PAIRED)


def _wins(batch: Batch) -> tuple[Bools, Bools | None, Floats]:
    hits, trials, chances = [], [], []
    for seats in TABLE_SIZES:
        worths = np.stack([hand_worth(joined_bits(batch, seventh_street(seats, seat))) for seat in range(seats)])
        best = worths == worths.max(axis=0)
        decided = best.sum(axis=0) == 1
        hits += [row & decided for row in best]
        trials += [decided] * seats
        chances += [1 / seats] * seats
    return np.stack(hits), np.stack(trials), np.array(chances)


def _guesses(batch: Batch) -> tuple[Ints, Bools, Floats]:
    decks, right = played(batch, _CLUBS)
    hits, trials = np.zeros((1, batch.size), np.int64), np.zeros((1, batch.size), np.bool_)
    hits[0, decks], trials[0, decks] = right, True
    return hits, trials, 1 / np.arange(batch.n, 0, -1)


BETS = (
    Bets("ranks at positions", "A rank that lies at a position too often or too rarely.", None, _ranks_at_positions),
    Bets("ranks held on third street", "A seat that is dealt a rank too often or too rarely.", 52, _ranks_held),
    Bets("seats with an ace", "A seat that is dealt an ace too often, down or among its first three.", 52, _aces_held),
    Bets("two seats paired", "Two seats that are both dealt a pair down too often.", 52, _both_paired),
    Bets("seats that win", "A seat that has the best hand too often or too rarely.", 52, _wins),
    Bets(PLAYER, "Habits that a player can use who saw the decks before.", None, _guesses, log_wealth_of_guesses),
)


class EProcesses:
    """Keeps an e-process for each group of bets: the wealth of one who bets against fair decks from the first deck on.

    Args:
        n: cards a deck.
        every: decks between looks.
    """

    def __init__(self, n: int, every: int) -> None:
        self.bets = tuple(bets for bets in BETS if bets.cards in (None, n) and n % 4 == 0)
        self._every = every
        self._hits: dict[str, Ints] = {}
        self._trials: dict[str, Ints] = {}
        self._decks = 0
        self.highest: dict[str, float] = {bets.name: -np.inf for bets in self.bets}
        """The largest logarithm of its wealth at any look."""
        self.now: dict[str, float] = {}
        """The logarithm of its wealth at the last look."""

    def add(self, batch: Batch) -> Mapping[str, list[tuple[int, float]]]:
        """Bets on a batch; for each group the decks at each look and the logarithm of its wealth there.

        `batch.before` are the decks right before it.
        """
        first = self._every - self._decks % self._every
        ends = [*range(first, batch.size, self._every), batch.size]
        starts = [0, *ends[:-1]]
        at = [self._decks + end for end in ends]
        seen = {}
        for bets in self.bets:
            hits, trials, chances = bets.events(batch)
            none = np.zeros(len(hits), np.int64)
            so_far = _cumulative(hits, starts) + self._hits.get(bets.name, none)
            if trials is None:
                tried = np.repeat(np.array(at)[:, None], len(chances), axis=1)
            else:
                tried = _cumulative(trials, starts) + self._trials.get(bets.name, none)
            self._hits[bets.name], self._trials[bets.name] = so_far[-1], tried[-1]
            looks = [index for index, decks in enumerate(at) if decks % self._every == 0]
            if not looks:
                continue
            wealth = bets.weigh(so_far[looks], tried[looks], chances)
            self.now[bets.name] = float(wealth[-1])
            self.highest[bets.name] = max(self.highest[bets.name], float(wealth.max()))
            seen[bets.name] = [(at[look], float(own)) for look, own in zip(looks, wealth, strict=True)]
        self._decks += batch.size
        return seen


def _cumulative(events: Bools | Ints, starts: list[int]) -> Ints:
    """Counts, (pieces, cells), how often each event happened up to the end of each piece."""
    ends = [*starts[1:], events.shape[1]]
    pieces = [events[:, start:end].sum(axis=1) for start, end in zip(starts, ends, strict=True)]
    return np.cumsum(pieces, axis=0)
