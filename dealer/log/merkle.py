"""The Merkle tree of RFC 6962: a tree that appends in O(log n) memory, its proofs, and their verification.

The tree over n entries is defined by its complete subtrees alone, which never change once made. A store keeps
them as `Node`s; everything here reads only the few that it needs, through a `NodeReader` (PROTOCOL.md section 9).
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from dealer.log.errors import ProofError

EMPTY_ROOT = sha256(b"").digest()
"""The root of the tree without entries."""


class Node(NamedTuple):
    """A complete subtree: the tree hash of entries `index * 2^level` up to, not including, `(index + 1) * 2^level`."""

    level: int
    index: int  # type: ignore[assignment]  # the field's own name, though tuples have a method of that name
    hash: bytes


NodeReader = Callable[[int, int], bytes]
"""Gives the 32-byte hash of the complete subtree (level, index)."""


def leaf_hash(entry: bytes) -> bytes:
    """`SHA-256(00 || entry)`, 32 bytes."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """`SHA-256(01 || left || right)` of two 32-byte hashes, 32 bytes."""
    return sha256(b"\x01" + left + right).digest()


class CompactRange:
    """The right edge of a tree: its size and the roots of its maximal complete subtrees, its peaks.

    >>> tree = CompactRange()
    >>> [(node.level, node.index) for entry in (b"a", b"b") for node in tree.append(leaf_hash(entry))]
    [(0, 0), (0, 1), (1, 0)]
    >>> tree.root() == node_hash(leaf_hash(b"a"), leaf_hash(b"b"))
    True
    """

    __slots__ = ("_peaks", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._peaks: list[bytes] = []  # one for each bit that is set in the size, the greatest subtree first

    @classmethod
    def load(cls, size: int, read: NodeReader) -> "CompactRange":
        """Returns the tree of `size` entries, from its peaks alone: one read for each bit that is set in the size."""
        tree = cls()
        tree._size = size
        tree._peaks = [read(level, index) for level, index in _subtrees(0, size)]
        return tree

    @property
    def size(self) -> int:
        """How many entries the tree has."""
        return self._size

    def append(self, leaf: bytes) -> list[Node]:
        """Adds one leaf hash and gives every complete subtree that it completes, level 0 first."""
        index, level, top = self._size, 0, leaf
        made = [Node(0, index, leaf)]
        while index & 1:
            top = node_hash(self._peaks.pop(), top)
            index >>= 1
            level += 1
            made.append(Node(level, index, top))
        self._peaks.append(top)
        self._size += 1
        return made

    def root(self) -> bytes:
        """Returns the tree hash over all entries, 32 bytes."""
        return _fold(self._peaks)

    def copy(self) -> "CompactRange":
        """A tree of its own with the same entries, so that an append can be tried and dropped."""
        twin = CompactRange()
        twin._size = self._size
        twin._peaks = self._peaks.copy()
        return twin


def inclusion_proof(
    index: int, size: int, read: NodeReader, ragged: dict[tuple[int, int], bytes] | None = None
) -> list[bytes]:
    """The hashes that lead from entry `index` to the root of the tree of `size` entries, the leaf's sibling first.

    Args:
        index: which entry.
        size: of the tree.
        read: gives the hash of a complete subtree.
        ragged: hashes of ranges at the tree's right edge, for whoever asks for several proofs in the same tree.

    Raises:
        ProofError: the tree has no such entry.
    """
    if not 0 <= index < size:
        raise ProofError(f"a tree of {size} entries has no entry {index}")
    proof = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            if ragged is None or (hash_ := ragged.get((middle, high))) is None:
                hash_ = _range_hash(middle, high, read)
                if ragged is not None and high == size:
                    ragged[middle, high] = hash_
            proof.append(hash_)
            high = middle
        else:
            proof.append(read((middle - low).bit_length() - 1, low // (middle - low)))  # the left side is complete
            low = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, read: NodeReader) -> list[bytes]:
    """The hashes that show that the tree of `old` entries is a prefix of the tree of `new` (RFC 6962 section 2.1.2).

    Empty where `old` is 0 or `new`.

    Raises:
        ProofError: `old` is greater than `new`, or negative.
    """
    if not 0 <= old <= new:
        raise ProofError(f"a tree of {old} entries is no prefix of one of {new}")
    if old == 0:
        return []
    proof = []
    low, high = 0, new
    while old != high:
        middle = low + _split(high - low)
        if old <= middle:
            proof.append(_range_hash(middle, high, read))
            high = middle
        else:
            proof.append(_range_hash(low, middle, read))
            low = middle
    if low:  # otherwise the old tree is itself the subtree where both meet, and its root is known
        proof.append(_range_hash(low, high, read))
    return proof[::-1]


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Checks that the tree of `size` entries with this root has the leaf hash `leaf` at `index` (RFC 9162, 2.1.3.2).

    Raises:
        ProofError: it does not follow from the proof.
    """
    if not 0 <= index < size:
        raise ProofError(f"a tree of {size} entries has no entry {index}")
    _check_hashes(leaf, root, *proof)
    position, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ProofError(f"an inclusion proof of {len(proof)} hashes is too long for entry {index} of {size}")
        if position & 1 or position == last:
            node = node_hash(sibling, node)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            node = node_hash(node, sibling)
        position >>= 1
        last >>= 1
    if last:
        raise ProofError(f"an inclusion proof of {len(proof)} hashes is too short for entry {index} of {size}")
    if node != root:
        raise ProofError(f"the inclusion proof of entry {index} does not give the root of the tree of {size} entries")


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Checks that the tree of `old` entries is a prefix of the tree of `new` (RFC 9162, 2.1.4.2).

    Raises:
        ProofError: it does not follow from the proof.
    """
    if not 0 <= old <= new:
        raise ProofError(f"a tree of {old} entries is no prefix of one of {new}")
    _check_hashes(old_root, new_root, *proof)
    if old in (0, new):
        _verify_trivial_consistency(old, new, old_root, new_root, proof)
        return
    path = list(proof)
    if old & (old - 1) == 0:  # a complete subtree of the new tree: the proof need not repeat its root
        path.insert(0, old_root)
    if not path:
        raise ProofError(f"an empty proof cannot lead from {old} entries to {new}")
    position, last = old - 1, new - 1
    while position & 1:
        position >>= 1
        last >>= 1
    old_node = new_node = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise ProofError(f"a consistency proof of {len(proof)} hashes is too long for {old} and {new} entries")
        if position & 1 or position == last:
            old_node = node_hash(sibling, old_node)
            new_node = node_hash(sibling, new_node)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            new_node = node_hash(new_node, sibling)
        position >>= 1
        last >>= 1
    if last:
        raise ProofError(f"a consistency proof of {len(proof)} hashes is too short for {old} and {new} entries")
    if old_node != old_root:
        raise ProofError(f"the consistency proof does not give the root of the tree of {old} entries")
    if new_node != new_root:
        raise ProofError(f"the consistency proof does not give the root of the tree of {new} entries")


def _verify_trivial_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Settles the two cases without a path: nothing is a prefix of everything, and every tree is a prefix of itself."""
    if proof:
        raise ProofError(f"from {old} to {new} entries a consistency proof is empty, this one has {len(proof)} hashes")
    if old == 0 and old_root != EMPTY_ROOT:
        raise ProofError("the root given for the tree without entries is not SHA-256 of nothing")
    if old == new and old_root != new_root:
        raise ProofError(f"two roots for one tree of {new} entries: the log is forked")


