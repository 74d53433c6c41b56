"""The connection to a dealer: back at once after a restart, and no answer is believed that does not decode."""

from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import DecodeError

OPTIONS: tuple[tuple[str, int], ...] = (
    # A dealer that is gone without a word is noticed after 40 seconds, on an idle stream as well. Its servers welcome
    # such pings, and down to one in ten seconds.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # gRPC would wait 1, 1.6, 2.6 ... 120 seconds before it connects again: a dealer restarts in less.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)


class Undecodable:
    """Stands for an answer whose bytes are no such message: gRPC gives None for it, and writes a traceback."""


class Channel:
    """What a generated stub needs of a channel, as far as the client uses it."""

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None) -> None:
        """Remembers the address; connects when it is first needed.

        Args:
            address: HOST:PORT.
            credentials: for TLS; None: a plain connection.
        """
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(address, credentials, options=OPTIONS)

    async def close(self) -> None:
        """Lets go of the connection."""
        await self._channel.close()

    def unary_unary(self, method: str, request_serializer: Any, response_deserializer: Any, **more: Any) -> Any:
        """Makes a method of one answer."""
        return self._channel.unary_unary(method, request_serializer, partial(_decode, response_deserializer), **more)

    def unary_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **more: Any) -> Any:
        """Makes a method of many answers."""
        return self._channel.unary_stream(method, request_serializer, partial(_decode, response_deserializer), **more)

    def stream_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **more: Any) -> Any:
        """Makes a method of many requests and answers."""
        return self._channel.stream_stream(method, request_serializer, partial(_decode, response_deserializer), **more)


def connect(address: str, credentials: grpc.ChannelCredentials | None) -> Any:
    """Returns a channel for the generated stubs, whose types know gRPC's own channels only."""
    return Channel(address, credentials)


def _decode(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except DecodeError:
        return Undecodable()
