"""A log behind a dealer's LogService; the generated `dealer.v1` is all that the auditor takes from the dealer."""

from __future__ import annotations

import time
from typing import Any

import grpc

from audit.errors import InputError
from audit.log import ATTEMPTS, TIMEOUT_SECONDS, Log
from audit.tiles import WIDTH
from dealer.v1 import log_pb2, log_pb2_grpc


class GrpcLog(Log):
    """A dealer's LogService (`dealer.v1`)."""

    has_tiles = False

    def __init__(self, target: str, *, secure: bool) -> None:
        self._target = target
        self._secure = secure
        self._channel: grpc.Channel | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_target": self._target, "_secure": self._secure, "_channel": None}

    @property
    def address(self) -> str:
        """See `Log.address`."""
        return f"{'grpcs' if self._secure else 'grpc'}://{self._target}"

    def close(self) -> None:
        """See `Log.close`."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _stub(self) -> Any:
        if self._channel is None:
            if self._secure:
                self._channel = grpc.secure_channel(self._target, grpc.ssl_channel_credentials())
            else:
                self._channel = grpc.insecure_channel(self._target)
        return log_pb2_grpc.LogServiceStub(self._channel)

    def _wait(self, error: grpc.RpcError, attempt: int) -> None:
        """Waits before another attempt; gives up on a server that refuses, or that still does not answer."""
        code = error.code()
        retry = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
        if not retry or attempt + 1 == ATTEMPTS:
            detail = error.details()
            raise InputError(f"{self.address} does not answer: {code.name.lower()}: {detail}") from None
        time.sleep(0.2 * 2**attempt)

    def checkpoint(self) -> bytes | None:
        """See `Log.checkpoint`."""
        for attempt in range(ATTEMPTS):
            try:
                answer = self._stub().GetCheckpoint(log_pb2.GetCheckpointRequest(), timeout=TIMEOUT_SECONDS)
            except grpc.RpcError as error:
                self._wait(error, attempt)
            else:
                text: str = answer.checkpoint
                return text.encode("utf-8") or None
        return None

    def entries(self, number: int, width: int) -> list[bytes] | None:
        """See `Log.entries`; a stream that breaks is taken up again where it broke."""
        first = number * WIDTH
        entries: list[bytes] = []
        for attempt in range(ATTEMPTS):
            if len(entries) >= width:
                break
            request = log_pb2.ListEntriesRequest(limit=width - len(entries), **{"from": first + len(entries)})
            try:
                for part in self._stub().ListEntries(request, timeout=TIMEOUT_SECONDS):
                    start = getattr(part, "from")
                    if start != first + len(entries):
                        raise InputError(f"{self.address} sent entry {start}, asked for {first + len(entries)}")
                    entries += part.entries
            except grpc.RpcError as error:
                if error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.OUT_OF_RANGE):
                    return None
                self._wait(error, attempt)
            else:
                break
        return entries[:width] if len(entries) >= width else None

    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """There are no tiles over gRPC."""
        raise NotImplementedError("LogService has no tiles")
