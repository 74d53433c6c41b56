"""Proofs of RFC 6962: the way from a leaf to the root, and checking inclusion and consistency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from audit.errors import CheckError
from audit.protocol import HASH_BYTES
from audit.tlog.merkle import EMPTY_ROOT, node_hash


class Node(NamedTuple):
    """A node on the way from a leaf to the root: its two children, and which of them the way comes from."""

    left: bytes
    right: bytes
    from_right: bool

    @property
    def hash(self) -> bytes:
        """The node's hash."""
        return node_hash(self.left, self.right)


def climb(hashes: Sequence[bytes], index: int) -> list[Node]:
    """Returns the nodes from one of a tree's leaves to its root.

    Args:
        hashes: the leaves, or full subtrees of one height (the last may be smaller); at least one.
        index: which of them to climb from.
    """
    nodes, level = [], list(hashes)
    while len(level) > 1:
        first = index & ~1
        if first + 1 < len(level):
            nodes.append(Node(level[first], level[first + 1], index != first))
        # A last one without a neighbour goes up as it is: so the tree is that of RFC 6962.
        pairs = [node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs) :]
        index >>= 1
    return nodes


def _check_lengths(*hashes: bytes) -> None:
    if any(len(node) != HASH_BYTES for node in hashes):
        raise CheckError(f"a hash that is not {HASH_BYTES} bytes long")


def root_from_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes:
    """Returns the root that an inclusion proof leads to (RFC 9162, section 2.1.3.2).

    Raises:
        CheckError: the proof cannot be one for this index and size.
    """
    if not 0 <= index < size:
        raise CheckError(f"index {index} in a tree of {size} entries")
    _check_lengths(leaf, *proof)
    node, last, root = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise CheckError("the inclusion proof is too long")
        if node & 1 or node == last:
            root = node_hash(sibling, root)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            root = node_hash(root, sibling)
        node >>= 1
        last >>= 1
    if last:
        raise CheckError("the inclusion proof is too short")
    return root


def check_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Checks that `leaf` (a leaf hash) is entry `index` of the tree of `size` entries with this root.

    Raises:
        CheckError: it is not shown to be.
    """
    if root_from_inclusion(index, size, leaf, proof) != root:
        raise CheckError("the inclusion proof does not lead to the root")


def check_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Checks that the tree of `old` entries is a prefix of that of `new` (RFC 9162, section 2.1.4.2).

    Raises:
        CheckError: it is not shown to be.
    """
    _check_lengths(old_root, new_root, *proof)
    if not 0 <= old <= new:
        raise CheckError(f"a tree of {old} entries cannot be a prefix of one of {new}")
    if old in (0, new):
        if proof:
            raise CheckError("the consistency proof should be empty")
        if old_root != (new_root if old == new else EMPTY_ROOT):
            raise CheckError("the two roots do not agree")
        return
    if not proof:
        raise CheckError("the consistency proof is empty")
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    node, last = old - 1, new - 1
    while node & 1:
        node >>= 1
        last >>= 1
    left = right = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise CheckError("the consistency proof is too long")
        if node & 1 or node == last:
            left, right = node_hash(sibling, left), node_hash(sibling, right)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            right = node_hash(right, sibling)
        node >>= 1
        last >>= 1
    if last:
        raise CheckError("the consistency proof is too short")
    if left != old_root:
        raise CheckError("the consistency proof does not lead to the older root")
    if right != new_root:
        raise CheckError("the consistency proof does not lead to the newer root")
