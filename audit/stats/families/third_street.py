"""The first three cards of each seat: kinds of hand, ranks held, paired hole cards, and who has the lowest door."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch, Bytes
from audit.stats.cards.deal import TABLE_SIZES, third_street
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import THIRD_STREET, third_street_counts
from audit.stats.nulls.pvalue import worst_cell, worst_of_cells
from audit.stats.results import Bars

_RANKS = "23456789TJQKA"
HOLES = range(2, 11)
"""Numbers of seats for which two hole cards are looked at: up to ten, as hold'em deals its first two cards alike."""

_IN_A_ROW = 20
"""Positions that are looked at as ten hands dealt two cards at a time."""

PAIR = 3 / 51
BOTH_PAIRED = PAIR * 73 / comb(50, 2)
"""After one pair there are 12 ranks with 6 pairs and one with a single pair among 50 cards."""

HOLDS_RANK = 1 - comb(48, 3) / comb(52, 3)


@cache
def third_street_kinds() -> Bytes:
    """Returns the kind of every three cards a, b, c, an index of `THIRD_STREET`, at (52 a + b) 52 + c."""
    a, b, c = np.ogrid[:52, :52, :52]
    ranks = np.sort(np.stack(np.broadcast_arrays(a >> 2, b >> 2, c >> 2)), axis=0)
    low, middle, high = ranks
    flush = ((a & 3) == (b & 3)) & ((b & 3) == (c & 3))
    in_row = (middle == low + 1) & (high == middle + 1)
    straight = in_row | ((low == 0) & (middle == 1) & (high == 12))
    three = (low == middle) & (middle == high)
    pair = ((low == middle) | (middle == high)) & ~three
    names = [
        (straight & flush, "straight flush"),
        (three, "three of a kind"),
        (straight, "straight"),
        (flush, "flush"),
        (pair, "pair"),
    ]
    kinds = np.select([holds for holds, _ in names], [THIRD_STREET.index(name) for _, name in names], 0)
    return kinds.astype(np.uint8).reshape(-1)


def _count_hands(batch: Batch) -> Counts:
    counts: Counts = {}
    kinds = third_street_kinds()
    rank_bits = np.uint16(1) << batch.ranks.astype(np.uint16)
    wide = batch.cards.astype(np.intp)
    for seats in TABLE_SIZES:
        kind_rows, rank_rows = [], []
        for seat in range(seats):
            one, two, door = third_street(seats, seat)
            code = (wide[one] * 52 + wide[two]) * 52 + wide[door]
            kind_rows.append(np.bincount(kinds[code], minlength=len(THIRD_STREET)))
            held = np.bincount(rank_bits[one] | rank_bits[two] | rank_bits[door], minlength=1 << 13)
            rank_rows.append(_by_rank(held))
        counts[f"kinds of {seats}"] = np.stack(kind_rows)
        counts[f"ranks of {seats}"] = np.stack(rank_rows)
        doors = batch.cards[2 * seats : 3 * seats]
        counts[f"lowest door of {seats}"] = _row_counts(doors == doors.min(axis=0))
        counts[f"highest door of {seats}"] = _row_counts(doors == doors.max(axis=0))
    return counts


