"""Trees and entries against their definitions, on inputs that nobody thought of."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import AuditError, CheckError, FormatError
from audit.record import reading
from audit.record.entries import Unknown
from audit.record.fields import SchemaError
from audit.record.reading import parse
from audit.tlog import merkle, proofs
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.note import decode
from audit.tlog.receipt import decode as decode_receipt
from audit.tlog.tiles import decode_bundle
from tests.attacks.maker import Draft, canonical, contributors, inclusion, root


def _definition(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word by word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + _definition(leaves[:split]) + _definition(leaves[split:])).digest()


@given(st.integers(0, 70))
def test_a_growing_tree_has_the_defined_root(size: int) -> None:
    leaves = [bytes([n]) for n in range(size)]
    assert root(leaves) == _definition(leaves)


@given(st.integers(1, 40), st.data())
def test_an_inclusion_proof_holds_for_its_own_leaf_and_place_only(size: int, data: st.DataObject) -> None:
    leaves = [bytes([n]) for n in range(size)]
    index, other = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    proof, top = inclusion(leaves, index), root(leaves)
    proofs.check_inclusion(index, size, merkle.leaf_hash(leaves[index]), proof, top)
    if other != index:
        with pytest.raises(CheckError):
            proofs.check_inclusion(other, size, merkle.leaf_hash(leaves[index]), proof, top)
        with pytest.raises(CheckError):
            proofs.check_inclusion(index, size, merkle.leaf_hash(leaves[other]), proof, top)


@given(st.integers(1, 70), st.data())
def test_climbing_passes_the_nodes_of_the_inclusion_proof(size: int, data: st.DataObject) -> None:
    leaves = [bytes([n]) for n in range(size)]
    index = data.draw(st.integers(0, size - 1))
    nodes = proofs.climb([merkle.leaf_hash(leaf) for leaf in leaves], index)
    assert [node.left if node.from_right else node.right for node in nodes] == inclusion(leaves, index)
    so_far = merkle.leaf_hash(leaves[index])
    for node in nodes:
        assert so_far == (node.right if node.from_right else node.left)
        so_far = node.hash
    assert so_far == root(leaves)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_whatever_is_decoded_is_canonical(value: Any) -> None:
    raw = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        again = reading.decode(raw)
    except FormatError:
        return
    import rfc8785

    assert rfc8785.dumps(again) == raw  # type: ignore[arg-type]


ENTRY = canonical(Draft("x", values=contributors("x", "a")).deal(folds={"third": [1]}).show(2).close(1))


@settings(max_examples=300)
@given(st.integers(0, len(ENTRY) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_a_changed_byte_is_refused_or_reads_as_what_it_says(at: int, put: bytes, cut: int) -> None:
    raw = ENTRY[:at] + put + ENTRY[at + cut :]
    try:
        entry = parse(raw)
    except SchemaError:
        return
    # What is accepted is canonical: no two byte strings say the same.
    assert canonical(json.loads(raw)) == raw or isinstance(entry, Unknown)


@given(st.binary(max_size=400))
def test_no_bytes_make_a_traceback(data: bytes) -> None:
    for read in (
        parse,
        decode,
        decode_receipt,
        lambda raw: read_checkpoint(decode(raw)),
        lambda raw: decode_bundle(raw, 3, prefix=False),
    ):
        try:
            read(data)
        except AuditError:
            continue
