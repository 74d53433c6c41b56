"""Swaps that depend on the swaps before: the lattice of a congruential generator, and low bits that take turns.

Each swap of a Fisher-Yates shuffle uses the next number of a stream. Alone every number may be uniform while the next
ones follow from it: a linear congruential generator puts any three in a row on few parallel planes (Marsaglia 1968),
and the low bits of a power of two's congruence have tiny periods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, exp, log, pi

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch, Bytes
from audit.stats.families.fisher_yates import DIRECTIONS
from audit.stats.family import Counts, Family, Outcome
from audit.stats.nulls.pvalue import Floats, binomial_tails, two_sided, worst_cell

GRID = 64
"""Digits are told apart as so many parts of their range: a frequency above half of it would not show anyway."""

_SECTORS = 16
"""Directions in the complex plane by which the length of a sum is bounded."""


def triples(n: int) -> list[tuple[int, int, int]]:
    """Lists three digits in a row, no digit twice, of the larger half: small digits are too coarse for a lattice."""
    return [(i, i - 1, i - 2) for i in range(n - 1, n // 2 + 1, -3)]


@cache
def _part(size: int) -> NDArray[np.intp]:
    """Returns the part of the grid in which each digit below `size` lies, (256,)."""
    parts = (2 * np.arange(256) + 1) * GRID // (2 * size)
    return np.minimum(parts, GRID - 1).astype(np.intp)


def _lattice_counts(digits: Bytes) -> NDArray[np.int64]:
    """Counts how often three digits in a row lay in each part of the cube, all triples together, (GRID, GRID, GRID)."""
    rows = triples(len(digits))
    cells = np.empty((len(rows), digits.shape[1]), np.intp)
    for cell, three in zip(cells, rows, strict=True):
        one, two, last = (_part(row + 1).take(digits[row]) for row in three)
        np.add((one * GRID + two) * GRID, last, out=cell)
    return np.bincount(cells.reshape(-1), minlength=GRID**3).astype(np.int64).reshape(GRID, GRID, GRID)


def _low_bits_alike(digits: Bytes) -> NDArray[np.int64]:
    """Counts the decks whose digits of even range i + 1 and i - 1 are both odd or both even, for i = 3, 5 and so on."""
    return np.array(
        [digits.shape[1] - np.count_nonzero((digits[i] ^ digits[i - 2]) & 1) for i in range(3, len(digits), 2)],
        np.int64,
    )


def _count(batch: Batch) -> Counts:
    counts: Counts = {}
    for direction, digits in zip(DIRECTIONS, (*batch.deck_swaps, *batch.inverse_swaps), strict=True):
        counts[f"lattice {direction}"] = _lattice_counts(digits)
        counts[f"low bits {direction}"] = _low_bits_alike(digits)
    return counts


@dataclass(frozen=True)
class _Waves:
    """What one deck adds to a wave, the sum of exp(-2 pi i h.u) over its triples, for each h of the grid.

    Attributes:
        mean: expectation.
        variance: the largest variance of its part in any one direction.
        reach: how far one triple can lie from its expectation.
        looked: frequencies that are looked at: one of h and -h, with at least two entries that are not 0.
    """

    mean: NDArray[np.complex128]
    variance: Floats
    reach: Floats
    looked: NDArray[np.intp]


@cache
def _waves(n: int) -> _Waves:
    shape = (GRID, GRID, GRID)
    mean, square, pseudo, longest = np.zeros(shape, complex), np.zeros(shape), np.zeros(shape, complex), np.zeros(shape)
    double = np.arange(GRID) * 2 % GRID
    for rows in triples(n):
        waves = [np.fft.fft(np.bincount(_part(row + 1)[: row + 1], minlength=GRID) / (row + 1)) for row in rows]
        each = waves[0][:, None, None] * waves[1][:, None] * waves[2]
        mean += each
        square += 1 - np.abs(each) ** 2
        pseudo += each[np.ix_(double, double, double)] - each**2
        np.maximum(longest, np.abs(each), out=longest)
    h = np.indices(shape).reshape(3, -1)
    opposite = ((-h) % GRID * np.array([[GRID**2], [GRID], [1]])).sum(axis=0)
    looked = (np.arange(GRID**3) < opposite) & ((h != 0).sum(axis=0) >= 2)
    return _Waves(mean, (square + np.abs(pseudo)) / 2, 1 + longest, np.flatnonzero(looked))


def _lattice_outcome(counts: NDArray[np.int64], n: int, decks: int, direction: str) -> Outcome:
    """Tests the wave that stands out most from a fair shuffle's.

    A part of the wave in one direction is a sum of independent, centred, bounded terms, which Bernstein's inequality
    bounds; a long wave is nearly as long in one of `_SECTORS` directions. So p is a bound for every N, and mostly 1.
    """
    waves = _waves(n)
    heights = np.abs(np.fft.fftn(counts) - decks * waves.mean).reshape(-1)[waves.looked]
    variance, reach = (part.reshape(-1)[waves.looked] for part in (waves.variance, waves.reach))
    along = heights * cos(pi / _SECTORS)
    exponents = along**2 / (2 * (decks * variance + reach * along / 3))
    best = int(exponents.argmax())
    p = exp(min(0.0, log(_SECTORS * len(waves.looked)) - float(exponents[best])))
    frequency = [
        int(part) if part <= GRID // 2 else int(part) - GRID
        for part in np.unravel_index(int(waves.looked[best]), counts.shape)
    ]
    height = float(heights[best]) / int(counts.sum())
    a, b, c = frequency
    detail = f"strongest wave {a} u + {b} v + {c} w of swaps u, v, w in a row: {height:.3f} of what planes would give"
    return Outcome(f"{direction}: three swaps in a row", height, p, len(waves.looked), detail)


def _low_bits_outcomes(alike: NDArray[np.int64], decks: int, direction: str) -> list[Outcome]:
    """Tests whether low bits of digits of even range, two swaps apart, agree: in any one place, and over all."""
    draws, total = decks * len(alike), int(alike.sum())
    detail = f"alike {total} times, expected {draws / 2:.1f}"
    p, worst = worst_cell(alike, decks, 0.5)
    return [
        Outcome(f"{direction}: low bits", float(total), two_sided(*binomial_tails(total, draws, 0.5)), 1, detail),
        Outcome(
            f"{direction}: low bits of two swaps",
            float(alike[worst]),
            p,
            len(alike),
            f"swaps {2 * worst + 3} and {2 * worst + 1} alike {alike[worst]} times, expected {decks / 2:.1f}",
        ),
    ]


def _pvalues(counts: Counts, n: int, decks: int) -> Sequence[Outcome]:
    outcomes: list[Outcome] = []
    for direction in DIRECTIONS:
        outcomes.append(_lattice_outcome(counts[f"lattice {direction}"], n, decks, direction))
        outcomes += _low_bits_outcomes(counts[f"low bits {direction}"], decks, direction)
    return outcomes


STREAMS = Family(
    "streams of swaps",
    "Swaps that follow from those before: a linear congruential generator, or low bits with a short period.",
    _count,
    _pvalues,
    ordered=True,
    fewest_cards=20,
    strata=False,
)
