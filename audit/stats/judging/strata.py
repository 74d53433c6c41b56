"""Tests by stratum: each day, table, dealer or seat alone, and whether strata differ from each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from audit.stats.counting.corpus import BY_SEAT, Corpus
from audit.stats.counting.tally import Tally
from audit.stats.families.card_positions import CARD_POSITIONS, merge_classes, position_pearson
from audit.stats.family import MIN_DECKS, Outcome
from audit.stats.nulls.pvalue import pearson_tails, two_sided

BETWEEN = "between"
"""Stands for a stratum's label where strata are compared."""


@dataclass(frozen=True)
class StratumTest:
    """A test of one stratum, or between strata.

    Attributes:
        stratum: the label, or `BETWEEN`.
        family: the family's name.
        sees: what it can see.
        outcome: the test; None if there are too few decks.
        needs: the least number of decks.
        decks: the stratum's decks.
    """

    stratum: str
    family: str
    sees: str
    outcome: Outcome | None
    needs: int
    decks: int


def dimension_tests(corpus: Corpus, dimension: str) -> list[StratumTest]:
    """Makes all tests of a dimension; none if all decks have one label, as then it says nothing new."""
    tallies = corpus.strata[dimension]
    if dimension != BY_SEAT and len(tallies) < 2:
        return []
    tests = []
    for label in sorted(tallies):
        tally = tallies[label]
        for family in corpus.plan.stratum_families(dimension):
            if tally.decks < family.needs:
                tests.append(StratumTest(label, family.name, family.sees, None, family.needs, tally.decks))
                continue
            outcomes = family.tests(tally)
            tests += [
                StratumTest(label, family.name, family.sees, each, family.needs, tally.decks) for each in outcomes
            ]
    return tests if dimension == BY_SEAT else tests + _homogeneity(tallies)


def _homogeneity(tallies: Mapping[str, Tally]) -> list[StratumTest]:
    """Tests whether cards and ranks lie at positions equally often in all strata with decks enough."""
    family = CARD_POSITIONS.name
    large = [tally for tally in tallies.values() if tally.decks >= MIN_DECKS and family in tally.counts]
    if len(large) < 2:
        return []
    n, decks = large[0].n, sum(tally.decks for tally in large)
    sees = "Days, tables or dealers whose cards lie otherwise than those of the others."
    whats = {"card": np.arange(n)} | ({"rank": np.arange(n) >> 2} if n % 4 == 0 else {})
    tests = []
    for what, label in whats.items():
        classes = int(label.max()) + 1
        matrices = [merge_classes(tally.counts[family]["cards"], label, classes) for tally in large]
        each = [position_pearson(matrix, tally.decks) for matrix, tally in zip(matrices, large, strict=True)]
        together, df, third = position_pearson(sum(matrices[1:], matrices[0]), decks)
        statistic = sum(own for own, _, _ in each) - together
        df *= len(large) - 1
        # Each stratum's third cumulant goes by its own decks.
        third *= decks * (sum(1 / tally.decks for tally in large) - 1 / decks)
        p = two_sided(*pearson_tails(statistic, df, third, decks))
        detail = f"Pearson sum {statistic:.1f} between {len(large)} strata, expected {df:.0f}"
        outcome = Outcome(f"{what} x position between strata", statistic, p, 1, detail, decks)
        tests.append(StratumTest(BETWEEN, family, sees, outcome, MIN_DECKS, decks))
    return tests
