"""Earlier checkpoints and receipts that an auditor brings along, for the check `append-only`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from audit.errors import AuditError, CheckError, InputError
from audit.findings import Finding
from audit.plural import counted
from audit.tlog import note, receipt
from audit.tlog.checkpoint import Checkpoint, read_checkpoint
from audit.tlog.keys import VerifierKey
from audit.tlog.proofs import root_from_inclusion


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier state of the log, signed by the pinned key; with a receipt's index and proof where it came as one.

    `text` is the signed note, whole. `cosigned` says when, in words, where a witness holds it: it is then the name.
    """

    name: str
    text: str
    checkpoint: Checkpoint
    index: int | None = None
    proof: tuple[bytes, ...] = ()
    cosigned: str | None = None


def read(name: str, data: bytes, key: VerifierKey) -> Earlier:
    """Reads a checkpoint or a receipt.

    Raises:
        InputError: it is neither, or not signed by `key` (section 10: unreadable input).
    """
    try:
        if receipt.is_receipt(data):
            given = receipt.decode(data)
            signed = given.note
            earlier = Earlier(name, _text(data.partition(b"\n\n")[2]), given.checkpoint, given.index, given.proof)
        else:
            signed = note.decode(data)
            earlier = Earlier(name, _text(data), read_checkpoint(signed))
        note.check_signed(signed, key)
    except AuditError as error:
        raise InputError(f"{name} is no earlier checkpoint or receipt of this log: {error}") from None
    if earlier.checkpoint.origin != key.name:
        raise InputError(f"{name} is a checkpoint of {earlier.checkpoint.origin!a}, not of {key.name}")
    return earlier


def origin_of(data: bytes) -> str:
    """Returns the origin that a signed checkpoint says, whoever signed it.

    Raises:
        FormatError: it is no checkpoint.
    """
    return read_checkpoint(note.decode(data)).origin


def origin_of_earlier(data: bytes) -> str | None:
    """Returns the origin that a checkpoint or a receipt says, None where it is neither."""
    try:
        return receipt.decode(data).checkpoint.origin if receipt.is_receipt(data) else origin_of(data)
    except AuditError:
        return None


def check_append_only(
    earlier: Earlier, now: Checkpoint, data: bytes, root: bytes | None, leaf: bytes | None
) -> Iterator[Finding]:
    """Makes the check `append-only` for one earlier state.

    Args:
        earlier: what was brought along.
        now: the tree as it is now.
        data: its signed note, whole.
        root: the root of this tree's first `earlier.checkpoint.size` entries; None where that is not known.
        leaf: the leaf hash of this tree's entry `earlier.index`; None where that is not known.
    """
    then = earlier.checkpoint
    if then.size > now.size:
        shows = f"the log shows {counted(now.size, 'entry', 'entries')}"
        if earlier.cosigned is not None:
            seen = f"{shows}; {earlier.name} cosigned {then.size} at {earlier.cosigned}"
            late = f"{seen}: it was rolled back, forked, or has not published in 60 seconds"
            yield Finding("append-only", None, None, late, whole=(earlier.text, _text(data)))
            return
        shows = f"{shows}, {earlier.name} {then.size}"
        if leaf is not None and earlier.index is not None and not _leads(earlier, leaf):
            # The one entry of the longer tree that a receipt speaks of is here, and is another one.
            fork = f"{shows}, and entry {earlier.index} is not the receipt's: a fork, both notes stand below"
            yield Finding("append-only", earlier.index, None, fork, whole=(earlier.text, _text(data)))
            return
        yield Finding("append-only", None, None, f"{shows}: rolled back, or not yet published")
        return
    if root is not None and root != then.root:
        detail = (
            f"{earlier.name}: root of the first {then.size} entries: expected {then.root.hex()}, found {root.hex()}: "
            "a fork, both notes stand below"
        )
        yield Finding("append-only", None, None, detail, whole=(earlier.text, _text(data)))
    if earlier.index is None:
        return
    try:
        if earlier.index >= then.size:
            raise CheckError(f"index {earlier.index} in a tree of {then.size} entries")
        if leaf is not None and not _leads(earlier, leaf):
            raise CheckError("the receipt's proof does not lead from this log's entry to the receipt's root")
    except CheckError as error:
        yield Finding("append-only", earlier.index, None, f"{earlier.name}: {error}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _leads(earlier: Earlier, leaf: bytes) -> bool:
    """Tells whether a receipt's proof leads from this leaf to its root."""
    assert earlier.index is not None
    tree = earlier.checkpoint
    return root_from_inclusion(earlier.index, tree.size, leaf, earlier.proof) == tree.root
