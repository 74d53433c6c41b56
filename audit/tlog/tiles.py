"""C2SP tiles (c2sp.org/tlog-tiles): their paths, entry bundles, and holding hash tiles against the entries."""

from __future__ import annotations

from collections.abc import Iterator

from audit.errors import FormatError
from audit.plural import counted
from audit.protocol import HASH_BYTES
from audit.tlog.merkle import full_root

WIDTH = 256
"""Hashes in a full tile, entries in a full bundle."""


def path(level: int | str, number: int, width: int = WIDTH) -> str:
    """Returns the path of a tile; `level` is `entries` for a bundle, `width` below 256 for a partial one."""
    groups = [f"{number % 1000:03}"]
    while number >= 1000:
        number //= 1000
        groups.append(f"x{number % 1000:03}")
    return f"tile/{level}/{'/'.join(reversed(groups))}{f'.p/{width}' if width < WIDTH else ''}"


def decode_bundle(data: bytes, width: int, *, prefix: bool) -> list[bytes]:
    """Returns the entries of a bundle.

    Args:
        data: the file.
        width: how many entries it must have.
        prefix: it is a full bundle that stands in for a partial one, of which the first `width` entries are taken.

    Raises:
        FormatError: it does not hold exactly these entries (256, where a full one stands in for a partial one).
    """
    entries = []
    at = 0
    expected = WIDTH if prefix else width
    for number in range(expected):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if at + 2 > len(data) or end > len(data):
            raise FormatError(f"the bundle ends within its entry {number} of {expected}")
        entries.append(data[at + 2 : end])
        at = end
    if at != len(data):
        raise FormatError(f"the bundle goes on for {counted(len(data) - at, 'byte')} after its {expected} entries")
    return entries[:width]


def decode_tile(data: bytes, width: int, *, prefix: bool) -> bytes:
    """Returns the hashes of a tile, joined.

    Raises:
        FormatError: it does not hold exactly `width` hashes (256, where a full one stands in for a partial one).
    """
    expected = WIDTH if prefix else width
    if len(data) != expected * HASH_BYTES:
        raise FormatError(f"a tile of {len(data)} bytes, where {expected} hashes have {expected * HASH_BYTES}")
    return data[: width * HASH_BYTES]


class UpperTiles:
    """Builds the tiles above level 0 from the roots of full level 0 tiles, as they come, in O(log n) memory."""

    def __init__(self) -> None:
        self._open: list[list[bytes]] = []
        self._numbers: list[int] = []

    def add(self, root: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Adds the root of the next full tile of level 0; gives each full tile: level, number, hashes joined."""
        level = 0
        while True:
            if level == len(self._open):
                self._open.append([])
                self._numbers.append(0)
            self._open[level].append(root)
            if len(self._open[level]) < WIDTH:
                return
            yield level + 1, self._numbers[level], b"".join(self._open[level])
            root = full_root(self._open[level])
            self._open[level] = []
            self._numbers[level] += 1
            level += 1

    def partial(self) -> Iterator[tuple[int, int, bytes]]:
        """Yields the partial tiles at the tree's end: level, number, hashes joined."""
        for level, hashes in enumerate(self._open):
            if hashes:
                yield level + 1, self._numbers[level], b"".join(hashes)
