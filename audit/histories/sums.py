"""Sums over hands of a whole number for each, whose distribution depends on the hand: exact, deep into both tails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-14


@dataclass(frozen=True, eq=False)
class Draws:
    """So many independent draws of a number from 0 up.

    Attributes:
        chances: of 0, 1, 2, …
        times: how many draws.
    """

    chances: Floats
    times: int


def mean_and_variance(draws: Sequence[Draws]) -> tuple[float, float]:
    """Returns mean and variance of the sum."""
    mean = variance = 0.0
    for each in draws:
        values = np.arange(len(each.chances))
        one = float(values @ each.chances)
        mean += each.times * one
        variance += each.times * float((values - one) ** 2 @ each.chances)
    return mean, variance


def sum_tails(found: int, draws: Sequence[Draws]) -> tuple[float, float]:
    """Returns P(S <= found) and P(S >= found), S the sum of all draws, to many digits however small they are.

    Each draw's distribution is tilted (an Esscher transform) until what was found is the mean; the tilted sum's whole
    distribution comes by a Fourier transform of all draws' characteristic functions, and is tilted back.
    """
    most = sum(each.times * int(np.flatnonzero(each.chances)[-1]) for each in draws)
    least = sum(each.times * int(np.flatnonzero(each.chances)[0]) for each in draws)
    if found < least:
        return 0.0, 1.0
    if found > most:
        return 1.0, 0.0
    theta, cumulant = _tilt(found, draws, least, most)
    size = most + 1
    length = 1 << (size - 1).bit_length()
    log_transform = np.zeros(length // 2 + 1, dtype=np.complex128)
    for each in draws:
        weights = each.chances * np.exp(theta * np.arange(len(each.chances)))
        with np.errstate(divide="ignore"):
            log_transform += each.times * np.log(np.fft.rfft(weights / weights.sum(), length))
    tilted = np.fft.irfft(np.exp(log_transform), length)[:size].clip(0)
    tilted[tilted < _NEGLIGIBLE * tilted.max()] = 0
    back = np.exp(np.minimum(cumulant - theta * np.arange(size), 700.0))
    exact = np.where(tilted > 0, tilted * back, 0.0)
    lower, upper = float(exact[: found + 1].sum()), float(exact[found:].sum())
    # Far from what was found the tilted sum tells little: the tail on the mean's side is what the other leaves.
    if theta >= 0:
        return min(1.0, max(0.0, 1 - upper + float(exact[found]))), min(1.0, upper)
    return min(1.0, lower), min(1.0, max(0.0, 1 - lower + float(exact[found])))


def _tilt(found: int, draws: Sequence[Draws], least: int, most: int) -> tuple[float, float]:
    """Returns the tilt under which the sum's mean is what was found (all but, at an end), and its cumulant."""
    aim = min(max(float(found), least + 1e-6 * (most - least)), most - 1e-6 * (most - least))

    def mean(theta: float) -> float:
        total = 0.0
        for each in draws:
            values = np.arange(len(each.chances))
            weights = each.chances * np.exp(theta * values - max(0.0, theta) * (len(values) - 1))
            total += each.times * float(values @ weights) / float(weights.sum())
        return total - aim

    theta = 0.0 if most == least else float(brentq(mean, -40.0, 40.0, xtol=1e-12))
    cumulant = sum(
        each.times * float(np.log(each.chances @ np.exp(theta * np.arange(len(each.chances))))) for each in draws
    )
    return theta, cumulant


@cache
def held(of: int, dealt: int) -> Floats:
    """Returns the chances that 0, 1, … of `of` cards of a deck are among so many that are dealt (hypergeometric)."""
    chances = [comb(of, k) * comb(52 - of, dealt - k) / comb(52, dealt) for k in range(min(of, dealt) + 1)]
    return np.array(chances)


@cache
def same_rank_pairs(dealt: int) -> Floats:
    """Returns the chances that 0, 1, … pairs among so many cards have the same rank."""
    most = comb(dealt, 2)
    ways = np.zeros((dealt + 1, most + 1))
    ways[0, 0] = 1.0
    for _ in range(13):
        more = np.zeros_like(ways)
        for count in range(min(4, dealt) + 1):
            pairs = comb(count, 2)
            if pairs <= most:
                more[count:, pairs:] += comb(4, count) * ways[: dealt + 1 - count, : most + 1 - pairs]
        ways = more
    chances: Floats = ways[dealt] / comb(52, dealt)
    return chances


def bernoulli(chance: float) -> Floats:
    """Returns the chances of 0 and 1."""
    return np.array([1 - chance, chance])
