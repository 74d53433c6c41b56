"""The connection to a dealer: back at once after a restart, and no answer is believed that does not decode."""

import json
import socket
from collections.abc import Callable, Sequence
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

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Sequence[tuple[str, int | str]] = ()
    ) -> None:
        """Remembers the target; connects when it is first needed.

        Args:
            target: HOST:PORT, or a name that gRPC knows.
            credentials: for TLS; None: a plain connection.
            options: of the channel, beside those that all have.
        """
        all_options = merged(options)
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=all_options)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, options=all_options)

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


def connect(
    address: str | Sequence[str],
    credentials: grpc.ChannelCredentials | None,
    service: str = "dealer.v1.DealerService",
    server_name: str | None = None,
) -> Any:
    """Returns a channel for the generated stubs, whose types know gRPC's own channels only.

    Args:
        address: HOST:PORT; or those of several dealers on one log, of which one serves at a time (MACHINES.md,
            section 9).
        credentials: for TLS; None: a plain connection.
        service: whose health says which of several dealers serves.
        server_name: the name that the certificates of several dealers share.

    Raises:
        ValueError: several addresses are of two families, or one cannot be resolved.
    """
    if isinstance(address, str):
        return Channel(address, credentials)
    # Without round_robin gRPC does not look at health, and with retries of its own attempts would not be counted.
    config = {"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": service}}
    options: list[tuple[str, int | str]] = [
        ("grpc.service_config", json.dumps(config)),
        ("grpc.enable_retries", 0),
        ("grpc.keepalive_time_ms", 10_000),
    ]
    if server_name is not None:
        options += [("grpc.ssl_target_name_override", server_name), ("grpc.default_authority", server_name)]
    return Channel(_target(address), credentials, options)


def _target(addresses: Sequence[str]) -> str:
    """Resolves names, for gRPC takes several addresses in one family only, and by number."""
    found = list[tuple[bool, str]]()
    for each in addresses:
        host, colon, port = each.rpartition(":")
        try:
            if not colon:
                raise ValueError
            family, *_, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        except (OSError, ValueError):
            raise ValueError(f"{each}: no HOST:PORT that can be resolved") from None
        six = family == socket.AF_INET6
        number = where[0] if isinstance(where[0], str) else ""
        found.append((six, f"[{number}]:{port}" if six else f"{number}:{port}"))
    families = {six for six, _ in found}
    if len(families) != 1:
        raise ValueError("the addresses of several dealers must be all of IPv4 or all of IPv6, and at least one")
    return f"{'ipv6' if families.pop() else 'ipv4'}:{','.join(where for _, where in found)}"


def merged(options: Sequence[tuple[str, int | str]]) -> tuple[tuple[str, int | str], ...]:
    """Returns a channel's options with these beside those that all have, or in their place.

    Of an option that is given twice gRPC takes the first, and says nothing.
    """
    return tuple({**dict[str, int | str](OPTIONS), **dict(options)}.items())


def _decode(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except DecodeError:
        return Undecodable()
