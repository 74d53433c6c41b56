"""A log of static files behind a web server or in a bucket."""

from __future__ import annotations

import http.client
import time
from typing import Any
from urllib.parse import SplitResult

from audit.errors import InputError
from audit.log import ATTEMPTS, MOST_BYTES, TIMEOUT_SECONDS, StaticLog


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
        return self._address.geturl()

    def close(self) -> None:
        """See `Log.close`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, where: str) -> bytes | None:
        target = f"{self._address.path.rstrip('/')}/{where}"
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(0.2 * 2**attempt)
            try:
                status, data = self._get(target)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                reason = str(error) or type(error).__name__
                continue
            if status == http.client.OK:
                return data
            if status in (http.client.NOT_FOUND, http.client.FORBIDDEN, http.client.GONE):
                return None  # buckets answer 403 for what is not there
            reason = f"status {status}"
            if status < http.client.INTERNAL_SERVER_ERROR and status != http.client.TOO_MANY_REQUESTS:
                break
        raise InputError(f"{self.address.rstrip('/')}/{where} cannot be read: {reason}")

    def _get(self, target: str) -> tuple[int, bytes]:
        if self._connection is None:
            secure = self._address.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            self._connection = kind(self._address.hostname or "", self._address.port, timeout=TIMEOUT_SECONDS)
        self._connection.request("GET", target, headers={"User-Agent": "cutcard-audit"})
        response = self._connection.getresponse()
        data = response.read(MOST_BYTES)
        if response.length and len(data) < MOST_BYTES:
            # http.client says nothing of it; a broken transfer must not be taken for a log that does not decode.
            raise http.client.IncompleteRead(data, response.length)
        if len(data) == MOST_BYTES:
            self.close()  # what is left unread would be taken for the next answer
        return response.status, data
