"""Proofs from hash tiles (RFC 6962, sections 2.1.1 and 2.1.2): O(log n) tiles are read, and nothing is believed."""

from __future__ import annotations

from collections.abc import Callable

from audit.protocol import HASH_BYTES
from audit.tlog.merkle import full_root, node_hash
from audit.tlog.tiles import WIDTH

TILE_HEIGHT = 8
"""Levels of the tree in a tile: it holds 2**8 hashes."""

ReadTile = Callable[[int, int, int], bytes]
"""Called with level, number and width of a tile; returns its hashes, joined."""


def inclusion_proof(index: int, size: int, read_tile: ReadTile) -> tuple[bytes, ...]:
    """Returns the proof that entry `index` is in the tree of `size` entries, the leaf's sibling first.

    Args:
        index: below `size`.
        size: of the tree.
        read_tile: where the hashes come from. Whether they are the tree's shows when the proof is checked.
    """
    start, end, siblings = 0, size, []
    while end - start > 1:
        split = start + (1 << (end - start - 1).bit_length() - 1)
        if index < split:
            siblings.append((split, end))
            end = split
        else:
            siblings.append((start, split))
            start = split
    return tuple(_range_root(first, last, size, read_tile) for first, last in reversed(siblings))


def consistency_proof(then: int, size: int, read_tile: ReadTile) -> tuple[bytes, ...]:
    """Returns the proof that the tree of `size` entries extends its own first `then` ones.

    Args:
        then: above 0, at most `size`.
        size: of the tree.
        read_tile: as for `inclusion_proof`.
    """
    start, end, siblings = 0, size, []
    while then < end:
        split = start + (1 << (end - start - 1).bit_length() - 1)
        if then <= split:
            siblings.append((split, end))
            end = split
        else:
            siblings.append((start, split))
            start = split
    if start:  # else the first `then` entries are a full subtree, whose root the reader has
        siblings.append((start, end))
    return tuple(_range_root(first, last, size, read_tile) for first, last in reversed(siblings))


def root_at(then: int, size: int, read_tile: ReadTile) -> bytes:
    """Returns the root of the first `then` entries (above 0) of a tree of `size` entries, as its tiles have it."""
    return _range_root(0, then, size, read_tile)


def _range_root(start: int, end: int, size: int, read_tile: ReadTile) -> bytes:
    """The root over the leaves from `start` to `end`, which begin at a multiple of the power of two that holds them."""
    height = (end - start - 1).bit_length()
    if end - start == 1 << height:
        level, within = divmod(height, TILE_HEIGHT)
        first = start >> TILE_HEIGHT * level
        number, at = divmod(first, WIDTH)
        width = min(WIDTH, (size >> TILE_HEIGHT * level) - number * WIDTH)
        hashes = read_tile(level, number, width)
        each = [hashes[HASH_BYTES * i : HASH_BYTES * (i + 1)] for i in range(at, at + (1 << within))]
        return full_root(each)
    split = start + (1 << height - 1)
    return node_hash(_range_root(start, split, size, read_tile), _range_root(split, end, size, read_tile))
