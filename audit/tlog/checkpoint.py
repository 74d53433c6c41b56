"""The log's checkpoint: whether it decodes, who signed it, and whether its origin is the pinned key's name."""

from __future__ import annotations

from audit.errors import CheckError, FormatError
from audit.findings import Finding
from audit.tlog import note
from audit.tlog.keys import VerifierKey

TEST_NAME = "test.invalid/"
"""How the name of a test double's key begins (PROTOCOL.md section 11)."""
RESERVED_ORIGIN = "cutcard"


def check_checkpoint(data: bytes, key: VerifierKey | None) -> tuple[note.Checkpoint | None, list[Finding]]:
    """Reads a log's checkpoint (check `checkpoint`, sections 9 and 10).

    Args:
        data: the signed note.
        key: the verifier key that is pinned; None leaves open who signed.

    Returns:
        What the checkpoint says, None where it does not decode; and what is wrong with it.
    """
    found: list[str] = []
    try:
        signed = note.decode(data)
        if key is not None:
            try:
                note.check_signed(signed, key)
            except CheckError as error:
                found.append(str(error))
        checkpoint = note.checkpoint(signed)
    except FormatError as error:
        return None, _findings([*found, str(error)])
    wrong = check_origin(checkpoint.origin, key)
    if key is not None and checkpoint.origin != key.name:
        return checkpoint, _findings(["; ".join([*reversed(wrong), *found])])  # what may explain the rest comes first
    return checkpoint, _findings([*found, *wrong])


def check_origin(origin: str, key: VerifierKey | None) -> list[str]:
    """What is wrong with a checkpoint's origin (section 9)."""
    found = []
    if origin.startswith(RESERVED_ORIGIN):
        found.append(f"the origin {origin!a} begins with {RESERVED_ORIGIN}")
    if key is not None and origin != key.name:
        found.append(f"this may be the wrong key: it is that of {key.name}, and the log's origin is {origin!a}")
    return found


def _findings(details: list[str]) -> list[Finding]:
    return [Finding("checkpoint", None, None, detail) for detail in details]


def is_test_name(key: VerifierKey | None, checkpoint: note.Checkpoint | None) -> bool:
    """Whether the pinned key or the checkpoint is a test double's."""
    names = [key.name if key is not None else "", checkpoint.origin if checkpoint is not None else ""]
    return any(name.startswith(TEST_NAME) for name in names)
