"""The log's tree, grown stretch by stretch: its root, its upper tiles, and the roots that it had at earlier sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
        done: how many entries are in it.
        roots: the root at each earlier size asked for, as far as it is known.
        leaves: the leaf hashes asked for.
        tiles: how many tiles above level 0 were compared.
        missing: paths of those that are not there.
    """

    def __init__(self) -> None:
        self._wanted: set[int] = set()
        self._peaks: CompactRange | None = CompactRange()
        self._upper = UpperTiles()
        self.done = 0
        self.roots: dict[int, bytes] = {0: EMPTY_ROOT}
        self.leaves: dict[int, bytes] = {}
        self.tiles = 0
        self.missing: list[str] = []

    def want(self, sizes: Iterable[int]) -> None:
        """Asks for the roots at these sizes, and for those at no others any more."""
        self._wanted = set(sizes)
        self.roots = {size: root for size, root in self.roots.items() if size in self._wanted or not size}
        if self.done in self._wanted and self._peaks is not None:
            self.roots[self.done] = self._peaks.root()

    def grow(self, read: StretchResult, log: Log, size: int) -> Iterator[Finding]:
        """Takes the next stretch of a log of `size` entries."""
        self.leaves.update(read.leaves)
        for subtree in read.roots:
            for then, part in read.roots_at.items():
                if self.done < then < self.done + WIDTH and part is not None and self._peaks is not None:
                    self.roots[then] = _joined(self._peaks, part).root()
            if subtree is None or self._peaks is None:
                self._peaks = None  # from here on no root is known
            else:
                self._peaks.extend(subtree)
                if self.done + WIDTH <= size:
                    yield from self._compare(log, self._upper.add(subtree.root()))
            self.done = min(self.done + WIDTH, size)
            if self.done in self._wanted and self._peaks is not None:
                self.roots[self.done] = self._peaks.root()

    def finish(self, log: Log) -> Iterator[Finding]:
        """Compares the partial tiles at the end."""
        if self._peaks is not None:
            yield from self._compare(log, self._upper.partial())

    def root(self) -> bytes | None:
        """Returns the root, None where some of the tree is not known."""
        return None if self._peaks is None else self._peaks.root()

    def _compare(self, log: Log, built: Iterator[tuple[int, int, bytes]]) -> Iterator[Finding]:
        if not log.has_tiles:
            for _ in built:
                continue
            return
        for level, number, hashes in built:
            width = len(hashes) // HASH_BYTES
            where = path(level, number, width)
            try:
                found = log.tile(level, number, width)
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
