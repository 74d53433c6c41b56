"""What every family of tests is: a small value that counts batches of decks and turns counts into p-values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.decks import KeyKind
from audit.stats.nulls import Pmf
from audit.stats.results import Bars

Counts = dict[str, NDArray[np.int64]]
"""Whole numbers that add up: those of two batches are those of both together."""

MIN_DECKS = 100
"""No test is made with fewer decks than these."""


@dataclass(frozen=True)
class Outcome:
    """One hypothesis of a family, tested.

    Attributes:
        name: unique within the family.
        statistic: in the unit that `detail` tells.
        p: p-value; whatever the test looked at within itself is paid for.
        looks: at how many cells or the like it looked.
        detail: what was found, against what was expected.
        decks: decks that were counted, if this is not all of them.
        weight: its share of the chance of a false alarm, against 1 for an ordinary test. Fixed here, before any deck
            is seen: a few tests that nothing else can stand in for have more.
        bars: what it compared, if a picture of that explains it.
        note: what should be said of the decks besides, or nothing.
    """

    name: str
    statistic: float
    p: float
    looks: int = 1
    detail: str = ""
    decks: int | None = None
    weight: float = 1.0
    bars: Bars | None = field(default=None, compare=False, repr=False)
    note: str = ""


class Run(Protocol):
    """What was counted of one run of decks."""

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def decks(self) -> int: ...  # noqa: D102
    @property
    def counts(self) -> Mapping[str, Counts]: ...  # noqa: D102


class KeptKeys(Protocol):
    """The keys of all decks, to be compared with each other."""

    def repeats(self, kind: KeyKind) -> int: ...  # noqa: D102
    def least_times(self) -> int: ...  # noqa: D102
    def list_comes_again(self, run: int) -> bool: ...  # noqa: D102


class Counted(Protocol):
    """What a test of all decks together may look at; a corpus is one."""

    @property
    def whole(self) -> Run: ...  # noqa: D102
    @property
    def keys(self) -> KeptKeys: ...  # noqa: D102


class Peer(Protocol):
    """A part of the battery: a family whose counts add up, or tests that need more of the decks than counts."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def sees(self) -> str: ...  # noqa: D102
    @property
    def needs(self) -> int: ...  # noqa: D102
    def is_for(self, n: int) -> bool: ...  # noqa: D102
    def rows(self, counted: Counted) -> Sequence[Outcome]: ...  # noqa: D102


class PerDeck(Protocol):
    """A whole number worked out for each deck, with an exact null, which every permutation of a few cards must have."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def null(self) -> Callable[[int], Pmf]: ...  # noqa: D102
    def histogram(self, batch: Batch) -> NDArray[np.int64]: ...  # noqa: D102
    def outcomes(self, histogram: NDArray[np.int64], n: int) -> list[Outcome]: ...  # noqa: D102


@dataclass(frozen=True)
class Family:
    """Tests that live on the same counts.

    Attributes:
        name: unique within the battery.
        sees: one sentence: what it can see.
        count: from a batch to counts.
        pvalues: from counts, the number of cards n and the number of decks N to outcomes.
        needs: the least number of decks.
        suited: whether cards must have ranks and suits (n a multiple of 4).
        cards: the one deck size that it is for; None for all.
        fewest_cards: the smallest deck that it is for.
        ordered: whether it needs to know the deck's order before the shuffle.
        strata: whether it is made for each stratum as well.
        looks_back: whether its counts depend on the decks before a batch.
        statistics: those of its statistics that are one number a deck.
    """

    name: str
    sees: str
    count: Callable[[Batch], Counts]
    pvalues: Callable[[Counts, int, int], Sequence[Outcome]]
    needs: int = MIN_DECKS
    suited: bool = False
    cards: int | None = None
    fewest_cards: int = 5
    ordered: bool = False
    strata: bool = True
    looks_back: bool = False
    statistics: Sequence[PerDeck] = ()

    def is_for(self, n: int) -> bool:
        """Says whether decks of n cards can be tested."""
        return n >= self.fewest_cards and self.cards in (None, n) and not (self.suited and n % 4)

    def rows(self, counted: Counted) -> Sequence[Outcome]:
        """Tests all decks together."""
        return self.tests(counted.whole)

    def tests(self, run: Run) -> Sequence[Outcome]:
        """Tests one run of decks by its counts."""
        return self.pvalues(run.counts[self.name], run.n, run.decks)

    def merge(self, one: Mapping[str, NDArray[np.int64]], other: Mapping[str, NDArray[np.int64]]) -> Counts:
        """Adds two batches' counts."""
        return {key: one[key] + other[key] for key in one}
