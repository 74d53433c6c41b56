"""What a database must not be set to, and what it does to a commit: MACHINES.md, sections 2, 4 and 5."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.store.datadir import DataDir
from dealer.store.interface import Batch, StoreError
from dealer.store.postgres.admin import init
from dealer.store.postgres.contender import Contender, Terms
from dealer.store.postgres.link import Database, Replication
from dealer.store.postgres.store import PostgresStore
from tests.postgres import Postgres, as_other_user, server

ORIGIN = "faults.invalid/x"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("synchronous_commit = off", "synchronous_commit is off"),
        ("synchronous_commit = local", "synchronous_commit is local"),
        ("synchronous_commit = remote_write", "synchronous_commit is remote_write"),
        ("statement_timeout = '1min'", "statement_timeout is 1min"),
        ("lock_timeout = '50ms'", "a standby cannot wait for a writer that hangs"),
        ("idle_session_timeout = '1s'", "the writer's connection ends between two hands"),
        ("default_transaction_isolation = 'serializable'", "SET default_transaction_isolation = 'read committed'"),
        ("default_transaction_read_only = on", "read-only: name the primary"),
    ],
)
def test_what_a_role_must_not_be_set_to(postgres: Postgres, setting: str, said: str) -> None:
    url = postgres.database()
    Database(url, Replication.NONE).connect().close()
    postgres.sql(f"ALTER ROLE dealer SET {setting}")
    try:
        with pytest.raises(StoreError, match=said):
            Database(url, Replication.NONE).connect()
    finally:
        postgres.sql("ALTER ROLE dealer RESET ALL")


def test_what_a_server_must_not_be_set_to() -> None:
    with server() as made:
        url = made.database()
        for setting in ("fsync", "full_page_writes"):
            made.sql(f"ALTER SYSTEM SET {setting} = off")
            made.sql("SELECT pg_reload_conf()")
            until = time.monotonic() + 30
            while not refused(url, f"runs with {setting} = off"):
                assert time.monotonic() < until
                time.sleep(0.05)
            made.sql(f"ALTER SYSTEM RESET {setting}")
            made.sql("SELECT pg_reload_conf()")
            while refused(url, "runs with"):
                assert time.monotonic() < until
                time.sleep(0.05)
        with pytest.raises(StoreError, match="synchronous_standby_names is empty"):
            Database(url, Replication.SYNCHRONOUS).connect()
        standby = made.standby()
        try:
            there = url.replace("port=5432", "port=5433")
            with pytest.raises(StoreError, match="read-only"):
                Database(there, Replication.NONE).connect()
        finally:
            standby.stop()


def refused(url: str, why: str) -> bool:
    try:
        Database(url, Replication.NONE).connect().close()
    except StoreError as error:
        return why in str(error)
    return False


@contextmanager
def writing(url: str, folder: Path) -> Iterator[Contender]:
    """A dealer that has the lease."""
    data = DataDir.at(folder)
    init(data, ORIGIN, url)
    contender = Contender(Database(url, Replication.NONE), data.root, data.at_rest, data.signer(), Terms())
    contender.check()
    contender.start()
    until = time.monotonic() + 30
    while not contender.lease.epoch:
        assert time.monotonic() < until
        time.sleep(0.02)
    try:
        yield contender
    finally:
        contender.stop()


def appended(contender: Contender, store: PostgresStore, entry: bytes) -> Batch:
    tree = CompactRange.load(store.size(), store.node)
    nodes = tree.append(leaf_hash(entry))
    note = sign_checkpoint(Checkpoint(ORIGIN, tree.size, tree.root()), contender.keyring.vouching.signer)
    return Batch([entry], list(nodes), note)


def test_a_serialization_failure_is_doubt_and_nothing_of_it_is_there(postgres: Postgres, tmp_path: Path) -> None:
    """Nobody sets this level; CockroachDB and YugabyteDB have it. The statement waits, and finds the row changed."""
    url = postgres.database()
    with writing(url, tmp_path / "a") as contender:
        store = contender.open_store()
        store.link.execute(b"SET default_transaction_isolation = 'repeatable read'")
        name, failed = url.partition("@/")[2].partition("?")[0], list[StoreError]()
        batch = appended(contender, store, b"one")

        def commit() -> None:
            try:
                store.commit(batch)
            except StoreError as error:
                failed.append(error)

        with psycopg.connect(postgres.url(name)) as other:
            other.execute("UPDATE writer SET beat = beat + 1")
            thread = threading.Thread(target=commit)
            thread.start()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'dealer' AND wait_event_type = 'Lock'"
            with psycopg.connect(postgres.url(name), autocommit=True) as looking:
                until = time.monotonic() + 30
                while looking.execute(waiting).fetchone() == (0,):
                    assert time.monotonic() < until
                    time.sleep(0.01)
            other.commit()
            thread.join(30)
        assert "could not serialize" in str(failed[0])
        epoch = store.epoch
        store.close()
        store = contender.open_store()
        assert (store.size(), store.epoch > epoch) == (0, True)
        store.commit(appended(contender, store, b"one"))
        assert list(store.entries(0, 1)) == [b"one"]
        store.close()


def let_files_grow(made: Postgres, most: str) -> None:
    """Sets how many bytes a file may have that a new connection's process writes."""
    postmaster = (made.data / "postmaster.pid").read_text().split("\n")[0]
    limit = as_other_user(["prlimit", "--pid", postmaster, f"--fsize={most}:"])
    subprocess.run(limit, check=True, timeout=30, cwd="/")


def test_a_full_disk_costs_the_batch_and_nothing_more(tmp_path: Path) -> None:
    """A file may grow no further: the server fails as on a disk that is full, and goes on once there is room."""
    with server() as made:
        url = made.database()
        let_files_grow(made, str(17 << 20))  # no less: WAL has 16 MiB a file
        with writing(url, tmp_path / "a") as contender:
            store = contender.open_store()
            acknowledged = list[bytes]()

            def fill() -> None:
                while len(acknowledged) < 8:
                    entry = os.urandom(4 << 20)
                    store.commit(appended(contender, store, entry))
                    acknowledged.append(entry)

            with pytest.raises(StoreError, match=r"could not extend file .*: File too large"):
                fill()
            assert acknowledged
            store.close()
            let_files_grow(made, "unlimited")
            store = contender.open_store()
            assert list(store.entries(0, 9)) == acknowledged
            store.commit(appended(contender, store, b"and on"))
            assert list(store.entries(0, 9)) == [*acknowledged, b"and on"]
            store.close()
