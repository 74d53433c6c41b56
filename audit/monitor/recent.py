"""A log of which what was read a moment ago is not read again: the bundles and tiles that an audit goes on from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from audit.logs.log import Log

KEPT = 40
"""A stretch has 8 bundles and as many tiles; each new width of the last one comes in addition."""
_T = TypeVar("_T")


class Recent(Log):
    """Reads another log. What has a name stays as it is for good, so that nothing is asked for twice but what changes.

    What was read may be wrong all the same, and `forget` lets go of it.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._kept: OrderedDict[tuple[int | str, int, int], Any] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {"_log": self._log, "_kept": OrderedDict()}

    def forget(self) -> bool:
        """Lets go of everything; whether there was anything."""
        had = bool(self._kept)
        self._kept.clear()
        return had

    def _read(self, what: tuple[int | str, int, int], read: Callable[[], _T | None]) -> _T | None:
        found = self._kept.get(what)
        if found is None and (found := read()) is not None:
            self._kept[what] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    @property
    def has_tiles(self) -> bool:  # type: ignore[override]  # a class attribute of others
        """See `Log.has_tiles`."""
        return self._log.has_tiles

    @property
    def address(self) -> str:
        """See `Log.address`."""
        return self._log.address

    def checkpoint(self) -> bytes | None:
        """See `Log.checkpoint`."""
        return self._log.checkpoint()

    def beside(self, name: str) -> bytes | None:
        """See `Log.beside`."""
        return self._log.beside(name)

    def entries(self, number: int, width: int) -> list[bytes] | None:
        """See `Log.entries`."""
        return self._read(("entries", number, width), lambda: self._log.entries(number, width))

    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """See `Log.tile`."""
        return self._read((level, number, width), lambda: self._log.tile(level, number, width))

    def why_no_checkpoint(self) -> str:
        """See `Log.why_no_checkpoint`."""
        return self._log.why_no_checkpoint()

    def close(self) -> None:
        """See `Log.close`."""
        self._log.close()
