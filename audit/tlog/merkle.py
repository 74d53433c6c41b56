"""The Merkle tree of RFC 6962: hashes, and roots of trees that only grow."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """Returns the hash of a leaf."""
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Returns the hash of an inner node."""
    return hashlib.sha256(b"\1" + left + right).digest()


def full_root(hashes: Sequence[bytes]) -> bytes:
    """Returns the root over a power of two of hashes."""
    hashed = hashlib.sha256
    level = list(hashes)
    while len(level) > 1:
        level = [hashed(b"\1" + level[i] + level[i + 1]).digest() for i in range(0, len(level), 2)]
    return level[0]


class CompactRange:
    """The roots of the full subtrees that a growing tree consists of: O(log n) memory."""

    def __init__(self) -> None:
        self._peaks: list[tuple[int, bytes]] = []

    def append(self, root: bytes, height: int = 0) -> None:
        """Adds a full subtree of 2**height leaves; the leaves before it must be a multiple of that."""
        while self._peaks and self._peaks[-1][0] == height:
            root = node_hash(self._peaks.pop()[1], root)
            height += 1
        self._peaks.append((height, root))

    def extend(self, other: CompactRange) -> None:
        """Adds the subtrees of a stretch that begins where this tree ends."""
        for height, root in other._peaks:
            self.append(root, height)

    def copy(self) -> CompactRange:
        """Returns an independent copy, for the root at an earlier size."""
        other = CompactRange()
        other._peaks = list(self._peaks)
        return other

    def root(self) -> bytes:
        """Returns the root of the tree so far."""
        if not self._peaks:
            return EMPTY_ROOT
        root = self._peaks[-1][1]
        for _, peak in reversed(self._peaks[:-1]):
            root = node_hash(peak, root)
        return root
