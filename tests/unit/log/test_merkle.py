"""The tree and its proofs, for every size and index, against RFC 6962 written out by recursion."""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealer.log.errors import LogError, ProofError
from dealer.log.merkle import (
    EMPTY_ROOT,
    CompactRange,
    Node,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)
from tests.unit.log import naive

ENTRIES = [b"entry %d" % number for number in range(40)]
KEPT = naive.KeptNodes(ENTRIES)
ROOTS = [naive.tree_hash(ENTRIES[:size]) for size in range(len(ENTRIES) + 1)]
SIZES = range(1, len(ENTRIES) + 1)


def test_hashes_are_separated_by_their_first_byte() -> None:
    assert leaf_hash(b"a") == sha256(b"\x00a").digest()
    assert node_hash(b"l" * 32, b"r" * 32) == sha256(b"\x01" + b"l" * 32 + b"r" * 32).digest()


def test_the_empty_tree_has_the_hash_of_nothing_as_its_root() -> None:
    assert CompactRange().root() == CompactRange.load(0, KEPT.read).root() == EMPTY_ROOT == sha256(b"").digest()


def test_the_root_of_every_size_is_the_tree_hash() -> None:
    tree = CompactRange()
    for size, entry in enumerate(ENTRIES, 1):
        tree.append(leaf_hash(entry))
        assert (tree.size, tree.root()) == (size, ROOTS[size])


def test_an_append_gives_every_subtree_that_it_completes_the_leaf_first() -> None:
    for (level, index), value in KEPT.nodes.items():
        assert value == naive.tree_hash(ENTRIES[index << level : (index + 1) << level])
    assert set(KEPT.nodes) == {(level, index) for level in range(6) for index in range(len(ENTRIES) >> level)}
    tree = CompactRange.load(7, KEPT.read)
    made = tree.append(leaf_hash(ENTRIES[7]))
    assert made == [Node(level, 7 >> level, KEPT.nodes[level, 7 >> level]) for level in range(4)]


@pytest.mark.parametrize("size", SIZES)
def test_a_loaded_tree_reads_its_peaks_alone_and_goes_on_like_the_first(size: int) -> None:
    kept = naive.KeptNodes(ENTRIES)
    tree = CompactRange.load(size, kept.read)
    assert kept.reads == size.bit_count()
    assert (tree.size, tree.root()) == (size, ROOTS[size])
    for entry in ENTRIES[size:]:
        tree.append(leaf_hash(entry))
    assert tree.root() == ROOTS[-1]


def test_a_copy_can_be_tried_and_dropped() -> None:
    tree = CompactRange.load(11, KEPT.read)
    trial = tree.copy()
    trial.append(leaf_hash(b"dropped"))
    assert (tree.size, tree.root()) == (11, ROOTS[11])
    assert trial.size == 12
    assert trial.root() != ROOTS[12]


@pytest.mark.parametrize("size", SIZES)
def test_every_inclusion_proof_is_the_path_of_the_rfc_and_verifies(size: int) -> None:
    for index in range(size):
        proof = inclusion_proof(index, size, KEPT.read)
        assert proof == naive.path(index, ENTRIES[:size])
        verify_inclusion(index, size, leaf_hash(ENTRIES[index]), proof, ROOTS[size])


@pytest.mark.parametrize("new", SIZES)
def test_every_consistency_proof_is_the_proof_of_the_rfc_and_verifies(new: int) -> None:
    for old in range(1, new + 1):
        proof = consistency_proof(old, new, KEPT.read)
        assert proof == naive.proof(old, ENTRIES[:new])
        verify_consistency(old, new, ROOTS[old], ROOTS[new], proof)


def test_everything_extends_the_empty_tree_without_a_proof() -> None:
    for new in range(len(ENTRIES) + 1):
        assert consistency_proof(0, new, KEPT.read) == []
        verify_consistency(0, new, EMPTY_ROOT, ROOTS[new], [])


@settings(deadline=None)
@given(st.data())
def test_a_proof_holds_for_its_own_index_size_leaf_and_root_alone(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(ENTRIES)))
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, KEPT.read)
    other_index = data.draw(
        st.integers(0, size - 1).filter(lambda other: other != index) if size > 1 else st.just(size)
    )
    leaf, root = leaf_hash(ENTRIES[index]), ROOTS[size]
    with pytest.raises(ProofError):
        verify_inclusion(other_index, size, leaf, proof, root)
    with pytest.raises(ProofError, match="does not give the root"):
        verify_inclusion(index, size, leaf_hash(b"another"), proof, root)
    with pytest.raises(ProofError, match="does not give the root"):
        verify_inclusion(index, size, leaf, proof, ROOTS[size - 1])
    with pytest.raises(ProofError, match=r"too long|does not give the root"):
        verify_inclusion(index, size, leaf, [*proof, bytes(32)], root)
    if proof:
        with pytest.raises(ProofError, match="too short"):
            verify_inclusion(index, size, leaf, proof[:-1], root)
        wrong = data.draw(st.integers(0, len(proof) - 1))
        with pytest.raises(ProofError, match="does not give the root"):
            verify_inclusion(index, size, leaf, [*proof[:wrong], bytes(32), *proof[wrong + 1 :]], root)


