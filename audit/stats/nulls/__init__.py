"""Exact null distributions on uniformly random decks, and tails of their sums (STATISTICS.md section 1)."""

from audit.stats.nulls.hands import (
    CATEGORIES,
    THIRD_STREET,
    category_counts,
    paired_hole_counts,
    third_street_counts,
)
from audit.stats.nulls.permutations import (
    CYCLES,
    DESCENTS,
    FIXED_POINTS,
    INVERSIONS,
    LONGEST_RUN,
    LONGEST_SUBSEQUENCE,
    PARITY,
    PERMUTATION_NULLS,
    RECORDS,
    RISING_SEQUENCES,
    Counts,
    Null,
    Pmf,
    same_class_neighbours,
)
from audit.stats.nulls.tails import sum_tail

__all__ = [
    "CATEGORIES",
    "CYCLES",
    "DESCENTS",
    "FIXED_POINTS",
    "INVERSIONS",
    "LONGEST_RUN",
    "LONGEST_SUBSEQUENCE",
    "PARITY",
    "PERMUTATION_NULLS",
    "RECORDS",
    "RISING_SEQUENCES",
    "THIRD_STREET",
    "Counts",
    "Null",
    "Pmf",
    "category_counts",
    "paired_hole_counts",
    "same_class_neighbours",
    "sum_tail",
    "third_street_counts",
]
