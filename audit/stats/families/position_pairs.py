"""Which two cards lie at two positions, and the first three cards: repeats that single positions do not show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.stats.batch import Batch
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls.pvalue import coincidence_tails, sidak, two_sided, worst_cell

FURTHEST = 8
"""The greatest distance between the two positions of a pair of cards."""


def _count(batch: Batch) -> Counts:
    n = batch.n
    wide = batch.cards[:3].astype(np.intp)
    return {
        "pairs": np.stack([batch.pairs(distance) for distance in range(1, min(FURTHEST, (n - 1) // 2) + 1)]),
        "first three": np.bincount((wide[0] * n + wide[1]) * n + wide[2], minlength=n**3),
    }


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes = []
    cells = n * (n - 1)
    for distance, at in enumerate(counts["pairs"], start=1):
        places = range(n - distance)
        ps = [two_sided(*coincidence_tails(at[place], cells)) for place in places]
        worst = int(np.argmin(ps))
        outcomes.append(
            Outcome(
                f"pairs of cards at distance {distance}",
                ps[worst],
                sidak(ps[worst], len(places)),
                len(places),
                f"statistic: the p-value of its most uneven place, {worst} and {worst + distance}, among {len(places)}",
            )
        )
    together = int((counts["first three"] * (counts["first three"] - 1) // 2).sum())
    cells = n * (n - 1) * (n - 2)
    expected = decks * (decks - 1) / 2 / cells
    p = two_sided(*coincidence_tails(counts["first three"], cells))
    detail = f"{together} pairs of decks with the same three cards on top, expected {expected:.1f}"
    return [*outcomes, Outcome("first three cards", float(together), p, 1, detail)]


POSITION_PAIRS = Family(
    "pairs at positions",
    "Two or three cards that lie at their positions together too often, though each alone does not.",
    _count,
    _pvalues,
    strata=False,
)


def _count_alike(batch: Batch) -> Counts:
    n = batch.n
    alike = {"rank": np.zeros((n, n), np.int64), "suit": np.zeros((n, n), np.int64)}
    for key, classes in (("rank", batch.ranks), ("suit", batch.suits)):
        for place in range(n - 1):
            same = classes[place] == classes[place + 1 :]
            alike[key][place, place + 1 :] = [np.count_nonzero(row) for row in same]
    return alike


def _alike_pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    upper = np.triu_indices(n, 1)
    outcomes = []
    for what, size in (("rank", 4), ("suit", n // 4)):
        cells = counts[what][upper]
        chance = (size - 1) / (n - 1)
        p, worst = worst_cell(cells, decks, chance)
        one, other = int(upper[0][worst]), int(upper[1][worst])
        detail = f"positions {one} and {other}: {cells[worst]} times, expected {decks * chance:.1f}"
        outcomes.append(Outcome(f"same {what} at two positions", float(cells[worst]), p, len(cells), detail))
    return outcomes


ALIKE_POSITIONS = Family(
    "alike at positions",
    "Two positions that hold a pair, or one suit, too often: a seat whose hole cards are paired in any way of dealing.",
    _count_alike,
    _alike_pvalues,
    suited=True,
    fewest_cards=8,
)
