"""Digits of a permutation that are independent and uniform when the deck is: what their tests share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from audit.stats.family import Outcome
from audit.stats.nulls.pvalue import (
    Floats,
    extreme_cell,
    likelihood_ratio_tail,
    pearson_tails,
    sidak,
    tarone_bound,
    two_sided,
)
from audit.stats.results import Bars

WORDS = range(8, 17)
"""Lengths in bits of the random words whose signature is looked for: longer ones do not show."""

RULES = ("word mod m", "word * m >> bits", "word / (2^bits - 1) * m")
"""Ways to make a word into a digit below m without refusing any; of the last one, m itself counts as m - 1."""


def digit_counts(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Counts how often digit i (row) was j (column), j <= i, (n, n)."""
    n = digits.shape[0]
    return np.stack([np.bincount(row, minlength=n) for row in digits])


def digit_outcomes(matrix: NDArray[np.int64], decks: int, prefix: str) -> list[Outcome]:
    """Tests the Pearson sum over all digits, and the largest cell."""
    n = len(matrix)
    statistic = third = 0.0
    least, best = 1.0, (1, 0)
    for i in range(1, n):
        size, row = i + 1, matrix[i, : i + 1]
        statistic += size / decks * float(((row - decks / size) ** 2).sum())
        third += (size - 1) * (size - 2)
        tail, j = extreme_cell(row, decks, 1 / size)
        if tail < least:
            least, best = tail, (i, j)
    df = n * (n - 1) // 2
    cells = df + n - 1
    sizes = np.arange(2.0, n + 1)
    (i, j), found = best, int(matrix[best])
    return [
        Outcome(
            f"{prefix}: all digits",
            statistic,
            two_sided(*pearson_tails(statistic, df, third, decks)),
            1,
            f"Pearson sum {statistic:.1f}, expected {df}",
        ),
        Outcome(
            f"{prefix}: largest cell",
            float(found),
            tarone_bound(least, decks, 1 / sizes, np.where(sizes > 2, sizes, 1)),
            cells,
            f"digit {i} is {j}: {found} times, expected {decks / (i + 1):.1f}",
            bars=Bars(f"digit {i}", matrix[i, : i + 1], decks, 1 / (i + 1)),
        ),
    ]


def trend_outcome(matrix: NDArray[np.int64], decks: int, prefix: str) -> Outcome:
    """Tests whether the digits tend to be high or low, by the sum of them all."""
    n = len(matrix)
    total = int((matrix.sum(axis=0) * np.arange(n)).sum())
    values, prob = _uniform_digits(n)
    # The sum is whole: half a unit towards the middle makes the smooth tails those of P(<=) and P(>=).
    upper = likelihood_ratio_tail(total - 0.5, values, prob, decks)
    lower = likelihood_ratio_tail(-total - 0.5, -values, prob, decks)
    p = two_sided(lower, upper)
    mean = decks * n * (n - 1) / 4
    return Outcome(f"{prefix}: trend", float(total), p, 1, f"sum of all digits {total}, expected {mean:.0f}")


@cache
def _uniform_digits(n: int) -> tuple[Floats, Floats]:
    """Returns the values of the digits 0 … i and their probabilities, i = 1 … n - 1, each (n - 1, n), 0 beyond i."""
    values = np.tile(np.arange(n, dtype=np.float64), (n - 1, 1))
    size = np.arange(2, n + 1)[:, None]
    return values, np.where(values < size, 1 / size, 0.0)


def signature_outcome(matrix: NDArray[np.int64], decks: int, prefix: str) -> Outcome:
    """Tests the strongest signature of a short random word made into a digit by one of `RULES`."""
    n = len(matrix)
    kinds = list(product(WORDS, RULES, (False, True)))
    signatures = [_signature(n, *kind) for kind in kinds]
    statistics = [float((matrix * signature.weights).sum()) for signature in signatures]
    # The furthest in standard deviations stands for all; that its p-value may not be the least errs on the safe side.
    strongest = int(
        np.argmax([each.deviations(found, decks) for each, found in zip(signatures, statistics, strict=True)])
    )
    bits, rule, from_end = kinds[strongest]
    signature = signatures[strongest]
    p = likelihood_ratio_tail(statistics[strongest], signature.weights, signature.prob, decks)
    return Outcome(
        f"{prefix}: signature of short words",
        statistics[strongest],
        sidak(p, len(kinds)),
        len(kinds),
        f"strongest: {rule} of {bits}-bit words" + (", counted from the end" if from_end else ""),
        weight=SIGNATURE_WEIGHT,
    )


def slot_outcome(matrix: NDArray[np.int64], decks: int, prefix: str) -> Outcome:
    """Tests the slot, counted from the first one or back from i, that is chosen too often or too rarely over all i."""
    n = len(matrix)
    names, chosen, chances = [], [], []
    for slot in range(n - 1):
        own = np.arange(max(slot, 1), n)
        names += [f"slot {slot}", f"slot i - {slot}"]
        chosen += [int(matrix[own, slot].sum()), int(matrix[own, own - slot].sum())]
        chances += [1 / (own + 1.0), 1 / (own + 1.0)]
    means = np.array([decks * chance.sum() for chance in chances])
    deviations = (np.array(chosen) - means) / np.sqrt([decks * (chance * (1 - chance)).sum() for chance in chances])
    worst = int(np.abs(deviations).argmax())
    hit = np.stack([np.zeros_like(chances[worst]), np.ones_like(chances[worst])], axis=1)
    prob = np.stack([1 - chances[worst], chances[worst]], axis=1)
    sign = 1 if deviations[worst] > 0 else -1
    p = min(1.0, 2 * likelihood_ratio_tail(sign * chosen[worst] - 0.5, sign * hit, prob, decks))
    looks = len(names)
    detail = f"{names[worst]}: {chosen[worst]} times, expected {means[worst]:.1f}"
    return Outcome(f"{prefix}: one slot", float(chosen[worst]), sidak(p, looks), looks, detail)


SIGNATURE_WEIGHT = 10.0
"""Modulo bias is the commonest fault of all, and this the sharpest look at it."""


@dataclass(frozen=True)
class _Signature:
    """Log likelihood ratios of digits made from short words against uniform ones.

    Attributes:
        weights: (n, n), of digit i being j; 0 for j > i.
        prob: (n, n), how likely digit i is j if it is uniform; 0 for j > i.
    """

    weights: Floats
    prob: Floats

    def deviations(self, found: float, decks: int) -> float:
        """Returns how far the sum of the weights of `decks` decks lies above its mean, in standard deviations."""
        means = (self.weights * self.prob).sum(axis=1)
        variance = float(((self.weights - means[:, None]) ** 2 * self.prob).sum())
        return (found - decks * float(means.sum())) / (decks * variance) ** 0.5 if variance else 0.0


@cache
def _signature(n: int, bits: int, rule: str, from_end: bool) -> _Signature:
    """Returns the signature of words of some bits made into digits 0 … m - 1 by one of `RULES`.

    Some digits have a word or two more than others. Upwards, `swap(i, i + j)` has its digits counted from the end.
    """
    word, weights, prob = np.arange(1 << bits), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        m = i + 1
        if rule == RULES[0]:
            digit = word % m
        elif rule == RULES[1]:
            digit = word * m >> bits
        else:
            digit = np.minimum(word * m // (len(word) - 1), i)
        words_of = np.bincount(digit, minlength=m)
        weights[i, :m] = np.log((words_of[::-1] if from_end else words_of) * (m / len(word)))
        prob[i, :m] = 1 / m
    return _Signature(weights, prob)
