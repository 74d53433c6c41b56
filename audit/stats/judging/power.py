"""How many decks the battery needs to catch each shuffler of the gallery (STATISTICS.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from audit.stats.counting.count import count_source
from audit.stats.gallery import Decks, Shuffler
from audit.stats.judging.battery import judge
from audit.stats.judging.laboratory import examine_plainly
from audit.stats.results import CHUNK, BatteryResult, Chunk, LogSample, most_telling

GRID = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
"""Numbers of decks that are tried, in turn."""


class MadeDecks:
    """Decks of a shuffler as a source.

    Args:
        shuffler: who shuffles.
        decks: what it dealt, in order.
    """

    def __init__(self, shuffler: Shuffler, decks: Decks) -> None:
        self.name = shuffler.name
        self.cards: int | None = decks.shape[1]
        self.total: int | None = len(decks)
        self.notes: list[str] = []
        self.logs: list[LogSample] = []
        self._decks = decks
        self._labels = shuffler.labels(len(decks)) if shuffler.labels else {}

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks with their labels."""
        for first in range(0, len(self._decks), CHUNK):
            rows = slice(first, first + CHUNK)
            labels = {dimension: values[rows] for dimension, values in self._labels.items()}
            yield Chunk(self._decks[rows], labels, first)


class Ending(StrEnum):
    """How a measurement ended."""

    CAUGHT = "caught"
    """Within its goal."""
    MISSED = "missed"
    """Not with as many decks as its goal allows."""
    OPEN = "not tried as far as its goal"
    SILENT = "no alarm, as it should be"
    FALSE_ALARM = "false alarm"


@dataclass(frozen=True)
class Power:
    """What it took to catch a shuffler.

    Attributes:
        shuffler: which.
        decks: the fewest decks of the grid with which most runs rang; None if they did not, up to `most`.
        most: the most decks that were tried.
        by: the test that was most surprising when the alarm rang, or at the most decks.
        p_adjusted: what it said, the greatest of the runs that agreed.
    """

    shuffler: Shuffler
    decks: int | None
    most: int
    by: str
    p_adjusted: float

    @property
    def ending(self) -> Ending:
        """How it ended: a shuffler without a goal must not be caught, all others within theirs."""
        goal = self.shuffler.goal
        if goal is None:
            return Ending.SILENT if self.decks is None else Ending.FALSE_ALARM
        if self.decks is not None:
            return Ending.CAUGHT if self.decks <= goal else Ending.MISSED
        return Ending.MISSED if self.most >= goal else Ending.OPEN


def examine(
    shuffler: Shuffler, count: int, alpha: float, rng: np.random.Generator, processes: int | None = None
) -> BatteryResult:
    """Judges so many decks of a shuffler, by its strata if it has labels."""
    source = MadeDecks(shuffler, shuffler.make(rng, count))
    dimensions = tuple(shuffler.labels(0)) if shuffler.labels else ()
    return judge(count_source(source, dimensions=dimensions, processes=processes), alpha)


def generator(seed: int, count: int) -> np.random.Generator:
    """Returns what a corpus of so many decks is made with: each size has decks of its own."""
    return np.random.default_rng([seed, count])


Examine = Callable[[Shuffler, int, np.random.Generator], tuple[bool, str, float]]
"""Examines so many decks of a shuffler: whether an alarm rings, the most surprising test, its p with all looks paid."""


def examine_by_battery(alpha: float, processes: int | None) -> Examine:
    """Returns what has our battery judge decks."""

    def examined(shuffler: Shuffler, count: int, rng: np.random.Generator) -> tuple[bool, str, float]:
        result = examine(shuffler, count, alpha, rng, processes)
        top = most_telling(result.tests, 1)
        return result.verdict == "fail", *((top[0].name, top[0].p_adjusted) if top else ("", 1.0))

    return examined


def examine_by_seven(shuffler: Shuffler, count: int, rng: np.random.Generator) -> tuple[bool, str, float]:
    """Has the laboratories' seven tests judge the decks that the battery would be given by the same generator."""
    return examine_plainly(shuffler.make(rng, count))


def measure(
    shuffler: Shuffler,
    examined: Examine,
    *,
    grid: Sequence[int] = GRID,
    runs: int = 1,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> Power:
    """Tries more and more decks until most runs ring the alarm.

    Args:
        shuffler: whose decks.
        examined: by whom, `examine_by_battery` or `examine_by_seven`.
        grid: numbers of decks, ascending.
        runs: how many corpora of each size are examined at most; once most of them agree the rest is left.
        seed: of the first run's generator, one more for each further one.
        progress: is told what is being tried.
    """
    by, p, most = "", 1.0, 0
    for most in grid:
        rang: list[tuple[str, float]] = []
        silent: list[tuple[str, float]] = []
        while 2 * len(rang) <= runs and 2 * len(silent) < runs:
            run = len(rang) + len(silent)
            progress(f"{shuffler.name}, {most:,} decks, run {run + 1} of {runs}")
            alarm, name, p = examined(shuffler, most, generator(seed + run, most))
            (rang if alarm else silent).append((name, p))
        rings = 2 * len(rang) > runs
        by, p = max(rang if rings else silent, key=lambda each: each[1])
        if rings:
            return Power(shuffler, most, most, by, p)
    return Power(shuffler, None, most, by, p)
