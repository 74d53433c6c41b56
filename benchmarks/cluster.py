"""The auditor on a Dask cluster of two workers on this machine, against its own two processes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from audit.cluster import LOCAL, Cluster
from audit.logs.folder import FolderLog
from audit.stats.counting.count import count_source
from audit.stats.judging.battery import judge
from audit.stats.sources import open_source
from audit.whole.verify import Options, verify
from benchmarks.rounds import medians
from benchmarks.row import Row
from tests.attacks.maker import many

HANDS = 500_000
"""Two entries each: a log of a million."""
DECKS = 1_000_000
ROUNDS = 1
"""After one to warm up: each is minutes long."""
WORKERS = 2


def rows() -> list[Row]:
    """Hands and decks a second; the cluster is started before the clock, as one that stands."""
    book = many(HANDS, 20)
    key = book.signer.verifier
    with tempfile.TemporaryDirectory() as folder:
        log, decks = book.write(Path(folder) / "log"), Path(folder) / "decks.npy"
        del book  # gigabytes
        whole = np.tile(np.arange(52, dtype=np.uint8), (DECKS, 1))
        np.save(decks, np.random.default_rng(1).permuted(whole, axis=1))
        del whole
        cluster = Cluster.connect(LOCAL, WORKERS)
        try:
            there, here = medians(
                _verify(log, Options(key, cluster=cluster)),
                _verify(log, Options(key, processes=WORKERS)),
                rounds=ROUNDS,
            )
            counted, own = medians(_stats(decks, cluster=cluster), _stats(decks, processes=WORKERS), rounds=ROUNDS)
        finally:
            cluster.close()
    return [
        Row.of("audit verify of 10^6 entries on Dask, two workers, against two processes", there, here, "hands/s"),
        Row.of("audit stats of 10^6 decks on Dask, two workers, against two processes", counted, own, "decks/s"),
    ]


def _verify(log: Path, options: Options) -> Callable[[], float]:
    def measure() -> float:
        start = perf_counter()
        report = verify(FolderLog(log), options)
        if (report.verdict, report.hands.total) != ("valid", HANDS):
            raise AssertionError(f"the log was not audited whole: {report.verdict}, {report.hands.total} hands")
        return HANDS / (perf_counter() - start)

    return measure


def _stats(decks: Path, *, processes: int | None = None, cluster: Cluster | None = None) -> Callable[[], float]:
    def measure() -> float:
        start = perf_counter()
        corpus = count_source(open_source([str(decks)]), processes=processes, cluster=cluster)
        assert corpus is not None
        if judge(corpus).verdict != "pass":
            raise AssertionError("fair decks failed")
        return DECKS / (perf_counter() - start)

    return measure
