"""Calls to the dealer: retried while it is unavailable or busy, always under the request id of the first attempt."""

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID, uuid4

import grpc
from google.protobuf.message import Message

from dealer.client import refusals
from dealer.client.channel import Undecodable
from dealer.client.errors import ANSWER_LOST, CallError, CheckError
from dealer.v1 import log_pb2

M = TypeVar("M", bound=Message)
_REMEMBERED = 1024
_PASSING = frozenset({"TOO_MANY_REQUESTS", "TOO_MANY_CONNECTIONS", "TOO_SLOW"})
"""Refusals that pass by waiting. Hands, tables and streams in use do not: somebody has to end them."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How long and how often an unavailable dealer is asked again, and one that says when to come back.

    The default outlives a dealer's restart. The dealer's word for how long to wait counts if it is the longer one.

    Attributes:
        seconds: for how long, from the first attempt that failed.
        attempts: at most, the first one among them; None: as many as the seconds hold.
        first_wait: seconds before the second attempt, on average; doubled each time.
        longest_wait: no wait is longer, on average.
        timeout: seconds that one attempt may take.
    """

    seconds: float = 30.0
    attempts: int | None = None
    first_wait: float = 0.1
    longest_wait: float = 1.0
    timeout: float = 30.0


class _Patience:
    """How often and since when one call has failed in a row."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._failures, self._since = 0, 0.0

    def renew(self) -> None:
        """Begins anew: there was an answer."""
        self._failures = 0

    async def wait(self, error: CallError) -> None:
        """Waits before the next attempt; raises the error if there is to be none."""
        retry, now = self._retry, time.monotonic()
        if not self._failures:
            self._since = now
        self._failures += 1
        used_up = retry.attempts is not None and self._failures >= retry.attempts
        passes = error.code is grpc.StatusCode.UNAVAILABLE or error.reason in _PASSING
        if not passes or used_up or now - self._since + error.retry_seconds >= retry.seconds:
            raise error
        wait = min(retry.first_wait * 2 ** min(self._failures - 1, 32), retry.longest_wait)
        # Half of the wait is chance, so that clients that failed together do not come back together.
        await asyncio.sleep(error.retry_seconds + wait * (0.5 + secrets.randbelow(1024) / 1024))


class Caller:
    """Sends requests, and remembers what each request id was answered.

    A request whose answer never came keeps its id: when the very same request is made again, it is the same request,
    and the dealer carries it out once.
    """

    def __init__(self, retry: Retry, request_ids: Callable[[], UUID] = uuid4, *, wait_for_ready: bool = False) -> None:
        self._retry, self._request_ids = retry, request_ids
        self._options: dict[str, Any] = {"wait_for_ready": True} if wait_for_ready else {}
        self._unanswered: dict[tuple[str, bytes], str] = {}
        self._answers: OrderedDict[str, tuple[bytes, Message]] = OrderedDict()

    async def change(
        self, method: str, call: Callable[..., Awaitable[M]], request: Any, request_id: UUID | None = None
    ) -> M:
        """Makes a changing call.

        Args:
            method: its name, for messages.
            call: the stub's method.
            request: the request without its id.
            request_id: its id, if the caller wants to choose it.

        Raises:
            CallError: refused, or not answered.
            CheckError: `repeat` if a request id was answered differently before.
        """
        key = _key(method, request)
        request.request_id = str(request_id or self._unanswered.pop(key, None) or self._request_ids())
        try:
            answer = await self.ask(method, call, request)
        except (CallError, asyncio.CancelledError) as error:
            # A refusal's id is free again, and for a lost answer nobody has to ask once more.
            if not (isinstance(error, CallError) and (error.refused or error.reason == ANSWER_LOST)):
                self._unanswered[key] = request.request_id
            raise
        self._compare(request.request_id, key[1], answer)
        return answer

    def keep_open(self, method: str, request: Any) -> None:
        """Has the next request that is the same keep this one's id: its answer came, and was of no use."""
        self._unanswered[_key(method, request)] = request.request_id

    async def ask(self, method: str, call: Callable[..., Awaitable[M]], request: Message) -> M:
        """Makes a call as it is.

        Raises:
            CallError: refused, or not answered.
            CheckError: `schema` if the answer's bytes do not decode.
        """
        patience = None
        while True:
            try:
                return _read(method, await call(request, timeout=self._retry.timeout, **self._options))
            except grpc.aio.AioRpcError as error:
                failed = refusals.of_call(method, error)
            except CallError as error:  # of a stream
                failed = error
            patience = patience or _Patience(self._retry)
            await patience.wait(failed)

    async def entries(self, call: Callable[..., Any], start: int) -> AsyncIterator[bytes]:
        """Yields the log's entries from an index on; a stream that breaks is taken up again where it broke.

        Raises:
            CallError: refused, or not answered.
            CheckError: `schema` if a part's bytes do not decode.
        """

        def rest() -> log_pb2.ListEntriesRequest:
            return log_pb2.ListEntriesRequest(**{"from": start})

        async for part in self.follow("ListEntries", call, rest):
            start += len(part.entries)
            for entry in part.entries:
                yield entry

    async def follow(
        self, method: str, call: Callable[..., Any], rest: Callable[[], Message]
    ) -> AsyncGenerator[Any, None]:
        """Yields a stream's answers; one that breaks is asked for again.

        Args:
            method: its name, for messages.
            call: the stub's method.
            rest: makes the request for all that has not come yet.

        Raises:
            CallError: refused, or not answered.
            CheckError: `schema` if an answer's bytes do not decode.
        """
        patience = _Patience(self._retry)
        while True:
            stream = call(rest())
            try:
                async for answer in stream:
                    read = _read(method, answer)
                    patience.renew()
                    yield read
            except grpc.aio.AioRpcError as error:
                failed = refusals.of_call(method, error)
            else:
                return
            finally:
                stream.cancel()  # whoever reads no further holds no stream open
            await patience.wait(failed)

    def _compare(self, request_id: str, body: bytes, answer: Message) -> None:
        """Holds an answer against the one that its request had before; only then are both of them encoded."""
        before = self._answers.get(request_id)
        if before is None:
            self._answers[request_id] = (body, answer)
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        elif before[0] == body:
            first, second = (each.SerializeToString(deterministic=True) for each in (before[1], answer))
            if first != second:
                raise RepeatError((first, second), before[1])


class RepeatError(CheckError):
    """One request was answered in two ways.

    Attributes:
        answers: both, encoded.
        first: the one that came first.
    """

    def __init__(self, answers: tuple[bytes, bytes], first: Message) -> None:
        super().__init__("repeat", "the same request under the same request id was answered with something else")
        self.answers, self.first = answers, first


def _key(method: str, request: Any) -> tuple[str, bytes]:
    """What makes two requests the same: everything but their ids. Takes the request's id off and puts it back."""
    request_id, request.request_id = request.request_id, ""
    body = request.SerializeToString(deterministic=True)
    request.request_id = request_id
    return method, hashlib.sha256(body).digest()


def _read(method: str, answer: M | Undecodable | None) -> M:
    """Returns an answer; gRPC itself gives None if its own decoding fails.

    Raises:
        CheckError: `schema` if there is none.
    """
    if answer is None or isinstance(answer, Undecodable):
        raise CheckError("schema", f"the bytes that came back from {method} do not decode as its answer")
    return answer
