"""Calls over one PlayHands stream: what waits is sent in one message, and answers come in any order."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import grpc
from google.protobuf.message import Message

from dealer.client import refusals
from dealer.client.channel import Undecodable
from dealer.client.errors import CallError
from dealer.v1 import dealer_pb2 as pb

_MOST_REQUESTS = 256
"""In one message: those of the greatest request are still below the 4 MiB that gRPC takes."""
_FIELDS: Mapping[str, Any] = {
    "OpenHand": "open_hand",
    "SubmitEntropy": "submit_entropy",
    "LockDeck": "lock_deck",
    "DealStreet": "deal_street",
    "DrawCards": "draw_cards",
    "FoldSeat": "fold_seat",
    "ShowCards": "show_cards",
    "CloseHand": "close_hand",
    "VoidHand": "void_hand",
    "GetHand": "get_hand",
    "GetTable": "get_table",
    "ListHands": "list_hands",
}
"""Each method's field, the same in `PlayRequest` and `PlayResponse`."""


@dataclass(slots=True)
class _Waiting:
    """A call under way."""

    method: str
    answer: "asyncio.Future[Message | Undecodable]"
    deadline: float

    def give(self, answer: Message | Undecodable) -> None:
        """Gives the caller its answer, unless it does not wait any more."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: CallError) -> None:
        """Gives the caller an error, unless it does not wait any more."""
        if not self.answer.done():
            self.answer.set_exception(error)


class StreamStub:
    """Has the methods of DealerService's stub, and makes every call over one stream, opened when it is needed.

    A stream that ends fails the calls under way; the next call opens another one.
    """

    def __init__(self, play_hands: Callable[..., Any]) -> None:
        """Opens no stream yet; `play_hands` is the stub's method."""
        self._play_hands = play_hands
        self._stream: _Stream | None = None
        for method in _FIELDS:
            setattr(self, method, partial(self._ask, method))

    async def aclose(self) -> None:
        """Ends the stream; calls under way fail."""
        if self._stream is not None:
            await self._stream.aclose()

    async def _ask(self, method: str, request: Message, **options: Any) -> Message | Undecodable:
        if self._stream is None or self._stream.ended:
            ready = {"wait_for_ready": True} if options.get("wait_for_ready") else {}
            self._stream = _Stream(partial(self._play_hands, **ready))
        return await self._stream.ask(method, request, **options)


class _Stream:
    """One stream, from its first request to its end.

    Attributes:
        ended: whether it takes no more requests.
    """

    def __init__(self, play_hands: Callable[..., Any]) -> None:
        self.ended = False
        self._marks = count(1)
        self._waiting: dict[str, _Waiting] = {}  # by correlation id, in the order asked
        self._alarm: asyncio.TimerHandle | None = None
        self._unsent: deque[pb.PlayRequest] = deque()
        self._more = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read(play_hands(self._messages())))

    async def ask(
        self,
        method: str,
        request: Any,
        timeout: float,  # noqa: ASYNC109  # gRPC's
        *,
        wait_for_ready: bool = False,
    ) -> Message | Undecodable:
        """Makes a call; `wait_for_ready` is the stream's own.

        Raises:
            CallError: refused, not answered in time, or the stream has ended.
        """
        loop, mark = asyncio.get_running_loop(), str(next(self._marks))
        waiting = self._waiting[mark] = _Waiting(method, loop.create_future(), loop.time() + timeout)
        self._unsent.append(pb.PlayRequest(correlation_id=mark, **{_FIELDS[method]: request}))
        self._more.set()
        if self._alarm is None:
            self._alarm = loop.call_at(waiting.deadline, self._expire)
        try:
            return await waiting.answer
        finally:
            del self._waiting[mark]

    def _expire(self) -> None:
        """Fails the calls that have waited too long; one timer for all, for they all wait equally long."""
        loop = asyncio.get_running_loop()
        self._alarm = None
        for waiting in list(self._waiting.values()):
            if waiting.deadline > loop.time():
                self._alarm = loop.call_at(waiting.deadline, self._expire)
                return
            waiting.fail(CallError(waiting.method, grpc.StatusCode.DEADLINE_EXCEEDED, "", "no answer came in time"))

    async def aclose(self) -> None:
        """Ends the stream."""
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _messages(self) -> AsyncIterator[pb.PlayHandsRequest]:
        """Yields what waits, as long as the stream lasts."""
        while not self.ended:
            message = pb.PlayHandsRequest()
            while self._unsent and len(message.requests) < _MOST_REQUESTS:
                request = self._unsent.popleft()
                if request.correlation_id in self._waiting:  # otherwise nobody waits for it any more
                    message.requests.append(request)
            if message.requests:
                yield message
            else:
                self._more.clear()
                await self._more.wait()

    async def _read(self, call: Any) -> None:
        try:
            async for message in call:
                if not isinstance(message, pb.PlayHandsResponse):  # nobody can tell whose answers these are
                    for waiting in self._waiting.values():
                        waiting.give(Undecodable())
                    return
                for answer in message.responses:
                    self._take(answer)
            self._end(lambda method: CallError(method, grpc.StatusCode.UNAVAILABLE, "", "the stream has ended"))
        except grpc.aio.AioRpcError as error:
            self._end(partial(refusals.of_stream, error=error))
        finally:
            self._end(lambda method: CallError(method, grpc.StatusCode.CANCELLED, "", "the client was closed"))
            call.cancel()

    def _take(self, answer: pb.PlayResponse) -> None:
        """Hands an answer to whom it is for; one that comes too late is let go."""
        waiting = self._waiting.get(answer.correlation_id)
        if waiting is None:
            return
        kind = answer.WhichOneof("response")
        if kind == "error":
            waiting.fail(refusals.of_request(waiting.method, answer.error))
        else:
            field = _FIELDS[waiting.method]
            waiting.give(getattr(answer, field) if kind == field else Undecodable())

    def _end(self, error: Callable[[str], CallError]) -> None:
        """Takes no more requests, and fails those under way, each with an error made for its method."""
        self.ended = True
        self._more.set()
        if self._alarm is not None:
            self._alarm.cancel()
        for waiting in self._waiting.values():
            waiting.fail(error(waiting.method))
