"""The service after a day and after a year: speed, stalls and bytes on a store that keeps many answers.

Servers run with answers that expire when the benchmark needs it; `dealer serve` keeps them for a day at the least.
"""

import sys
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from benchmarks import servers
from benchmarks.rounds import medians
from benchmarks.row import Row

ROUNDS = 5
KEPT_HANDS = 44_000
"""Hands whose answers stay; with those that expire 350,000 answers in 50,000 hands."""
EXPIRING_HANDS = 6_000
"""One minute at 100 hands a second: 42,000 answers."""
DISK_HANDS = 5_000
STREAM = ("stream", 1500, 256)
_DAY = 24 * 3600


def rows() -> list[Row]:
    """Speed, the longest wait while a minute's answers go, and bytes on disk."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name:
        folder = Path(name)
        with _dealer(folder / "aged", _DAY) as running:
            running.play("stream", KEPT_HANDS + EXPIRING_HANDS, 256)
            with _dealer(folder / "fresh", _DAY) as fresh:
                aged, new = medians(partial(running.rate, *STREAM), partial(fresh.rate, *STREAM), rounds=ROUNDS)
        stall = _stall(folder / "aged")
        first, forever = _disk(folder / "disk")
    return [
        Row.of("hands by PlayHands with 350,000 answers kept, against a fresh folder", aged, new, "hands/s", 0.9),
        Row.of(
            "longest wait of a street while 42,000 answers expire out of 350,000, against 100 ms",
            1e3 * stall,
            100.0,
            "ms",
            1.0,
        ),
        Row.of("database a hand on the first day, against 10 KB", first / 1000, 10.0, "KB", 1.0),
        Row.of("database a hand for ever, against 2.5 KB", forever / 1000, 2.5, "KB", 1.0),
    ]


def _stall(data: Path) -> float:
    """Plays a minute's hands whose answers expire soon, and has one table deal while they go."""
    with _dealer(data, 20) as running:
        running.play("stream", EXPIRING_HANDS, 256)
        return max(running.play("paced", 120 * 5, 5, rate=5.0).streets)


def _disk(data: Path) -> tuple[float, float]:
    """Bytes of the database a hand, with answers kept and once they have gone and the space was given back."""
    with _dealer(data, 30) as running:
        running.play("stream", DISK_HANDS, 256)
    first = _size(data) / DISK_HANDS
    with _dealer(data, 30):
        end = monotonic() + 240
        while monotonic() < end:
            before = _size(data)
            sleep(65)
            if _size(data) == before:
                break
    return first, _size(data) / DISK_HANDS


def _size(data: Path) -> int:
    """Bytes of the database's files."""
    return sum(file.stat().st_size for file in (data / "db").iterdir())


def _dealer(data: Path, answer_seconds: int) -> AbstractContextManager[servers.Running]:
    """A dealer whose answers expire so long after their hand."""
    command = [sys.executable, "-m", "benchmarks.short_memory", str(answer_seconds), str(data)]
    return servers.dealer(data, command=command)
