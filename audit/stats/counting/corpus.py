"""Everything that was counted of some decks: all together, by stratum, and the keys that find duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from audit.stats.batch import Bytes
from audit.stats.counting.key_store import KeyStore
from audit.stats.counting.tally import Tally
from audit.stats.families import BATTERY, Family, Peer
from audit.stats.families.duplicates import DUPLICATES
from audit.stats.families.seated import SEATED
from audit.stats.results import LogSample

BY_SEAT = "seats"
"""The dimension of seat numbers: its labels are lists of them, `3,5,1`, and its strata numbers of seats."""

WHOLE = ("", "")
"""Stands for all decks together where a stratum's dimension and label would stand."""


@dataclass(frozen=True)
class Plan:
    """What is counted of decks of n cards.

    Attributes:
        n: cards a deck.
        order: (n,) the place of each card before the shuffle; None for the reference order.
        names: parts of the battery asked for; None for all.
        dimensions: dimensions of strata.
    """

    n: int
    order: Bytes | None = None
    names: tuple[str, ...] | None = None
    dimensions: tuple[str, ...] = ()

    @property
    def battery(self) -> tuple[Peer, ...]:
        """All that is tested of all decks together."""
        return tuple(
            peer for peer in BATTERY if peer.is_for(self.n) and (self.names is None or peer.name in self.names)
        )

    @property
    def families(self) -> tuple[Family, ...]:
        """Those of the battery that count."""
        return tuple(peer for peer in self.battery if isinstance(peer, Family))

    @property
    def keeps_keys(self) -> bool:
        """Whether every deck's keys are kept."""
        return DUPLICATES in self.battery

    def stratum_families(self, dimension: str) -> tuple[Family, ...]:
        """Returns the families for each stratum of a dimension."""
        if dimension == BY_SEAT:
            return (SEATED,) if SEATED.is_for(self.n) else ()
        return tuple(family for family in self.families if family.strata)

    def families_of(self, stratum: tuple[str, str]) -> tuple[Family, ...]:
        """Returns the families that are counted of a stratum, or of all decks (`WHOLE`)."""
        return self.families if stratum == WHOLE else self.stratum_families(stratum[0])


@dataclass
class Corpus:
    """The counts of a plan.

    Attributes:
        plan: what was counted.
        whole: all decks.
        strata: by dimension and label.
        keys: the keys of all decks.
        sources: what was read.
        notes: what the sources said besides.
        read_as: how they were read, each way once.
        logs: what of each log is among the decks.
        digests: SHA-256 of the decks of each run that was put together here.
    """

    plan: Plan
    whole: Tally
    strata: dict[str, dict[str, Tally]]
    keys: KeyStore
    sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read_as: list[str] = field(default_factory=list)
    logs: list[LogSample] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, plan: Plan) -> Corpus:
        """Creates a corpus with nothing counted yet."""
        strata: dict[str, dict[str, Tally]] = {dimension: {} for dimension in plan.dimensions}
        return cls(plan, Tally(plan.n), strata, KeyStore(plan.n))

    def stratum(self, dimension: str, label: str) -> Tally:
        """Returns the tally of a stratum, made when first asked for."""
        return self.strata[dimension].setdefault(label, Tally(self.plan.n))

    def append(self, later: Corpus) -> None:
        """Appends other decks, counted by the same plan."""
        self.whole.append(self.plan.families, later.whole, self.plan.order)
        for dimension, tallies in later.strata.items():
            families = self.plan.stratum_families(dimension)
            for label, tally in tallies.items():
                self.stratum(dimension, label).append(families, tally, self.plan.order)
        for keys in later.keys.blocks():
            self.keys.add(keys)
        self.sources += later.sources
        self.notes += later.notes
        self.read_as = list(dict.fromkeys([*self.read_as, *later.read_as]))
        self.logs += later.logs
        self.digests += later.digests


def family_names() -> list[str]:
    """Returns all names that can be asked for."""
    return [peer.name for peer in BATTERY]


Label = TypeVar("Label", str, int)


def grouped(labels: Sequence[Label]) -> dict[Label, list[int]]:
    """Returns the rows that bear each label."""
    rows: dict[Label, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return rows
