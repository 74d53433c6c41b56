"""Tails of the sum of N independent draws from a distribution on integers, right deep into the tails.

Both ways tilt the distribution (an Esscher transform) until the observed sum is its mean. The tilted sum's distribution
is then worked out whole by a Fourier transform, so that no digit of a tail of 1e-200 is lost, or, where N makes that
too long, taken from the saddlepoint (Lugannani and Rice, with the lattice's continuity correction).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p, pi, sinh, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

_LONGEST_TRANSFORM = 1 << 19
_NEGLIGIBLE = 45.0
"""What the transform folds over has a tilted probability below e^-45."""
_CENTRE = 0.01
"""This near to the mean, in standard deviations, Lugannani and Rice's formula is 0/0; Edgeworth's is exact enough."""


@dataclass(frozen=True)
class _Draw:
    """One draw: its values less their mean, their probabilities and these probabilities' logarithms."""

    values: NDArray[np.float64]
    prob: NDArray[np.float64]
    log_prob: NDArray[np.float64]


@dataclass(frozen=True)
class _Tilted:
    """A draw with its probabilities multiplied by exp(theta x - cumulant), which makes its mean `mean`."""

    theta: float
    cumulant: float
    prob: NDArray[np.float64]
    mean: float
    variance: float


def _tilt(draw: _Draw, theta: float) -> _Tilted:
    exponents = theta * draw.values
    weights = draw.log_prob + exponents
    largest = float(weights.max())
    prob = np.exp(weights - largest)
    total = float(prob.sum())
    prob /= total
    cumulant = largest + log(total)
    if np.abs(exponents).max() < 1:
        # Near theta = 0 the cumulant is of the order of theta^2 and a logarithm of something near 1 would lose it.
        cumulant = log1p(float(draw.prob @ (np.expm1(exponents) - exponents)))
    mean = float(draw.values @ prob)
    return _Tilted(theta, cumulant, prob, mean, float((draw.values - mean) ** 2 @ prob))


def _tilt_to(draw: _Draw, mean: float) -> _Tilted:
    """Finds the tilt under which the mean is `mean`, strictly between the least and the greatest value."""

    def excess(theta: float) -> float:
        return _tilt(draw, theta).mean - mean

    low, high = -1e-3, 1e-3
    while excess(low) > 0:
        low *= 4
    while excess(high) < 0:
        high *= 4
    return _tilt(draw, float(brentq(excess, low, high, xtol=1e-18, rtol=1e-13, maxiter=300)))


def _transform_length(tilted: _Tilted, draws: int) -> int:
    """Returns a power of two of residues that hold the tilted sum but for a negligible part (Bernstein's bound)."""
    span = len(tilted.prob) - 1
    linear = 2 * span * _NEGLIGIBLE / 3
    reach = (linear + sqrt(linear**2 + 8 * _NEGLIGIBLE * draws * tilted.variance)) / 2
    return 1 << int(min(2 * reach, draws * span) + 1).bit_length()