def _row_counts(rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Counts the true entries of each row."""
    return np.array([np.count_nonzero(row) for row in rows], dtype=np.int64)


@cache
def _rank_table() -> NDArray[np.int64]:
    """Tabulates whether a set of ranks holds a rank, (13, 2^13)."""
    return ((np.arange(1 << 13) >> np.arange(13)[:, None]) & 1).astype(np.int64)


def _by_rank(sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts the hands that hold each rank, from how often each set of ranks was held."""
    seen = np.flatnonzero(sets)
    return _rank_table()[:, seen] @ sets[seen]


def _hand_pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes = []
    ways = np.array(third_street_counts().ways, dtype=np.float64)
    odds = ways / ways.sum()
    for seats in TABLE_SIZES:
        kinds = counts[f"kinds of {seats}"]
        p, worst = worst_of_cells(kinds.reshape(-1), decks, np.tile(odds, seats))
        seat, kind = divmod(worst, len(THIRD_STREET))
        found = kinds.flat[worst]
        detail = f"seat {seat + 1}, {THIRD_STREET[kind]}: {found} times, expected {decks * odds[kind]:.1f}"
        name = f"third street of {seats} seats"
        bars = Bars(f"first three cards of seat {seat + 1}", kinds[seat], decks, odds, THIRD_STREET)
        outcomes.append(Outcome(name, float(found), p, kinds.size, detail, bars=bars))

        ranks = counts[f"ranks of {seats}"]
        p, worst = worst_cell(ranks, decks, HOLDS_RANK)
        seat, rank = divmod(worst, 13)
        found = ranks.flat[worst]
        detail = f"seat {seat + 1} holds {_RANKS[rank]}: {found} times, expected {decks * HOLDS_RANK:.1f}"
        name = f"ranks held by {seats} seats"
        bars = Bars(f"ranks that seat {seat + 1} holds", ranks[seat], decks, HOLDS_RANK, _RANKS)
        outcomes.append(Outcome(name, float(found), p, ranks.size, detail, bars=bars))

        # Of two seats one has the lowest card where the other has the highest.
        for which in ("lowest", "highest") if seats > 2 else ("lowest",):
            doors = counts[f"{which} door of {seats}"]
            p, seat = worst_cell(doors, decks, 1 / seats, seats if seats > 2 else 1)
            detail = f"seat {seat + 1}: {doors[seat]} times, expected {decks / seats:.1f}"
            name = f"{which} door card of {seats} seats"
            bars = Bars(f"seat with the {which} door card", doors, decks, 1 / seats, lowest=1)
            outcomes.append(Outcome(name, float(doors[seat]), p, seats, detail, bars=bars))
    return outcomes


THIRD_STREET_HANDS = Family(
    "third street",
    "A seat whose first three cards are too good or too bad, or hold a rank too often, and who brings it in.",
    _count_hands,
    _hand_pvalues,
    cards=52,
)


def _count_holes(batch: Batch) -> Counts:
    counts: Counts = {}
    for seats in HOLES:
        paired = batch.ranks[:seats] == batch.ranks[seats : 2 * seats]
        counts[f"paired of {seats}"] = _row_counts(paired)
        counts[f"both of {seats}"] = np.array(
            [np.count_nonzero(one & other) for one, other in combinations(paired, 2)], dtype=np.int64
        )
    in_a_row = batch.ranks[0:_IN_A_ROW:2] == batch.ranks[1:_IN_A_ROW:2]
    counts["both in a row"] = _row_counts(np.stack([one & other for one, other in combinations(in_a_row, 2)]))
    return counts


def _hole_pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes = []
    for seats in HOLES:
        paired = counts[f"paired of {seats}"]
        p, seat = worst_cell(paired, decks, PAIR)
        detail = f"seat {seat + 1}: {paired[seat]} times, expected {decks * PAIR:.1f}"
        bars = Bars("seat with a pair down", paired, decks, PAIR, lowest=1)
        outcomes.append(
            Outcome(f"paired hole cards of {seats} seats", float(paired[seat]), p, seats, detail, bars=bars)
        )
        both = counts[f"both of {seats}"]
        p, worst = worst_cell(both, decks, BOTH_PAIRED)
        pairs = list(combinations(range(1, seats + 1), 2))
        one, other = pairs[worst]
        detail = f"seats {one} and {other}: {both[worst]} times, expected {decks * BOTH_PAIRED:.1f}"
        name = f"two of {seats} seats paired"
        names = [f"{first}+{second}" for first, second in pairs]
        bars = Bars("seats that both have a pair down", both, decks, BOTH_PAIRED, names)
        outcomes.append(Outcome(name, float(both[worst]), p, len(both), detail, bars=bars))
    both = counts["both in a row"]
    p, worst = worst_cell(both, decks, BOTH_PAIRED)
    one, other = list(combinations(range(0, _IN_A_ROW, 2), 2))[worst]
    detail = f"at {one} and at {other}: {both[worst]} times, expected {decks * BOTH_PAIRED:.1f}"
    name = "two pairs of cards dealt two at a time"
    return [*outcomes, Outcome(name, float(both[worst]), p, len(both), detail)]


PAIRED_HOLES = Family(
    "paired hole cards",
    "Seats, or two seats at once, that are dealt a pair down too often: the set-up hand of a collusion.",
    _count_holes,
    _hole_pvalues,
    cards=52,
)
