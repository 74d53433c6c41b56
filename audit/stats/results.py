"""The values that sources, families, battery and reports hand each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from audit.findings import Finding

Verdict = Literal["pass", "fail", "insufficient", "unreadable"]
"""`insufficient`: too few decks, which is neither a pass nor a fail. `unreadable`: input of which nothing was tested,
a log of which a check fails with it; never a single test's."""

CHUNK = 16_384
"""Decks that are read and counted at a time."""


@dataclass(frozen=True)
class Chunk:
    """Some decks in the order in which they were dealt.

    Attributes:
        decks: uint8, shape (N, n): card indexes in the reference order (`2c 2d 2h 2s 3c … As` for n = 52);
            column 0 is the top of the deck. Each row is a permutation of 0 … n - 1: sources refuse anything else.
        labels: for each dimension of strata (`day`, `table`, `dealer`, …) one label a deck. The dimension `seats` is
            special: its label is the hand's seat numbers in dealing order joined by commas (`3,5,1`); it is what
            `--by seat` reads.
        first: index of the first deck in the whole source, from 0.
        ids: hand ids, if the source has any.
    """

    decks: NDArray[np.uint8]
    labels: Mapping[str, list[str]] = field(default_factory=dict)
    first: int = 0
    ids: list[bytes] | None = None


@dataclass(frozen=True)
class LogSample:
    """What of one log is among the decks, and what is not.

    Attributes:
        name: the log's address.
        counted: hands whose decks are counted.
        open: hands that have no close yet.
        lost: hands that were closed as lost.
        failed: hands that a finding names.
        unknown: closed hands without a finding whose deck is not known here: sealed ones.
        of_other_decks: hands that pass, with another deck kind.
        checks: findings by check, of checks that failed; with these the log as a whole does not verify.
        unsigned: no verifier key was given, so who signed the log was not checked.
    """

    name: str
    counted: int
    open: int = 0
    lost: int = 0
    failed: int = 0
    unknown: int = 0
    of_other_decks: int = 0
    checks: Mapping[str, int] = field(default_factory=dict)
    unsigned: bool = False


class Source(Protocol):
    """Decks from a log, files or standard input, read once from front to end.

    Attributes:
        name: what a report calls it.
        cards: n, the number of cards of every deck; None until the first deck is read, or if there is none.
        total: how many decks there will be, if that is known.
        notes: what a reader should know, such as a file that was given twice and counted once. Complete after reading.
        logs: for each log what of it is among the decks. Complete after reading.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def cards(self) -> int | None: ...  # noqa: D102
    @property
    def total(self) -> int | None: ...  # noqa: D102
    @property
    def notes(self) -> list[str]: ...  # noqa: D102
    @property
    def logs(self) -> list[LogSample]: ...  # noqa: D102

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks of at most `CHUNK` decks, in order. Raises the auditor's error for unreadable input (exit code 4)."""
        ...


@dataclass(frozen=True)
class Bars:
    """What a test compared, for a picture: how often each of some values came, against what is expected.

    Attributes:
        axis: what the values are (`rising sequences`, `seat`).
        found: how often each came, shape (k,).
        draws: how many decks were counted.
        chance: of each value, shape (k,), or the same for all.
        labels: the values' names; None if they are the numbers from `lowest` on.
        lowest: the first value.
    """

    axis: str
    found: NDArray[np.int64]
    draws: int
    chance: NDArray[np.float64] | float
    labels: Sequence[str] | None = None
    lowest: int = 0


@dataclass(frozen=True)
class TestResult:
    """What one test said.

    Attributes:
        name: the test, unique within a result; a stratum's tests begin with it (`day=2026-03-01: descents`).
        statistic: in the test's own unit, said in `detail`; NaN if the test could not be made.
        p: raw p-value; NaN if the test could not be made.
        p_adjusted: after everything that was looked at is paid for (Holm), strata included.
        decks_used: decks that the test counted.
        needs: the least number of decks that it is made with.
        verdict: `fail` where `p_adjusted` is below alpha.
        family: the family's name (`card x position`).
        sees: one sentence: what a failure of this test points at.
        detail: what was found, in words with numbers: the worst cell, expected against found.
        dimension: the strata's dimension (`day`), empty for the tests of all decks together.
        stratum: the label within the dimension; `between` for homogeneity.
        bars: what it compared, if a picture of that explains it.
    """

    __test__ = False  # not a test for pytest to collect

    name: str
    statistic: float
    p: float
    p_adjusted: float
    decks_used: int
    needs: int
    verdict: Verdict
    family: str
    sees: str
    detail: str
    dimension: str = ""
    stratum: str = ""
    bars: Bars | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Detectable:
    """The smallest fault of one kind that this number of decks shows with 99 % power at this alpha.

    Attributes:
        name: the kind of fault (`a seat is dealt an ace`).
        value: the smallest share of hands, or the largest seed space in bits; NaN if no size would be seen.
        unit: what `value` counts (`share of hands`, `bits of seed`).
        sentence: the same for people, whole.
    """

    name: str
    value: float
    unit: str
    sentence: str


