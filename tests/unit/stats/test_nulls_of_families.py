"""A family with a wrong null does not pass: every family of the battery is held against what fair decks give.

A statistic of one deck must have its exact null over every permutation of a few cards, and so must the test that uses
it. All other p-values come from fixed corpora of fair decks: none may be smaller than uniform ones, those of Pearson
sums must be uniform, and over all decks together no test may ring.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import log, sqrt

import numpy as np
import pytest

from audit.stats.batch import Batch
from audit.stats.families import FAMILIES, Family
from audit.stats.families.card_positions import CARD_POSITIONS
from audit.stats.families.permutations import PERMUTATIONS
from audit.stats.families.seated import SEATED
from audit.stats.family import Counts, PerDeck
from audit.stats.nulls import Pmf
from tests.unit.stats.decks import every_permutation, fair

ALPHA = 1e-6
TIMES = 200
"""So often every permutation is taken: enough for a null that is a little wrong to show."""

CORPORA, DECKS = 2000, 100
FEWER = {"Fisher-Yates digits": 200, "neighbours": 200, "permutation": 100, "between decks": 40, "streams of swaps": 30}
"""Families whose p-values take long: fewer corpora, in which a wrong factor of a Pearson sum shows all the same."""
OF_POKER = 60, 1000
"""Families for 52 cards have exact binomials: what is wrong with their odds shows in the sum of all corpora."""

ALL = (*FAMILIES, SEATED)


@cache
def everything(n: int) -> Batch:
    return Batch(every_permutation(n))


def sizes(family: Family) -> list[int]:
    return [n for n in range(5, 9) if family.is_for(n)]


def check_statistic(statistic: PerDeck, n: int) -> None:
    """Over every permutation of n cards the statistic has its null, and its tests find nothing."""
    every = everything(n)
    histogram, null = statistic.histogram(every), statistic.null(n)
    expected = np.zeros(len(histogram))
    expected[null.support[0] : null.support[0] + len(null.prob)] = null.prob
    assert histogram / every.size == pytest.approx(expected, abs=1e-12), statistic.name
    for outcome in statistic.outcomes(histogram * TIMES, n):
        assert outcome.p > 0.1, outcome.name


def _counts(family: Family, n: int, decks: int, seed: int) -> Counts:
    seats = np.tile(np.arange(1, 7, dtype=np.uint8), (decks, 1)) if family is SEATED else None
    return family.count(Batch(fair(decks, seed, n), seats=seats))


def check_corpora(family: Family, corpora: int | None = None) -> None:
    """P-values of fair corpora are not smaller than uniform ones, and all decks together ring nothing."""
    n = family.cards or max(8, family.fewest_cards)
    many, decks = OF_POKER if family.cards else (FEWER.get(family.name, CORPORA), DECKS)
    many = corpora or many
    p: dict[str, list[float]] = {}
    uniform = set()
    together: Counts | None = None
    for seed in range(many):
        counts = _counts(family, n, decks, seed)
        together = counts if together is None else family.merge(together, counts)
        for outcome in family.pvalues(counts, n, decks):
            p.setdefault(outcome.name, []).append(outcome.p)
            if outcome.detail.startswith("Pearson sum"):
                uniform.add(outcome.name)
    for name, found in p.items():
        ordered, ranks = np.sort(found), np.arange(1, many + 1) / many
        assert (ranks - ordered).max() < sqrt(log(1 / ALPHA) / 2 / many), f"{name}: too small"
        if name in uniform:
            assert (ordered - ranks + 1 / many).max() < sqrt(log(2 / ALPHA) / 2 / many), f"{name}: too large"
    assert together is not None
    for outcome in family.pvalues(together, n, many * decks):
        assert outcome.p > ALPHA, f"{outcome.name}: all decks together"


@pytest.mark.parametrize("family", [each for each in ALL if each.statistics], ids=lambda each: each.name)
def test_statistics_of_one_deck_have_their_null_over_every_permutation(family: Family) -> None:
    assert sizes(family)
    for n in sizes(family):
        for statistic in family.statistics:
            check_statistic(statistic, n)


@pytest.mark.parametrize("family", ALL, ids=lambda each: each.name)
def test_fair_corpora_have_uniform_p_values(family: Family) -> None:
    check_corpora(family)


@pytest.mark.parametrize("statistic", PERMUTATIONS.statistics, ids=lambda each: each.name)
def test_a_null_that_is_a_little_wrong_is_caught(statistic: PerDeck) -> None:
    def wrong(n: int) -> Pmf:
        null = statistic.null(n)
        prob = null.prob**0.97
        return null._replace(prob=prob / prob.sum())

    if statistic.name == "parity":  # both values are equally likely, and stay so
        return
    with pytest.raises(AssertionError):
        check_statistic(replace(statistic, null=wrong), 7)  # type: ignore[type-var]


def test_a_pearson_sum_without_its_factor_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from audit.stats.families import card_positions

    right = card_positions.position_pearson

    def plain(matrix: np.ndarray, decks: int) -> tuple[float, float, float]:
        statistic, df, third = right(matrix, decks)
        n = matrix.shape[1]
        return statistic * n / (n - 1), df, third

    monkeypatch.setattr(card_positions, "position_pearson", plain)
    with pytest.raises(AssertionError, match="card x position: too small"):
        check_corpora(CARD_POSITIONS, 500)
