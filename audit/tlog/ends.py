"""`successor` and `predecessor`: signed hints from one log to the next (WITNESS.md section 11)."""

from __future__ import annotations

from dataclasses import dataclass

from audit.errors import CheckError, FormatError, InputError
from audit.findings import Finding
from audit.tlog import note
from audit.tlog.checkpoint import Checkpoint, read_checkpoint
from audit.tlog.keys import VerifierKey

SUCCESSOR, PREDECESSOR = "successor", "predecessor"
NAMES = (SUCCESSOR, PREDECESSOR)
"""The files, beside `checkpoint`."""


@dataclass(frozen=True, slots=True)
class End:
    """What a log says, signed by its own key, of the log after or before it.

    Attributes:
        kind: `successor` or `predecessor`.
        other: the other log's verifier key.
        final: the state in which the older of the two ended.
    """

    kind: str
    other: VerifierKey
    final: Checkpoint

    def __str__(self) -> str:
        ended = f"{self.final.size} entries, root {self.final.root.hex()}"
        return f"{self.other} after {ended}" if self.kind == SUCCESSOR else f"{self.other}, which ended with {ended}"


def check_end(
    kind: str, data: bytes, key: VerifierKey, checkpoint: Checkpoint
) -> tuple[End | None, list[Finding], str | None]:
    """Checks a log's `successor` or `predecessor`.

    Args:
        kind: which of the two.
        data: the file.
        key: the log's own.
        checkpoint: the log's, read after `data`.

    Returns:
        What it says, None where it says nothing that this log's key has signed; what is wrong; and why it cannot be
        read, which proves nothing: a server may answer with a page of its own for what is not there.
    """
    try:
        end = _decode(kind, data, key)
    except (FormatError, InputError) as error:
        return None, [], f"{kind} cannot be read: {error}"
    except CheckError as error:
        return None, [Finding("checkpoint", None, None, f"{kind}: {error}")], None
    final = end.final
    if kind == SUCCESSOR and (final.size, final.root) != (checkpoint.size, checkpoint.root):
        said, found = (f"{each.size} entries with root {each.root.hex()}" for each in (final, checkpoint))
        return end, [Finding("checkpoint", None, None, f"successor: the log ended with {said}, and has {found}")], None
    return end, [], None


def _decode(kind: str, data: bytes, key: VerifierKey) -> End:
    signed = note.decode(data)
    lines = signed.text.split("\n")[:-1]
    if len(lines) != 5 or lines[0] != f"cutcard/v1/{kind}":
        raise FormatError(f"not the text of a {kind}")
    note.check_signed(signed, key)
    if lines[1] != key.name:
        raise CheckError(f"it is of the log {lines[1]!a}, signed by the key of {key.name}")
    size, root, other = lines[2:] if kind == SUCCESSOR else (lines[3], lines[4], lines[2])
    try:
        parsed = VerifierKey.parse(other)
        of = key.name if kind == SUCCESSOR else parsed.name
        final = read_checkpoint(note.Note(f"{of}\n{size}\n{root}\n", ()))
    except FormatError as error:  # this log's key has signed it: it is no page of a server's
        raise CheckError(str(error)) from None
    if parsed.name == key.name:
        raise CheckError("a log cannot follow itself: the origin is the same")
    return End(kind, parsed, final)


def contradiction(end: End, checkpoint: Checkpoint) -> Finding | None:
    """Holds a `predecessor` against the older log's own checkpoint."""
    if (end.final.size, end.final.root) == (checkpoint.size, checkpoint.root):
        return None
    said, found = (f"{each.size} entries with root {each.root.hex()}" for each in (end.final, checkpoint))
    detail = f"predecessor: {checkpoint.origin} is said to have ended with {said}, and has {found}"
    return Finding("checkpoint", None, None, detail)
