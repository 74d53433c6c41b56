"""The static log over plain HTTP, for who has no web server: `--log-listen` (docs/witness.md, section 10).

It serves `public/` and nothing else. The log is public and proves itself, so it needs neither TLS nor a role.
"""

import gzip
import re
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from dealer.service.http import Bounded, serve
from dealer.service.rpc.listener import Tcp, require_free

_NOTE = re.compile(r"/(checkpoint|successor|predecessor)", re.ASCII)
_TILE = re.compile(r"/tile/(?:[0-9]{1,2}|entries)(?:/x?[0-9]{3})+(?:\.p/[0-9]{1,3})?", re.ASCII)
_SECONDS = 30
_TEXT = "text/plain; charset=utf-8"
_WORTH_PACKING = 256
_ALWAYS = (("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "nosniff"))
_FOR_EVER = "public, max-age=31536000, immutable"


def serve_log(folder: Path, where: Tcp) -> tuple[str, Callable[[], None]]:
    """Serves a static log from a thread.

    Args:
        folder: the static log.
        where: the address; port 0 takes a free one.

    Returns:
        The address that it has, and what ends it.

    Raises:
        ListenError: it cannot be listened on.
    """
    require_free(where)

    class Handler(_Handler):
        log = folder

    server = (_Server6 if ":" in where.host else _Server)((where.host, where.port), Handler)
    close = serve(server, "static log")
    return where.at(server.server_address[1]), close


class _Server(Bounded, HTTPServer):
    pass


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD, and refuses any other method in one way."""

    protocol_version = "HTTP/1.1"
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = _TEXT
    server_version, sys_version = "cutcard", ""
    timeout = _SECONDS
    log: Path
    server: _Server

    def do_GET(self) -> None:
        """Sends a file of the log."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """Sends its headers."""
        self._answer(body=False)

    def __getattr__(self, name: str) -> Any:
        """Finds the handler of any other method: the library would answer that it knows none, with a page of HTML."""
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _refuse(self) -> None:
        self.close_connection = True  # a body, if there is one, is not read
        headers = [
            ("Content-Type", _TEXT),
            ("Cache-Control", "no-store"),
            ("Allow", "GET, HEAD"),
            ("Connection", "close"),
        ]
        self._send(405, b"this log is for reading\n", headers, body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        note, tile = _NOTE.fullmatch(path), _TILE.fullmatch(path)
        data = self._read(path) if note or tile else None
        if data is None:
            headers = [("Content-Type", _TEXT), ("Cache-Control", "no-store")]
            self._send(404, b"not here\n", headers, body=body)
            return
        if note:
            headers = [("Content-Type", _TEXT), ("Cache-Control", "no-cache")]
        else:
            headers = [("Content-Type", "application/octet-stream"), ("Cache-Control", _FOR_EVER)]
            if path.startswith("/tile/entries/"):
                headers.append(("Vary", "Accept-Encoding"))
                if len(data) >= _WORTH_PACKING and self._takes_gzip():
                    headers.append(("Content-Encoding", "gzip"))
                    data = gzip.compress(data, mtime=0)
        self._send(200, data, headers, body=body)

    def _read(self, path: str) -> bytes | None:
        try:
            return (self.log / path.removeprefix("/")).read_bytes()
        except OSError:
            return None

    def _takes_gzip(self) -> bool:
        for part in self.headers.get("Accept-Encoding", "").lower().split(","):
            name, _, quality = part.strip().partition(";")
            if name.strip() == "gzip" and quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
                return True
        return False

    def _send(self, status: int, data: bytes, headers: list[tuple[str, str]], *, body: bool) -> None:
        self.send_response(status)
        for name, value in (*headers, *_ALWAYS, ("Content-Length", str(len(data)))):
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)
        self.server.answered(self.request)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Writes no line for each request."""
