"""Plays eight-handed stud over gRPC from a process of its own: `python -m benchmarks.load ADDRESS WAY HANDS TABLES`.

It prints one JSON object: hands played, seconds, and the seconds of each DealStreet. What it plays against may be the
dealer or the bare server of `benchmarks.bare`; it does the same work for both.
"""

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter

import grpc

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc as rpc
from dealer.v1 import types_pb2 as types

SEATS = (1, 2, 3, 4, 5, 6, 7, 8)
STREETS = (
    types.STREET_THIRD,
    types.STREET_FOURTH,
    types.STREET_FIFTH,
    types.STREET_SIXTH,
    types.STREET_SEVENTH,
)


@dataclass
class Played:
    """What one run played."""

    hands: int = 0
    seconds: float = 0.0
    streets: list[float] = field(default_factory=list)


def opening(table: str) -> pb.OpenHandRequest:
    """Asks for the next hand of a table."""
    return pb.OpenHandRequest(
        request_id=str(uuid.uuid4()),
        table=table,
        game=types.GAME_SEVEN_CARD_STUD,
        seats=SEATS,
        reveal=types.REVEAL_PUBLIC,
    )


def street(hand_id: str, name: "types.Street.ValueType") -> pb.DealStreetRequest:
    """Asks for a street."""
    return pb.DealStreetRequest(request_id=str(uuid.uuid4()), hand_id=hand_id, street=name)


def closing(hand_id: str) -> pb.CloseHandRequest:
    """Asks for the close."""
    return pb.CloseHandRequest(request_id=str(uuid.uuid4()), hand_id=hand_id)


async def play_calls(stub: "rpc.DealerServiceAsyncStub", hands: int, tables: int, run: str) -> Played:
    """Plays with one call for each request, one hand after another at each table, all tables at once."""
    played, left = Played(), count()

    async def sit(table: str) -> None:
        while next(left) < hands:
            hand_id = (await stub.OpenHand(opening(table))).hand.hand_id
            for name in STREETS:
                asked = perf_counter()
                await stub.DealStreet(street(hand_id, name))
                played.streets.append(perf_counter() - asked)
            await stub.CloseHand(closing(hand_id))
            played.hands += 1

    start = perf_counter()
    await asyncio.gather(*(sit(f"{run}.{number}") for number in range(tables)))
    played.seconds = perf_counter() - start
    return played


async def play_stream(stub: "rpc.DealerServiceAsyncStub", hands: int, tables: int, run: str) -> Played:
    """Plays all tables over one PlayHands stream: what one message of answers allows goes out in one message.

    A hand's streets and its close are sent together once it is open; the dealer carries them out in order.
    """
    played, opened = Played(), min(hands, tables)
    outbox: asyncio.Queue[pb.PlayHandsRequest | None] = asyncio.Queue()

    async def messages() -> AsyncIterator[pb.PlayHandsRequest]:
        while (message := await outbox.get()) is not None:
            yield message

    start = perf_counter()
    outbox.put_nowait(
        pb.PlayHandsRequest(
            requests=[
                pb.PlayRequest(correlation_id=f"{run}.{number}", open_hand=opening(f"{run}.{number}"))
                for number in range(opened)
            ]
        )
    )
    async for answers in stub.PlayHands(messages()):
        message = pb.PlayHandsRequest()
        for answer in answers.responses:
            table, kind = answer.correlation_id, answer.WhichOneof("response")
            if kind == "error":
                raise RuntimeError(answer.error.message)
            if kind == "open_hand":
                hand_id = answer.open_hand.hand.hand_id
                message.requests.extend(
                    pb.PlayRequest(correlation_id=table, deal_street=street(hand_id, name)) for name in STREETS
                )
                message.requests.append(pb.PlayRequest(correlation_id=table, close_hand=closing(hand_id)))
            elif kind == "close_hand":
                played.hands += 1
                if opened < hands:
                    opened += 1
                    message.requests.append(pb.PlayRequest(correlation_id=table, open_hand=opening(table)))
        if message.requests:
            outbox.put_nowait(message)
        if played.hands == hands:
            outbox.put_nowait(None)
    played.seconds = perf_counter() - start
    return played


async def main(address: str, way: str, hands: int, tables: int) -> None:
    """Plays a few hands to warm up, then those that count."""
    play = {"calls": play_calls, "stream": play_stream}[way]
    async with grpc.aio.insecure_channel(address) as channel:
        stub: rpc.DealerServiceAsyncStub = rpc.DealerServiceStub(channel)
        await play(stub, min(hands, 20), min(tables, 20), f"warm.{uuid.uuid4().hex}")
        played = await play(stub, hands, tables, uuid.uuid4().hex)
    print(json.dumps({"hands": played.hands, "seconds": played.seconds, "streets": played.streets}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
