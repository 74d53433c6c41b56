"""The writer outlives its own messages: whoever cannot be told, everybody is answered and the log goes on."""

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from dealer.errors import Reason, Refused
from dealer.log.checkpoint import read_checkpoint
from dealer.service import housekeeping as housekeeping_module
from dealer.service import server as server_module
from dealer.service.settings import Limits, Settings
from dealer.service.writer import engine as engine_module
from dealer.service.writer.change import HandAnswer, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.service.writer.observer import Observer
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault
from dealer.v1 import dealer_pb2 as pb
from tests.integration.inside import dealer_inside
from tests.integration.running import BIN, Room, refusal, rid
from tests.integration.test_store_failures import BEFORE, FlakyStore, opening

SOON = 5.0
"""Seconds in which an answer comes on the slowest machine; it takes some milliseconds."""


class Failing:
    """Raises at one of its calls, or at every call, and otherwise passes it on."""

    def __init__(self, at: int | None, passed_on: Callable[..., Any] = lambda *a, **v: None) -> None:
        self.at, self.calls, self.passed_on = at, 0, passed_on

    def __call__(self, *arguments: Any, **values: Any) -> Any:
        self.calls += 1
        if self.at in (None, self.calls):
            raise OSError(28, "No space left on device")
        return self.passed_on(*arguments, **values)

    def __getattr__(self, name: str) -> "Failing":  # a logger's methods
        return self


AT = [1, 2, 3, 4, None]
TOLD = ["log", "health_changed", "committed", "recovered"]


@pytest.mark.parametrize("at", AT)
@pytest.mark.parametrize("told", TOLD)
async def test_a_message_that_fails_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, at: int | None
) -> None:
    FlakyStore.plan = []
    monkeypatch.setattr(server_module, "SqliteStore", FlakyStore)
    sources = Sources()
    settings = Settings(grace_seconds=1, probe_seconds=0.05, publish_seconds=0.05)
    async with dealer_inside(tmp_path / "data", sources, settings) as (dealer, room):
        if told == "log":
            failing = Failing(at)
            monkeypatch.setattr(engine_module, "_log", failing)
            monkeypatch.setattr(housekeeping_module, "_log", failing)
        else:
            failing = Failing(at, getattr(dealer._housekeeping, told))
            monkeypatch.setattr(dealer._housekeeping, told, failing)
        hands = 0
        for table in range(4):
            FlakyStore.plan[:] = [BEFORE] if table % 2 else []
            for attempt in range(2):  # the second one finds a storage that works
                try:
                    await asyncio.wait_for(room.open(f"t{table}-{attempt}"), SOON)
                    hands += 1
                except grpc.aio.AioRpcError as error:
                    assert refusal(error) == (grpc.StatusCode.UNAVAILABLE, "STORAGE"), error
                    assert attempt == 0
        assert failing.calls
        assert hands >= 6
        deadline = time.monotonic() + 10
        while read_checkpoint((tmp_path / "data" / "public" / "checkpoint").read_text()).size != hands:
            assert time.monotonic() < deadline, "publishing has stopped"
            await asyncio.sleep(0.05)


def engine_at(folder: Path, observer: Observer | None = None) -> Engine:
    data = DataDir.at(folder)
    data.init("outlives.invalid/dealer")
    vault = Vault(data.at_rest, 3600)
    engine = Engine(lambda: SqliteStore(data.database, vault), data.signer(), vault, Sources(), Limits())
    engine.start(observer)
    return engine


async def test_what_follows_from_a_batch_may_fail(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "data")

    def run(unit: Unit) -> str:
        unit.after.append(Failing(None))
        return "done"

    assert await asyncio.wait_for(engine.do(run), SOON) == "done"
    await asyncio.wait_for(engine.submit(opening("a", b"1" * 16)), SOON)
    assert engine.health.serving
    engine.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_writer_that_ends_leaves_nobody_waiting(tmp_path: Path) -> None:
    observer, told = Observer(), list[bool]()
    observer.health_changed = lambda: told.append(engine.health.serving)  # type: ignore[method-assign]
    engine = engine_at(tmp_path / "data", observer)

    def die(unit: Unit) -> HandAnswer:
        raise SystemExit

    waiting = [
        engine.enqueue(Command("room", die)),
        *(engine.enqueue(opening(f"{i}", rid().encode()[:16])) for i in "ab"),
    ]
    for answer in await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), SOON):
        assert isinstance(answer, Refused)
        assert answer.reason is Reason.STORAGE
    assert not engine.health.serving
    with pytest.raises(Refused, match="restarted"):
        await asyncio.wait_for(engine.submit(opening("c", b"c" * 16)), SOON)
    engine.stop()
    await asyncio.sleep(0)
    assert told[-1] is False


DYING = """
import sys
from dealer.cli import main
from dealer.service.writer.state import State

def die(self, signed, hands, tables, recorded, take=State.take):
    if hands:
        raise SystemExit
    return take(self, signed, hands, tables, recorded)

State.take = die
main(sys.argv[1:])
"""


def serve(folder: Path, stderr: Any, *program: str | Path) -> tuple["subprocess.Popen[str]", Room]:
    arguments = ["serve", "--data-dir", folder, "--dev", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen([*program, *arguments], stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout is not None
    return process, Room(process.stdout.readline().removeprefix("listening on ").strip())


def test_a_dealer_without_a_writer_ends_with_a_message(tmp_path: Path) -> None:
    process, room = serve(tmp_path / "data", subprocess.PIPE, sys.executable, "-c", DYING)
    with pytest.raises(grpc.RpcError) as error:
        room.stub.OpenHand(
            pb.OpenHandRequest(request_id=rid(), table="t", game=1, seats=[1, 2], reveal=1), timeout=SOON
        )
    assert error.value.code() is grpc.StatusCode.UNAVAILABLE  # type: ignore[attr-defined]
    _, told = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "the dealer's writer has ended" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("where", ["full", "no reader", "reader that sleeps"])
def test_a_standard_error_that_fails_stops_nothing(tmp_path: Path, where: str) -> None:
    reading, writing = os.pipe()
    if where == "full":
        os.close(writing)
        writing = os.open("/dev/full", os.O_WRONLY)
    elif where == "reader that sleeps":
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writing, True)
    process, room = serve(tmp_path / "data", writing, BIN / "dealer")
    os.close(writing)
    if where == "no reader":
        os.close(reading)
    try:
        room.open("before")
        was = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, was[1]))  # no file can grow
        for _ in range(3):
            with pytest.raises(grpc.RpcError) as error:
                room.stub.OpenHand(
                    pb.OpenHandRequest(request_id=rid(), table="t", game=1, seats=[1, 2], reveal=1), timeout=SOON
                )
            assert refusal(error.value) == (grpc.StatusCode.UNAVAILABLE, "STORAGE")
        check = health_pb2_grpc.HealthStub(room.channel).Check
        assert check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, was)
        room.open("after")
        deadline = time.monotonic() + 10
        while read_checkpoint((tmp_path / "data" / "public" / "checkpoint").read_text()).size != 2:
            assert time.monotonic() < deadline, "publishing has stopped"
            time.sleep(0.05)
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
