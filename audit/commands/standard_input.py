"""Standard input, which can be read only once: its digest is made while it is read, for the report."""

from __future__ import annotations

import hashlib
import io
import sys
from typing import TYPE_CHECKING

from audit.report.subject import Input

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_NAME = "standard input"
_READ_AHEAD = 1 << 20


class StandardInput:
    """Standard input and the digest of what was read of it.

    Attributes:
        stream: its bytes.
    """

    def __init__(self) -> None:
        self._raw = _Digested()
        self.stream = io.BufferedReader(self._raw, _READ_AHEAD)

    @property
    def was_read(self) -> bool:
        """Whether anybody asked for its bytes."""
        return self._raw.read_bytes > 0 or self._raw.ended

    def digest(self) -> Input:
        """Returns the digest; if its end was not reached, the name says of how many bytes."""
        name = _NAME if self._raw.ended else f"{_NAME}, its first {self._raw.read_bytes:,} bytes"
        return Input(name, self._raw.sha256.hexdigest())


class _Digested(io.RawIOBase):
    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.read_bytes = 0
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer)
        data = sys.stdin.buffer.read(len(into))
        into[: len(data)] = data
        self.sha256.update(data)
        self.read_bytes += len(data)
        self.ended = self.ended or not data
        return len(data)
