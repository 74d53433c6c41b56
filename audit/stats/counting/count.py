"""From a source of decks to a counted corpus, in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from audit.cluster import Cluster
from audit.stats.batch import Bytes
from audit.stats.cards.deal import TABLE_SIZES
from audit.stats.counting.corpus import BY_SEAT, WHOLE, Corpus, Plan, grouped
from audit.stats.counting.on_cluster import ClusterPool
from audit.stats.counting.pool import CountingPool, Job
from audit.stats.counting.tally import Packer
from audit.stats.family import MIN_DECKS
from audit.stats.results import CHUNK, Chunk, Source

UNLABELLED = "(none)"
"""The stratum of decks whose source has no label for a dimension."""

_NUMBERS = 256


def count_source(
    source: Source,
    *,
    order: Bytes | None = None,
    names: tuple[str, ...] | None = None,
    dimensions: tuple[str, ...] = (),
    processes: int | None = None,
    cluster: Cluster | None = None,
    piece: int = CHUNK,
    for_merging: bool = False,
    progress: Callable[[int], None] = lambda decks: None,
) -> Corpus | None:
    """Counts all decks of a source.

    Args:
        source: the decks.
        order: (n,) the place of each card before the shuffle; None for the reference order.
        names: families to count, None for all.
        dimensions: dimensions of strata.
        processes: how many count; None for one on each core.
        cluster: a cluster that counts in their place.
        piece: decks counted at a time.
        for_merging: whether strata too small for any test are counted as well, as others may add to them.
        progress: is told of decks read.

    Returns:
        The counts; None if the source has no deck.

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
                counter = _Counter(corpus, processes, cluster, piece, 0 if for_merging else MIN_DECKS)
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
        corpus.logs.extend(source.logs)
        corpus.digests.append(digest.hexdigest())
        for dimension, tallies in corpus.strata.items():
            if not tallies.keys() - {UNLABELLED}:
                corpus.notes.append(f"no deck has a label for {dimension}: nothing was tested by it")
    return corpus


class _Counter:
    """Packs decks for all together and for each stratum, and has the full packs counted."""

    def __init__(self, corpus: Corpus, processes: int | None, cluster: Cluster | None, piece: int, fewest: int) -> None:
        self._corpus = corpus
        self._pool: CountingPool | ClusterPool
        if cluster is None:
            self._pool = CountingPool(corpus.plan, processes, corpus.keys.add)
        else:
            self._pool = ClusterPool(corpus.plan, cluster, corpus.keys.add)
        self._piece = piece
        self._fewest = fewest
        self._packers: dict[tuple[str, str], Packer] = {}

    def add(self, chunk: Chunk) -> None:
        """Adds the next decks of the source."""
        self._pack(WHOLE, chunk.decks)
        for dimension in self._corpus.plan.dimensions:
            labels = chunk.labels.get(dimension) or [UNLABELLED] * len(chunk.decks)
            if dimension == BY_SEAT:
                self._pack_seats(labels, chunk.decks)
                continue
            for label, rows in grouped(labels).items():
                self._pack((dimension, label), chunk.decks[rows])

    def _pack_seats(self, labels: list[str], decks: Bytes) -> None:
        """Packs decks by number of seats, seat numbers in further columns; decks without seats are passed."""
        numbers = [seat_numbers(label) for label in labels]
        for count, rows in grouped([len(each) for each in numbers]).items():
            if count:
                seats = np.array([numbers[row] for row in rows], np.uint8)
                self._pack((BY_SEAT, f"{count} seats"), np.concatenate([decks[rows], seats], axis=1))

    def _pack(self, stratum: tuple[str, str], decks: Bytes) -> None:
        tally = self._corpus.whole if stratum == WHOLE else self._corpus.stratum(*stratum)
        tally.passed(decks[:, : self._corpus.plan.n])
        packer = self._packers.setdefault(stratum, Packer(decks.shape[1], self._piece))
        for before, piece in packer.add(decks):
            self._pool.submit(Job(stratum, before, piece))

    def finish(self) -> None:
        """Counts what is left and puts all counts together."""
        for stratum, packer in self._packers.items():
            if stratum != WHOLE and self._corpus.stratum(*stratum).decks < self._fewest:
                continue
            for before, piece in packer.rest():
                self._pool.submit(Job(stratum, before, piece))
        plan = self._corpus.plan
        for stratum, tallies in self._pool.finish().items():
            target = self._corpus.whole if stratum == WHOLE else self._corpus.stratum(*stratum)
            for tally in tallies:
                target.take_counts(plan.families_of(stratum), tally)

    def stop(self) -> None:
        """Ends processes that are still there."""
        self._pool.stop()


@lru_cache(maxsize=1 << 16)
def seat_numbers(label: str) -> tuple[int, ...]:
    """Reads a label such as `3,5,1`: seat numbers in dealing order; empty if it is no such list of 2 to 8."""
    parts = label.split(",")
    numbers = tuple(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) <= 3)
    proper = len(set(numbers)) == len(parts) in TABLE_SIZES and max(numbers, default=0) < _NUMBERS
    return numbers if proper else ()
