"""A server of HTTP from threads that neither many callers stop nor slow ones: so many at once, each for so long."""

import ipaddress
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from socketserver import ThreadingMixIn
from threading import Lock, Thread
from typing import Any

import structlog

_log = structlog.get_logger()
_CONNECTIONS = 512
_OF_AN_ADDRESS = 64
_SECONDS = 60.0
_NETWORK_BITS = 64


class Bounded(ThreadingMixIn):
    """Mixed into a `socketserver.TCPServer`: a thread for each connection, and as many of both as it allows itself.

    A connection beyond them is closed at once, and one on which nothing was answered for a minute as well: half a
    request, or one byte of it now and then, holds nothing for longer. An IPv6 /64 counts as one address.

    Attributes:
        connections, of_an_address: at once, of all and of each address.
        seconds: from a connection's beginning, or its last answer, to the end of the next one.
    """

    daemon_threads = True
    request_queue_size = 128
    connections, of_an_address, seconds = _CONNECTIONS, _OF_AN_ADDRESS, _SECONDS

    def __init__(self, *arguments: Any) -> None:
        self._guard = Lock()
        self._since: dict[Any, float] = {}
        self._of: Counter[str] = Counter()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a connection, or closes it where there are too many."""
        source = _network(client_address[0])
        with self._guard:
            full = len(self._since) >= self.connections or self._of[source] >= self.of_an_address
            if not full:
                self._since[request] = time.monotonic()
                self._of[source] += 1
        if full:
            self.shutdown_request(request)  # type: ignore[attr-defined]
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be made
            self._gone(request, source)
            self.shutdown_request(request)  # type: ignore[attr-defined]

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves a connection to its end, which frees its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._gone(request, _network(client_address[0]))

    def answered(self, request: Any) -> None:
        """Says that a connection has had an answer: it has as long again for the next one."""
        with self._guard:
            if request in self._since:
                self._since[request] = time.monotonic()

    def service_actions(self) -> None:
        """Ends connections that take too long; the serving loop calls it twice a second."""
        before = time.monotonic() - self.seconds
        with self._guard:
            for request in [request for request, since in self._since.items() if since < before]:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)  # its thread reads the end, or cannot write

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what nobody foresaw, and nothing of a caller that has gone."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            _log.error("an HTTP request could not be answered", error=type(error).__name__)

    def _gone(self, request: Any, source: str) -> None:
        with self._guard:
            self._since.pop(request, None)
            self._of[source] -= 1
            if not self._of[source]:
                del self._of[source]


def serve(server: Any, name: str) -> Callable[[], None]:
    """Serves from a thread of this name; returns what ends it."""
    thread = Thread(target=server.serve_forever, name=name, daemon=True)
    thread.start()

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close


def _network(host: str) -> str:
    found = ipaddress.ip_address(host.partition("%")[0])
    return str(found if found.version == 4 else ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
