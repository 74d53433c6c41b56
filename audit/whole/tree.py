"""The log's tree, grown stretch by stretch: its root, its upper tiles, and the roots that it had at earlier sizes."""

from __future__ import annotations

from collections.abc import Iterator

from audit.errors import FormatError
from audit.findings import Finding
from audit.logs.log import Log
from audit.protocol import HASH_BYTES
from audit.tlog.merkle import EMPTY_ROOT, CompactRange
from audit.tlog.tiles import WIDTH, UpperTiles, path
from audit.whole.stretch import StretchResult


class Tree:
    """Grows with every stretch and remembers only what somebody asked for.

    Attributes:
        roots: the root at each earlier size asked for, as far as it is known.
        leaves: the leaf hashes asked for.
        tiles: how many tiles above level 0 were compared.
        missing: paths of those that are not there.
    """

    def __init__(self, log: Log, size: int, sizes: tuple[int, ...]) -> None:
        self._log = log
        self._size = size
        self._wanted = set(sizes)
        self._peaks: CompactRange | None = CompactRange()
        self._upper = UpperTiles()
        self._done = 0
        self.roots: dict[int, bytes] = {0: EMPTY_ROOT}
        self.leaves: dict[int, bytes] = {}
        self.tiles = 0
        self.missing: list[str] = []

    def grow(self, read: StretchResult) -> Iterator[Finding]:
        """Takes the next stretch."""
        self.leaves.update(read.leaves)
        for subtree in read.roots:
            for size, part in read.roots_at.items():
                if self._done < size < self._done + WIDTH and part is not None and self._peaks is not None:
                    self.roots[size] = _joined(self._peaks, part).root()
            if subtree is None or self._peaks is None:
                self._peaks = None  # from here on no root is known
            else:
                self._peaks.extend(subtree)
                if self._done + WIDTH <= self._size:
                    yield from self._compare(self._upper.add(subtree.root()))
            self._done = min(self._done + WIDTH, self._size)
            if self._done in self._wanted and self._peaks is not None:
                self.roots[self._done] = self._peaks.root()

    def finish(self) -> Iterator[Finding]:
        """Compares the partial tiles at the end."""
        if self._peaks is not None:
            yield from self._compare(self._upper.partial())

    def root(self) -> bytes | None:
        """Returns the root, None where some of the tree is not known."""
        return None if self._peaks is None else self._peaks.root()

    def _compare(self, built: Iterator[tuple[int, int, bytes]]) -> Iterator[Finding]:
        if not self._log.has_tiles:
            for _ in built:
                continue
            return
        for level, number, hashes in built:
            width = len(hashes) // HASH_BYTES
            where = path(level, number, width)
            try:
                found = self._log.tile(level, number, width)
            except FormatError as error:
                yield Finding("checkpoint", None, None, f"{where}: {error}")
                continue
            if found is None:
                self.missing.append(where)
                continue
            self.tiles += 1
            if found != hashes:
                at = next(i for i in range(width) if _hash(found, i) != _hash(hashes, i))
                detail = f"{where}: hash {at}: expected {_hash(hashes, at).hex()}, found {_hash(found, at).hex()}"
                yield Finding("checkpoint", None, None, detail)


def _hash(joined: bytes, number: int) -> bytes:
    return joined[HASH_BYTES * number : HASH_BYTES * (number + 1)]


def _joined(peaks: CompactRange, part: CompactRange) -> CompactRange:
    whole = peaks.copy()
    whole.extend(part)
    return whole
