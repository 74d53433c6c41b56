"""The statistics as one HTML file that needs nothing else: for the screen, light or dark, and for paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import NDArray

from audit.outside import shown
from audit.report import plots, stats_words, subject
from audit.report.subject import Subject
from audit.stats.cards.names import card_name
from audit.stats.results import Bars, BatteryResult, TestResult, most_telling

WORST, WORST_OF_NOTHING = 10, 5
"""Tests that are shown with their pictures, and how many where none of them rang."""
MULTIPLES = 48
"""Strata that are shown as small pictures; of more, those with the most surprising tests."""
SMALL_LIMIT = 4.0
"""Standard deviations at which the small pictures' colours are full: one scale for all, so that they compare."""
FINDINGS = 20
"""Findings of a log that does not verify that are listed; `audit verify` lists all."""
STRATA_ROWS = 200
"""Tests of strata that are listed; all are in the JSON."""


@dataclass(frozen=True)
class _Stratum:
    """One small picture."""

    dimension: str
    label: str
    decks: int
    picture: str
    p: float
    p_adjusted: float
    fails: bool


def _gated(value: Any) -> Any:
    """Escapes what would reorder or hide the page's text; pictures are ours, marked as safe."""
    return shown(value) if type(value) is str else value


def render(result: BatteryResult, about: Subject | None = None) -> str:
    """Returns the whole report.

    Args:
        result: what the battery found.
        about: what the report is of.

    Returns:
        HTML without a reference to anything outside itself.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, finalize=_gated, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        p=stats_words.p_text, odds=stats_words.odds, number=stats_words.number_text, whole=lambda value: f"{value:,}"
    )
    environment.globals["view_sentence"] = stats_words.view_sentence
    return environment.get_template("report.html.j2").render(_context(result, about))


def write(result: BatteryResult, path: Path, about: Subject | None = None) -> None:
    """Writes the report to a file."""
    path.write_text(render(result, about), encoding="utf-8")


def _context(result: BatteryResult, about: Subject | None) -> dict[str, Any]:
    overall = [test for test in result.tests if not test.dimension]
    made = [test for test in result.tests if not isnan(test.p)]
    worst = most_telling(result.tests, WORST if result.verdict == "fail" else WORST_OF_NOTHING)
    drawn = list(_with_pictures(worst))
    z = None if result.pictures is None else result.pictures.z
    limit = 4.0 if z is None else plots.limit_of(z)
    strata, strata_tests = _strata(result), _strata_tests(result)
    return {
        "result": result,
        "about": [] if about is None else list(subject.rows(about)),
        "sentence": stats_words.verdict_sentence(result),
        "ask_verify": stats_words.ASK_VERIFY.replace("`", ""),
        "left_out": [text for text in map(stats_words.what_is_left_out, result.logs) if text],
        "findings": result.findings[:FINDINGS],
        "failing": [test for test in made if test.verdict == "fail"],
        "made": made,
        "overall": overall,
        "fewest": min((test.needs for test in overall), default=0),
        "worst": drawn,
        "any_picture": any(picture for _, picture in drawn),
        "worst_stratum": _worst_stratum(result, worst),
        "families": _by_family(overall),
        "deepest": any(test.p <= 10**-plots.DEEPEST for test in made),
        "strata_tests": strata_tests,
        "strata_groups": [
            ([test for test in strata_tests if test.verdict == "fail"], False),
            ([test for test in strata_tests if test.verdict != "fail"], True),
        ],
        "strata_total": sum(bool(test.dimension) for test in result.tests),
        "strata": strata[:MULTIPLES],
        "strata_left_out": len(strata) - len(strata[:MULTIPLES]),
        "limit": limit,
        "heat_map": None if z is None else plots.heat_map(z, limit),
        "scale": plots.scale_bar(limit),
        "p_plot": plots.p_plot(made, result.alpha) if made else None,
        "bars": plots.bars(worst, result.alpha) if worst else None,
        "profiles": [] if z is None else list(_profiles(z)),
    }


def _with_pictures(tests: Sequence[TestResult]) -> Iterator[tuple[TestResult, str | None]]:
    """Yields each test with the picture that explains it; if several looked at the same numbers, the first has it."""
    drawn: list[Bars] = []
    for test in tests:
        fresh = test.bars is not None and not any(test.bars is bars for bars in drawn)
        if test.bars is not None and fresh:
            drawn.append(test.bars)
        yield test, plots.comparison(test.bars) if test.bars is not None and fresh else None


def _worst_stratum(result: BatteryResult, worst: Sequence[TestResult]) -> tuple[str, str] | None:
    """Draws large the stratum of the most surprising test that rang; None if none of a stratum did."""
    if result.pictures is None:
        return None
    for test in worst:
        z = result.pictures.strata.get(f"{test.dimension}={test.stratum}")
        if test.verdict == "fail" and z is not None:
            return f"{test.dimension} {test.stratum}", plots.heat_map(z, plots.limit_of(z), "rank")
    return None


@dataclass(frozen=True)
class _Family:
    """The tests of one family, and what its folded line says."""

    name: str
    tests: Sequence[TestResult]
    failing: int
    least: float | None


def _by_family(tests: Sequence[TestResult]) -> list[_Family]:
    families: dict[str, list[TestResult]] = {}
    for test in tests:
        families.setdefault(test.family, []).append(test)
    return [
        _Family(
            name,
            own,
            sum(test.verdict == "fail" for test in own),
            min((test.p_adjusted for test in own if not isnan(test.p)), default=None),
        )
        for name, own in families.items()
    ]


def _profiles(z: NDArray[np.float64]) -> Iterator[tuple[str, str]]:
    """Yields a picture of where the card of the most extreme cell lies, with a sentence."""
    card, position = np.unravel_index(int(np.abs(z).argmax()), z.shape)
    name, found = card_name(int(card), len(z)), float(z[card, position])
    many = "more" if found > 0 else "less"
    yield (
        f"The most extreme cell: {name} lay at position {position} {many} often than expected, "
        f"by {abs(found):.1f} standard deviations. This is {name} at every position; a fair shuffle stays in the "
        "shaded band at all but one position in 400.",
        plots.profile(z, int(card)),
    )


def _strata(result: BatteryResult) -> list[_Stratum]:
    """Returns strata with a picture, the most surprising first."""
    if result.pictures is None:
        return []
    worst: dict[str, TestResult] = {}
    for test in most_telling(result.tests, len(result.tests)):
        if test.dimension:
            worst.setdefault(f"{test.dimension}={test.stratum}", test)
    strata = []
    for key, z in result.pictures.strata.items():
        dimension, _, label = key.partition("=")
        found = worst.get(key)
        strata.append(
            _Stratum(
                dimension,
                label,
                result.strata.get(dimension, {}).get(label, 0),
                plots.picture_address(z, SMALL_LIMIT),
                1.0 if found is None else found.p,
                1.0 if found is None else found.p_adjusted,
                found is not None and found.verdict == "fail",
            )
        )
    return sorted(strata, key=lambda stratum: (stratum.p_adjusted, stratum.p))


def _strata_tests(result: BatteryResult) -> Sequence[TestResult]:
    of_strata = tuple(test for test in result.tests if test.dimension)
    return most_telling(of_strata, STRATA_ROWS)
