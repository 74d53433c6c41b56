"""Earlier checkpoints and receipts that an auditor brings along, for the check `append-only`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from audit import note, proof
from audit.errors import AuditError, CheckError, InputError
from audit.findings import Finding
from audit.keys import VerifierKey
from audit.merkle import root_from_inclusion


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier state of the log, signed by the pinned key; with a receipt's index and proof where it came as one."""

    name: str
    checkpoint: note.Checkpoint
    index: int | None = None
    proof: tuple[bytes, ...] = ()


def read(name: str, data: bytes, key: VerifierKey) -> Earlier:
    """Reads a checkpoint or a receipt.

    Raises:
        InputError: it is neither, or not signed by `key` (section 10: unreadable input).
    """
    try:
        if proof.is_receipt(data):
            receipt = proof.decode(data)
            signed, earlier = receipt.note, Earlier(name, receipt.checkpoint, receipt.index, receipt.proof)
        else:
            signed = note.decode(data)
            earlier = Earlier(name, note.checkpoint(signed))
        note.check_signed(signed, key)
    except AuditError as error:
        raise InputError(f"{name} is no earlier checkpoint or receipt of this log: {error}") from None
    if earlier.checkpoint.origin != key.name:
        raise InputError(f"{name} is a checkpoint of {earlier.checkpoint.origin!a}, not of {key.name}")
    return earlier


def check_append_only(earlier: Earlier, size: int, root: bytes | None, leaf: bytes | None) -> Iterator[Finding]:
    """The check `append-only` for one earlier state.

    Args:
        earlier: what was brought along.
        size: the size of the tree as it is now.
        root: the root of this tree's first `earlier.checkpoint.size` entries; None where that is not known.
        leaf: the leaf hash of this tree's entry `earlier.index`; None where that is not known.
    """
    then = earlier.checkpoint
    if then.size > size:
        detail = f"{earlier.name}: expected at least {then.size} entries, found {size}: the log was rolled back"
        yield Finding("append-only", None, None, detail)
        return
    if root is not None and root != then.root:
        detail = (
            f"{earlier.name}: root of the first {then.size} entries: expected {then.root.hex()}, found {root.hex()}"
        )
        yield Finding("append-only", None, None, detail)
    if earlier.index is None:
        return
    try:
        if earlier.index >= then.size:
            raise CheckError(f"index {earlier.index} in a tree of {then.size} entries")
        if leaf is not None and root_from_inclusion(earlier.index, then.size, leaf, earlier.proof) != then.root:
            raise CheckError("the receipt's proof does not lead from this log's entry to the receipt's root")
    except CheckError as error:
        yield Finding("append-only", earlier.index, None, f"{earlier.name}: {error}")
