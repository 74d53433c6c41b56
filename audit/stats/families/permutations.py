"""What a deck is as a permutation: descents, inversions, cycles, records, runs, each against its exact null."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch, Bytes
from audit.stats.families.sums import DeckStatistic
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls import (
    CYCLES,
    DESCENTS,
    FIXED_POINTS,
    INVERSIONS,
    LONGEST_RUN,
    LONGEST_SUBSEQUENCE,
    PARITY,
    RECORDS,
    RISING_SEQUENCES,
)


def column_sums(rows: NDArray[np.bool_]) -> Bytes:
    """Counts the true entries of each column of at most 255 rows."""
    sums: Bytes = np.add.reduce(rows.view(np.uint8), axis=0, dtype=np.uint8)
    return sums


def descents(permutations: Bytes) -> Bytes:
    """Counts the places that a smaller entry follows."""
    return column_sums(permutations[1:] < permutations[:-1])


def _cycles(batch: Batch) -> Bytes:
    """Counts the cycles: each swap with itself closes one."""
    own = np.arange(batch.n, dtype=np.uint8)[:, None]
    return column_sums(batch.deck_swaps[0] == own)


def _fixed_points(batch: Batch) -> Bytes:
    own = np.arange(batch.n, dtype=np.uint8)[:, None]
    return column_sums(batch.perm == own)


def _inversions(batch: Batch) -> NDArray[np.uint16]:
    digits: NDArray[np.uint16] = np.add.reduce(batch.lehmer_digits[0], axis=0, dtype=np.uint16)
    return digits


def _records(permutations: Bytes) -> Bytes:
    """Counts the entries above all entries before them."""
    highest = permutations[0].copy()
    records = np.ones(permutations.shape[1], np.uint8)
    for entry in permutations[1:]:
        records += entry > highest
        np.maximum(highest, entry, out=highest)
    return records


def _longest_run(permutations: Bytes) -> Bytes:
    """Returns the length of the longest stretch that only ascends."""
    ascents = (permutations[1:] > permutations[:-1]).view(np.uint8)
    run = np.ones(permutations.shape[1], np.uint8)
    longest = run.copy()
    for ascent in ascents:
        run = run * ascent + np.uint8(1)
        np.maximum(longest, run, out=longest)
    return longest


def _longest_subsequence(permutations: Bytes) -> Bytes:
    """Returns the length of the longest ascending subsequence.

    This is patience sorting: an entry covers the first pile not below it.
    """
    n, decks = permutations.shape
    tops = np.full((n + 1, decks), 255, np.uint8)
    tops[0] = 0
    filled = 1  # no deck has more piles than these
    for entry in permutations + np.uint8(1):
        window = tops[: filled + 1]
        # A pile takes the entry where the pile before it is below the entry; elsewhere 255 changes nothing.
        offered = entry | ((window[:-1] < entry).view(np.uint8) - np.uint8(1))
        np.minimum(window[1:], offered, out=window[1:])
        if filled < n and tops[filled].min() != 255:
            filled += 1
    return column_sums(tops[1:] != 255)


def _upside_down(permutations: Bytes) -> Bytes:
    return np.uint8(permutations.shape[0] - 1) - permutations


RIFFLE_WEIGHT = 40.0
"""Nothing tells a riffled deck from a fair one better than its rising sequences, or sort keys than descents."""

STATISTICS = (
    DeckStatistic("descents", lambda batch: descents(batch.perm), DESCENTS.pmf, RIFFLE_WEIGHT),
    DeckStatistic(
        "rising sequences", lambda batch: descents(batch.inverse) + np.uint8(1), RISING_SEQUENCES.pmf, RIFFLE_WEIGHT
    ),
    DeckStatistic("inversions", _inversions, INVERSIONS.pmf, largest=lambda n: n * (n - 1) // 2),
    DeckStatistic("cycles", _cycles, CYCLES.pmf),
    DeckStatistic("fixed points", _fixed_points, FIXED_POINTS.pmf),
    DeckStatistic("parity", lambda batch: (np.uint8(batch.n) - _cycles(batch)) & np.uint8(1), PARITY.pmf),
    DeckStatistic("highest so far", lambda batch: _records(batch.perm), RECORDS.pmf),
    DeckStatistic("lowest so far", lambda batch: _records(_upside_down(batch.perm)), RECORDS.pmf),
    DeckStatistic("highest so far from the end", lambda batch: _records(batch.perm[::-1]), RECORDS.pmf),
    DeckStatistic("lowest so far from the end", lambda batch: _records(_upside_down(batch.perm[::-1])), RECORDS.pmf),
    DeckStatistic("longest ascending run", lambda batch: _longest_run(batch.perm), LONGEST_RUN.pmf),
    DeckStatistic("longest descending run", lambda batch: _longest_run(_upside_down(batch.perm)), LONGEST_RUN.pmf),
    DeckStatistic("longest ascending run of the inverse", lambda batch: _longest_run(batch.inverse), LONGEST_RUN.pmf),
    DeckStatistic(
        "longest descending run of the inverse",
        lambda batch: _longest_run(_upside_down(batch.inverse)),
        LONGEST_RUN.pmf,
    ),
    DeckStatistic(
        "longest ascending subsequence", lambda batch: _longest_subsequence(batch.perm), LONGEST_SUBSEQUENCE.pmf
    ),
    DeckStatistic(
        "longest descending subsequence",
        lambda batch: _longest_subsequence(_upside_down(batch.perm)),
        LONGEST_SUBSEQUENCE.pmf,
    ),
)


def _count(batch: Batch) -> Counts:
    return {statistic.name: statistic.histogram(batch) for statistic in STATISTICS}


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    return [outcome for statistic in STATISTICS for outcome in statistic.outcomes(counts[statistic.name], n)]


PERMUTATIONS = Family(
    "permutation",
    "Traces of the order before the shuffle: too few riffles, ties in sort keys, a shuffle of one parity.",
    _count,
    _pvalues,
    ordered=True,
    statistics=STATISTICS,
)
