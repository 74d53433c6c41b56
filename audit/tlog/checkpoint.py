"""Checkpoints (c2sp.org/tlog-checkpoint): what they say, who signed them, whether their origin is the key's name."""

from __future__ import annotations

import re
from typing import NamedTuple

from audit.errors import CheckError, FormatError
from audit.findings import Finding
from audit.protocol import HASH_BYTES
from audit.tlog import note
from audit.tlog.keys import VerifierKey, base64_decode

TEST_NAME = "test.invalid/"
"""How the name of a test double's key begins (PROTOCOL.md section 11)."""
RESERVED_ORIGIN = "cutcard"
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


class Checkpoint(NamedTuple):
    """A log's state: its origin, its size and its root (32 bytes)."""

    origin: str
    size: int
    root: bytes


def read_checkpoint(signed: note.Note, *, extensions: bool = False) -> Checkpoint:
    """Reads a checkpoint from a note's text (c2sp.org/tlog-checkpoint).

    Args:
        signed: the signed note.
        extensions: pass extension lines over, which other logs may have and this one never has.

    Raises:
        FormatError: it is not one.
    """
    lines = signed.text.split("\n")[:-1]
    if len(lines) < 3:
        raise FormatError("not a checkpoint: fewer than three lines")
    origin, size, root = lines[:3]
    if not origin:
        raise FormatError("not a checkpoint: the origin is empty")
    if not _SIZE.fullmatch(size):
        raise FormatError("not a checkpoint: the size is not a plain decimal number")
    try:
        root_hash = base64_decode(root)
    except FormatError as error:
        raise FormatError(f"not a checkpoint: the root is {error}") from None
    if len(root_hash) != HASH_BYTES:
        raise FormatError(f"not a checkpoint: a root of {len(root_hash)} bytes")
    if len(lines) > 3 and not extensions:
        raise FormatError("a checkpoint with extension lines, which this log never has")
    return Checkpoint(origin, int(size), root_hash)


def check_checkpoint(data: bytes, key: VerifierKey | None) -> tuple[Checkpoint | None, list[Finding]]:
    """Reads a log's checkpoint (check `checkpoint`, sections 9 and 10).

    Args:
        data: the signed note.
        key: the verifier key that is pinned; None leaves open who signed.

    Returns:
        What the checkpoint says, None where it does not decode; and what is wrong with it.

    Raises:
        InputError: it is longer than what is read of a note.
    """
    found: list[str] = []
    try:
        signed = note.decode(data)
        if key is not None:
            try:
                note.check_signed(signed, key)
            except CheckError as error:
                found.append(str(error))
        checkpoint = read_checkpoint(signed)
    except FormatError as error:
        return None, _findings([*found, str(error)])
    wrong = check_origin(checkpoint.origin, key)
    if key is not None and checkpoint.origin != key.name:
        return checkpoint, _findings(["; ".join([*reversed(wrong), *found])])  # what may explain the rest comes first
    return checkpoint, _findings([*found, *wrong])


def check_origin(origin: str, key: VerifierKey | None) -> list[str]:
    """Returns what is wrong with a checkpoint's origin (section 9)."""
    found = []
    if origin.startswith(RESERVED_ORIGIN):
        found.append(f"the origin {origin!a} begins with {RESERVED_ORIGIN}")
    if key is not None and origin != key.name:
        found.append(f"this may be the wrong key: it is that of {key.name}, and the log's origin is {origin!a}")
    return found


def _findings(details: list[str]) -> list[Finding]:
    return [Finding("checkpoint", None, None, detail) for detail in details]


def is_test_name(key: VerifierKey | None, checkpoint: Checkpoint | None) -> bool:
    """Tells whether the pinned key or the checkpoint is a test double's."""
    names = [key.name if key is not None else "", checkpoint.origin if checkpoint is not None else ""]
    return any(name.startswith(TEST_NAME) for name in names)
