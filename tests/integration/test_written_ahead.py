"""A program that holds a read transaction: the write-ahead log grows, that is said, and it shrinks by itself after."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog

from dealer.service.settings import Settings
from dealer.store.interface import Batch
from dealer.store.sqlite import SqliteStore, write_back, written_ahead
from tests.integration.inside import dealer_inside

MOST = 200_000


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - what is waited for is the size of a file
            await asyncio.sleep(0.02)


async def test_a_reader_that_stays_is_told_of_and_the_room_comes_back(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, tidy_seconds=0.02, most_ahead=MOST)
    with structlog.testing.capture_logs() as lines:
        async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, room):
            database = tmp_path / "data" / "db" / "cutcard.sqlite3"

            def measured() -> float:
                return dealer._metrics.registry.get_sample_value("cutcard_written_ahead_bytes") or 0

            def told(event: str) -> int:
                return sum(event in line["event"] for line in lines)

            reader = sqlite3.connect(database, isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM entries").fetchone()
            hands = 0
            while written_ahead(database) <= 2 * MOST:
                await room.open(f"t{hands}")
                hands += 1
            await until(lambda: measured() > MOST and told("holds a read transaction") > 0)
            before = time.monotonic()
            await room.open("meanwhile")
            assert time.monotonic() - before < 5
            assert told("holds a read transaction") == 1
            assert reader.execute("SELECT count(*) FROM entries").fetchone() == (0,)
            reader.close()
            await until(lambda: measured() <= MOST)  # nobody calls
            await until(lambda: told("short again") == 1)
            assert written_ahead(database) <= MOST
            await room.open("after")


def test_what_is_written_back_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    SqliteStore.create(path, "ahead.invalid/x", "note")
    store = SqliteStore(path)
    assert written_ahead(tmp_path / "none.sqlite3") == 0
    reader = sqlite3.connect(path, isolation_level=None)
    store.commit(Batch(seen=[b"1" * 32]))
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM seen").fetchall()
    store.commit(Batch(seen=[b"2" * 32]))
    write_back(path)
    assert written_ahead(path) > 0
    reader.execute("COMMIT")
    write_back(path)
    assert written_ahead(path) == 0
    store.commit(Batch(seen=[b"3" * 32]))
    assert all(map(store.is_seen, (b"1" * 32, b"2" * 32, b"3" * 32)))


@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_a_store_that_is_none_is_an_error_of_the_store(tmp_path: Path, damage: str) -> None:
    from dealer.store.interface import StoreError

    if damage == "garbage":
        (tmp_path / "x").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError):
        write_back(tmp_path / "x")
