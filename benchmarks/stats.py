"""The auditor's battery: decks a second with everything on, its memory, and the drawing of the same decks beside it."""

import multiprocessing
import multiprocessing.connection
import resource
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from audit.stats.counting.count import count_source
from audit.stats.judging.battery import judge
from audit.stats.results import CHUNK
from audit.stats.sources import open_source
from benchmarks.rounds import medians
from benchmarks.row import Row

DECKS = 16 * CHUNK
"""Decks of the timed runs: enough that starting processes and judging weigh as they do for a user."""

_MILLION = 1_000_000
_CORE_GOAL = 50_000.0
_MIB = 1024.0
_GIB_IN_MIB = 1024.0


def rows() -> list[Row]:
    """One core against 50,000 decks a second, two against twice that, drawing the decks, and a million's memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decks.npy"
        _write_decks(path, DECKS)
        one, two, drawn = medians(
            lambda: _decks_per_second(path, 1),
            lambda: _decks_per_second(path, 2),
            _drawn_per_second,
            rounds=3,
        )
        million = Path(folder) / "million.npy"
        _write_decks(million, _MILLION)
        memory = _peak_memory(million)
    return [
        Row.of("whole battery, one core, against 50,000", one, _CORE_GOAL, "decks/s", 1.0),
        Row.of("whole battery, two cores, against 100,000", two, 2 * _CORE_GOAL, "decks/s", 1.0),
        Row.of("whole battery, two cores, against one", two, one, "decks/s"),
        Row.of("whole battery, one core, against drawing the decks (Generator.permuted)", one, drawn, "decks/s"),
        Row.of("peak memory of a million decks, all processes", memory, _GIB_IN_MIB, "MiB", 1.0),
    ]


def _write_decks(path: Path, count: int) -> None:
    decks = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(count, 52))
    rng = np.random.default_rng(1)
    for first in range(0, count, CHUNK):
        decks[first : first + CHUNK] = _draw(rng, min(CHUNK, count - first))
    decks.flush()


def _draw(rng: np.random.Generator, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return rng.permuted(np.tile(np.arange(52, dtype=np.uint8), (count, 1)), axis=1)


def _decks_per_second(path: Path, processes: int) -> float:
    """What `audit stats` does of a file: read, check, count and judge."""
    start = perf_counter()
    result = judge(count_source(open_source([str(path)]), processes=processes))
    seconds = perf_counter() - start
    if result.verdict != "pass" or result.decks != DECKS:
        raise RuntimeError(f"fair decks were judged {result.verdict}, {result.decks} of {DECKS} counted")
    return DECKS / seconds


def _drawn_per_second() -> float:
    rng = np.random.default_rng(2)
    start = perf_counter()
    for _ in range(0, DECKS, CHUNK):
        _draw(rng, CHUNK)
    return DECKS / (perf_counter() - start)


def _peak_memory(path: Path) -> float:
    """MiB at the peak of a run of its own, the largest process times the number of processes: a bound from above."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measured, args=(str(path), theirs))
    process.start()
    theirs.close()
    memory: float = ours.recv()
    process.join()
    return memory


def _measured(path: str, pipe: "multiprocessing.connection.Connection") -> None:
    judge(count_source(open_source([path]), processes=2))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workers = 2 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    pipe.send((own + workers) / _MIB)
