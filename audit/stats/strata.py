"""Tests by stratum: each day, table, dealer or seat alone, and whether strata differ from each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.stats.corpus import SEAT, Corpus
from audit.stats.deal import SEATS
from audit.stats.families import FAMILIES
from audit.stats.families.card_positions import CARD_POSITIONS, merge_classes, position_pearson
from audit.stats.families.family import FEWEST, Outcome
from audit.stats.families.showdowns import WINS_WEIGHT
from audit.stats.families.third_street import HOLDS_RANK, PAIR
from audit.stats.names import rank_name
from audit.stats.pvalue import pearson_tails, smallest_of, two_sided, worst_cell
from audit.stats.tally import Tally

BETWEEN = "between"
"""Stands for a stratum's label where strata are compared."""


@dataclass(frozen=True)
class StratumTest:
    """A test of one stratum, or between strata.

    Attributes:
        stratum: the label, or `BETWEEN`.
        family: the family's name.
        sees: what it can see.
        outcome: the test; None where there are too few decks.
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
    """All tests of a dimension; none where all decks have one label, as then it says nothing new."""
    tallies = corpus.strata[dimension]
    if dimension == SEAT and all(seat_numbers(label) for label in tallies):
        return _seat_tests(tallies)
    if len(tallies) < 2:
        return []
    tests = []
    for label in sorted(tallies):
        tally = tallies[label]
        for family in corpus.plan.stratum_families(dimension):
            if tally.decks < family.needs:
                tests.append(StratumTest(label, family.name, family.sees, None, family.needs, tally.decks))
                continue
            outcomes = family.pvalues(tally.counts[family.name], tally.n, tally.decks)
            tests += [
                StratumTest(label, family.name, family.sees, each, family.needs, tally.decks) for each in outcomes
            ]
    return tests + _homogeneity(tallies)


def _homogeneity(tallies: Mapping[str, Tally]) -> list[StratumTest]:
    """Do cards and ranks lie at positions equally often in all strata with decks enough?"""
    family = CARD_POSITIONS.name
    large = [tally for tally in tallies.values() if tally.decks >= FEWEST and family in tally.counts]
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
        tests.append(StratumTest(BETWEEN, family, sees, outcome, FEWEST, decks))
    return tests


def seat_numbers(label: str) -> list[int]:
    """The seat numbers of a label such as `3,5,1`, in dealing order; empty where it is no such list."""
    parts = label.split(",")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit()]
    return numbers if len(numbers) == len(parts) and len(numbers) in SEATS else []


@dataclass
class _SeatCounts:
    """What one seat, among a number of seats, was dealt wherever it sat in dealing order."""

    decks: int
    wins: int
    decided: int
    ranks: NDArray[np.int64]
    paired: int


def _seat_tests(tallies: Mapping[str, Tally]) -> list[StratumTest]:
    """Tests by seat number: a rig for a seat moves with it when the deal starts elsewhere."""
    found: dict[tuple[int, int], _SeatCounts] = {}
    for label, tally in tallies.items():
        numbers = seat_numbers(label)
        seats = len(numbers)
        for place, number in enumerate(numbers):
            counts = found.setdefault((number, seats), _SeatCounts(0, 0, 0, np.zeros(13, np.int64), 0))
            counts.decks += tally.decks
            if showdowns := tally.counts.get("showdowns"):
                counts.wins += int(showdowns[f"wins of {seats}"][place])
                counts.decided += int(showdowns[f"wins of {seats}"].sum())
            if third := tally.counts.get("third street"):
                counts.ranks += third[f"ranks of {seats}"][place]
            if holes := tally.counts.get("paired hole cards"):
                counts.paired += int(holes[f"paired of {seats}"][place])
    sees = {family.name: family.sees for family in FAMILIES}
    tests = []
    for (number, seats), counts in sorted(found.items()):
        stratum = f"{number} of {seats}"
        if counts.decks < FEWEST:
            name = "showdowns"
            tests.append(StratumTest(stratum, name, sees[name], None, FEWEST, counts.decks))
            continue
        for name, outcome in _seat_outcomes(counts, seats):
            tests.append(StratumTest(stratum, name, sees[name], outcome, FEWEST, counts.decks))
    return tests


def _seat_outcomes(counts: _SeatCounts, seats: int) -> list[tuple[str, Outcome]]:
    outcomes = []
    if counts.decided:
        p, _ = worst_cell(np.array([counts.wins]), counts.decided, 1 / seats)
        detail = f"the best hand in {counts.wins} of {counts.decided}, expected {counts.decided / seats:.1f}"
        outcomes.append(
            ("showdowns", Outcome("wins as often as others", counts.wins, p, 1, detail, weight=WINS_WEIGHT))
        )
    if counts.ranks.any():
        p, rank = worst_cell(counts.ranks, counts.decks, HOLDS_RANK)
        found = int(counts.ranks[rank])
        detail = f"holds {rank_name(rank, 52)} on third street {found} times, expected {counts.decks * HOLDS_RANK:.1f}"
        outcomes.append(("third street", Outcome("ranks held", found, smallest_of(p, 13), 13, detail)))
        p, _ = worst_cell(np.array([counts.paired]), counts.decks, PAIR)
        detail = f"paired hole cards {counts.paired} times, expected {counts.decks * PAIR:.1f}"
        outcomes.append(("paired hole cards", Outcome("paired hole cards", counts.paired, p, 1, detail)))
    return outcomes