def _split(width: int) -> int:
    """Returns the greatest power of two below `width`, for `width` above 1: where RFC 6962 cuts a range in two."""
    return 1 << ((width - 1).bit_length() - 1)


def _subtrees(low: int, high: int) -> list[tuple[int, int]]:
    """The maximal complete subtrees (level, index) that make up the entries from `low` to `high`, left to right.

    `low` is a multiple of the greatest power of two that the range holds, as it is for every range of a proof.
    """
    subtrees = []
    while low < high:
        level = (high - low).bit_length() - 1
        subtrees.append((level, low >> level))
        low += 1 << level
    return subtrees


def _range_hash(low: int, high: int, read: NodeReader) -> bytes:
    """Returns the tree hash of the entries from `low` to `high`, `low` being aligned as in `_subtrees`."""
    return _fold([read(level, index) for level, index in _subtrees(low, high)])


def _fold(peaks: Sequence[bytes]) -> bytes:
    """Returns the tree hash over complete subtrees that stand beside each other, each smaller than the one before."""
    if not peaks:
        return EMPTY_ROOT
    top = peaks[-1]
    for peak in reversed(peaks[:-1]):
        top = node_hash(peak, top)
    return top


def _check_hashes(*hashes: bytes) -> None:
    if any(len(each) != 32 for each in hashes):
        raise ProofError("a hash that does not have 32 bytes")
