"""From a source of decks to a counted corpus, in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from audit.stats.batch import Bytes
from audit.stats.corpus import Corpus, Plan, grouped
from audit.stats.tally import Packer
from audit.stats.types import Chunk, Source
from audit.stats.workers import WHOLE, Job, Workers

UNLABELLED = "(none)"
"""The stratum of decks whose source has no label for a dimension."""

SEATS_LABEL = "seats"
"""Where sources put a hand's seat numbers, in dealing order."""


def count_source(
    source: Source,
    *,
    order: Bytes | None = None,
    names: tuple[str, ...] | None = None,
    dimensions: tuple[str, ...] = (),
    processes: int | None = None,
    progress: Callable[[int], None] = lambda decks: None,
) -> Corpus | None:
    """Counts all decks of a source.

    Args:
        source: the decks.
        order: (n,) the place of each card before the shuffle; None for the reference order.
        names: families to count, None for all.
        dimensions: dimensions of strata.
        processes: how many count; None for one on each core.
        progress: is told of decks read.

    Returns:
        The counts; None where the source has no deck.

    Raises:
        InputError: of the source.
    """
    corpus: Corpus | None = None
    counter: _Counter | None = None
    digest = hashlib.sha256()
    try:
        for chunk in source:
            if counter is None:
                corpus = Corpus.empty(Plan(chunk.decks.shape[1], order, names, dimensions))
                counter = _Counter(corpus, processes)
            counter.add(chunk)
            digest.update(np.ascontiguousarray(chunk.decks).data)
            progress(len(chunk.decks))
        if counter is not None:
            counter.finish()
    finally:
        if counter is not None:
            counter.stop()
    if corpus is not None:
        corpus.sources.append(source.name)
        corpus.notes.extend(source.notes)
        corpus.digests.append(digest.hexdigest())
    return corpus


class _Counter:
    """Packs decks for all together and for each stratum, and has the full packs counted."""

    def __init__(self, corpus: Corpus, processes: int | None) -> None:
        self._corpus = corpus
        self._workers = Workers(corpus.plan, processes, corpus.keys.add)
        self._packers: dict[tuple[str, str], Packer] = {}

    def add(self, chunk: Chunk) -> None:
        """Takes the next decks of the source."""
        self._pack(WHOLE, chunk.decks)
        for dimension in self._corpus.plan.dimensions:
            labels = labels_of(chunk, dimension)
            for label, rows in grouped(labels).items():
                self._pack((dimension, label), chunk.decks[list(rows)])

    def _pack(self, stratum: tuple[str, str], decks: Bytes) -> None:
        tally = self._corpus.whole if stratum == WHOLE else self._corpus.stratum(*stratum)
        tally.passed(decks)
        packer = self._packers.setdefault(stratum, Packer(self._corpus.plan.n))
        for before, piece in packer.add(decks):
            self._workers.submit(Job(stratum, before, piece))

    def finish(self) -> None:
        """Counts what is left and puts all counts together."""
        for stratum, packer in self._packers.items():
            for before, piece in packer.rest():
                self._workers.submit(Job(stratum, before, piece))
        plan = self._corpus.plan
        for stratum, tallies in self._workers.finish().items():
            whole = stratum == WHOLE
            target = self._corpus.whole if whole else self._corpus.stratum(*stratum)
            families = plan.families if whole else plan.stratum_families(stratum[0])
            for tally in tallies:
                target.take_counts(families, tally)

    def stop(self) -> None:
        """Ends processes that are still there."""
        self._workers.stop()


def labels_of(chunk: Chunk, dimension: str) -> list[str]:
    """A label for each deck of a chunk; for the dimension `seat` the lists of seats where the source has them."""
    if dimension == "seat" and SEATS_LABEL in chunk.labels:
        return chunk.labels[SEATS_LABEL]
    return chunk.labels.get(dimension) or [UNLABELLED] * len(chunk.decks)
