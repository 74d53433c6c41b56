"""Counting batches in this process or in several others, with the same result to the last digit."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

from audit.stats.batch import Batch, Bytes
from audit.stats.counting.corpus import WHOLE, Plan
from audit.stats.counting.tally import Tally
from audit.stats.decks import Keys
from audit.stats.families.duplicates import deck_keys

_AHEAD = 2


@dataclass(frozen=True)
class Job:
    """One batch to count.

    Attributes:
        stratum: dimension and label, or `WHOLE`.
        before: the decks right before it in its stratum, as rows.
        decks: its decks, as rows; after the n cards come the seat numbers, if these are counted.
    """

    stratum: tuple[str, str]
    before: Bytes
    decks: Bytes


class Bench:
    """Where one process counts: a tally for each stratum."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.tallies: dict[tuple[str, str], Tally] = {}

    def count(self, job: Job) -> Keys | None:
        """Counts one batch; returns the keys of its decks if they are wanted."""
        n = self._plan.n
        batch = Batch(job.decks[:, :n], self._plan.order, job.before[:, :n], job.decks[:, n:])
        tally = self.tallies.setdefault(job.stratum, Tally(self._plan.n))
        tally.add(self._plan.families_of(job.stratum), batch)
        return deck_keys(batch) if job.stratum == WHOLE and self._plan.keeps_keys else None


def _receive(pipe: Connection, jobs: SimpleQueue[Job | None]) -> None:
    """Takes jobs off the pipe as they come, so that the sender never waits for a process that is sending itself."""
    job: Job | None = None
    try:
        while (job := pipe.recv()) is not None:
            jobs.put(job)
    except EOFError:
        pass  # the one that asked is gone
    jobs.put(None)


def _work(plan: Plan, pipe: Connection) -> None:
    """Runs a process: counts what comes, then hands back its tallies."""
    try:
        jobs: SimpleQueue[Job | None] = SimpleQueue()
        threading.Thread(target=_receive, args=(pipe, jobs), daemon=True).start()
        bench = Bench(plan)
        while (job := jobs.get()) is not None:
            pipe.send(("keys", bench.count(job)))
        pipe.send(("tallies", bench.tallies))
    except BrokenPipeError:
        pass  # the one that asked is gone
    except BaseException:
        pipe.send(("error", traceback.format_exc()))


class CountingPool:
    """Counts jobs: a single one here, more of them with all the processes that were asked for.

    Args:
        plan: what to count.
        processes: how many; None for one on each core.
        take_keys: is given the keys of every batch of all decks.
    """

    def __init__(self, plan: Plan, processes: int | None, take_keys: Callable[[Keys], None]) -> None:
        self._plan = plan
        self._wanted = processes or cores()
        self._take_keys = take_keys
        self._own = Bench(plan)
        self._busy: dict[Connection, int] = {}
        self._processes: list[BaseProcess] = []
        self._first: Job | None = None

    def submit(self, job: Job) -> None:
        """Counts a job, now or soon."""
        if self._wanted == 1:
            self._taken(self._own.count(job))
        elif self._busy:
            self._hand_out(job)
        elif self._first is None:
            self._first = job
        else:
            first, self._first = self._first, None
            self._start()
            self._hand_out(first)
            self._hand_out(job)

    def _hand_out(self, job: Job) -> None:
        while min(self._busy.values()) >= _AHEAD:
            self._collect()
        pipe = min(self._busy, key=lambda each: self._busy[each])
        pipe.send(job)
        self._busy[pipe] += 1

    def finish(self) -> dict[tuple[str, str], list[Tally]]:
        """Returns all tallies of all processes, by stratum."""
        if self._first is not None:
            self._taken(self._own.count(self._first))
        tallies: dict[tuple[str, str], list[Tally]] = {key: [tally] for key, tally in self._own.tallies.items()}
        while any(self._busy.values()):
            self._collect()
        for pipe in self._busy:
            pipe.send(None)
            theirs: dict[tuple[str, str], Tally] = self._received(pipe)
            for key, tally in theirs.items():
                tallies.setdefault(key, []).append(tally)
        for process in self._processes:
            process.join()
        self._busy, self._processes = {}, []
        return tallies

    def stop(self) -> None:
        """Ends the processes, whatever they are doing."""
        for process in self._processes:
            process.terminate()
            process.join()
        self._busy, self._processes = {}, []

    def _start(self) -> None:
        context: Any = multiprocessing.get_context(_start_method())
        for _ in range(self._wanted):
            ours, theirs = context.Pipe()
            process: BaseProcess = context.Process(target=_work, args=(self._plan, theirs), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._busy[ours] = 0

    def _collect(self) -> None:
        """Waits for at least one answer."""
        for pipe in wait([pipe for pipe, jobs in self._busy.items() if jobs]):
            assert isinstance(pipe, Connection)
            keys = self._received(pipe)
            self._busy[pipe] -= 1
            self._taken(keys)

    def _received(self, pipe: Connection) -> Any:
        try:
            what, answer = pipe.recv()
        except EOFError:
            raise RuntimeError("a counting process ended before its work was done") from None
        if what == "error":
            raise RuntimeError(f"a counting process failed:\n{answer}")
        return answer

    def _taken(self, keys: Keys | None) -> None:
        if keys is not None:
            self._take_keys(keys)


def cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_method() -> str:
    """Chooses how processes start: forking is quick, and safe as long as there is no other thread and no gRPC."""
    alone = threading.active_count() == 1 and "grpc" not in sys.modules
    return "fork" if alone and sys.platform == "linux" else "spawn"
