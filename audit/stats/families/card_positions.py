"""Card x position counts: does every card lie everywhere equally often?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.cards.names import card_name, rank_name
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls.pvalue import favoured_cell, pearson_tails, two_sided, worst_cell
from audit.stats.results import Bars

ACES_WEIGHT = 25.0
"""Whoever forces a card forces an ace, so the highest rank is looked at alone as well."""


def position_counts(cards: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Counts how often each card (row) lay at each position (column), (n, n), from (n, N) decks."""
    n = cards.shape[0]
    return np.stack([np.bincount(cards[position], minlength=n) for position in range(n)], axis=1)


def merge_classes(matrix: NDArray[np.int64], label: NDArray[np.intp], classes: int) -> NDArray[np.int64]:
    """Adds up the rows of an (n, n) matrix by their class, to (classes, n)."""
    merged = np.zeros((classes, matrix.shape[1]), np.int64)
    np.add.at(merged, label, matrix)
    return merged


def class_third_moment(n: int, size: int) -> float:
    """Returns the third central moment of the number of positions at which two decks have cards of the same class.

    Args:
        n: cards.
        size: cards in each class.
    """
    g = size
    triples = n * (n - 1) * (n - 2)
    second = n * (g - 1) * g * (g - 1) / (n * (n - 1)) + n * (n - g) * g * g / (n * (n - 1))
    third = (
        n * (g - 1) * (g - 2) * g * (g - 1) * (g - 2)
        + 3 * n * (g - 1) * (n - g) * g * (g - 1) * g
        + n * (n - g) * (n - 2 * g) * g**3
    ) / triples
    raw2, raw3 = second + g, third + 3 * second + g
    return float(raw3 - 3 * g * raw2 + 2 * g**3)


def position_pearson(matrix: NDArray[np.int64], decks: int) -> tuple[float, float, float]:
    """Returns the Pearson sum of classes x positions with the factor (n-1)/n, its degrees of freedom and E[K^3]."""
    classes, n = matrix.shape
    size = n // classes
    factor = (n - 1) / size
    expected = decks * size / n
    statistic = factor / decks * float(((matrix - expected) ** 2).sum())
    return statistic, (classes - 1) * (n - 1), factor**3 * class_third_moment(n, size)


def position_outcome(matrix: NDArray[np.int64], decks: int, what: str) -> Outcome:
    """Tests classes x positions, whole, by their Pearson sum."""
    statistic, df, third = position_pearson(matrix, decks)
    p = two_sided(*pearson_tails(statistic, df, third, decks))
    return Outcome(f"{what} x position", statistic, p, 1, f"Pearson sum {statistic:.1f}, expected {df:.0f}")


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    matrix = counts["cards"]
    outcomes = [position_outcome(matrix, decks, "card")]
    p, worst = worst_cell(matrix, decks, 1 / n)
    card, position = divmod(worst, n)
    outcomes.append(
        Outcome(
            "largest card cell",
            float(matrix.flat[worst]),
            p,
            n * n,
            f"{card_name(card, n)} at position {position}: {matrix.flat[worst]} times, expected {decks / n:.1f}",
            bars=Bars(f"position of {card_name(card, n)}", matrix[card], decks, 1 / n),
        )
    )
    if n % 4:
        return outcomes
    card_index = np.arange(n)
    ranks = merge_classes(matrix, card_index >> 2, n // 4)
    suits = merge_classes(matrix, card_index & 3, 4)
    colours = merge_classes(matrix, np.isin(card_index & 3, (1, 2)).astype(np.intp), 2)
    outcomes += [
        position_outcome(ranks, decks, "rank"),
        position_outcome(suits, decks, "suit"),
        position_outcome(colours, decks, "colour"),
    ]
    p, worst = worst_cell(ranks, decks, 4 / n)
    rank, position = divmod(worst, n)
    outcomes.append(
        Outcome(
            "largest rank cell",
            float(ranks.flat[worst]),
            p,
            ranks.size,
            f"{rank_name(rank, n)} at position {position}: {ranks.flat[worst]} times, expected {decks * 4 / n:.1f}",
            bars=Bars(f"position of rank {rank_name(rank, n)}", ranks[rank], decks, 4 / n),
        )
    )
    aces = ranks[-1]
    p, position = favoured_cell(aces, decks, 4 / n)
    detail = f"at position {position}: {aces[position]} times, expected {decks * 4 / n:.1f}"
    outcomes.append(Outcome("aces", float(aces[position]), p, n, detail, weight=ACES_WEIGHT))
    return outcomes


CARD_POSITIONS = Family(
    "card x position",
    "Cards, ranks, suits or colours that lie at some position too often or too rarely.",
    lambda batch: {"cards": position_counts(batch.cards)},
    _pvalues,
    fewest_cards=4,
)