def _upper_by_transform(tilted: _Tilted, draws: int, observed: int, deviation: float) -> tuple[float, float]:
    """Returns P(S >= observed) and P(S = observed) from the tilted sum's own distribution."""
    size = _transform_length(tilted, draws)
    folded = np.bincount(np.arange(len(tilted.prob)) % size, weights=tilted.prob, minlength=size)
    total = np.fft.irfft(np.fft.rfft(folded) ** draws, size)
    # Where every value has a residue of its own, what lies above is all that is left; elsewhere half the circle is.
    whole = draws * (len(tilted.prob) - 1)
    above = np.arange(whole - observed + 1 if whole < size else size // 2)
    at = np.maximum(total[(observed + above) % size], 0.0)
    scale = draws * tilted.cumulant - tilted.theta * deviation
    upper = float(at @ np.exp(-tilted.theta * above))
    return exp(scale + log(upper)) if upper else 0.0, exp(scale + log(at[0])) if at[0] else 0.0


def _upper_by_saddlepoint(draw: _Draw, draws: int, deviation: float) -> float:
    """Returns P(S - its mean >= deviation), deviation > -1, by Lugannani and Rice, second continuity correction."""
    edge = deviation - 0.5
    variance = float(draw.values**2 @ draw.prob) * draws
    z = edge / sqrt(variance)
    if abs(z) < _CENTRE:
        third = float(draw.values**3 @ draw.prob) * draws / (variance * sqrt(variance))
        return float(ndtr(-z)) + exp(-z * z / 2) / sqrt(2 * pi) * third * (z * z - 1) / 6
    tilted = _tilt_to(draw, edge / draws)
    w: float = sqrt(2 * (tilted.theta * edge - draws * tilted.cumulant))
    w = w if edge > 0 else -w
    u = 2 * sinh(tilted.theta / 2) * sqrt(draws * tilted.variance)
    # exp(-w^2/2) taken out of both terms (erfcx), so that neither is lost before they are put together.
    relative = float(erfcx(w / sqrt(2))) / 2 + (1 / u - 1 / w) / sqrt(2 * pi)
    return exp(log(relative) - w * w / 2) if relative > 0 else 0.0


def _upper_and_point(prob: NDArray[np.float64], draws: int, observed: int) -> tuple[float, float]:
    """Returns P(S >= observed) and P(S = observed) for values 0 … len - 1 and `observed` not below the mean of S."""
    span = len(prob) - 1
    if observed == draws * span:
        point = exp(draws * log(prob[-1]))
        return point, point
    values = np.arange(span + 1.0)
    mean = float(values @ prob)
    with np.errstate(divide="ignore"):
        draw = _Draw(values - mean, prob, np.log(prob))
    deviation = observed - draws * mean
    tilted = _tilt_to(draw, deviation / draws)
    if _transform_length(tilted, draws) <= _LONGEST_TRANSFORM:
        return _upper_by_transform(tilted, draws, observed, deviation)
    upper = _upper_by_saddlepoint(draw, draws, deviation)
    return upper, upper - _upper_by_saddlepoint(draw, draws, deviation + 1)


def sum_tail(support: ArrayLike, prob: ArrayLike, draws: int, observed: int) -> tuple[float, float]:
    """Returns both tails of the sum of independent draws from a distribution on consecutive integers.

    Relative accuracy: 1e-9 for sums that a transform of 2^19 points holds (for inversions of 52 cards up to some
    100,000 decks, for narrow statistics up to millions), and of the order of 1/draws beyond. Below 1e-308 a tail is 0.

    Args:
        support: The values, consecutive integers, ascending.
        prob: Their probabilities; zeros are allowed.
        draws: N, how many independent draws were added up.
        observed: The sum S that was seen.

    Returns:
        P(S <= observed) and P(S >= observed).

    Raises:
        ValueError: If there are no draws or the support is not consecutive.
    """
    values = np.asarray(support, dtype=np.int64)
    chances = np.asarray(prob, dtype=np.float64)
    if draws < 1:
        raise ValueError(f"a sum needs at least one draw, not {draws}")
    if values.shape != chances.shape or values.ndim != 1 or np.any(np.diff(values) != 1):
        raise ValueError("the support is a list of consecutive integers, with one probability each")
    possible = np.flatnonzero(chances)
    lowest = int(values[possible[0]])
    chances = chances[possible[0] : possible[-1] + 1]
    chances = chances / chances.sum()
    span = len(chances) - 1
    above_least = int(observed) - draws * lowest
    if above_least < 0:
        return 0.0, 1.0
    if above_least > draws * span:
        return 1.0, 0.0
    if span == 0:
        return 1.0, 1.0
    mean = float(np.arange(span + 1) @ chances) * draws
    if above_least >= mean:
        upper, point = _upper_and_point(chances, draws, above_least)
        return min(1.0, 1.0 - upper + point), min(1.0, upper)
    lower, point = _upper_and_point(chances[::-1].copy(), draws, draws * span - above_least)
    return min(1.0, lower), min(1.0, 1.0 - lower + point)
