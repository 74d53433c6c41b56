"""P-values that hold deep in the tails (STATISTICS.md section 2).

Pearson sums go by three exact cumulants, cells by exact binomials, likelihood ratios by a saddlepoint.
"""

from __future__ import annotations

from math import exp, expm1, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, gammainc, gammaincc, log_ndtr, pdtr, pdtrc

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAVOURED = 0.95
"""The share of a look for too often, where a rig would give and not take."""


def two_sided(lower: float, upper: float) -> float:
    """Returns twice the smaller tail, at most 1."""
    return min(1.0, 2 * min(lower, upper))


def sidak(p: float, looks: float) -> float:
    """Returns the p-value of the smallest of `looks` p-values by Šidák: `1 - (1 - p)^looks`."""
    return 1.0 if p >= 1 else abs(expm1(looks * log1p(-p)))


def pearson_tails(statistic: float, df: float, third: float, decks: int) -> tuple[float, float]:
    """Returns the tails of a Pearson sum over `decks` decks that tends to a chi-square with `df` degrees of freedom.

    The sum is `df + 2/N sum_(t<u) K(t, u)`, K the inner product of what two decks add to the cells, scaled so that the
    cells' covariance is the identity on df dimensions. Any two values of K are uncorrelated, which gives its cumulants
    exactly: df, 2 df (1 - 1/N) and 8 df (1 - 1/N)(1 - 2/N) + 4 (1 - 1/N) E[K^3] / N. A gamma distribution with these
    three stands in for the chi-square, which it becomes as N grows; with small expected counts it stays true.

    Args:
        statistic: the sum.
        df: degrees of freedom.
        third: E[K^3].
        decks: N, at least 2.

    Returns:
        P(X <= statistic) and P(X >= statistic).
    """
    variance = 2 * df * (1 - 1 / decks)
    skew = 8 * df * (1 - 1 / decks) * (1 - 2 / decks) + 4 * (1 - 1 / decks) * third / decks
    shape = 4 * variance**3 / skew**2
    scale = skew / (2 * variance)
    x = (statistic - df) / scale + shape
    return (float(gammainc(shape, x)), float(gammaincc(shape, x))) if x > 0 else (0.0, 1.0)


