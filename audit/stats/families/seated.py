"""What each seat number was dealt, wherever it sat in dealing order: a rig for a seat moves with it round the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.cards.deal import seventh_street, third_street
from audit.stats.cards.hands import hand_worth
from audit.stats.cards.names import rank_name
from audit.stats.families.showdowns import WINS_WEIGHT, joined_bits
from audit.stats.families.third_street import HOLDS_RANK, PAIR
from audit.stats.family import MIN_DECKS, Counts, Family, Outcome
from audit.stats.nulls.pvalue import worst_cell

_NUMBERS = 256
_RANKS = 13


def _by_number(seats: NDArray[np.uint8], which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Counts how often `which`, (places, N), is true for each seat number, (256,); `seats` is (N, places)."""
    return np.bincount(seats.T[which], minlength=_NUMBERS).astype(np.int64)


def _count(batch: Batch) -> Counts:
    seats = batch.seats
    places = seats.shape[1]
    worths = np.stack([hand_worth(joined_bits(batch, seventh_street(places, place))) for place in range(places)])
    best = worths == worths.max(axis=0)
    decided = best.sum(axis=0) == 1
    bits = np.uint16(1) << batch.ranks.astype(np.uint16)
    held = np.stack([np.bitwise_or.reduce(bits[list(third_street(places, place))]) for place in range(places)])
    return {
        "hands": _by_number(seats, np.ones(best.shape, np.bool_)),
        "decided": _by_number(seats, np.broadcast_to(decided, best.shape)),
        "wins": _by_number(seats, best & decided),
        "paired": _by_number(seats, batch.ranks[:places] == batch.ranks[places : 2 * places]),
        "ranks": np.stack([_by_number(seats, (held >> np.uint16(rank)) & 1 == 1) for rank in range(_RANKS)], axis=1),
        "places": np.array([places * batch.size], np.int64),
    }


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    places = int(counts["places"][0]) // decks
    outcomes = []
    for number in np.flatnonzero(counts["hands"] >= MIN_DECKS).tolist():
        hands, decided, wins = (int(counts[key][number]) for key in ("hands", "decided", "wins"))
        who = f"seat {number} of {places}"
        p, _ = worst_cell(np.array([wins]), decided, 1 / places)
        detail = f"the best hand in {wins} of {decided} decks without a tie, expected {decided / places:.1f}"
        outcomes.append(Outcome(f"{who} wins as often as others", wins, p, 1, detail, hands, WINS_WEIGHT))
        ranks = counts["ranks"][number]
        p, rank = worst_cell(ranks, hands, HOLDS_RANK)
        detail = f"holds {rank_name(rank, n)} {ranks[rank]} times, expected {hands * HOLDS_RANK:.1f}"
        outcomes.append(Outcome(f"{who}: ranks held on third street", float(ranks[rank]), p, _RANKS, detail, hands))
        paired = int(counts["paired"][number])
        p, _ = worst_cell(np.array([paired]), hands, PAIR)
        detail = f"{paired} times, expected {hands * PAIR:.1f}"
        outcomes.append(Outcome(f"{who}: paired hole cards", paired, p, 1, detail, hands))
    return outcomes


SEATED = Family(
    "seats",
    "A seat that is favoured whoever is dealt to first: better hands, a rank too often, paired hole cards.",
    _count,
    _pvalues,
    cards=52,
)
"""Not one of the battery's list: it needs the seats of every hand, and is counted by number of seats."""
