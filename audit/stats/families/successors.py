"""Which card follows which at a circular distance: what cutting, overhand shuffling and clumps leave behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.stats.batch import Batch
from audit.stats.cards.names import card_name
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls.pvalue import pearson_tails, two_sided, worst_cell

FURTHEST = 8
"""The greatest distance looked at."""


def _count(batch: Batch) -> Counts:
    # A distance and what is left of the circle say the same, so only the shorter way round counts.
    furthest = min(FURTHEST, (batch.n - 1) // 2)
    followers = [batch.pairs(distance).sum(axis=0) for distance in range(1, furthest + 1)]
    return {"followers": np.stack(followers).reshape(furthest, batch.n, batch.n)}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes = []
    for distance, matrix in enumerate(counts["followers"], start=1):
        upper = np.triu_indices(n, 1)
        forth, back = matrix[upper], matrix.T[upper]

        # Either order: two cards are neighbours in this sense with chance 2/(n-1). Shared neighbours of two decks are
        # nearly Poisson, hence the third moment.
        factor, df = (n - 1) / 2, n * (n - 3) // 2
        statistic = factor / decks * float(((forth + back - 2 * decks / (n - 1)) ** 2).sum())
        p = two_sided(*pearson_tails(statistic, df, factor * df, decks))
        detail = f"Pearson sum {statistic:.1f}, expected {df}"
        outcomes.append(Outcome(f"neighbours at distance {distance}", statistic, p, 1, detail))

        # Which of the two comes first. Turning a deck round changes the sign, so the third moment is 0.
        df = (n - 1) * (n - 2) // 2
        statistic = df / n / decks * float(((forth - back) ** 2).sum())
        p = two_sided(*pearson_tails(statistic, df, 0.0, decks))
        detail = f"Pearson sum {statistic:.1f}, expected {df}"
        outcomes.append(Outcome(f"order at distance {distance}", statistic, p, 1, detail))

        pairs = np.flatnonzero(~np.eye(n, dtype=bool))
        p, worst = worst_cell(matrix.reshape(-1)[pairs], decks, 1 / (n - 1))
        card, follower = divmod(int(pairs[worst]), n)
        outcomes.append(
            Outcome(
                f"largest successor cell at distance {distance}",
                float(matrix[card, follower]),
                p,
                len(pairs),
                f"{card_name(follower, n)} {distance} after {card_name(card, n)}: {matrix[card, follower]} times, "
                f"expected {decks / (n - 1):.1f}",
            )
        )
    return outcomes


SUCCESSORS = Family(
    "successors",
    "Cards that stay near each other, or in order, at a distance of one to eight places round the deck.",
    _count,
    _pvalues,
)
