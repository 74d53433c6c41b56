"""How throughput and waits grow: with the hands in play, with age, and with the size of the log; drawn as SVG.

Each picture has hands a second, the server's processor time a hand, which other work on the machine hardly changes, and
the wait for a street, median and 99th percentile. Tables play by PlayHands, one street a hand and message, without a
pause: a wait holds the queue of all other tables too.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import matplotlib
from matplotlib.figure import Figure

from benchmarks import servers
from benchmarks.load import WARM
from dealer.log.checkpoint import Checkpoint, read_checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, Node, leaf_hash
from dealer.store.datadir import DataDir
from dealer.store.interface import Batch
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault

TABLES = (1, 4, 16, 64, 256, 1024)
HANDS_A_POINT = 1500
AGES = 12
HANDS_AN_AGE = 4_200
SIZES = (0, 1_000, 10_000, 100_000, 300_000)
ENTRY_BYTES = 720  # a commit entry of an eight-handed hand
_ENTRIES_AT_ONCE = 10_000
_PUBLISHED_SECONDS = 240.0


@dataclass(frozen=True)
class Point:
    """What one run played.

    Attributes:
        at: what the picture is drawn against; runs stand side by side, at equal distances.
        rate: hands a second.
        work: the server's processor time a hand, in milliseconds.
        median, tail: the wait for a street, in milliseconds: the median and the 99th percentile.
    """

    at: float
    rate: float
    work: float
    median: float
    tail: float

    @classmethod
    def of(cls, at: float, running: servers.Running, hands: int, tables: int) -> "Point":
        """Has hands played, and works out the figures."""
        before = running.processor_seconds()
        played = running.play("stream", hands, tables)
        work = (running.processor_seconds() - before) / (played.hands + min(WARM, hands))
        cuts = quantiles(played.streets, n=100)
        return cls(at, played.hands / played.seconds, 1e3 * work, 1e3 * cuts[49], 1e3 * cuts[98])


def draw(out: Path) -> list[Path]:
    """Measures, and draws three pictures into a folder, which is made; returns their files."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name:
        folder = Path(name)
        pictures = (
            ("in-play.svg", "hands in play", _in_play(folder / "in-play")),
            ("age.svg", "thousands of answers kept", _aging(folder / "aging")),
            ("log-size.svg", "thousands of entries in the log", _sizes(folder)),
        )
    return [_draw(out / file, what, points) for file, what, points in pictures]


def _in_play(data: Path) -> list[Point]:
    with servers.dealer(data) as running:
        return [Point.of(each, running, min(HANDS_A_POINT, 100 * each), each) for each in TABLES]


def _aging(data: Path) -> list[Point]:
    """Plays on and on; all answers, seven a hand, stay for a day."""
    with servers.dealer(data) as running:
        return [Point.of(7 * HANDS_AN_AGE * age / 1000, running, HANDS_AN_AGE, 256) for age in range(AGES)]


def _sizes(folder: Path) -> list[Point]:
    points = []
    for size in SIZES:
        data = DataDir.at(folder / f"log-{size}")
        data.init("benchmark.example/log")
        _fill(data, size)
        with servers.dealer(data.root) as running:
            _wait_until_published(data, size)
            points.append(Point.of(size / 1000, running, HANDS_A_POINT, 256))
    return points


def _fill(data: DataDir, size: int) -> None:
    """Appends so many entries that no hand needs, each batch under a signed checkpoint."""
    vault, signer, tree = Vault(data.at_rest, 3600), data.signer(), CompactRange()
    store = SqliteStore(data.database, vault)
    while tree.size < size:
        count = min(_ENTRIES_AT_ONCE, size - tree.size)
        batch, nodes = Batch(entries=[os.urandom(ENTRY_BYTES) for _ in range(count)]), list[Node]()
        for entry in batch.entries:
            nodes += tree.append(leaf_hash(entry))
        batch.nodes = nodes
        batch.checkpoint = sign_checkpoint(Checkpoint(signer.name, tree.size, tree.root()), signer)
        store.commit(batch)
    store.close()
    vault.close()


def _wait_until_published(data: DataDir, size: int) -> None:
    """Waits for the work that a log made so suddenly gives to housekeeping; it is not what is measured."""
    end = monotonic() + _PUBLISHED_SECONDS
    while monotonic() < end:
        shown = data.public / "checkpoint"
        if shown.is_file() and read_checkpoint(shown.read_text()).size >= size:
            return
        sleep(0.2)
    raise RuntimeError(f"{size} entries were not published within {_PUBLISHED_SECONDS:.0f} s")


def _draw(path: Path, what: str, points: Sequence[Point]) -> Path:
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.name}):
        figure = Figure(figsize=(11, 3.2), layout="constrained")
        rate, work, wait = figure.subplots(1, 3)
        rate.plot([point.rate for point in points], marker="o", color="#2e7dd1")
        rate.set_ylabel("hands a second")
        work.plot([point.work for point in points], marker="o", color="#2e7dd1")
        work.set_ylabel("processor time a hand, ms")
        wait.plot([point.median for point in points], marker="o", color="#2e7dd1", label="median")
        wait.plot([point.tail for point in points], marker="s", color="#d8542f", label="99th percentile")
        wait.set_ylabel("wait for a street, ms")
        wait.legend()
        for axes in (rate, work, wait):
            axes.set_xlabel(what)
            axes.set_xticks(range(len(points)), [f"{point.at:.0f}" for point in points], fontsize="small")
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path
