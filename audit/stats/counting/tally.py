"""Counts of a run of decks that can be put behind another run, and the packing of decks into full batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import LAGS, Batch
from audit.stats.families import Family
from audit.stats.family import Counts

Decks = NDArray[np.uint8]


class Tally:
    """What a list of families counted over one run of decks.

    Attributes:
        decks: how many decks were counted.
        counts: each family's counts by its name.
        head: the first decks, at most `LAGS`, as rows: what a run put before this one has to be compared with.
        tail: the last decks, likewise.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.decks = 0
        self.counts: dict[str, Counts] = {}
        self.head: Decks = np.empty((0, n), np.uint8)
        self.tail: Decks = np.empty((0, n), np.uint8)

    def add(self, families: Sequence[Family], batch: Batch) -> None:
        """Counts a batch of the same run; `batch.before` are the decks right before it."""
        for family in families:
            self._add_counts(family, family.count(batch))

    def _add_counts(self, family: Family, counts: Counts) -> None:
        own = self.counts.get(family.name)
        self.counts[family.name] = counts if own is None else family.merge(own, counts)

    def passed(self, decks: Decks) -> None:
        """Notes decks of the run that are counted here or elsewhere: how many, the first and the last."""
        self.decks += len(decks)
        if len(self.head) < LAGS:
            self.head = np.concatenate([self.head, decks[: LAGS - len(self.head)]])
        self.tail = np.concatenate([self.tail, decks[-LAGS:]])[-LAGS:]

    def take_counts(self, families: Sequence[Family], other: Tally) -> None:
        """Adds counts of decks that were passed already."""
        for family in families:
            if family.name in other.counts:
                self._add_counts(family, other.counts[family.name])

    def append(self, families: Sequence[Family], later: Tally, order: Decks | None) -> None:
        """Appends a run, as if both had been counted as one.

        Only families that look back notice the seam: their counts of the later run's head, alone, are taken away, and
        those of the head seen after this run's tail are added.
        """
        seam: dict[str, Counts] = {}
        if self.decks and later.decks:
            alone, joined = Batch(later.head, order), Batch(later.head, order, self.tail)
            for family in families:
                if family.looks_back:
                    without, with_before = family.count(alone), family.count(joined)
                    seam[family.name] = {key: with_before[key] - without[key] for key in without}
        self.take_counts(families, later)
        for family in families:
            if family.name in seam:
                self._add_counts(family, seam[family.name])
        if len(self.head) < LAGS:
            self.head = np.concatenate([self.head, later.head])[:LAGS]
        self.tail = np.concatenate([self.tail, later.tail])[-LAGS:]
        self.decks += later.decks


class Packer:
    """Gathers decks, in order, into pieces of one size, each with the decks right before it."""

    def __init__(self, n: int, size: int) -> None:
        self._size = size
        self._waiting: list[Decks] = []
        self._count = 0
        self._before: Decks = np.empty((0, n), np.uint8)

    def add(self, decks: Decks) -> Iterator[tuple[Decks, Decks]]:
        """Adds decks; yields every full piece as (the decks before it, its decks)."""
        self._waiting.append(decks)
        self._count += len(decks)
        while self._count >= self._size:
            yield self._piece(self._size)

    def rest(self) -> Iterator[tuple[Decks, Decks]]:
        """Yields what is left, if anything."""
        if self._count:
            yield self._piece(self._count)

    def _piece(self, size: int) -> tuple[Decks, Decks]:
        joined = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        piece, left = joined[:size], joined[size:]
        before = self._before
        self._waiting, self._count = ([left] if len(left) else []), len(left)
        self._before = np.concatenate([before, piece[-LAGS:]])[-LAGS:]
        return before, piece
