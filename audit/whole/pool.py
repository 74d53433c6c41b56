"""Spreads stretches of a log over processes, or over a cluster, and gives their results in the log's order."""

from __future__ import annotations

import gc
import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Protocol

from audit.cluster import Cluster, Task
from audit.whole.stretch import HandResults, Job, Stretch, StretchResult, check_split_hands, read_stretch
from audit.whole.traces import SplitHand

_job: Job | None = None
"""What this process checks with, where it is one of several."""


def _start(job: Job) -> None:
    global _job
    _job = job


def _read(stretch: Stretch) -> StretchResult:
    assert _job is not None
    return _read_stretch(_job, stretch)


def _read_stretch(job: Job, stretch: Stretch) -> StretchResult:
    # A stretch makes many small values and no cycles: looking for cycles meanwhile would take a tenth of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return read_stretch(job, stretch)
    finally:
        if was_enabled:
            gc.enable()


def _check(batch: list[SplitHand]) -> HandResults:
    assert _job is not None
    return check_split_hands(_job, batch)


class _Pool(Protocol):
    """Whatever takes tasks: processes of this machine, or a cluster.

    Attributes:
        workers: how many tasks run at a time.
    """

    workers: int

    def read(self, stretch: Stretch) -> Task[StretchResult]:
        """Hands in a stretch to be read."""
        ...

    def check(self, batch: list[SplitHand]) -> Task[HandResults]:
        """Hands in hands to be checked."""
        ...

    def close(self) -> None:
        """Gives up what is not done."""
        ...


class _Processes:
    """Processes of this machine."""

    def __init__(self, job: Job, processes: int) -> None:
        # Started afresh, not forked: a fork in the middle of gRPC's threads may hang.
        context = multiprocessing.get_context("spawn")
        self.workers = processes
        self._pool = ProcessPoolExecutor(processes, context, initializer=_start, initargs=(job,))

    def read(self, stretch: Stretch) -> Task[StretchResult]:
        return self._pool.submit(_read, stretch)

    def check(self, batch: list[SplitHand]) -> Task[HandResults]:
        return self._pool.submit(_check, batch)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _OnCluster:
    """A cluster, whose workers read the log by themselves."""

    def __init__(self, job: Job, cluster: Cluster) -> None:
        self.workers = cluster.workers
        self._cluster = cluster
        self._job = cluster.share(replace(job, log=job.log.elsewhere()))

    def read(self, stretch: Stretch) -> Task[StretchResult]:
        return self._cluster.submit(_read_stretch, self._job, stretch)

    def check(self, batch: list[SplitHand]) -> Task[HandResults]:
        return self._cluster.submit(check_split_hands, self._job, batch)

    def close(self) -> None:
        return


class Workers:
    """One process, several, or a cluster, that check with one job; results do not depend on which or how many."""

    def __init__(self, job: Job, processes: int, cluster: Cluster | None = None) -> None:
        self._job = job
        self._pool: _Pool | None = None
        if cluster is not None:
            self._pool = _OnCluster(job, cluster)
        elif processes > 1:
            self._pool = _Processes(job, processes)
        self._batches: list[Task[HandResults]] = []

    def read(self, stretches: Iterable[Stretch]) -> Iterator[StretchResult]:
        """Reads every stretch, in order; a few are read ahead, never more."""
        if self._pool is None:
            for stretch in stretches:
                yield _read_stretch(self._job, stretch)
            return
        ahead: deque[Task[StretchResult]] = deque()
        for stretch in stretches:
            ahead.append(self._pool.read(stretch))
            if len(ahead) > 2 * self._pool.workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def check(self, batch: list[SplitHand]) -> Iterator[HandResults]:
        """Hands in hands to be checked; gives the results that are ready."""
        if self._pool is None:
            yield check_split_hands(self._job, batch)
            return
        if len(self._batches) > 8 * self._pool.workers:
            yield self._batches.pop(0).result()  # handing in waits if checking is slower
        self._batches.append(self._pool.check(batch))
        ready = [future for future in self._batches if future.done()]
        self._batches = [future for future in self._batches if future not in ready]
        for future in ready:
            yield future.result()

    def rest(self) -> Iterator[HandResults]:
        """Yields the results of `check` that are still to come."""
        for future in self._batches:
            yield future.result()
        self._batches = []

    def close(self) -> None:
        """Ends the processes."""
        if self._pool is not None:
            self._pool.close()