@dataclass(frozen=True)
class Pictures:
    """Numbers for the report's plots.

    Attributes:
        cards: int64 (n, n): how often card c (row) lay at position p (column).
        z: float64 (n, n): the same in standard deviations from N/n.
        strata: for each `dimension=label` with decks enough, its (13, n) matrix of ranks by position in standard
            deviations ((n, n) of cards if there are no suits).
    """

    cards: NDArray[np.int64]
    z: NDArray[np.float64]
    strata: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True)
class ViewRow:
    """One test under a laboratory's name.

    Attributes:
        name: as the regulation has it.
        p: p-value, all that it is read as paid for; NaN if none of it could be made.
        level: below this p it fails.
        verdict: by that level; it decides no exit code.
        two_sided: whether too good a result counts as well.
        ours: names of the battery's tests that it is read as, of those that were made.
        least: that of them with the smallest p.
        read_as: how its name was read.
        blind: what it cannot see.
    """

    name: str
    p: float
    level: float
    verdict: Verdict
    two_sided: bool
    ours: tuple[str, ...]
    least: str
    read_as: str
    blind: str


@dataclass(frozen=True)
class ViewResult:
    """The battery under the names of a regulation.

    Attributes:
        name: of the view.
        title: the regulation and clause.
        level: the chance of a false alarm of each test, or of all together.
        collectively: which of the two.
        fair_rooms: the share of fair rooms that fail at least one test if the tests are independent.
        rows: its tests.
    """

    name: str
    title: str
    level: float
    collectively: bool
    fair_rooms: float
    rows: tuple[ViewRow, ...]


@dataclass(frozen=True)
class Alarm:
    """When continuous watching first rang: after `decks` decks, at the test `name`, with this e-value or p-value."""

    decks: int
    name: str
    kind: Literal["e-value", "look"]
    value: float


@dataclass(frozen=True)
class BatteryResult:
    """The whole battery's answer; JSON, text and HTML show the same value.

    Attributes:
        verdict: `fail` if any test fails, `insufficient` if none could be made.
        decks: N, all decks counted.
        cards: n, cards a deck (0 if there was no deck).
        alpha: the chance of a false alarm over everything together.
        tests: every test, made or not: first those of all decks, then strata.
        looks: how many hypotheses (cells and strata included) were looked at and paid for.
        detectable: what could not have been seen is below these.
        pictures: None if there was no deck.
        sources: names of what was read.
        notes: what the sources and the battery noticed besides.
        strata: decks by `dimension` and label.
        sequential: whether this was continuous watching.
        alarm: the first alarm of continuous watching.
        logs: for each log what of it is among the decks.
        findings: why a log does not verify, where nothing was tested for that reason; the first ones.
        missing: why the input cannot be read, where nothing was tested for that reason.
        read_as: how the input was understood, where decks were read.
        views: the tests under laboratories' names, if asked for.
    """

    verdict: Verdict
    decks: int
    cards: int
    alpha: float
    tests: tuple[TestResult, ...]
    looks: int
    detectable: tuple[Detectable, ...] = ()
    pictures: Pictures | None = None
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    strata: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sequential: bool = False
    alarm: Alarm | None = None
    logs: tuple[LogSample, ...] = ()
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    read_as: str = ""
    views: tuple[ViewResult, ...] = ()


def most_telling(tests: tuple[TestResult, ...], count: int) -> list[TestResult]:
    """Returns the tests with the smallest adjusted p-values, most surprising first; those not made are left out."""
    made = [test for test in tests if not isnan(test.p)]
    return sorted(made, key=lambda test: (test.p_adjusted, test.p))[:count]
