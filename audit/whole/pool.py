"""Spreads stretches of a log over processes and gives their results in the log's order."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor

from audit.whole.lifecycle import SplitHand
from audit.whole.stretch import HandResults, Job, Stretch, StretchResult, check_split_hands, read_stretch

_job: Job | None = None
"""What this process checks with, where it is one of several."""


def _start(job: Job) -> None:
    global _job
    _job = job


def _read(stretch: Stretch) -> StretchResult:
    assert _job is not None
    return read_stretch(_job, stretch)


def _check(batch: list[SplitHand]) -> HandResults:
    assert _job is not None
    return check_split_hands(_job, batch)


class Workers:
    """One process or several that check with one job; results do not depend on how many there are."""

    def __init__(self, job: Job, processes: int) -> None:
        self._job = job
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None
        if processes > 1:
            # Started afresh, not forked: a fork in the middle of gRPC's threads may hang.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(processes, context, initializer=_start, initargs=(job,))
        self._batches: list[Future[HandResults]] = []

    def read(self, stretches: Iterable[Stretch]) -> Iterator[StretchResult]:
        """Reads every stretch, in order; a few are read ahead, never more."""
        if self._pool is None:
            for stretch in stretches:
                yield read_stretch(self._job, stretch)
            return
        ahead: deque[Future[StretchResult]] = deque()
        for stretch in stretches:
            ahead.append(self._pool.submit(_read, stretch))
            if len(ahead) > 2 * self._processes:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def check(self, batch: list[SplitHand]) -> Iterator[HandResults]:
        """Hands in hands to be checked; gives the results that are ready."""
        if self._pool is None:
            yield check_split_hands(self._job, batch)
            return
        if len(self._batches) > 8 * self._processes:
            yield self._batches.pop(0).result()  # handing in waits if checking is slower
        self._batches.append(self._pool.submit(_check, batch))
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
            self._pool.shutdown(cancel_futures=True)
