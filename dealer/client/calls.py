"""Calls to the dealer: retried while it is unavailable, always under the request id that the first attempt had."""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID, uuid4

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from dealer.client.errors import CallError, CheckError
from dealer.v1 import log_pb2

M = TypeVar("M", bound=Message)
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long an unavailable dealer is asked again.

    Attributes:
        attempts: at most, the first one among them.
        first_wait: seconds before the second attempt, on average; doubled each time.
        longest_wait: no wait is longer.
        timeout: seconds that one attempt may take.
    """

    attempts: int = 6
    first_wait: float = 0.1
    longest_wait: float = 5.0
    timeout: float = 30.0


class Caller:
    """Sends requests, and remembers what each request id was answered.

    A request whose answer never came keeps its id: when the very same request is made again, it is the same request,
    and the dealer carries it out once.
    """

    def __init__(self, retry: Retry, request_ids: Callable[[], UUID] = uuid4) -> None:
        self._retry, self._request_ids = retry, request_ids
        self._unanswered: dict[tuple[str, bytes], str] = {}
        self._answers: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()

    async def change(
        self, method: str, call: Callable[..., Awaitable[M]], request: Any, request_id: UUID | None = None
    ) -> M:
        """Makes a changing call.

        Args:
            method: its name, for messages.
            call: the stub's method.
            request: the request without its id.
            request_id: its id, where the caller wants to choose it.

        Raises:
            CallError: refused, or not answered.
            CheckError: `repeat` where a request id was answered differently before.
        """
        key = _key(method, request)
        request.request_id = str(request_id or self._unanswered.pop(key, None) or self._request_ids())
        try:
            answer = await self.ask(method, call, request)
        except (CallError, asyncio.CancelledError) as error:
            if not (isinstance(error, CallError) and error.refused):  # a refusal's id is free again
                self._unanswered[key] = request.request_id
            raise
        self._compare(request.request_id, key[1], answer.SerializeToString(deterministic=True))
        return answer

    def keep_open(self, method: str, request: Any) -> None:
        """Has the next request that is the same keep this one's id: its answer came, and was of no use."""
        self._unanswered[_key(method, request)] = request.request_id

    async def ask(self, method: str, call: Callable[..., Awaitable[M]], request: Message) -> M:
        """Makes a call as it is.

        Raises:
            CallError: refused, or not answered.
        """
        failures = 0
        while True:
            try:
                return await call(request, timeout=self._retry.timeout)
            except grpc.aio.AioRpcError as error:
                failures += 1
                await self._wait_or_raise(method, error, failures)

    async def entries(self, call: Callable[..., Any], start: int) -> AsyncIterator[bytes]:
        """Yields the log's entries from an index on; a stream that breaks is taken up again where it broke.

        Raises:
            CallError: refused, or not answered.
        """
        failures = 0
        while True:
            try:
                async for part in call(log_pb2.ListEntriesRequest(**{"from": start})):
                    failures = 0
                    start += len(part.entries)
                    for entry in part.entries:
                        yield entry
            except grpc.aio.AioRpcError as error:
                failures += 1
                await self._wait_or_raise("ListEntries", error, failures)
            else:
                return

    async def _wait_or_raise(self, method: str, error: grpc.aio.AioRpcError, failures: int) -> None:
        if error.code() is not grpc.StatusCode.UNAVAILABLE or failures >= self._retry.attempts:
            raise CallError(method, error.code(), _reason(error), error.details() or "") from None
        wait = min(self._retry.first_wait * 2 ** (failures - 1), self._retry.longest_wait)
        # Half of the wait is chance, so that clients that failed together do not come back together.
        await asyncio.sleep(wait * (0.5 + secrets.randbelow(1024) / 1024))

    def _compare(self, request_id: str, body: bytes, answer: bytes) -> None:
        before = self._answers.get(request_id)
        if before is None:
            self._answers[request_id] = (body, answer)
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        elif before[0] == body and before[1] != answer:
            raise RepeatError(before[1], answer)


class RepeatError(CheckError):
    """One request was answered in two ways.

    Attributes:
        answers: both.
    """

    def __init__(self, first: bytes, second: bytes) -> None:
        super().__init__("repeat", "the same request under the same request id was answered with something else")
        self.answers = (first, second)


def _key(method: str, request: Any) -> tuple[str, bytes]:
    """What makes two requests the same: everything but their ids."""
    bare = type(request)()
    bare.CopyFrom(request)
    bare.ClearField("request_id")
    return method, hashlib.sha256(bare.SerializeToString(deterministic=True)).digest()


def _reason(error: grpc.aio.AioRpcError) -> str:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return str(info.reason)
    return ""
