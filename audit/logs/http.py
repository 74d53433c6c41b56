"""A log of static files behind a web server or in a bucket."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
import zlib
from base64 import b64encode
from typing import Any
from urllib.parse import SplitResult, unquote

from audit.errors import InputError
from audit.logs.log import MOST_BYTES, StaticLog
from audit.logs.retry import SILENCE_SECONDS, Patience
from audit.outside import without_password

MOST_UNPACKED = 64 * 2**20
"""So much of a file is unpacked at the most: a few bytes can be made to give any number."""
_NOT_THERE = (http.client.NOT_FOUND, http.client.FORBIDDEN, http.client.GONE)
"""Buckets answer 403 for what is not there."""


class HttpLog(StaticLog):
    """A log behind a web server or in a bucket; one connection that is kept, and opened again when it breaks."""

    def __init__(self, address: SplitResult) -> None:
        self._address = address
        self._connection: http.client.HTTPConnection | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_address": self._address, "_connection": None}

    @property
    def address(self) -> str:
        """See `Log.address`."""
        return without_password(self._address.geturl())

    def close(self) -> None:
        """See `Log.close`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, where: str) -> bytes | None:
        target = f"{self._address.path.rstrip('/')}/{where}"
        reason = "it is slow"
        for seconds in Patience():
            try:
                status, data, moved = self._get(target, seconds)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                reason = str(error) or type(error).__name__
                continue
            if status == http.client.OK:
                return data
            if status in _NOT_THERE:
                return None
            reason = f"status {status}" + (f", moved to {moved!a}: give the log's new address" if moved else "")
            if status < http.client.INTERNAL_SERVER_ERROR and status != http.client.TOO_MANY_REQUESTS:
                break
        raise InputError(f"{self.address.rstrip('/')}/{where} cannot be read: {reason}")

    def _get(self, target: str, seconds: float) -> tuple[int, bytes, str | None]:
        """Status, body and, where the file has moved, its new place."""
        if self._connection is None:
            secure = self._address.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            self._connection = kind(self._address.hostname or "", self._address.port, timeout=SILENCE_SECONDS)
        if self._connection.sock is None:
            self._connection.connect()
        # A server that sends a byte now and then is never silent: the watch ends what has no other end.
        end = time.monotonic() + seconds
        watch = threading.Timer(seconds, _break_off, [self._connection.sock])
        watch.start()
        try:
            self._connection.request("GET", target, headers=self._headers())
            response = self._connection.getresponse()
            data = response.read(MOST_BYTES)
        finally:
            watch.cancel()
        if time.monotonic() >= end:
            raise TimeoutError(f"not all of it came within {seconds:.0f} seconds")
        if response.length and len(data) < MOST_BYTES:
            # http.client says nothing of it; a broken transfer must not be taken for a log that does not decode.
            raise http.client.IncompleteRead(data, response.length)
        if len(data) == MOST_BYTES:
            self.close()  # what is left unread would be taken for the next answer
        return response.status, _undone(data, response.getheader("Content-Encoding")), response.getheader("Location")

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": "cutcard-audit", "Accept-Encoding": "gzip, identity"}
        if self._address.username is not None:
            # RFC 7617. No redirect is followed, so they go to the host that was named and to no other.
            credentials = f"{unquote(self._address.username)}:{unquote(self._address.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
        return headers


def _undone(data: bytes, encoding: str | None) -> bytes:
    """Undoes what a web server did to a file on its way (RFC 9110, section 8.4).

    Raises:
        http.client.HTTPException: it is cut short or damaged, gives more than any file has, or is of another kind.
    """
    if encoding is None or encoding.strip().lower() in ("", "identity"):
        return data
    if encoding.strip().lower() not in ("gzip", "x-gzip"):
        raise http.client.HTTPException(f"sent with the encoding {encoding!a}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        whole = unpacker.decompress(data, MOST_UNPACKED)
    except zlib.error as error:
        raise http.client.HTTPException(f"sent with the encoding gzip, and damaged: {error}") from None
    if not unpacker.eof:
        more = len(whole) >= MOST_UNPACKED
        what = f"gives more than {MOST_UNPACKED} bytes" if more else "is cut short"
        raise http.client.HTTPException(f"sent with the encoding gzip, and {what}")
    return whole


def _break_off(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
