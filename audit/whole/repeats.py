"""Finds values that come twice in a log of any length: on disk beyond a limit, never in a set that grows with it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

PARTS = 256
LIMIT = 64 * 2**20
"""Bytes held in memory before records go to disk."""


class Twice(NamedTuple):
    """Two records with the same key, and what each of them carries; `first` came at the lower index."""

    key: bytes
    first: int
    second: int
    first_data: bytes
    second_data: bytes


class Repeats(Protocol):
    """Whatever takes records of a key, an index and data, and finds keys that come more than once."""

    def add(self, key: bytes, index: int, data: bytes) -> None:
        """Adds one record."""
        ...

    def found(self) -> Iterator[Twice]:
        """Yields every record whose key came before, with the one right before it."""
        ...


class Duplicates:
    """Collects records of a key, an index and data of fixed length, and finds keys that come more than once.

    Records are parted by the last byte of their key (the first bytes of a UUID are a clock), so that any two equal keys
    meet in one part, and a part is small enough to be sorted in memory.
    """

    def __init__(self, key_bytes: int, data_bytes: int, limit: int = LIMIT) -> None:
        self._key = key_bytes
        self._width = key_bytes + 8 + data_bytes
        self._limit = limit
        self._held = 0
        self._parts = [bytearray() for _ in range(PARTS)]
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Duplicates:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, key: bytes, index: int, data: bytes) -> None:
        """Adds one record."""
        self._parts[key[-1]] += key + index.to_bytes(8, "big") + data
        self._held += self._width
        if self._held >= self._limit:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="audit-")
        for number, part in enumerate(self._parts):
            with (Path(self._folder.name) / str(number)).open("ab") as file:
                file.write(part)
            part.clear()
        self._held = 0

    def records(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Yields every record: key, index and data, in no particular order."""
        key, start = self._key, self._key + 8
        for number in range(PARTS):
            for record in self._part(number):
                yield record[:key], int.from_bytes(record[key:start], "big"), record[start:]

    def _part(self, number: int) -> list[bytes]:
        data = bytes(self._parts[number])
        if self._folder is not None:
            data = (Path(self._folder.name) / str(number)).read_bytes() + data
        return [data[i : i + self._width] for i in range(0, len(data), self._width)]

    def found(self) -> Iterator[Twice]:
        """Yields every record whose key came before, with the one right before it; in the order of their keys."""
        key, start = self._key, self._key + 8
        for number in range(PARTS):
            for a, b in pairwise(sorted(self._part(number))):
                if a[:key] == b[:key]:
                    yield Twice(
                        a[:key],
                        int.from_bytes(a[key:start], "big"),
                        int.from_bytes(b[key:start], "big"),
                        a[start:],
                        b[start:],
                    )
