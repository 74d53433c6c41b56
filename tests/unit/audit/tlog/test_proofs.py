"""Proofs of trees of every small size: each holds for its own two sizes and roots, and for nothing else."""

from __future__ import annotations

import pytest

from audit.errors import CheckError
from audit.tlog.merkle import EMPTY_ROOT, full_root, leaf_hash
from audit.tlog.proofs import check_consistency, check_inclusion
from audit.tlog.proving import consistency_proof, inclusion_proof, root_at
from audit.tlog.tiles import WIDTH, UpperTiles
from tests.attacks.maker import inclusion, root
from tests.integration.witnessing import consistency

MOST = 20
LEAVES = [bytes([n]) for n in range(MOST + 1)]
ROOTS = [root(LEAVES[:size]) for size in range(MOST + 1)]
PAIRS = [(old, new) for new in range(2, MOST + 1) for old in range(1, new)]


def test_a_consistency_proof_holds_for_its_own_trees_only() -> None:
    for old, new in PAIRS:
        proof = consistency(LEAVES[:new], old)
        check_consistency(old, new, ROOTS[old], ROOTS[new], proof)
        wrong = [
            (old, new, ROOTS[old], ROOTS[new], other)
            for other in (
                proof[1:],
                proof[:-1],
                [*proof, proof[-1]],
                [proof[0], *proof],
                *([*proof[:n], bytes(32), *proof[n + 1 :]] for n in range(len(proof))),
            )
        ]
        wrong += [(old, new, bytes(32), ROOTS[new], proof), (old, new, ROOTS[old], bytes(32), proof)]
        for args in wrong:
            with pytest.raises(CheckError, match="consistency proof"):
                check_consistency(*args)


def test_trees_of_one_size_and_the_empty_one_have_no_proof() -> None:
    check_consistency(5, 5, ROOTS[5], ROOTS[5], [])
    check_consistency(0, 5, EMPTY_ROOT, ROOTS[5], [])
    check_consistency(0, 0, EMPTY_ROOT, EMPTY_ROOT, [])
    for args, words in (
        ((5, 5, ROOTS[5], ROOTS[4], []), "do not agree"),
        ((0, 5, ROOTS[4], ROOTS[5], []), "do not agree"),
        ((5, 5, ROOTS[5], ROOTS[5], [bytes(32)]), "should be empty"),
        ((4, 5, ROOTS[4], ROOTS[5], []), "is empty"),
        ((6, 5, ROOTS[6], ROOTS[5], [bytes(32)]), "cannot be a prefix"),
        ((-1, 5, ROOTS[1], ROOTS[5], [bytes(32)]), "cannot be a prefix"),
    ):
        with pytest.raises(CheckError, match=words):
            check_consistency(*args)


@pytest.mark.parametrize("length", [31, 33])
def test_every_hash_has_32_bytes(length: int) -> None:
    proof = consistency(LEAVES[:7], 3)
    for args in (
        (3, 7, ROOTS[3][:1] * length, ROOTS[7], proof),
        (3, 7, ROOTS[3], ROOTS[7][:1] * length, proof),
        (3, 7, ROOTS[3], ROOTS[7], [bytes(length), *proof[1:]]),
    ):
        with pytest.raises(CheckError, match="32 bytes"):
            check_consistency(*args)
    path = inclusion(LEAVES[:7], 3)
    for leaf, way in ((bytes(length), path), (leaf_hash(LEAVES[3]), [*path[:-1], bytes(length)])):
        with pytest.raises(CheckError, match="32 bytes"):
            check_inclusion(3, 7, leaf, way, ROOTS[7])


def test_an_inclusion_proof_is_exactly_as_long_as_the_way() -> None:
    for size in range(1, MOST + 1):
        for index in range(size):
            proof, leaf = inclusion(LEAVES[:size], index), leaf_hash(LEAVES[index])
            check_inclusion(index, size, leaf, proof, ROOTS[size])
            for other, words in ((proof[:-1], "too short"), ([*proof, bytes(32)], "too long")):
                if other != proof:
                    with pytest.raises(CheckError, match=words):
                        check_inclusion(index, size, leaf, other, ROOTS[size])
        for outside in (-1, size):
            with pytest.raises(CheckError, match=f"index {outside} in a tree of {size}"):
                check_inclusion(outside, size, leaf_hash(b""), [], ROOTS[size])


SIZE = 2 * WIDTH * WIDTH + 3 * WIDTH + 5
"""Of a tree with three levels of tiles, each with a partial one at its end."""


@pytest.fixture(scope="module")
def levels() -> list[list[bytes]]:
    """The hashes of a tree of SIZE entries at levels 0, 8 and 16, whose tiles are made of them."""
    found = [[leaf_hash(n.to_bytes(4, "big")) for n in range(SIZE)]]
    while len(found[-1]) >= WIDTH:
        full = range(0, len(found[-1]) - WIDTH + 1, WIDTH)
        found.append([full_root(found[-1][at : at + WIDTH]) for at in full])
    return found


def test_proofs_from_tiles_hold(levels: list[list[bytes]]) -> None:
    def read_tile(level: int, number: int, width: int) -> bytes:
        hashes = levels[level][number * WIDTH : number * WIDTH + width]
        assert len(hashes) == width == min(WIDTH, len(levels[level]) - number * WIDTH), "a tile that there is"
        return b"".join(hashes)

    whole = root_at(SIZE, SIZE, read_tile)
    sizes = [1, 2, 3, 255, 256, 257, 511, 513, 65_535, 65_536, 65_537, 2 * 65_536, SIZE - 6, SIZE - 5, SIZE - 1, SIZE]
    for old in sizes[:-1]:
        check_consistency(old, SIZE, root_at(old, SIZE, read_tile), whole, consistency_proof(old, SIZE, read_tile))
    assert consistency_proof(SIZE, SIZE, read_tile) == ()
    for index in (size - 1 for size in sizes):
        check_inclusion(index, SIZE, levels[0][index], inclusion_proof(index, SIZE, read_tile), whole)
    assert root_at(300, SIZE, read_tile) == root([n.to_bytes(4, "big") for n in range(300)])


def test_upper_tiles_are_those_of_the_tree(levels: list[list[bytes]]) -> None:
    built, made = UpperTiles(), dict[tuple[int, int], bytes]()
    for hashed in levels[1]:
        made |= {(level, number): hashes for level, number, hashes in built.add(hashed)}
    partial = {(level, number): hashes for level, number, hashes in built.partial()}
    assert not made.keys() & partial.keys()
    expected = {
        (level, number): b"".join(levels[level][number * WIDTH : (number + 1) * WIDTH])
        for level in (1, 2)
        for number in range(-(-len(levels[level]) // WIDTH))
    }
    assert made | partial == expected
