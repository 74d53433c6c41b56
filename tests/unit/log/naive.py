"""RFC 6962 as its text says it, by recursion over all entries: slow, plain, and the measure for the real tree."""

from hashlib import sha256

from dealer.log.merkle import CompactRange, NodeReader, leaf_hash


def split(count: int) -> int:
    """The largest power of two smaller than `count`."""
    power = 1
    while power * 2 < count:
        power *= 2
    return power


def tree_hash(entries: list[bytes]) -> bytes:
    """MTH, section 2.1."""
    if not entries:
        return sha256().digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = split(len(entries))
    return sha256(b"\x01" + tree_hash(entries[:k]) + tree_hash(entries[k:])).digest()


def path(index: int, entries: list[bytes]) -> list[bytes]:
    """PATH, section 2.1.1."""
    if len(entries) == 1:
        return []
    k = split(len(entries))
    if index < k:
        return [*path(index, entries[:k]), tree_hash(entries[k:])]
    return [*path(index - k, entries[k:]), tree_hash(entries[:k])]


def proof(old: int, entries: list[bytes]) -> list[bytes]:
    """PROOF, section 2.1.2."""
    return subproof(old, entries, whole=True)


def subproof(old: int, entries: list[bytes], *, whole: bool) -> list[bytes]:
    """SUBPROOF, section 2.1.2."""
    if old == len(entries):
        return [] if whole else [tree_hash(entries)]
    k = split(len(entries))
    if old <= k:
        return [*subproof(old, entries[:k], whole=whole), tree_hash(entries[k:])]
    return [*subproof(old - k, entries[k:], whole=False), tree_hash(entries[:k])]


class KeptNodes:
    """A store of complete subtrees, as the real tree hands them out, that counts how often it is read."""

    def __init__(self, entries: list[bytes]) -> None:
        self.entries = entries
        self.tree = CompactRange()
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.reads = 0
        for entry in entries:
            for node in self.tree.append(leaf_hash(entry)):
                assert (node.level, node.index) not in self.nodes
                self.nodes[node.level, node.index] = node.hash

    def read(self, level: int, index: int) -> bytes:
        self.reads += 1
        return self.nodes[level, index]

    def read_entries(self, first: int, end: int) -> list[bytes]:
        return self.entries[first:end]


def reader(entries: list[bytes]) -> NodeReader:
    """The reader of a log with these entries."""
    return KeptNodes(entries).read
