"""What every listener welcomes and refuses: pings on an idle stream, a port that is taken, streams beyond the caps."""

import asyncio
import socket
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2_grpc

from dealer.client import channel as client_channel
from dealer.double.server import Double, double_settings
from dealer.service.settings import Limits, Settings
from dealer.v1 import dealer_pb2_grpc, log_pb2, log_pb2_grpc, table_pb2, table_pb2_grpc
from tests.integration.inside import dealer_inside
from tests.integration.running import refusal, run_tool
from tests.integration.table_room import TableRoom

PINGING = (
    ("grpc.keepalive_time_ms", 700),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
"""A thousand times more often than the library allows; it cuts the channel off at the fourth ping."""
PINGED_SECONDS = 4.5


async def test_pings_are_welcome_on_an_idle_connection_with_and_without_a_call(tmp_path: Path) -> None:
    await asyncio.gather(pinged(tmp_path / "call", True), pinged(tmp_path / "no-call", False))


async def pinged(folder: Path, calls: bool) -> None:
    double = Double(folder, double_settings("127.0.0.1:0"))
    await double.start()  # the dealer's own listener
    async with grpc.aio.insecure_channel(double.address, options=PINGING) as channel:
        started = await TableRoom(channel).start({1: 1000, 2: 1000})
        rail = started.watch()
        for _ in range(started.hand.sequence):
            await rail.read()
        if not calls:
            rail.cancel()
        states: list[grpc.ChannelConnectivity] = []

        async def look() -> None:
            state = channel.get_state()
            while True:
                states.append(state)
                await channel.wait_for_state_change(state)
                state = channel.get_state()

        looking = asyncio.create_task(look())
        reading = asyncio.create_task(rail.read())
        await asyncio.sleep(PINGED_SECONDS)
        looking.cancel()
        assert set(states) == {grpc.ChannelConnectivity.READY}
        if calls:
            assert not reading.done()
        reading.cancel()
    await double.stop()


def test_the_kit_s_own_clients_set_a_keepalive() -> None:
    from audit.logs import service

    for options in (dict(client_channel.OPTIONS), dict(service._OPTIONS)):
        assert options["grpc.keepalive_time_ms"] >= 10_000
        assert options["grpc.keepalive_permit_without_calls"] == 1


@pytest.mark.parametrize("option", ["--listen", "--metrics-listen"])
def test_a_taken_port_is_said_in_one_line(tmp_path: Path, option: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        where = {"--listen": "127.0.0.1:0", option: address}
        done = run_tool(
            "dealer",
            "serve",
            "--data-dir",
            tmp_path / "data",
            "--dev",
            *(part for pair in where.items() for part in pair),
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: {address} cannot be listened on: is another server there?\n"


async def test_streams_beyond_the_caps_are_refused_whatever_they_ask_for(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, limits=Limits(streams=2, caller_streams=3))
    too_many = (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS")
    async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, room):

        async def refused(channel: grpc.aio.Channel) -> None:
            for stub, method, request in (
                (log_pb2_grpc.LogServiceStub(channel), "ListEntries", log_pb2.ListEntriesRequest()),
                (table_pb2_grpc.TableServiceStub(channel), "WatchHand", table_pb2.WatchHandRequest()),
                (health_pb2_grpc.HealthStub(channel), "Watch", health_pb2.HealthCheckRequest()),
                (dealer_pb2_grpc.DealerServiceStub(channel), "PlayHands", None),
                (reflection_pb2_grpc.ServerReflectionStub(channel), "ServerReflectionInfo", None),
            ):
                call = getattr(stub, method)(*([request] if request is not None else []))
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    assert await call.read() is grpc.aio.EOF
                assert refusal(error.value) == too_many, method

        async def watch(channel: grpc.aio.Channel) -> grpc.aio.UnaryStreamCall:
            call = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            await call.read()
            return call

        open_streams = [await watch(room.channel) for _ in range(2)]
        await refused(room.channel)
        await room.open()  # a call is no stream
        async with grpc.aio.insecure_channel(dealer.address, options=[("grpc.use_local_subchannel_pool", 1)]) as other:
            await watch(other)  # each connection has its own
            await refused(other)  # the caller's are used up
        for call in open_streams:
            call.cancel()
        async with asyncio.timeout(10):
            while True:
                try:
                    await watch(room.channel)
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.01)
                else:
                    break
