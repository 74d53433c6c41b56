"""Where a log is read from: a static folder, an http(s) address of one, or a dealer's LogService over gRPC.

A source hands over bytes and judges nothing. It can be sent to another process, which then reads for itself: whatever
is open (a connection, a channel) is opened where it is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from audit.errors import InputError
from audit.files import open_regular
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
        """The newest signed checkpoint, None where there is none."""

    @abstractmethod
    def entries(self, number: int, width: int) -> list[bytes] | None:
        """The first `width` entries of bundle `number` (entries from 256 * number on), None where it is not there.

        Raises:
            FormatError: the bundle does not decode.
        """

    @abstractmethod
    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """The first `width` hashes of a tile, joined; None where it is not there.

        Raises:
            FormatError: the tile does not decode.
        """

    @property
    @abstractmethod
    def address(self) -> str:
        """What to call it in a report."""

    def why_no_checkpoint(self) -> str:
        """Says that this is no log, and what it looks like instead."""
        return f"{self.address} has no checkpoint"

    def close(self) -> None:
        """Lets go of whatever is open."""
        return


class StaticLog(Log):
    """A log of static files (c2sp.org/tlog-tiles)."""

    @abstractmethod
    def _read(self, where: str) -> bytes | None:
        """One file, None where it is not there."""

    def checkpoint(self) -> bytes | None:
        """See `Log.checkpoint`."""
        return self._read("checkpoint")

    def _tile_file(self, level: int | str, number: int, width: int) -> tuple[bytes | None, bool]:
        """A tile's file, and whether it is the full one that stands in for a partial one."""
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


class FolderLog(StaticLog):
    """A log in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def address(self) -> str:
        """See `Log.address`."""
        return str(self._folder)

    def why_no_checkpoint(self) -> str:
        """See `Log.why_no_checkpoint`."""
        folder = self._folder
        if folder.is_file():
            what = "is a file, and a log is a folder (`audit receipt` checks a single receipt)"
        elif not folder.exists():
            what = "is not there"
        elif (folder / "public" / "checkpoint").is_file():
            what = f"is a data folder: its log is in {folder / 'public'}"
        elif (folder / "public").is_dir():
            what = f"is a data folder whose log, in {folder / 'public'}, has no checkpoint yet"
        elif above := [up for up in folder.absolute().parents if (up / "checkpoint").is_file()]:
            what = f"has no checkpoint: it lies in the log {above[0]}"
        else:
            what = "has no checkpoint: it is no log's folder"
        return f"{self.address} {what}"

    def _read(self, where: str) -> bytes | None:
        try:
            with open_regular(self._folder / where) as file:
                return file.read(MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise InputError(f"{self._folder / where} cannot be read: {error.strerror}") from None


def _http(address: SplitResult) -> Log:
    from audit.logs.http import HttpLog

    return HttpLog(address)


def _grpc(target: str, *, secure: bool) -> Log:
    # grpc takes a while to import: whoever audits a folder need not wait for it.
    from audit.logs.service import GrpcLog

    return GrpcLog(target, secure=secure)


def open_log(where: str) -> Log:
    """The log at a folder, an `http(s)` address, `grpc://host:port` or `grpcs://host:port`.

    Raises:
        InputError: an address of another kind.
    """
    scheme, sep, rest = where.partition("://")
    if not sep:
        return FolderLog(Path(where))
    if scheme in ("http", "https"):
        try:
            address = urlsplit(where)
            if address.hostname and address.port != 0:
                return _http(address)
        except ValueError:
            pass
        raise InputError(f"{where} is no address")
    if scheme in ("grpc", "grpcs"):
        host, colon, port = rest.rstrip("/").rpartition(":")
        if not (host and colon and port.isdecimal()):
            raise InputError(f"{where}: expected {scheme}://host:port")
        return _grpc(rest.rstrip("/"), secure=scheme == "grpcs")
    if scheme == "file":
        return FolderLog(Path(urlsplit(where).path))
    raise InputError(f"{where}: expected a folder, an http(s) address or grpc://host:port")
