"""P-values are true, and stay so where they are small."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from audit.stats.batch import Batch
from audit.stats.families.card_positions import class_third_moment, merge_classes, position_counts, position_pearson
from audit.stats.nulls.pvalue import (
    binomial_tails,
    coincidence_tails,
    favoured_cell,
    likelihood_ratio_tail,
    pearson_tails,
    poisson_tail,
    sidak,
    tarone_bound,
    worst_cell,
    worst_of_cells,
)
from tests.unit.stats.decks import every_permutation, fair


@pytest.mark.parametrize(("found", "draws", "chance"), [(60, 1000, Fraction(1, 52)), (0, 1000, Fraction(1, 52))])
def test_a_cells_tails_are_exact_binomial_sums(found: int, draws: int, chance: Fraction) -> None:
    terms = [comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(draws + 1)]
    lower, upper = binomial_tails(found, draws, float(chance))
    assert lower == pytest.approx(float(sum(terms[: found + 1])), rel=1e-9)
    assert upper == pytest.approx(float(sum(terms[found:])), rel=1e-9)


def test_the_least_of_many_tails_is_paid_for_by_what_the_cells_could_have_shown() -> None:
    # Two cells of three draws each: every outcome is listed and the least tail of each worked out by hand.
    draws, chances = 3, np.array([0.3, 0.45])
    law = [binom(draws, chance) for chance in chances]

    def least(found: tuple[int, int]) -> float:
        return min(min(each.cdf(k), each.sf(k - 1)) for k, each in zip(found, law, strict=True))

    outcomes = {found: law[0].pmf(found[0]) * law[1].pmf(found[1]) for found in product(range(draws + 1), repeat=2)}
    for found in outcomes:
        exact = sum(chance for other, chance in outcomes.items() if least(other) <= least(found) * (1 + 1e-9))
        assert tarone_bound(least(found), draws, chances, np.ones(2)) == pytest.approx(exact, rel=1e-6)


def test_equal_cells_and_cells_of_their_own_chance_agree() -> None:
    counts = np.array([20, 31, 11, 25])
    one, worst = worst_cell(counts, 1000, 1 / 50)
    other, same = worst_of_cells(counts, 1000, np.full(4, 1 / 50))
    assert (one, worst) == (pytest.approx(other), same)
    assert worst == 2 or worst == 1


def test_a_likelihood_ratio_of_one_bernoulli_group_is_a_binomial_tail() -> None:
    values, prob = np.array([[0.0, 1.0]]), np.array([[0.9, 0.1]])
    for found in (60, 100, 130, 200):
        exact = binom.sf(found - 1, 1000, 0.1)
        assert likelihood_ratio_tail(found - 0.5, values, prob, 1000) == pytest.approx(exact, rel=2e-2)


def test_poisson_tails_keep_their_relative_accuracy() -> None:
    assert poisson_tail(1, 1e-20) == pytest.approx(1e-20, rel=1e-9)
    assert poisson_tail(2, 1e-9) == pytest.approx(5e-19, rel=1e-6)
    assert poisson_tail(0, 3.0) == 1.0


def test_many_looks_cost_what_they_must() -> None:
    assert sidak(1e-12, 1000) == pytest.approx(1e-9, rel=1e-6)
    assert sidak(0.5, 2) == pytest.approx(0.75)
    assert sidak(1.0, 7) == 1.0


@pytest.mark.parametrize(("n", "size"), [(4, 1), (4, 2), (6, 2), (6, 3)])
def test_the_third_moment_of_agreeing_positions_is_that_of_every_permutation(n: int, size: int) -> None:
    classes = np.arange(n) // size
    agree = (classes[every_permutation(n)] == classes).sum(axis=1)
    assert class_third_moment(n, size) == pytest.approx(((agree - agree.mean()) ** 3).mean())


@pytest.mark.parametrize("size", [1, 2])
def test_the_pearson_sum_of_two_decks_has_the_cumulants_that_its_tails_rest_on(size: int) -> None:
    n, decks = 4, 2
    every = every_permutation(n)
    sums = []
    for other in every:
        # By symmetry the first of the two decks may be any.
        matrix = position_counts(np.stack([every[0], other], axis=1))
        statistic, df, third = position_pearson(merge_classes(matrix, np.arange(n) // size, n // size), decks)
        sums.append(statistic)
    deviations = np.array(sums) - df
    assert deviations.mean() == pytest.approx(0, abs=1e-12)
    assert (deviations**2).mean() == pytest.approx(2 * df * (1 - 1 / decks))
    assert (deviations**3).mean() == pytest.approx(4 * (1 - 1 / decks) * third / decks)


def test_the_52_by_52_sum_has_mean_2601_and_its_tails_are_uniform() -> None:
    sums, tails = [], []
    for seed in range(200):
        statistic, df, third = position_pearson(position_counts(Batch(fair(300, seed)).cards), 300)
        sums.append(statistic)
        tails.append(pearson_tails(statistic, df, third, 300)[1])
    assert np.mean(sums) == pytest.approx(2601, abs=4 * np.sqrt(2 * 2601 / 200))
    assert df == 2601
    assert np.histogram(tails, bins=4, range=(0, 1))[0] == pytest.approx([50] * 4, abs=25)


def test_coincidences_are_poisson_where_pairs_are_few_and_a_pearson_sum_where_they_are_many() -> None:
    rng = np.random.default_rng(5)
    few = np.bincount(rng.integers(0, 10_000, 100), minlength=10_000)
    together = int((few * (few - 1) // 2).sum())
    assert coincidence_tails(few, 10_000)[1] >= poisson_tail(together, 4950 / 10_000)
    many = np.bincount(rng.integers(0, 100, 100_000), minlength=100)
    statistic = float(((many - 1000) ** 2).sum()) / 1000
    assert coincidence_tails(many, 100)[1] == pytest.approx(pearson_tails(statistic, 99, 99 * 98, 100_000)[1], rel=0.1)


def test_nearly_all_of_a_favoured_look_is_for_the_fullest_cell() -> None:
    law = binom(50, 0.2)
    full, worst = favoured_cell(np.array([10, 25, 9]), 50, 0.2)
    assert (full, worst) == (pytest.approx((1 - (1 - law.sf(24)) ** 3) / 0.95, rel=1e-9), 1)
    empty, worst = favoured_cell(np.array([10, 11, 0]), 50, 0.2)
    assert (empty, worst) == (pytest.approx((1 - (1 - law.cdf(0)) ** 3) / 0.05, rel=1e-9), 2)


def test_a_favoured_look_at_one_cell_is_never_too_small() -> None:
    law = binom(40, 0.3)
    ps = [favoured_cell(np.array([found]), 40, 0.3)[0] for found in range(41)]
    for level in ps:
        assert sum(law.pmf(found) for found, p in enumerate(ps) if p <= level) <= level * (1 + 1e-9)


def test_no_p_value_is_a_negative_zero() -> None:
    none = [sidak(0.0, 5), worst_cell(np.array([0, 10_000]), 10_000, 0.5)[0]]
    assert np.signbit(none).tolist() == [False, False]
