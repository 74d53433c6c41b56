"""Which of two cards lies nearer to the top: a test that needs to know no order from before the shuffle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.stats.batch import Batch
from audit.stats.cards.names import card_name
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls.pvalue import pearson_tails, two_sided, worst_cell


def _count(batch: Batch) -> Counts:
    n, where = batch.n, batch.where
    above = np.zeros((n, n), np.int64)
    for card in range(n - 1):
        nearer = where[card] < where[card + 1 :]
        above[card, card + 1 :] = [np.count_nonzero(row) for row in nearer]
    return {"above": above}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    above = counts["above"]
    upper = np.triu_indices(n, 1)
    signs = np.zeros((n, n), np.int64)
    signs[upper] = 2 * above[upper] - decks
    signs -= signs.T

    # Per deck a row adds up to n - 1 - 2 position. Both parts change sign when a deck is turned round: no third moment.
    rows = signs.sum(axis=1)
    depth = 3 / (n * (n + 1) * decks) * float((rows.astype(np.float64) ** 2).sum())
    rest = signs - (rows[:, None] - rows[None, :]) / n
    remainder = 3 / decks * float((rest[upper] ** 2).sum())
    outcomes = []
    for name, statistic, df in (
        ("mean depth", depth, n - 1),
        ("precedence beyond depth", remainder, (n - 1) * (n - 2) // 2),
    ):
        p = two_sided(*pearson_tails(statistic, df, 0.0, decks))
        outcomes.append(Outcome(name, statistic, p, 1, f"Pearson sum {statistic:.1f}, expected {df}"))

    pairs = above[upper]
    p, worst = worst_cell(pairs, decks, 0.5)
    one, other = int(upper[0][worst]), int(upper[1][worst])
    outcomes.append(
        Outcome(
            "largest precedence cell",
            float(pairs[worst]),
            p,
            len(pairs),
            f"{card_name(one, n)} above {card_name(other, n)}: {pairs[worst]} of {decks} times",
        )
    )
    return outcomes


PRECEDENCE = Family(
    "precedence",
    "Cards that tend to lie above or below others, as sorting with a bad comparator leaves them.",
    _count,
    _pvalues,
)
