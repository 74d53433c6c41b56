"""A dealer in this process, with sources of the test's choosing, and a room on a real port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.integration.running import rid


@asynccontextmanager
async def dealer_inside(
    folder: Path, sources: Sources | None = None, settings: Settings | None = None
) -> AsyncIterator[tuple[Dealer, "AsyncRoom"]]:
    data = DataDir.at(folder)
    if not data.exists():
        data.init("inside.invalid/dealer")
    dealer = Dealer(data, settings or Settings(grace_seconds=1), sources or Sources())
    await dealer.start()
    async with grpc.aio.insecure_channel(dealer.address) as channel:
        try:
            yield dealer, AsyncRoom(channel)
        finally:
            await dealer.stop()


class AsyncRoom:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.stub: Any = dealer_pb2_grpc.DealerServiceStub(channel)

    async def open(self, table: str = "t", **fields: Any) -> t.Hand:
        request = {"request_id": rid(), "game": t.GAME_SEVEN_CARD_STUD, "seats": [1, 2, 3], "reveal": t.REVEAL_PUBLIC}
        return (await self.stub.OpenHand(pb.OpenHandRequest(table=table, **{**request, **fields}))).hand

    async def deal(self, hand: str, street: int) -> pb.DealStreetResponse:
        return await self.stub.DealStreet(pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=street))

    async def close(self, hand: str) -> pb.CloseHandResponse:
        return await self.stub.CloseHand(pb.CloseHandRequest(request_id=rid(), hand_id=hand))

    async def void(self, hand: str) -> pb.VoidHandResponse:
        return await self.stub.VoidHand(pb.VoidHandRequest(request_id=rid(), hand_id=hand, reason=1))

    async def play_out(self, hand: str) -> pb.CloseHandResponse:
        for street in range(1, 6):
            await self.deal(hand, street)
        return await self.close(hand)
