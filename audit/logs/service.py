"""A log behind a dealer's LogService; the generated `dealer.v1` is all that the auditor takes from the dealer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc

from audit.errors import InputError
from audit.logs.log import MOST_BYTES, Log
from audit.logs.retry import SILENCE_SECONDS, Patience
from audit.outside import without_password
from audit.tlog.tiles import WIDTH
from dealer.v1 import log_pb2, log_pb2_grpc

_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_OPTIONS = (  # a server that is gone without a word is noticed; the dealer welcomes such pings
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)
_NOT_THERE = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.OUT_OF_RANGE)


class GrpcLog(Log):
    """A dealer's LogService (`dealer.v1`)."""

    has_tiles = False

    def __init__(self, target: str, *, secure: bool, ca: bytes | None = None) -> None:
        self._target = target
        self._secure = secure
        self._ca = ca
        self._channel: grpc.Channel | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_target": self._target, "_secure": self._secure, "_ca": self._ca, "_channel": None}

    @property
    def address(self) -> str:
        """See `Log.address`."""
        return without_password(f"{'grpcs' if self._secure else 'grpc'}://{self._target}")

    def close(self) -> None:
        """See `Log.close`."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def trust(self, ca: bytes) -> None:
        """See `Log.trust`."""
        self._ca = ca

    def _stub(self) -> Any:
        if self._channel is None:
            if self._secure:
                self._channel = grpc.secure_channel(self._target, grpc.ssl_channel_credentials(self._ca), _OPTIONS)
            else:
                self._channel = grpc.insecure_channel(self._target, _OPTIONS)
        return log_pb2_grpc.LogServiceStub(self._channel)

    def _ask(self, call: Callable[[float], bool]) -> bool:
        """Makes a call until it is through; `call` is told how many seconds it has. False where there is no such thing.

        Raises:
            InputError: the server refuses, or still does not answer.
        """
        reason = "it is slow"
        for seconds in Patience():
            try:
                return call(min(seconds, SILENCE_SECONDS))
            except grpc.RpcError as error:
                code = error.code()
                if code in _NOT_THERE:
                    return False
                reason = f"{code.name.lower()}: {error.details()}"
                if code not in _PASSING:
                    break
        raise InputError(f"{self.address} does not answer: {reason}")

    def checkpoint(self) -> bytes | None:
        """See `Log.checkpoint`."""
        text = ""

        def call(seconds: float) -> bool:
            nonlocal text
            text = self._stub().GetCheckpoint(log_pb2.GetCheckpointRequest(), timeout=seconds).checkpoint
            return bool(text)

        return text.encode("utf-8") if self._ask(call) else None

    def entries(self, number: int, width: int) -> list[bytes] | None:
        """See `Log.entries`; a stream that breaks is taken up again where it broke."""
        first = number * WIDTH
        entries: list[bytes] = []

        def call(seconds: float) -> bool:
            request = log_pb2.ListEntriesRequest(limit=width - len(entries), **{"from": first + len(entries)})
            stream = self._stub().ListEntries(request, timeout=seconds)
            try:
                self._take(stream, first, width, entries)
            finally:
                stream.cancel()
            return len(entries) == width

        return entries if self._ask(call) else None

    def _take(self, stream: Iterator[Any], first: int, width: int, entries: list[bytes]) -> None:
        """Takes what is still missing of a bundle off a stream, and no more: nothing makes a server's stream end."""
        size = sum(map(len, entries))
        for count, part in enumerate(stream, 1):
            start = getattr(part, "from")
            if start != first + len(entries):
                raise InputError(f"{self.address} sent entry {start}, asked for {first + len(entries)}")
            entries += part.entries[: width - len(entries)]
            size += sum(map(len, part.entries))
            if size > MOST_BYTES:
                raise InputError(f"{self.address} sent more for {width} entries from {first} on than entries can have")
            if len(entries) == width:
                return
            if count == width:
                raise InputError(f"{self.address} sent {count} parts and not yet {width} entries from {first} on")

    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """There are no tiles over gRPC."""
        raise NotImplementedError("LogService has no tiles")
