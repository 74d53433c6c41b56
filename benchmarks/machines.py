"""Several dealers on PostgreSQL beside the embedded store: commits, the fence, look-ups by age, and whole dealers.

Both stores lie on the same disk and take the same batches in turn; the server is started for the purpose.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks import several
from benchmarks.row import Row
from dealer.log.merkle import CompactRange, Node, leaf_hash
from dealer.log.note import NoteSigner
from dealer.store.interface import Answer, Batch, HandRow, Sealed, Store
from dealer.store.postgres import schema
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import Lease, look
from dealer.store.postgres.link import Database, Replication
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import PostgresStore
from dealer.store.postgres.upkeep import Upkeep
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault
from tests.postgres import AS_SHIPPED, server

ORIGIN = "bench.invalid/machines"
GOALS = {256: 1.5, 16: 1.6, 1: 2.0}
FENCE_GOAL = 1.05
ROUNDS = {256: 40, 16: 120, 1: 200}
ENTRY_BYTES, ANSWER_BYTES = 720, 1100
STATE = "x" * 900
KEPT_A_DAY = 200_000
DAYS = 3
LOOKED_UP = 256
LOOK_UPS = 100
DAYS_GOAL = 2.0
_HELD = {"shared_buffers": "512MB"}
"""Memory of the server that holds all days: what is compared is work, not the disk."""
_FILL = """
INSERT INTO answers SELECT 'room', uuid_send(gen_random_uuid()), %(day)s, decode(repeat('00', 32), 'hex'),
  uuid_send(gen_random_uuid()), %(key)s, decode(repeat('00', 200), 'hex') FROM generate_series(1, %(count)s)"""


def rows() -> list[Row]:
    """Commits of 256, 16 and 1 requests, in turn at either store; the same without the fence; then the rest."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sqlite = stack.enter_context(_embedded(folder))
        postgres = stack.enter_context(_shared(folder))
        writers = [_Writer(sqlite, 1), _Writer(postgres, postgres.keyring.seed.id if postgres.keyring.seed else 0)]
        found = list[Row]()
        for size, goal in GOALS.items():
            (theirs, _), (ours, busy) = _medians(writers, size)
            found.append(Row.of(f"commit of {size} on PostgreSQL, beside SQLite", 1e6 * ours, 1e6 * theirs, "us", goal))
            if size == max(GOALS):
                processor = Row.of("writer's processor time of it, beside its time", 1e6 * busy, 1e6 * ours, "us")
        found.append(processor)
        found.append(_fence(writers[1], postgres))
    return [*found, _look_ups(), *several.rows()]


class _Writer:
    """Makes batches for one store, and takes the time of each."""

    def __init__(self, store: Store, key: int) -> None:
        self.store, self.sealed = store, Sealed(key, bytes(280))
        self.tree = CompactRange()

    def batch(self, count: int) -> Batch:
        batch, nodes = Batch(), list[Node]()
        for _ in range(count):
            hand, entry = os.urandom(16), os.urandom(ENTRY_BYTES)
            batch.hands[hand] = HandRow(hand, STATE, False, None, self.tree.size, None, self.sealed)
            batch.answers.append(Answer("room", os.urandom(16), bytes(32), hand, os.urandom(ANSWER_BYTES)))
            batch.seen.append(os.urandom(32))
            batch.entries.append(entry)
            nodes += self.tree.append(leaf_hash(entry))
        batch.nodes, batch.checkpoint = nodes, "a note of some length" * 15
        return batch

    def timed(self, count: int) -> tuple[float, float]:
        batch = self.batch(count)
        began, busy = time.perf_counter(), time.thread_time()
        self.store.commit(batch)
        return time.perf_counter() - began, time.thread_time() - busy


def _medians(writers: list[_Writer], size: int) -> list[tuple[float, float]]:
    times: list[list[tuple[float, float]]] = [[] for _ in writers]
    for _ in range(ROUNDS[size]):
        for writer, taken in zip(writers, times, strict=True):
            taken.append(writer.timed(size))
    return [(statistics.median(t for t, _ in taken), statistics.median(b for _, b in taken)) for taken in times]


