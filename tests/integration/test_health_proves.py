"""Health proves what it says: a storage that cannot make anything durable is noticed without a call, and so is its end.

Reading proves nothing: on a full disk everything can still be read.
"""

import asyncio
import errno
import os
import resource
import sqlite3
import time
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from dealer.service import server
from dealer.service.settings import Settings
from dealer.store.interface import Batch
from dealer.store.needs import Change
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault, VaultError
from tests.integration.inside import dealer_inside
from tests.integration.running import running

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
PROBE = 0.02
FAILURES = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE]


class FailingStore(SqliteStore):
    """Reads, and fails at every write for as long as it is told to."""

    failure: int | None = None

    def _write(self, batch: Batch) -> Change:
        if self.failure is not None:
            raise sqlite3.OperationalError(os.strerror(self.failure))
        return super()._write(batch)


async def watched(channel: object, seconds: float) -> list[int]:
    """Returns what a health watcher is told in the next seconds: the status now, and each change."""
    seen: list[int] = []
    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
    try:
        async with asyncio.timeout(seconds):
            while True:
                seen.append((await watch.read()).status)
    except TimeoutError:
        watch.cancel()
    return seen


async def until(channel: object, status: int) -> None:
    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
    async with asyncio.timeout(10):
        while (await watch.read()).status != status:
            pass
    watch.cancel()


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_storage_that_cannot_write_is_never_called_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: int
) -> None:
    monkeypatch.setattr(server, "SqliteStore", FailingStore)
    settings = Settings(grace_seconds=1, probe_seconds=PROBE)
    async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, room):
        monkeypatch.setattr(FailingStore, "failure", failure)
        await until(room.channel, NOT_SERVING)  # nobody has called
        assert await watched(room.channel, 15 * PROBE) == [NOT_SERVING]
        monkeypatch.setattr(FailingStore, "failure", None)
        await until(room.channel, SERVING)
        await room.open()
        assert dealer.engine.health.serving


async def test_keys_at_rest_that_cannot_be_made_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(grace_seconds=1, probe_seconds=PROBE)
    async with dealer_inside(tmp_path / "data", settings=settings) as (_, room):
        with monkeypatch.context() as patched:

            def fail(vault: Vault) -> None:
                raise VaultError(os.strerror(errno.EROFS))

            patched.setattr(Vault, "prove", fail)
            await until(room.channel, NOT_SERVING)
            assert await watched(room.channel, 15 * PROBE) == [NOT_SERVING]
        await until(room.channel, SERVING)


async def test_a_dealer_that_writes_is_not_probed_and_an_idle_one_is(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data", settings=Settings(probe_seconds=600)) as (dealer, room):
        engine = dealer.engine
        await engine.probe()
        before = engine.state.commits
        await engine.probe()
        assert engine.state.commits == before + 1
        await room.open()
        await engine.probe()
        assert engine.state.commits == before + 2


@pytest.mark.parametrize("limit", [resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE], ids=["disk", "files"])
def test_a_real_dealer_that_cannot_write_notices_it_idle(tmp_path: Path, limit: int) -> None:
    with running(tmp_path / "data") as dealer:
        assert dealer.process is not None
        check = health_pb2_grpc.HealthStub(dealer.room().channel).Check

        def wait_for(status: int) -> None:
            deadline = time.monotonic() + 20
            while check(health_pb2.HealthCheckRequest()).status != status:
                assert time.monotonic() < deadline
                time.sleep(0.05)

        wait_for(SERVING)
        was = resource.prlimit(dealer.process.pid, limit)
        resource.prlimit(dealer.process.pid, limit, (0, was[1]))
        wait_for(NOT_SERVING)
        resource.prlimit(dealer.process.pid, limit, was)
        wait_for(SERVING)
        assert dealer.stop() == 0