@settings(deadline=None)
@given(st.data())
def test_a_consistency_proof_holds_for_its_own_sizes_and_roots_alone(data: st.DataObject) -> None:
    new = data.draw(st.integers(2, len(ENTRIES)))
    old = data.draw(st.integers(1, new - 1))
    proof = consistency_proof(old, new, KEPT.read)
    with pytest.raises(ProofError, match=f"of {old} entries|of {new} entries"):
        verify_consistency(old, new, ROOTS[old - 1], ROOTS[new], proof)
    with pytest.raises(ProofError, match=f"of {new} entries"):
        verify_consistency(old, new, ROOTS[old], ROOTS[new - 1], proof)
    with pytest.raises(ProofError):
        verify_consistency(old, new, ROOTS[old], ROOTS[new], [*proof, bytes(32)])
    with pytest.raises(ProofError):
        verify_consistency(old, new, ROOTS[old], ROOTS[new], proof[:-1])
    wrong = data.draw(st.integers(0, len(proof) - 1))
    with pytest.raises(ProofError, match="does not give the root"):
        verify_consistency(old, new, ROOTS[old], ROOTS[new], [*proof[:wrong], bytes(32), *proof[wrong + 1 :]])


def test_two_roots_of_one_size_are_a_fork() -> None:
    with pytest.raises(ProofError, match="forked"):
        verify_consistency(9, 9, ROOTS[9], ROOTS[8], [])
    with pytest.raises(ProofError, match="is empty"):
        verify_consistency(9, 9, ROOTS[9], ROOTS[9], [ROOTS[9]])
    with pytest.raises(ProofError, match="not SHA-256 of nothing"):
        verify_consistency(0, 9, ROOTS[1], ROOTS[9], [])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (5, 5), (-1, 5), (6, 5)])
def test_there_is_no_proof_of_an_entry_outside_the_tree(index: int, size: int) -> None:
    with pytest.raises(ProofError, match="has no entry"):
        inclusion_proof(index, size, KEPT.read)
    with pytest.raises(ProofError, match="has no entry"):
        verify_inclusion(index, size, leaf_hash(b""), [], EMPTY_ROOT)


@pytest.mark.parametrize(("old", "new"), [(6, 5), (-1, 5)])
def test_no_tree_extends_a_greater_one(old: int, new: int) -> None:
    with pytest.raises(ProofError, match="no prefix"):
        consistency_proof(old, new, KEPT.read)
    with pytest.raises(ProofError, match="no prefix"):
        verify_consistency(old, new, EMPTY_ROOT, EMPTY_ROOT, [])


def test_a_hash_has_32_bytes() -> None:
    proof = inclusion_proof(3, 8, KEPT.read)
    with pytest.raises(ProofError, match="32 bytes"):
        verify_inclusion(3, 8, leaf_hash(ENTRIES[3]), [proof[0] + b"\x00", *proof[1:]], ROOTS[8])
    with pytest.raises(ProofError, match="32 bytes"):
        verify_consistency(3, 8, ROOTS[3][:-1], ROOTS[8], consistency_proof(3, 8, KEPT.read))
    assert issubclass(ProofError, LogError)


@settings(deadline=None)
@given(st.integers(1, 2**40), st.data())
def test_a_proof_of_a_great_tree_reads_few_subtrees(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    reads: list[tuple[int, int]] = []

    def read(level: int, number: int) -> bytes:
        assert (number + 1) << level <= size, "a subtree that is not complete has no stored hash"
        reads.append((level, number))
        return bytes(32)

    inclusion_proof(index, size, read)
    consistency_proof(index, size, read)
    CompactRange.load(size, read)
    assert len(reads) <= 5 * size.bit_length()


@pytest.mark.parametrize(("old", "new"), [(6, 8), (5, 13), (13, 20)])
def test_hashes_of_a_proof_have_32_bytes_each_and_not_on_average(old: int, new: int) -> None:
    """A byte that moves from one hash to its neighbour is hashed in the same place, and is another proof."""
    first, second, *rest = consistency_proof(old, new, KEPT.read)
    for moved in ((first[1:], second + first[:1]), (first + second[:1], second[1:])):
        with pytest.raises(ProofError, match="32 bytes"):
            verify_consistency(old, new, ROOTS[old], ROOTS[new], [*moved, *rest])
    with pytest.raises(ProofError, match="32 bytes"):
        verify_inclusion(3, old, leaf_hash(ENTRIES[3])[1:], inclusion_proof(3, old, KEPT.read), ROOTS[old])
    with pytest.raises(ProofError, match="32 bytes"):
        verify_inclusion(3, old, leaf_hash(ENTRIES[3]), inclusion_proof(3, old, KEPT.read), ROOTS[old] + b"x")
    with pytest.raises(ProofError, match="32 bytes"):
        verify_consistency(old, new, ROOTS[old], ROOTS[new][1:], [first, second, *rest])


def test_proofs_of_one_tree_that_share_their_ragged_edge_are_the_same() -> None:
    for size in (1, 7, 13, 32, 39):
        ragged: dict[tuple[int, int], bytes] = {}
        for index in range(size):
            alone = inclusion_proof(index, size, KEPT.read)
            assert inclusion_proof(index, size, KEPT.read, ragged) == alone
            assert inclusion_proof(index, size, KEPT.read, ragged) == alone
