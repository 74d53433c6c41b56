"""What sealed seats cost the server: processor time of a street with eight of them beside one with eight open ones."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from benchmarks import servers
from benchmarks.load import SEATS, STREETS, opening, street
from benchmarks.row import Row
from dealer.client import SeatKey
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc as rpc
from dealer.v1 import types_pb2 as types

HANDS = 400
ROUNDS = 7
AT_ONCE = 64
TIMES_OPEN = 1.3


def rows() -> list[Row]:
    """Microseconds of the server's processor a street: a hand's five on average, and third alone, with most cards down.

    Streets are asked for over one PlayHands stream, the cheapest way there is, so that nothing hides the difference.
    """
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, servers.dealer(Path(name) / "data") as running:
        return asyncio.run(_measure(running))


async def _measure(running: servers.Running) -> list[Row]:
    spent = dict.fromkeys([(sealed, name) for sealed in (True, False) for name in STREETS], 0.0)
    async with grpc.aio.insecure_channel(running.address) as channel:
        stub: rpc.DealerServiceAsyncStub = rpc.DealerServiceStub(channel)
        for number in range(ROUNDS + 1):  # the first warms up
            hands = {sealed: await _opened(stub, f"{number}.{sealed}", sealed=sealed) for sealed in (True, False)}
            for name in STREETS:
                for sealed in (True, False) if number % 2 else (False, True):
                    begin = running.processor_seconds()
                    await _deal(stub, hands[sealed], name)
                    if number:
                        spent[sealed, name] += 1e6 * (running.processor_seconds() - begin) / (ROUNDS * HANDS)
    whole = {sealed: sum(spent[sealed, name] for name in STREETS) / len(STREETS) for sealed in (True, False)}
    third = {sealed: spent[sealed, types.STREET_THIRD] for sealed in (True, False)}
    return [
        Row.of("a street, eight seats sealed, against open", whole[True], whole[False], "us", TIMES_OPEN),
        Row.of("third street, eight seats sealed, against open", third[True], third[False], "us"),
    ]


async def _opened(stub: rpc.DealerServiceAsyncStub, run: str, *, sealed: bool) -> list[str]:
    """Opens hands with a sealed reveal, with keys or without."""
    keys = [types.SeatKey(seat=seat, key=SeatKey.draw().public) for seat in SEATS] if sealed else []
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> str:
        async with turns:
            request = opening(f"{run}.{number}.{uuid.uuid4().hex[:8]}")
            request.reveal = types.REVEAL_SEALED
            request.seat_keys.extend(keys)
            return (await stub.OpenHand(request)).hand.hand_id

    return await asyncio.gather(*map(one, range(HANDS)))


async def _deal(stub: rpc.DealerServiceAsyncStub, hands: Sequence[str], name: types.Street.ValueType) -> None:
    """Deals one street of every hand, so many in a message."""
    numbers = count()

    async def messages() -> AsyncIterator[pb.PlayHandsRequest]:
        for begin in range(0, len(hands), AT_ONCE):
            message = pb.PlayHandsRequest()
            for hand in hands[begin : begin + AT_ONCE]:
                message.requests.add(correlation_id=str(next(numbers)), deal_street=street(hand, name))
            yield message

    async for answers in stub.PlayHands(messages()):
        for answer in answers.responses:
            if answer.WhichOneof("response") != "deal_street":
                raise RuntimeError(answer.error.message)