def _fence(writer: _Writer, store: PostgresStore) -> Row:
    """The fence beside a plain change of the same row, in turn."""
    whole = store.lease.fence

    def plain(change: str = "", also: str = "") -> str:
        free = "WHERE one AND %(epoch)s > 0 AND %(me)s <> ''"
        return (
            "UPDATE writer SET beat = beat + 1, expires = clock_timestamp() + make_interval(secs => %(lease)s)"
            f"{change} {free} RETURNING beat, clock_timestamp() AS now"
        )

    times: dict[Callable[..., str], list[float]] = {whole: [], plain: []}
    for _ in range(ROUNDS[16]):
        for fence, taken in times.items():
            store.lease.fence = fence  # type: ignore[method-assign]
            taken.append(writer.timed(16)[0])
    store.lease.fence = whole  # type: ignore[method-assign]
    ours, theirs = (statistics.median(taken) for taken in times.values())
    return Row.of("commit of 16 with the fence, beside a plain UPDATE", 1e6 * ours, 1e6 * theirs, "us", FENCE_GOAL)


def _look_ups() -> Row:
    """A batch's new request ids are looked for, in turn where answers of one day and of three are kept.

    By the processor time of the server's process: the statement is short, and the machine does other things.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stores = [stack.enter_context(_shared(folder / str(days), **_HELD)) for days in (1, DAYS)]
        for store, days in zip(stores, (1, DAYS), strict=True):
            _keep_answers(store, days)
        times: list[list[float]] = [[] for _ in stores]
        for _ in range(LOOK_UPS):
            asked = [("room", os.urandom(16)) for _ in range(LOOKED_UP)]
            for store, taken in zip(stores, times, strict=True):
                began = _processor_seconds(store)
                store.answers(asked)
                taken.append(_processor_seconds(store) - began)
        one, three = (statistics.median(taken) for taken in times)
    name = f"look-up of {LOOKED_UP} new request ids, three days kept, against one"
    return Row.of(name, 1e6 * three, 1e6 * one, "us", DAYS_GOAL)


def _processor_seconds(store: PostgresStore) -> float:
    return time.clock_gettime(~store.link.info.backend_pid << 3 | 2)  # Linux's clock of another process


def _keep_answers(store: PostgresStore, days: int) -> None:
    today = datetime.now(UTC).date()
    key = store.keyring.answer
    for day in (today - timedelta(days=back) for back in range(days)):
        for statement in schema.days_to_come(day, schema.days_there(store.link)):
            store.link.execute(statement.encode())
        values = {"day": day, "key": key.id if key else 0, "count": KEPT_A_DAY}
        store.link.patience = 600
        store.link.execute(_FILL.encode(), values)
    store.link.execute(b"ANALYZE answers")


@contextmanager
def _embedded(folder: Path) -> Iterator[SqliteStore]:
    (folder / "at-rest").mkdir()
    vault = Vault(folder / "at-rest", 3600)
    SqliteStore.create(folder / "store.sqlite3", ORIGIN, "note")
    store = SqliteStore(folder / "store.sqlite3", vault)
    try:
        yield store
    finally:
        store.close()
        vault.close()


@contextmanager
def _shared(folder: Path, **settings: str) -> Iterator[PostgresStore]:
    (folder / "pairs").mkdir(parents=True)
    with server(**{**AS_SHIPPED, **settings}) as made:
        database = Database(made.database(), Replication.NONE)
        link = database.connect()
        schema.create(link, ORIGIN, "note")
        keyring = Keyring(folder / "pairs", NoteSigner(ORIGIN, Ed25519PrivateKey.generate()))
        lease, registry = Lease(database, keyring.dealer.hex(), 600), Registry(keyring, 1800)
        row = lease.take(link, look(link))
        if row is None:
            raise AssertionError("the lease of a new log is free")
        store = PostgresStore(link, keyring, lease, row)
        Upkeep(store, registry, 3600, 86400).begin()
        try:
            yield store
        finally:
            store.close()
