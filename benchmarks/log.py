"""Appending to small and great logs through the real store: an entry and a start cost no more than O(log n).

An append commits what the service does: along with the entries the hands, their tables, their answers and their seeds'
digests. What fills a log to its size is entries alone.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import log2
from pathlib import Path
from time import perf_counter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.rounds import medians
from benchmarks.row import Row
from dealer.log.checkpoint import Checkpoint, read_checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, Node, inclusion_proof, leaf_hash
from dealer.log.note import NoteSigner
from dealer.log.receipt import make_receipt
from dealer.store.interface import Answer, Batch, HandRow, Sealed, TableRow
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault

SIZES = (10, 10_000, 1_000_000)
ENTRY_BYTES = 720  # a commit entry of an eight-handed hand
STATE = "x" * 900  # an eight-handed hand on its second street
SECRETS = Sealed(1, bytes(280))
ANSWERS, ANSWER_BYTES = 7, 1100  # of one hand: its opening, five streets and its close
APPENDS = 8
ROUNDS = 15
ORIGIN = "benchmark.example/log"
SIGNER = NoteSigner(ORIGIN, Ed25519PrivateKey.generate())


def rows() -> list[Row]:
    """Costs at 10^4 and 10^6 entries beside those at 10; the goal is the growth of the logarithm."""
    with tempfile.TemporaryDirectory(prefix="cutcard-benchmark-") as folder, _logs(Path(folder)) as (small, *great):
        figures = {
            # First, while nothing is kept for repeats: what is kept a start reads in part, however great the log.
            "start": medians(*(partial(_start, log) for log in (small, *great)), rounds=ROUNDS),
            "append one entry": medians(*(partial(_append, log, 1) for log in (small, *great)), rounds=ROUNDS),
            "append 64 entries at once": medians(
                *(partial(_append, log, 64) for log in (small, *great)), rounds=ROUNDS
            ),
        }
    return [
        Row.of(
            f"{what}: {size:,} entries against {SIZES[0]}",
            1e6 * seconds,
            1e6 * least,
            "us/start" if what == "start" else "us/entry",
            goal=log2(size) / log2(SIZES[0]),
        )
        for what, (least, *others) in figures.items()
        for size, seconds in zip(SIZES[1:], others, strict=True)
    ]


class _Log:
    """A log in a store of its own, grown to a size, to which appends are made as the service makes them."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.at_rest = path.with_suffix(".keys")
        self.at_rest.mkdir()
        self.grow()

    def grow(self) -> None:
        """Makes the store and fills it."""
        self.tree = CompactRange()
        SqliteStore.create(self.path, ORIGIN, sign_checkpoint(Checkpoint(ORIGIN, 0, self.tree.root()), SIGNER))
        self.vault = Vault(self.at_rest, 3600)
        self.store = SqliteStore(self.path, self.vault)
        self.in_play: list[bytes] = []
        while self.tree.size < self.size:
            self.append(min(10_000, self.size - self.tree.size), Batch())

    def shrink(self) -> None:
        """Makes the log anew once appends have made it half as great again: it is to stay of its size."""
        if self.tree.size > 1.5 * self.size:
            self.close()
            for file in self.path.parent.glob(f"{self.path.name}*"):
                file.unlink()
            self.grow()

    def close(self) -> None:
        """Lets go of the store and of its keys."""
        self.store.close()
        self.vault.close()

    def hands(self, count: int) -> Batch:
        """What comes with so many entries: every other one commits a hand, and the others close those of before."""
        batch, closed, self.in_play = Batch(), self.in_play, [os.urandom(16) for _ in range((count + 1) // 2)]
        for hand in closed:
            batch.hands[hand] = HandRow(hand, None, False, None, 0, self.tree.size, None)
        for hand in self.in_play:
            batch.hands[hand] = HandRow(hand, STATE, False, None, self.tree.size, None, SECRETS)
            batch.tables[hand.hex()] = TableRow(hand.hex(), "room", 1, hand)
            batch.seen.append(os.urandom(32))
            batch.answers += [
                Answer("room", os.urandom(16), bytes(32), hand, os.urandom(ANSWER_BYTES)) for _ in range(ANSWERS)
            ]
        return batch

    def append(self, count: int, batch: Batch) -> str:
        """One append as the service does it: tree, checkpoint, the first entry's receipt, one durable transaction."""
        entries = [os.urandom(ENTRY_BYTES) for _ in range(count)]
        first, tree, nodes = self.tree.size, self.tree.copy(), list[Node]()
        for entry in entries:
            nodes += tree.append(leaf_hash(entry))
        note = sign_checkpoint(Checkpoint(ORIGIN, tree.size, tree.root()), SIGNER)
        fresh = {(node.level, node.index): node.hash for node in nodes}

        def read(level: int, index: int) -> bytes:
            return fresh.get((level, index)) or self.store.node(level, index)

        receipt = make_receipt(first, inclusion_proof(first, tree.size, read), note)
        batch.entries, batch.nodes, batch.checkpoint = entries, nodes, note
        self.store.commit(batch)
        self.tree = tree
        return receipt


@contextmanager
def _logs(folder: Path) -> Iterator[list[_Log]]:
    logs = [_Log(folder / f"{size}.sqlite3", size) for size in SIZES]
    try:
        yield logs
    finally:
        for log in logs:
            log.close()


def _append(log: _Log, count: int) -> float:
    """Mean seconds of an entry, over a few appends where they are of one entry each."""
    log.shrink()
    appends = APPENDS if count == 1 else 1
    batches = [log.hands(count) for _ in range(appends)]
    start = perf_counter()
    for batch in batches:
        log.append(count, batch)
    return (perf_counter() - start) / (appends * count)


def _start(log: _Log) -> float:
    """Seconds from nothing to a log that can be appended to, read back from its store."""
    start = perf_counter()
    store = SqliteStore(log.path)
    tree = CompactRange.load(store.size(), store.node)
    note = store.checkpoint()
    seconds = perf_counter() - start
    store.close()
    assert read_checkpoint(note) == Checkpoint(ORIGIN, log.tree.size, tree.root())
    return seconds
