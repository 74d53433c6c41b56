"""E-values: bets against fair decks that may be looked at after any deck (STATISTICS.md section 2).

For something that happens in each deck with a known chance q, a bet that is fair under q multiplies its wealth by
p^x (1-p)^(1-x) / (q^x (1-q)^(1-x)). Averaged over a beta distribution of p around q the wealth has a closed form; its
expectation never exceeds 1 on fair decks, so by Ville's inequality it ever reaches 1/alpha with chance at most alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp

from audit.stats.batch import Batch
from audit.stats.cards.deal import TABLE_SIZES, seventh_street, third_street
from audit.stats.cards.hands import hand_worth
from audit.stats.families.aces import PLACES, aces_at, holds_ace
from audit.stats.families.showdowns import joined_bits
from audit.stats.families.third_street import BOTH_PAIRED, HOLDS_RANK, HOLES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_STRENGTHS = (10.0, 100.0, 1000.0)
"""How many decks' worth the beta distributions weigh: bets on large, middling and small faults, averaged."""


@dataclass(frozen=True)
class Bets:
    """A group of events that are bet on.

    Attributes:
        name: what is bet on.
        sees: what a won bet points at.
        cards: the deck size that it is for; None for all with ranks.
        events: from a batch to (hits, trials, chances): hits and trials (cells, N), chances (cells,); trials None where
            every deck is one.
    """

    name: str
    sees: str
    cards: int | None
    events: Callable[[Batch], tuple[Bools, Bools | None, Floats]]


def log_wealth(hits: NDArray[np.int64], trials: NDArray[np.int64], chances: Floats) -> Floats:
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


BETS = (
    Bets("ranks at positions", "A rank that lies at a position too often or too rarely.", None, _ranks_at_positions),
    Bets("ranks held on third street", "A seat that is dealt a rank too often or too rarely.", 52, _ranks_held),
    Bets("seats with an ace", "A seat that is dealt an ace too often, down or among its first three.", 52, _aces_held),
    Bets("two seats paired", "Two seats that are both dealt a pair down too often.", 52, _both_paired),
    Bets("seats that win", "A seat that has the best hand too often or too rarely.", 52, _wins),
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
        self._hits: dict[str, NDArray[np.int64]] = {}
        self._trials: dict[str, NDArray[np.int64]] = {}
        self._decks = 0
        self.highest: dict[str, float] = {bets.name: -np.inf for bets in self.bets}
        """The largest logarithm of its wealth at any look."""

    def add(self, batch: Batch) -> Mapping[str, list[tuple[int, float]]]:
        """Bets on a batch; for each group the decks at each look and the logarithm of its wealth there."""
        first = self._every - self._decks % self._every
        ends = [*range(first, batch.size, self._every), batch.size]
        starts = [0, *ends[:-1]]
        at = [self._decks + end for end in ends]
        seen = {}
        for bets in self.bets:
            hits, trials, chances = bets.events(batch)
            none = np.zeros(len(chances), np.int64)
            so_far = _cumulative(hits, starts) + self._hits.get(bets.name, none)
            if trials is None:
                tried = np.repeat(np.array(at)[:, None], len(chances), axis=1)
            else:
                tried = _cumulative(trials, starts) + self._trials.get(bets.name, none)
            self._hits[bets.name], self._trials[bets.name] = so_far[-1], tried[-1]
            looks = [index for index, decks in enumerate(at) if decks % self._every == 0]
            if not looks:
                continue
            wealth = log_wealth(so_far[looks], tried[looks], chances)
            self.highest[bets.name] = max(self.highest[bets.name], float(wealth.max()))
            seen[bets.name] = [(at[look], float(own)) for look, own in zip(looks, wealth, strict=True)]
        self._decks += batch.size
        return seen


def _cumulative(events: Bools, starts: list[int]) -> NDArray[np.int64]:
    """Counts, (pieces, cells), how often each event happened up to the end of each piece."""
    ends = [*starts[1:], events.shape[1]]
    pieces = [np.count_nonzero(events[:, start:end], axis=1) for start, end in zip(starts, ends, strict=True)]
    return np.cumsum(pieces, axis=0)
