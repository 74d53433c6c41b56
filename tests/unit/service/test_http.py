"""The HTTP servers' bounds: neither many callers stop them nor slow ones."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from dealer.service.http import Bounded, _network, serve

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.answered(self.request)  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        pass


@contextmanager
def served(**limits: float) -> Iterator[Any]:
    """Serves with these limits; yields what makes connections."""
    kind = type("Server", (Bounded, HTTPServer), limits)
    server = kind(("127.0.0.1", 0), Handler)
    close = serve(server, "test")
    with ExitStack() as held:
        yield lambda: held.enter_context(socket.create_connection(server.server_address[:2], timeout=30))
    close()


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("limit", ["connections", "of_an_address"])
def test_connections_beyond_the_limit_are_closed_and_a_place_that_is_free_again_is_taken(limit: str) -> None:
    with served(**{limit: 2}) as connect:
        first, second = connect(), connect()
        for each in (first, second):
            each.sendall(REQUEST)
            assert each.recv(15) == b"HTTP/1.1 200 OK"
        assert ended(connect())
        first.close()
        for _ in range(1000):  # until its thread has seen that it went
            again = connect()
            try:
                again.sendall(REQUEST)
                if again.recv(15) == b"HTTP/1.1 200 OK":
                    break
            except OSError:
                continue
        else:
            pytest.fail("no place was free again")


def test_half_a_request_holds_nothing_for_long() -> None:
    with served(seconds=0.1) as connect:
        held = [(connect(), said) for said in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nX: y\r\n", b"\x16\x03\x01\x02")]
        for slow, said in held:
            slow.sendall(said)
        assert all(ended(slow) for slow, _ in held)


def test_a_connection_that_has_answers_goes_on() -> None:
    with served(seconds=3.0) as connect:
        busy, idle = connect(), connect()
        while True:
            busy.sendall(REQUEST)
            assert busy.recv(200).startswith(b"HTTP/1.1 200 OK")
            idle.settimeout(0.5)
            try:
                assert idle.recv(1) == b""
                break
            except TimeoutError:
                continue
        busy.sendall(REQUEST)
        assert busy.recv(200).startswith(b"HTTP/1.1 200 OK"), "it was there for as long as the other"


def test_an_ipv6_64_is_one_address() -> None:
    assert _network("2001:db8::1") == _network("2001:db8::ffff:2")
    assert _network("2001:db8:0:1::1") != _network("2001:db8::1")
    assert _network("192.0.2.1") != _network("192.0.2.2")
    assert _network("fe80::1%eth0") == _network("fe80::2")
