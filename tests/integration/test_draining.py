"""A dealer that is told to stop: open streams end at once, what is under way is answered, and nothing is left open."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import refusal, rid
from tests.integration.table_room import TableRoom

DRAINING = (grpc.StatusCode.UNAVAILABLE, "DRAINING")
GRACE = Settings(grace_seconds=20)


def opening(number: int) -> pb.PlayRequest:
    opened = pb.OpenHandRequest(
        request_id=rid(), table=f"t{number}", game=t.GAME_SEVEN_CARD_STUD, seats=[1, 2], reveal=t.REVEAL_PUBLIC
    )
    return pb.PlayRequest(correlation_id=str(number), open_hand=opened)


async def read_to_the_end(stream: Any) -> None:
    while await stream.read() is not grpc.aio.EOF:
        pass


async def test_open_streams_do_not_hold_up_the_end(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data", settings=GRACE) as (dealer, room):
        started = await TableRoom(room.channel).start({1: 1000, 2: 1000})
        idle = dealer_pb2_grpc.DealerServiceStub(room.channel).PlayHands()
        await idle.write(pb.PlayHandsRequest(requests=[opening(1)]))
        assert (await idle.read()).responses[0].open_hand.hand.number == 1
        rail = started.watch()
        assert (await rail.read()).event.sequence == 1
        watch = health_pb2_grpc.HealthStub(room.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING

        before = time.monotonic()
        await dealer.stop()
        assert time.monotonic() - before < 5
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        for stream in (idle, rail, watch):
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await read_to_the_end(stream)
            assert refusal(error.value) == DRAINING


async def test_what_is_under_way_on_a_stream_is_answered_first(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data", settings=GRACE) as (dealer, room):
        count = 200

        async def requests() -> AsyncIterator[pb.PlayHandsRequest]:
            yield pb.PlayHandsRequest(requests=[opening(number) for number in range(count)])
            await asyncio.Event().wait()  # the room never ends the stream

        answered: list[pb.PlayResponse] = []
        stopping: list[asyncio.Task[None]] = []

        async def play() -> None:
            async for message in dealer_pb2_grpc.DealerServiceStub(room.channel).PlayHands(requests()):
                answered.extend(message.responses)
                if not stopping:
                    stopping.append(asyncio.create_task(dealer.stop()))

        with pytest.raises(grpc.aio.AioRpcError) as error:
            await play()
        assert refusal(error.value) == DRAINING
        await stopping[0]
        opened = [each for each in answered if each.WhichOneof("response") == "open_hand"]
        assert len(opened) == len(dealer.engine.state.live) == count


async def test_to_stop_a_dealer_that_does_not_run_does_nothing(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "data")
    data.init("draining.invalid/dealer")
    dealer = Dealer(data, GRACE, Sources())
    await dealer.stop()
    await dealer.start()
    await dealer.stop()
    await dealer.stop()
