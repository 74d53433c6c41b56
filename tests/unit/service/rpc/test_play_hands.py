"""A PlayHands stream whose caller does not read: it takes no more requests than it may hold answers for."""

import asyncio
from collections.abc import AsyncIterator

from dealer.service.rpc import play_hands
from dealer.service.rpc.play_hands import PlayStream
from dealer.service.writer.engine import Answered
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2

REQUESTS = 2000
ANSWER = pb.GetHandResponse(hand=types_pb2.Hand(table="t" * 10_000)).SerializeToString()


async def asked() -> AsyncIterator[bytes]:
    for number in range(REQUESTS):
        for _ in range(3):  # the one before is answered meanwhile
            await asyncio.sleep(0)
        request = pb.PlayRequest(correlation_id=str(number), get_hand=pb.GetHandRequest(hand_id="x"))
        yield pb.PlayHandsRequest(requests=[request]).SerializeToString()


async def test_answers_that_nobody_reads_are_bounded_and_all_come_once_they_are_read() -> None:
    started = 0

    def enqueue(request: pb.PlayRequest, answered: Answered) -> None:
        nonlocal started
        started += 1
        asyncio.get_running_loop().call_soon(answered, ANSWER, None)

    stream = PlayStream(enqueue)
    answers = stream.run(asked())
    first = await anext(answers)
    for _ in range(6 * REQUESTS):
        await asyncio.sleep(0)
    held = (started - len(pb.PlayHandsResponse.FromString(first).responses)) * len(ANSWER)
    assert play_hands._MOST_UNSENT_BYTES < held < 2 * play_hands._MOST_UNSENT_BYTES
    got = [first, *[answer async for answer in answers]]
    assert sum(len(pb.PlayHandsResponse.FromString(each).responses) for each in got) == started == REQUESTS
