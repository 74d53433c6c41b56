"""Counting batches on a cluster, with the same result to the last digit as in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from audit.cluster import Cluster, Task
from audit.stats.counting.corpus import Plan
from audit.stats.counting.pool import Bench, Job
from audit.stats.counting.tally import Tally
from audit.stats.decks import Keys

TASK_DECKS = 100_000
"""Decks in a task. Its tallies take some 20 MB however many there are, so a task should not be small."""

_Tallies = dict[tuple[str, str], Tally]


def count_jobs(plan: Plan, jobs: list[Job]) -> tuple[list[Keys], _Tallies]:
    """Counts some jobs; returns the keys that are wanted and a tally for each stratum."""
    bench = Bench(plan)
    keys = [bench.count(job) for job in jobs]
    return [each for each in keys if each is not None], bench.tallies


class ClusterPool:
    """Counts jobs on a cluster; a few tasks are under way, never more, and each is done again if its worker dies.

    Args:
        plan: what to count.
        cluster: where.
        take_keys: is given the keys of every batch of all decks.
    """

    def __init__(self, plan: Plan, cluster: Cluster, take_keys: Callable[[Keys], None]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._shared = cluster.share(plan)
        self._take_keys = take_keys
        self._jobs: list[Job] = []
        self._under_way: deque[Task[tuple[list[Keys], _Tallies]]] = deque()
        self._tallies: _Tallies = {}

    def submit(self, job: Job) -> None:
        """Counts a job soon."""
        self._jobs.append(job)
        if sum(len(each.decks) for each in self._jobs) >= TASK_DECKS:
            self._hand_out()

    def _hand_out(self) -> None:
        jobs, self._jobs = self._jobs, []
        self._under_way.append(self._cluster.submit(count_jobs, self._shared, jobs))
        while len(self._under_way) > 2 * self._cluster.workers:
            self._collect()

    def _collect(self) -> None:
        keys, tallies = self._under_way.popleft().result()
        for each in keys:
            self._take_keys(each)
        for stratum, tally in tallies.items():
            own = self._tallies.setdefault(stratum, Tally(self._plan.n))
            own.take_counts(self._plan.families_of(stratum), tally)

    def finish(self) -> dict[tuple[str, str], list[Tally]]:
        """Returns all tallies, by stratum."""
        if self._jobs:
            self._hand_out()
        while self._under_way:
            self._collect()
        return {stratum: [tally] for stratum, tally in self._tallies.items()}

    def stop(self) -> None:
        """Takes no more results; the cluster drops what nobody waits for."""
        self._under_way.clear()
