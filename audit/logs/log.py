"""Where a log is read from: a static folder, an http(s) address of one, or a dealer's LogService over gRPC.

A source hands over bytes and judges nothing. It can be sent to another process, which then reads for itself: whatever
is open (a connection, a channel) is opened where it is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from audit.tlog.tiles import WIDTH, decode_bundle, decode_tile, path

MOST_BYTES = WIDTH * (2 + 65_535) + 1
"""One byte more than the longest bundle: no more of a file is read, and one that long does not decode."""


class Log(ABC):
    """A log that can be read.

    Attributes:
        has_tiles: whether there are hash tiles to check (not over gRPC).
    """

    has_tiles = True

    @abstractmethod
    def checkpoint(self) -> bytes | None:
        """Returns the newest signed checkpoint, None where there is none."""

    def beside(self, name: str) -> bytes | None:
        """Returns the file `successor` or `predecessor` beside the checkpoint, None where there is none."""
        return None

    @abstractmethod
    def entries(self, number: int, width: int) -> list[bytes] | None:
        """The first `width` entries of bundle `number` (entries from 256 * number on), None where it is not there.

        Raises:
            FormatError: the bundle does not decode.
        """

    @abstractmethod
    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """Returns the first `width` hashes of a tile, joined; None where it is not there.

        Raises:
            FormatError: the tile does not decode.
        """

    @property
    @abstractmethod
    def address(self) -> str:
        """What to call it in a report."""

    def trust(self, ca: bytes) -> None:
        """Takes CA certificates (PEM) in the system's place, where the log is read over gRPC with TLS."""
        return

    def elsewhere(self) -> Log:
        """Returns the log as a machine reads it that has the same files and another working folder."""
        return self

    def why_no_checkpoint(self) -> str:
        """Says that this is no log, and what it looks like instead."""
        return f"{self.address} has no checkpoint"

    def close(self) -> None:
        """Closes what is open."""
        return


class StaticLog(Log):
    """A log of static files (c2sp.org/tlog-tiles)."""

    @abstractmethod
    def _read(self, where: str) -> bytes | None:
        """Returns one file, None where it is not there."""

    def checkpoint(self) -> bytes | None:
        """See `Log.checkpoint`."""
        return self._read("checkpoint")

    def beside(self, name: str) -> bytes | None:
        """See `Log.beside`."""
        return self._read(name)

    def _tile_file(self, level: int | str, number: int, width: int) -> tuple[bytes | None, bool]:
        """Returns a tile's file, and whether it is the full one that stands in for a partial one."""
        data = self._read(path(level, number, width))
        if data is None and width < WIDTH:
            return self._read(path(level, number)), True
        return data, False

    def entries(self, number: int, width: int) -> list[bytes] | None:
        """See `Log.entries`."""
        data, prefix = self._tile_file("entries", number, width)
        return None if data is None else decode_bundle(data, width, prefix=prefix)

    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """See `Log.tile`."""
        data, prefix = self._tile_file(level, number, width)
        return None if data is None else decode_tile(data, width, prefix=prefix)
