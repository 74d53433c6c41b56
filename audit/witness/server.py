"""The witness over HTTP: two paths, and limits on what a stranger can make it do (WITNESS.md section 6).

It is meant to stand behind a web server with TLS. The standard library's server is enough for that: a thread for each
of at most 64 connections, each request cut off after ten seconds however busily its sender sends.
"""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import sqlite3
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from audit.witness.keeper import TEXT, Answer, Keeper
from audit.witness.request import MOST_BYTES

CONNECTIONS = 64
REQUEST_SECONDS = 10.0
DISCARDED_BYTES = 64 * 1024
"""So much of a body that is too long is read all the same, so that its sender reads the answer."""
ADD = "/add-checkpoint"
_CHECKPOINT = re.compile(r"/([0-9a-f]{64})/checkpoint")
_LENGTH = re.compile(r"0|[1-9][0-9]{0,9}")
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Say = Callable[[str], None]


class WitnessServer(socketserver.ThreadingMixIn, HTTPServer):
    """Listens for requests to a witness; `serve_forever` and `shutdown` as in the standard library."""

    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, host: str, port: int, keeper: Keeper, say: Say) -> None:
        """Binds a port.

        Args:
            host: an address or a name; one with a colon is of IPv6.
            port: 0 for any that is free.
            keeper: the witness.
            say: told, on one line each, which requests were refused and why.

        Raises:
            OSError: the port cannot be had.
        """
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.keeper = keeper
        self.say = say
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Binds the port, without asking a name server who this is."""
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Starts a thread for a connection, if there is a place for it."""
        if not self._slots.acquire(blocking=False):
            with contextlib.suppress(OSError):
                request.setblocking(False)
                request.send(_BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves a connection, and gives its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what nobody foresaw; a connection that broke is nothing of the kind."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.say(f"500 an error of the witness itself: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    """One connection, request after request."""

    server: WitnessServer
    protocol_version = "HTTP/1.1"
    error_message_format = ""
    error_content_type = TEXT
    timeout = REQUEST_SECONDS
    _read_whole = False

    def handle_one_request(self) -> None:
        """Handles a request, which is cut off when its time is over: a byte now and then does not prolong it."""
        watch = threading.Timer(REQUEST_SECONDS, _break_off, [self.connection])
        watch.daemon = True
        watch.start()
        try:
            super().handle_one_request()
        finally:
            watch.cancel()

    def __getattr__(self, name: str) -> Any:
        """Finds the handler of any method, so that those that are not known are refused as others are."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        held = _CHECKPOINT.fullmatch(path)
        allowed = "POST" if path == ADD else "GET" if held else None
        if allowed is None:
            self._send(Answer(HTTPStatus.NOT_FOUND, why=f"no such path: {path[:200]!a}"))
        elif self.command != allowed:
            self._send(Answer(HTTPStatus.METHOD_NOT_ALLOWED, why=f"{self.command[:20]!a} {path}"), Allow=allowed)
        elif held is not None:
            self._send_checkpoint(held[1])
        else:
            body = self._body()
            self._send(body if isinstance(body, Answer) else self.server.keeper.add_checkpoint(body))

    def _send_checkpoint(self, digest: str) -> None:
        try:
            checkpoint = self.server.keeper.checkpoint(digest)
        except sqlite3.Error as error:
            self._send(Answer(HTTPStatus.SERVICE_UNAVAILABLE, why=f"the store cannot be read: {error}"))
            return
        found = Answer(HTTPStatus.NOT_FOUND) if checkpoint is None else Answer(HTTPStatus.OK, checkpoint)
        self._send(found, **{"Cache-Control": "no-store"})

    def _body(self) -> bytes | Answer:
        lengths = self.headers.get_all("Content-Length") or []
        if "Transfer-Encoding" in self.headers or len(lengths) != 1:
            return Answer(HTTPStatus.LENGTH_REQUIRED, why="a body without one Content-Length")
        if not _LENGTH.fullmatch(lengths[0].strip()):
            return Answer(HTTPStatus.BAD_REQUEST, why="a Content-Length that is no number")
        length = int(lengths[0])
        if length > MOST_BYTES:
            self.rfile.read(min(length, DISCARDED_BYTES))
            return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why=f"a body of {length} bytes")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionResetError("the connection ended within a body")
        self._read_whole = True
        return body

    def version_string(self) -> str:
        """Returns what the answers say of the server: not which Python it runs on."""
        return "cutcard-witness"

    def _send(self, answer: Answer, **headers: str) -> None:
        if answer.why:
            self.server.say(f"{int(answer.status)} {answer.why}")
        body = answer.body.encode("utf-8")
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        if body:
            self.send_header("Content-Type", answer.content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        # What was not read of a body would be taken for the next request.
        if not self._read_whole and ("Content-Length" in self.headers or "Transfer-Encoding" in self.headers):
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self._read_whole = False

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Says nothing: what is refused says `_send`."""


def _break_off(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
