"""How every gRPC server of the kit listens: which pings are welcome, and what is said of a port that is taken."""

import errno
import ipaddress
import socket

import grpc

from dealer.errors import CutcardError

_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a second server on a port is refused, not given half of its calls
    # Clients may ping every ten seconds, with calls under way or without. The library's own limit is five minutes, and
    # it cuts off who pings oftener ("too_many_pings"). This one is far below ten seconds, so no ping comes too early.
    ("grpc.http2.min_ping_interval_without_data_ms", 500),
    ("grpc.keepalive_permit_without_calls", 1),
    # Of the calls that wait for the loop the library would cancel some at random beyond a thousand, anybody's.
    ("grpc.server.max_pending_requests", 1_000_000),
    ("grpc.server.max_pending_requests_hard_limit", 1_000_000),
)


class ListenError(CutcardError):
    """An address cannot be listened on."""


def parse_loopback(address: str) -> tuple[str, int]:
    """Reads HOST:PORT.

    Raises:
        ListenError: it is none, or not on the loopback: without TLS and roles nobody else may call.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ListenError(f"{address!r} is not HOST:PORT")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ListenError(f"{address!r} is not on the loopback; without TLS and roles the dealer serves no other")
    return host, int(port)


def make_server(*interceptors: grpc.aio.ServerInterceptor) -> grpc.aio.Server:
    """Returns a server that does not listen yet."""
    return grpc.aio.server(interceptors=interceptors, options=_OPTIONS)


def listen_on(server: grpc.aio.Server, host: str, port: int) -> tuple[str, int]:
    """Has a server listen; port 0 takes a free one.

    Returns:
        The address, and the port alone.

    Raises:
        ListenError: it cannot be listened on.
    """
    shown = f"[{host}]" if ":" in host else host
    require_free(host, port)
    try:
        taken = server.add_insecure_port(f"{shown}:{port}")
    except RuntimeError:
        taken = 0
    if not taken:
        raise _taken(f"{shown}:{port}")
    return f"{shown}:{taken}", taken


def require_free(host: str, port: int) -> None:
    """Tries an address first: the library would print a raw line of its own about one that is taken.

    Raises:
        ListenError: it cannot be listened on.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
            tried.listen()
        except OSError as error:
            shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise _taken(shown, error) from None


def _taken(address: str, error: OSError | None = None) -> ListenError:
    if error is None or error.errno == errno.EADDRINUSE:
        return ListenError(f"{address} cannot be listened on: is another server there?")
    return ListenError(f"{address} cannot be listened on: {error.strerror}")
