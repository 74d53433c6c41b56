"""Lehmer digits of the deck and of its inverse."""

from __future__ import annotations

from collections.abc import Sequence

from audit.stats.batch import Batch
from audit.stats.families.digits import digit_counts, digit_outcomes
from audit.stats.family import Counts, Family, Outcome


def _count(batch: Batch) -> Counts:
    deck, inverse = batch.lehmer_digits
    return {"deck": digit_counts(deck), "inverse": digit_counts(inverse)}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    # Both trends are the number of inversions, which is tested as such.
    return [outcome for key in ("deck", "inverse") for outcome in digit_outcomes(counts[key], decks, key)]


LEHMER = Family(
    "Lehmer digits",
    "Insertions and selections that favour some ranks among the cards that are left.",
    _count,
    _pvalues,
    ordered=True,
)