def coincidence_tails(counts: Ints, cells: int) -> tuple[float, float]:
    """Returns tails of the number of pairs of decks in one of `cells` equally likely cells, given the cells' counts.

    If there are fewer pairs than cells the number is nearly Poisson, if there are many it is a Pearson sum; of the two
    p-values the larger one is taken.
    """
    decks = int(counts.sum())
    together = int((counts * (counts - 1) // 2).sum())
    expected = decks * (decks - 1) / 2 / cells
    pearson = 2 * cells / decks * (together - expected) + (cells - 1)
    half = cells / decks  # half a pair, in units of the Pearson sum: the number of pairs is whole
    lower, _ = pearson_tails(pearson + half, cells - 1, (cells - 1) * (cells - 2), decks)
    _, upper = pearson_tails(pearson - half, cells - 1, (cells - 1) * (cells - 2), decks)
    return max(lower, float(pdtr(together, expected))), max(upper, float(pdtrc(together - 1, expected)))


def binomial_tails(found: int, draws: int, chance: float) -> tuple[float, float]:
    """Returns P(X <= found) and P(X >= found) for X binomial, to full relative accuracy in both tails."""
    upper = 1.0 if found <= 0 else float(bdtrc(found - 1, draws, chance))
    return float(bdtr(found, draws, chance)), upper


def worst_cell(counts: Ints, draws: int, chance: float, cells: int | None = None) -> tuple[float, int]:
    """Finds the most surprising of cells that are each binomial with the same chance.

    Args:
        counts: what the cells hold.
        draws: N.
        chance: of each draw to fall into a cell.
        cells: how many cells are looked at; fewer than there are if some follow from others.

    Returns:
        Its p-value, all cells paid for, and its flat index.
    """
    flat = counts.reshape(-1)
    tail, worst = extreme_cell(flat, draws, chance)
    return tarone_bound(tail, draws, np.array([chance]), np.array([flat.size if cells is None else cells])), worst


def worst_of_cells(counts: Ints, draws: int, chances: Floats) -> tuple[float, int]:
    """Finds the same as `worst_cell`, for cells with a chance of their own each; both arrays are flat."""
    found = counts.astype(np.float64)
    upper = np.where(found > 0, bdtrc(found - 1, draws, chances), 1.0)
    tails = np.minimum(bdtr(found, draws, chances), upper)
    worst = int(tails.argmin())
    return tarone_bound(float(tails[worst]), draws, chances, np.ones(len(chances))), worst


def extreme_cell(counts: Ints, draws: int, chance: float) -> tuple[float, int]:
    """Returns the least tail of cells that are binomial with the same chance, not paid for, and its index."""
    most, least = int(counts.argmax()), int(counts.argmin())
    upper = binomial_tails(int(counts[most]), draws, chance)[1]
    lower = binomial_tails(int(counts[least]), draws, chance)[0]
    return (upper, most) if upper <= lower else (lower, least)


def tarone_bound(tail: float, draws: int, chances: Floats, cells: NDArray[np.number]) -> float:
    """Returns Tarone's bound: the p-value of the least of many binomial tails.

    A cell has only so many values: the chance that one of its tails is as small as the least that was seen is the
    largest attainable one not above it, and nothing for a cell that cannot be so surprising (Tarone 1990). Added up
    over both tails of all cells this is Bonferroni's bound, without paying for what could not have happened.

    Args:
        tail: the least tail.
        draws: N.
        chances: distinct chances.
        cells: how many cells have each.
    """
    level = tail * (1 + 1e-9)  # rounding must not lose the tail that was seen
    attained = _attained_upper(level, draws, chances) + _attained_upper(level, draws, 1 - chances)
    return float(abs(np.expm1((cells * np.log1p(-np.minimum(attained, 1 - 1e-16))).sum())))


def favoured(upper: float, lower: float) -> tuple[float, bool]:
    """Returns the p-value of a look that is all but one-sided, and whether it is the upper tail that is meant.

    A rig gives somebody more, and what it takes from the others is spread over them: `FAVOURED` of the share goes to
    what is too often, the rest to what is too rare. Not for a few cells that share a total, such as seats that win: one
    of three is in front more often than three independent ones would be.
    """
    often, rare = upper / FAVOURED, lower / (1 - FAVOURED)
    return min(1.0, often, rare), often <= rare


def favoured_cell(counts: Ints, draws: int, chance: float) -> tuple[float, int]:
    """Finds the same as `worst_cell`, nearly all of the share for the fullest cell; counts are flat."""
    most, least = int(counts.argmax()), int(counts.argmin())
    upper = binomial_tails(int(counts[most]), draws, chance)[1]
    lower = binomial_tails(int(counts[least]), draws, chance)[0]
    p, too_often = favoured(sidak(upper, len(counts)), sidak(lower, len(counts)))
    return p, most if too_often else least


def _attained_upper(level: float, draws: int, chances: Floats) -> Floats:
    """Finds the largest P(X >= k), over k, that is not above a level, for X binomial with each chance; by bisection."""
    mean = draws * chances
    depth = -log(max(level, 1e-300))
    reach = depth / 3 + np.sqrt(depth**2 / 9 + 2 * depth * mean * (1 - chances))  # Bernstein: beyond, all is below
    low = np.floor(mean) if level < 0.5 else np.zeros(len(chances))
    high = np.minimum(draws + 1.0, np.ceil(mean + reach) + 1) if level > 1e-300 else np.full(len(chances), draws + 1.0)
    low = np.minimum(low, high)
    while np.any(low < high):
        middle = np.floor((low + high) / 2)
        small = np.where(middle > 0, bdtrc(middle - 1, draws, chances), 1.0) <= level
        low, high = np.where(small, low, np.minimum(middle + 1, high)), np.where(small, middle, high)
    possible = (low <= draws) & (chances > 0)
    attained: Floats = np.where(possible, np.where(low > 0, bdtrc(low - 1, draws, chances), 1.0), 0.0)
    return attained


def poisson_tail(found: int, expected: float) -> float:
    """Returns P(X >= found) for X Poisson, to full relative accuracy."""
    if found <= 0:
        return 1.0
    if expected < 1e-6 * found:  # the first term is all of the tail
        return exp(-expected + found * log(expected) - lgamma(found + 1)) if expected > 0 else 0.0
    return float(pdtrc(found - 1, expected))


def likelihood_ratio_tail(statistic: float, values: Floats, prob: Floats, decks: int) -> float:
    """Returns P(T >= statistic), T the sum over groups of N independent draws each.

    By Lugannani and Rice's saddlepoint.

    Args:
        statistic: the observed sum.
        values: (groups, k), the values that a draw of each group can take.
        prob: (groups, k), their probabilities.
        decks: N.
    """
    means = (values * prob).sum(axis=1)
    centred = values - means[:, None]
    excess = statistic - decks * float(means.sum())
    deviation = sqrt(decks * float((centred**2 * prob).sum()))
    if deviation == 0:
        return 1.0
    if abs(excess) < 1e-3 * deviation:
        return 0.5
    towards = np.where(prob > 0, np.sign(excess) * centred, -np.inf)
    furthest = decks * float(towards.max(axis=1).sum())
    if abs(excess) >= furthest * (1 - 1e-12):
        top = np.where(towards == towards.max(axis=1, keepdims=True), prob, 0).sum(axis=1)
        return exp(decks * float(np.log(top).sum())) if excess > 0 else 1.0

    def tilted(theta: float) -> tuple[float, float, float]:
        """Returns the cumulant function and its first two derivatives at theta, for all N decks, the mean taken out."""
        exponents = np.where(prob > 0, theta * centred, -np.inf)
        largest = exponents.max(axis=1, keepdims=True)
        weights = prob * np.exp(exponents - largest)
        total = weights.sum(axis=1)
        slopes = (centred * weights).sum(axis=1) / total
        curves = (centred**2 * weights).sum(axis=1) / total - slopes**2
        cumulant = float((np.log(total) + largest[:, 0]).sum())
        return decks * cumulant, decks * float(slopes.sum()), decks * float(curves.sum())

    step = 1.0 if excess > 0 else -1.0
    while abs(tilted(step)[1]) < abs(excess):
        step *= 2
    theta = brentq(lambda t: tilted(t)[1] - excess, 0.0, step, xtol=1e-14, rtol=1e-13)
    cumulant, _, curve = tilted(theta)
    w = sqrt(max(0.0, 2 * (theta * excess - cumulant))) * (1 if excess > 0 else -1)
    u = theta * sqrt(curve)
    if w < -37:
        return 1.0
    mills = exp(float(log_ndtr(-w)) + w * w / 2) if w < 37 else 1 / (w * sqrt(2 * np.pi))
    relative = mills + (1 / u - 1 / w) / sqrt(2 * np.pi)
    return min(1.0, exp(log(relative) - w * w / 2)) if relative > 0 else 0.0
