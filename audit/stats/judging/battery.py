"""The battery's judgement: counts turned into tests, every look paid for, one verdict (STATISTICS.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from audit.findings import Finding
from audit.stats.counting.corpus import Corpus
from audit.stats.counting.tally import Tally
from audit.stats.families import BATTERY
from audit.stats.families.card_positions import CARD_POSITIONS, merge_classes
from audit.stats.family import MIN_DECKS, Outcome
from audit.stats.judging.detectable import detectable_effects
from audit.stats.judging.holm import holm_in_groups
from audit.stats.judging.strata import dimension_tests
from audit.stats.results import BatteryResult, LogSample, Pictures, Source, TestResult, Verdict

ALPHA = 1e-6
"""The chance of a false alarm over everything together, where none is asked for: an alarm is an accusation."""


_NO_SIGN = 0.0
"""Added to a number, it makes -0.0 the plain 0.0, and changes no other."""


@dataclass(frozen=True)
class _Row:
    """A test before its look is paid for; `outcome` is None if there were too few decks."""

    family: str
    sees: str
    needs: int
    decks: int
    outcome: Outcome | None
    dimension: str = ""
    stratum: str = ""

    @property
    def name(self) -> str:
        """The name that is unique within a result."""
        own = self.outcome.name if self.outcome else self.family
        if self.outcome and not own.startswith(self.family):
            own = f"{self.family}: {own}"
        return f"{self.dimension}={self.stratum}: {own}" if self.dimension else own


def judge(corpus: Corpus | None, alpha: float = ALPHA) -> BatteryResult:
    """Judges the counts.

    Args:
        corpus: the counts; None if there was no deck at all.
        alpha: the chance of a false alarm over everything together.
    """
    if corpus is None:
        return no_decks(alpha)
    groups = [_whole_rows(corpus)]
    groups += [_stratum_rows(corpus, dimension) for dimension in corpus.plan.dimensions]
    made = [[row.outcome for row in group if row.outcome] for group in groups]
    adjusted = iter(np.concatenate(holm_in_groups(made)))
    tests = tuple(
        _result(row, float(next(adjusted)) if row.outcome else nan, alpha) for group in groups for row in group
    )
    return BatteryResult(
        verdict=verdict_of(tests),
        decks=corpus.whole.decks,
        cards=corpus.plan.n,
        alpha=alpha,
        tests=tests,
        looks=sum(outcome.looks for group in made for outcome in group),
        detectable=tuple(detectable_effects(corpus, alpha, [sum(each.weight for each in group) for group in made])),
        pictures=pictures_of(corpus),
        sources=tuple(corpus.sources),
        notes=(*corpus.notes, *(outcome.note for outcome in made[0] if outcome.note)),
        strata={
            dimension: {label: tallies[label].decks for label in sorted(tallies)}
            for dimension, tallies in corpus.strata.items()
        },
        logs=tuple(corpus.logs),
        read_as="; ".join(corpus.read_as),
    )


def no_decks(alpha: float, source: Source | None = None) -> BatteryResult:
    """Returns the answer for a source that was read to its end and has no deck."""
    rows = [_Row(peer.name, peer.sees, peer.needs, 0, None) for peer in BATTERY]
    tests = tuple(_result(row, nan, alpha) for row in rows)
    empty = BatteryResult("insufficient", 0, 0, alpha, tests, 0)
    if source is None:
        return empty
    return replace(empty, sources=(source.name,), notes=tuple(source.notes), logs=tuple(source.logs))


def unreadable(
    alpha: float, sources: Sequence[str], *, why: str, findings: Sequence[Finding] = (), logs: Sequence[LogSample] = ()
) -> BatteryResult:
    """Returns the answer if nothing was tested, because input cannot be read or a log does not verify."""
    return BatteryResult(
        "unreadable", 0, 0, alpha, (), 0, sources=tuple(sources), logs=tuple(logs), findings=tuple(findings),
        missing=(why,),
    )  # fmt: skip


def verdict_of(tests: Sequence[TestResult]) -> Verdict:
    """Returns `fail` if any test fails, `insufficient` if none could be made."""
    verdicts = {test.verdict for test in tests}
    return "fail" if "fail" in verdicts else "pass" if "pass" in verdicts else "insufficient"


def whole_outcomes(corpus: Corpus) -> list[Outcome]:
    """Makes all tests of all decks together that can be made."""
    return [row.outcome for row in _whole_rows(corpus) if row.outcome]


def _whole_rows(corpus: Corpus) -> list[_Row]:
    decks, rows = corpus.whole.decks, []
    for peer in corpus.plan.battery:
        outcomes: Sequence[Outcome | None] = peer.rows(corpus) if decks >= peer.needs else [None]
        rows += [_Row(peer.name, peer.sees, peer.needs, decks, outcome) for outcome in outcomes]
    return rows


def _stratum_rows(corpus: Corpus, dimension: str) -> list[_Row]:
    return [
        _Row(test.family, test.sees, test.needs, test.decks, test.outcome, dimension, test.stratum)
        for test in dimension_tests(corpus, dimension)
    ]


def _result(row: _Row, adjusted: float, alpha: float) -> TestResult:
    verdict: Verdict = "insufficient" if row.outcome is None else "fail" if adjusted < alpha else "pass"
    outcome = row.outcome or Outcome("", nan, nan, detail=f"needs {row.needs}, has {row.decks}")
    return TestResult(
        name=row.name,
        statistic=outcome.statistic + _NO_SIGN,
        p=outcome.p + _NO_SIGN,
        p_adjusted=adjusted + _NO_SIGN,
        decks_used=0 if row.outcome is None else row.decks if outcome.decks is None else outcome.decks,
        needs=row.needs,
        verdict=verdict,
        family=row.family,
        sees=row.sees,
        detail=outcome.detail,
        dimension=row.dimension,
        stratum=row.stratum,
        bars=outcome.bars,
    )


def pictures_of(corpus: Corpus) -> Pictures | None:
    """Returns what the report draws of the counts; None if cards x positions were not counted."""
    counted = corpus.whole.counts.get(CARD_POSITIONS.name)
    if counted is None or not corpus.whole.decks:
        return None
    matrix = counted["cards"]
    return Pictures(
        cards=matrix,
        z=_deviations(matrix, corpus.whole.decks),
        strata={
            f"{dimension}={label}": _rank_deviations(tallies[label])
            for dimension, tallies in corpus.strata.items()
            for label in sorted(tallies)
            if tallies[label].decks >= MIN_DECKS and CARD_POSITIONS.name in tallies[label].counts
        },
    )


def _deviations(matrix: NDArray[np.int64], decks: int) -> NDArray[np.float64]:
    """Returns the standard deviations of each class and position from what is expected."""
    chance = 1 / len(matrix)
    deviations: NDArray[np.float64] = (matrix - decks * chance) / np.sqrt(decks * chance * (1 - chance))
    return deviations


def _rank_deviations(tally: Tally) -> NDArray[np.float64]:
    matrix = tally.counts[CARD_POSITIONS.name]["cards"]
    if tally.n % 4 == 0:
        matrix = merge_classes(matrix, np.arange(tally.n) >> 2, tally.n // 4)
    return _deviations(matrix, tally.decks)
