"""Where every gRPC server of the kit listens: addresses, sockets, pings, and what is said of one that is taken."""

import errno
import ipaddress
import os
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc

from dealer.errors import CutcardError

_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a second server on a port is refused, not given half of its calls
    # Clients may ping every ten seconds, with calls under way or without. The library's own limit is five minutes, and
    # it cuts off who pings oftener ("too_many_pings"). This one is far below ten seconds, so no ping comes too early.
    ("grpc.http2.min_ping_interval_without_data_ms", 500),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_receive_message_length", 4 << 20),
    # Of the calls that wait for the loop the library would cancel some at random beyond a thousand, anybody's.
    ("grpc.server.max_pending_requests", 1_000_000),
    ("grpc.server.max_pending_requests_hard_limit", 1_000_000),
)
IDLE_SECONDS = 900.0
_UNIX = "unix:"
_MOST_PATH_BYTES = 107
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ListenError(CutcardError):
    """An address cannot be listened on."""


@dataclass(frozen=True, slots=True)
class Tcp:
    """A host and a port; port 0 takes a free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether nobody on another machine can call there."""
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return False

    def at(self, port: int) -> str:
        """Returns HOST:PORT with this port."""
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """The absolute path of a Unix socket."""

    path: Path


Address = Tcp | UnixSocket


def parse_address(address: str) -> Address:
    """Reads HOST:PORT or unix:/PATH.

    Raises:
        ListenError: it is neither.
    """
    if address.startswith(_UNIX):
        path = address.removeprefix(_UNIX)
        if (
            not path.startswith("/")
            or path.startswith("//")
            or "\0" in path
            or len(os.fsencode(path)) > _MOST_PATH_BYTES
        ):
            raise ListenError(f"{address!r}: a socket's path is absolute and has at most {_MOST_PATH_BYTES} bytes")
        return UnixSocket(Path(path))
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ListenError(f"{address!r} is not HOST:PORT or unix:/PATH")
    return Tcp("127.0.0.1" if host == "localhost" else host, int(port))


def parse_loopback(address: str) -> Address:
    """Reads an address where only this machine can call.

    Raises:
        ListenError: it is none, or not on the loopback: without TLS and roles nobody else may call.
    """
    read = parse_address(address)
    if isinstance(read, Tcp) and not read.loopback:
        raise ListenError(f"{address!r} is not on the loopback; without TLS and roles the dealer serves no other")
    return read


def make_server(*interceptors: grpc.aio.ServerInterceptor, idle_seconds: float = IDLE_SECONDS) -> grpc.aio.Server:
    """Returns a server that does not listen yet; a connection without a call is closed, however it pings."""
    idle = ("grpc.max_connection_idle_ms", int(idle_seconds * 1000))
    return grpc.aio.server(interceptors=interceptors, options=(*_OPTIONS, idle))


class Listening:
    """An address that a server listens on.

    Attributes:
        address: HOST:PORT with the port that it has, or unix:/PATH.
        port: the port, 0 of a socket.
    """

    def __init__(
        self, server: grpc.aio.Server, where: Address, credentials: grpc.ServerCredentials | None = None
    ) -> None:
        """Has a server listen.

        Raises:
            ListenError: it cannot be listened on.
        """
        self._file: tuple[Path, tuple[int, int]] | None = None
        if isinstance(where, UnixSocket):
            self.address, self.port = f"{_UNIX}{where.path}", 0
            self._bind_socket(server, where.path)
            return
        require_free(where)
        shown = where.at(where.port)
        try:
            taken = (
                server.add_insecure_port(shown) if credentials is None else server.add_secure_port(shown, credentials)
            )
        except RuntimeError:
            taken = 0
        if not taken:
            raise _taken(shown)
        self.address, self.port = where.at(taken), taken

    def _bind_socket(self, server: grpc.aio.Server, path: Path) -> None:
        _require_own_folder(path)
        _clear_left_over(path)
        before = os.umask(0o177)  # the socket has mode 0600 from the moment it exists
        try:
            server.add_insecure_port(self.address)
        except RuntimeError:
            raise _taken(self.address) from None
        finally:
            os.umask(before)
        made = path.lstat()
        self._file = path, (made.st_dev, made.st_ino)

    def close(self) -> None:
        """Removes the socket, if it is still the one that was made here."""
        if self._file is not None:
            path, made = self._file
            with suppress(OSError):
                found = path.lstat()
                if (found.st_dev, found.st_ino) == made:
                    path.unlink()


def _require_own_folder(path: Path) -> None:
    try:
        folder = path.parent.stat()
    except OSError as error:
        raise ListenError(f"{path.parent}, the socket's folder, cannot be looked at: {error.strerror}") from None
    if folder.st_uid not in (0, os.geteuid()) or folder.st_mode & _OTHERS_WRITE:
        raise ListenError(
            f"{path.parent}, the socket's folder, must be this user's or root's, and writable to nobody else"
        )


def _clear_left_over(path: Path) -> None:
    """Removes a socket that this user's server left there; anything else stays, and is refused."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ListenError(f"{path} cannot be looked at: {error.strerror}") from None
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise ListenError(f"{path} is there already, and is no socket that this user's server left")
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(1)
        try:
            tried.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            raise ListenError(f"{path} cannot be listened on: {error.strerror or 'it does not answer'}") from None
    raise _taken(f"{_UNIX}{path}")


def require_free(where: Tcp) -> None:
    """Tries an address first: the library would print a raw line of its own about one that is taken.

    Raises:
        ListenError: it cannot be listened on.
    """
    try:
        kind, *_, place = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ListenError(f"{where.at(where.port)} cannot be listened on: {error.strerror}") from None
    with socket.socket(kind) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(place)
            tried.listen()
        except OSError as error:
            raise _taken(where.at(where.port), error) from None


def _taken(address: str, error: OSError | None = None) -> ListenError:
    if error is None or error.errno == errno.EADDRINUSE:
        return ListenError(f"{address} cannot be listened on: is another server there?")
    return ListenError(f"{address} cannot be listened on: {error.strerror}")
