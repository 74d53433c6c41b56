"""Whoever floods, or never reads, takes neither the memory of the dealer nor another's answers."""

import asyncio
import contextlib
import resource
import secrets
import socket
from pathlib import Path

import grpc

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.service.settings import Limits, Settings
from dealer.store.datadir import DataDir
from dealer.store.interface import Batch
from dealer.store.sqlite import SqliteStore
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc, log_pb2, log_pb2_grpc
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import Running, refusal, rid, running

ALONE = [("grpc.use_local_subchannel_pool", 1)]  # a connection of its own, as from another program
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""How a connection of HTTP/2 begins, with empty settings."""
ENTRY_BYTES, ENTRIES = 1500, 3000
UNREAD, CONNECTIONS = 400, 4
MOST_GROWTH = 120 << 20


def long_log(folder: Path) -> None:
    data = DataDir.at(folder)
    data.init("flood.invalid/dealer")
    entries = [secrets.token_bytes(ENTRY_BYTES) for _ in range(ENTRIES)]
    tree = CompactRange()
    nodes = [node for entry in entries for node in tree.append(leaf_hash(entry))]
    signer = data.signer()
    store = SqliteStore(data.database)
    store.commit(Batch(entries, nodes, sign_checkpoint(Checkpoint(signer.name, tree.size, tree.root()), signer)))
    store.close()


def resident(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmRSS")


async def test_streams_that_nobody_reads_hold_little(tmp_path: Path) -> None:
    long_log(tmp_path / "data")
    with running(tmp_path / "data") as dealer:
        assert dealer.process is not None
        async with contextlib.AsyncExitStack() as held:
            channels = [
                await held.enter_async_context(grpc.aio.insecure_channel(dealer.address, options=ALONE))
                for _ in range(CONNECTIONS)
            ]
            stubs = [log_pb2_grpc.LogServiceStub(channel) for channel in channels]
            for stub in stubs:
                await stub.GetCheckpoint(log_pb2.GetCheckpointRequest())
            before = resident(dealer.process.pid)
            calls = [stubs[i % CONNECTIONS].ListEntries(log_pb2.ListEntriesRequest()) for i in range(UNREAD)]
            for call in calls:
                assert (await call.read()).entries  # it streams; from here on nobody reads
            await stubs[0].GetCheckpoint(log_pb2.GetCheckpointRequest())
            grown = resident(dealer.process.pid) - before
            assert grown < MOST_GROWTH, f"{grown >> 20} MiB"
            got = len((await calls[0].read()).entries)
            assert got
            for call in calls:
                call.cancel()
            whole = [
                entry async for part in stubs[1].ListEntries(log_pb2.ListEntriesRequest()) for entry in part.entries
            ]
            assert len(whole) == ENTRIES


def opening(number: int) -> pb.OpenHandRequest:
    return pb.OpenHandRequest(request_id=rid(), table=f"flood{number}", game=1, seats=[1, 2], reveal=1)


async def test_a_connection_that_floods_makes_no_other_s_call_fail(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, limits=Limits(pending=400))
    async with contextlib.AsyncExitStack() as held:
        dealer, _ = await held.enter_async_context(dealer_inside(tmp_path / "data", settings=settings))
        flooding, other = [
            await held.enter_async_context(grpc.aio.insecure_channel(dealer.address, options=ALONE)) for _ in range(2)
        ]
        flooder, room = dealer_pb2_grpc.DealerServiceStub(flooding), AsyncRoom(other)
        stream = flooder.PlayHands()
        wanted = [pb.PlayRequest(correlation_id=str(n), open_hand=opening(n)) for n in range(1000)]
        await stream.write(pb.PlayHandsRequest(requests=wanted))
        flood = asyncio.gather(
            *(flooder.OpenHand(opening(number)) for number in range(1000, 4000)), return_exceptions=True
        )
        hands = 0
        while not flood.done():
            await room.open(f"other{hands}")  # raises if it is refused
            hands += 1
        assert hands
        answers = await flood
        refused = [refusal(answer)[1] for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert set(refused) == {"TOO_MANY_REQUESTS"}
        assert len(refused) < len(answers)
        stream.cancel()


def test_idle_connections_beyond_a_shell_s_usual_limit_of_files_stop_neither_rooms_nor_the_store(
    tmp_path: Path,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        dealer = Running(tmp_path / "data").start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host, _, port = dealer.address.rpartition(":")
    try:
        with contextlib.ExitStack() as held:
            for _ in range(200):
                held.enter_context(socket.create_connection((host, int(port)), timeout=20)).sendall(PREFACE)
            room = dealer.room()
            room.play_out(room.open("t").hand_id)
    finally:
        dealer.kill()


async def test_a_connection_of_the_public_without_a_call_is_closed_soon(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, public="127.0.0.1:0", public_idle_seconds=0.3)
    async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, _):
        assert dealer.public_address is not None
        host, _, port = dealer.public_address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(PREFACE)
        async with asyncio.timeout(10):
            while await reader.read(1000):
                pass
        writer.close()
