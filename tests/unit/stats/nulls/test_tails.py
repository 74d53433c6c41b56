"""Tails of sums: against convolution in whole numbers, from the middle to 1e-200."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from audit.stats import nulls
from audit.stats.nulls import Counts, sum_tail, tails


def convolved(counts: Counts, draws: int) -> list[int]:
    """Ways for each value of the sum, exactly: the ways as digits of one huge number, raised to a power."""
    digit = 1 << (sum(counts.ways).bit_length() * draws + 8)
    shift = digit.bit_length() - 1
    power = sum(ways << (shift * k) for k, ways in enumerate(counts.ways)) ** draws
    return [(power >> (shift * k)) & (digit - 1) for k in range(draws * (len(counts.ways) - 1) + 1)]


def exact_tails(counts: Counts, draws: int, values: list[int]) -> dict[int, tuple[float, float]]:
    ways = convolved(counts, draws)
    total = sum(counts.ways) ** draws
    lowest = counts.lowest * draws
    return {
        s: (float(Fraction(sum(ways[: s - lowest + 1]), total)), float(Fraction(sum(ways[s - lowest :]), total)))
        for s in values
    }


def spread(counts: Counts, draws: int) -> list[int]:
    """Sums from the least to the greatest, by the middle."""
    support, prob = counts.pmf()
    mean, sd = support @ prob * draws, ((support - support @ prob) ** 2 @ prob * draws) ** 0.5
    least, greatest = int(support[0]) * draws, int(support[-1]) * draws
    wanted = [least, least + 1, *(round(mean + z * sd) for z in (-20, -8, -3, -1, 0, 1, 3, 8, 20)), greatest]
    return sorted({s for s in wanted if least <= s <= greatest})


CASES = [
    *((null, 52, draws) for null in nulls.PERMUTATION_NULLS if null is not nulls.INVERSIONS for draws in (1, 2, 7)),
    (nulls.DESCENTS, 20, 60),
    (nulls.INVERSIONS, 10, 20),
    (nulls.FIXED_POINTS, 12, 60),
    (nulls.CYCLES, 12, 60),
    (nulls.LONGEST_RUN, 12, 60),
    (nulls.PARITY, 52, 200),
]


@pytest.mark.parametrize(("null", "n", "draws"), CASES, ids=lambda x: getattr(x, "name", x))
def test_agrees_with_convolution(null, n, draws):
    counts = null.counts(n)
    support, prob = null.pmf(n)
    for observed, expected in exact_tails(counts, draws, spread(counts, draws)).items():
        found = sum_tail(support, prob, draws, observed)
        for tail, exact in zip(found, expected, strict=True):
            if exact > 1e-290:
                assert tail == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("null", "n", "draws"), [(nulls.DESCENTS, 20, 60), (nulls.FIXED_POINTS, 12, 60), (nulls.LONGEST_RUN, 12, 60)]
)
def test_saddlepoint_is_close_even_for_few_draws(null, n, draws, monkeypatch):
    monkeypatch.setattr(tails, "_LONGEST_TRANSFORM", 0)
    counts = null.counts(n)
    for observed, expected in exact_tails(counts, draws, spread(counts, draws)[2:-1]).items():
        found = sum_tail(*null.pmf(n), draws, observed)
        for tail, exact in zip(found, expected, strict=True):
            assert tail == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("z", [-30, -5, -1, -0.02, 0, 0.005, 0.02, 1, 5, 30])
def test_both_ways_agree_where_both_can_be_had(z, monkeypatch):
    support, prob = nulls.RECORDS.pmf(52)
    draws = 300_000
    observed = round(support @ prob * draws + z * (nulls.RECORDS.pmf(52).variance * draws) ** 0.5)
    exact = sum_tail(support, prob, draws, observed)
    monkeypatch.setattr(tails, "_LONGEST_TRANSFORM", 0)
    assert sum_tail(support, prob, draws, observed) == pytest.approx(exact, rel=1e-6)


def test_a_million_coins():
    draws, heads = 1_000_000, 510_000
    tail = Fraction(sum(comb(1000, k) for k in range(600, 1001)), 2**1000)
    assert sum_tail([0, 1], [0.5, 0.5], 1000, 600)[1] == pytest.approx(float(tail), rel=1e-11)
    lower, upper = sum_tail([0, 1], [0.5, 0.5], draws, heads)
    assert 1e-90 < upper < 1e-86
    assert lower == 1


def test_symmetric_sums_have_symmetric_tails():
    support, prob = nulls.DESCENTS.pmf(52)
    low = sum_tail(support, prob, 1000, 25_300)
    high = sum_tail(support, prob, 1000, 25_700)
    assert low == pytest.approx(high[::-1], rel=1e-10)


def test_outside_the_support():
    assert sum_tail([3, 4], [0.5, 0.5], 10, 29) == (0, 1)
    assert sum_tail([3, 4], [0.5, 0.5], 10, 41) == (1, 0)
    assert sum_tail([2], [1.0], 5, 10) == (1, 1)


def test_refuses_what_is_no_distribution_on_integers():
    with pytest.raises(ValueError, match="at least one draw"):
        sum_tail([0, 1], [0.5, 0.5], 0, 0)
    with pytest.raises(ValueError, match="consecutive"):
        sum_tail([0, 2], [0.5, 0.5], 1, 0)
    with pytest.raises(ValueError, match="one probability each"):
        sum_tail(np.arange(3), [0.5, 0.5], 1, 0)
