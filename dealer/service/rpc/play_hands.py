"""One PlayHands stream: requests as they come, answers in the order in which they are ready, many to a message."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

from dealer.errors import Reason, Refused
from dealer.service.rpc.requests import decode
from dealer.service.rpc.splice import played
from dealer.service.rpc.status import report_unforeseen, status_of
from dealer.service.writer.engine import Answered
from dealer.v1 import dealer_pb2 as pb

_FIELDS = {field.name: field.number for field in pb.PlayResponse.DESCRIPTOR.fields}
_IN_FLIGHT = 1024
_MARK_LENGTH = 64
_MESSAGE_BYTES = 256 * 1024
_MOST_UNSENT_BYTES = _MESSAGE_BYTES  # of answers; beyond it no request is taken, but those under way are answered


class PlayStream:
    """The state of one stream: what is under way, and what is ready to be sent."""

    def __init__(
        self,
        enqueue: Callable[[pb.PlayRequest, Answered], None],
        refused: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        """Starts with nothing under way.

        Args:
            enqueue: hands a request in, or raises what refuses it at once.
            refused: is told of each request that is refused.
        """
        self._enqueue, self._refused = enqueue, refused
        self._ready: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self._unsent = 0
        self._sent = asyncio.Event()
        self._idle = asyncio.Event()
        self._under_way = 0
        self._ending: Refused | None = None

    async def run(self, requests: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yields answers until the caller has ended the stream and everything is answered.

        Raises:
            Refused: a message cannot be read, or the stream was ended and everything under way is answered.
        """
        reader = asyncio.create_task(self._read(requests))
        try:
            ended = False
            while not ended and (answer := await self._ready.get()) is not None:
                parts, size = list[bytes](), 0
                while answer is not None:
                    parts.append(answer)
                    self._room.release()
                    size += len(answer)
                    if size >= _MESSAGE_BYTES or self._ready.empty():
                        break
                    answer = self._ready.get_nowait()
                    ended = answer is None
                self._unsent -= size
                self._sent.set()
                yield b"".join(parts)
            if self._ending is not None:
                raise self._ending
            await reader
        finally:
            reader.cancel()

    def end(self, why: Refused) -> None:
        """Ends the stream once everything under way is answered, whether or not the caller has ended it."""
        self._ending = why
        self._end_if_drained()

    def _end_if_drained(self) -> None:
        if self._ending is not None and not self._under_way:
            self._ready.put_nowait(None)

    async def _read(self, requests: AsyncIterator[bytes]) -> None:
        try:
            async for data in requests:
                for request in decode(pb.PlayHandsRequest, data).requests:
                    await self._room.acquire()
                    while self._unsent > _MOST_UNSENT_BYTES:  # the caller does not read
                        self._sent.clear()
                        await self._sent.wait()
                    self._start(request)
            while self._under_way:
                self._idle.clear()
                await self._idle.wait()
        finally:
            self._ready.put_nowait(None)

    def _start(self, request: pb.PlayRequest) -> None:
        mark = request.correlation_id
        self._under_way += 1
        try:
            if not 1 <= len(mark) <= _MARK_LENGTH:
                raise Refused(Reason.INVALID_REQUEST, f"correlation_id must be 1 to {_MARK_LENGTH} characters")
            self._enqueue(request, partial(self._finish, mark, request.WhichOneof("request") or ""))
        except Exception as error:
            self._finish(mark, "", b"", error)

    def _finish(self, mark: str, field: str, answer: bytes, error: Exception | None) -> None:
        """Makes an answer ready to be sent, or the error in its place."""
        if error is not None:
            report_unforeseen(error)
            self._refused(error)
            status = status_of(error)
            told = pb.PlayError(code=status.code, message=status.message, details=status.details)
            field, answer = "error", told.SerializeToString()
        ready = played(mark, _FIELDS[field], answer)
        self._unsent += len(ready)
        self._ready.put_nowait(ready)
        self._under_way -= 1
        self._idle.set()
        self._end_if_drained()
