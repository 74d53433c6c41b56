"""The body of `add-checkpoint`: a size, a consistency proof, a checkpoint (WITNESS.md section 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from audit.errors import FormatError
from audit.tlog.checkpoint import Checkpoint, read_checkpoint
from audit.tlog.keys import base64_decode
from audit.tlog.merkle import EMPTY_ROOT
from audit.tlog.note import Note
from audit.tlog.note import decode as decode_note

MOST_BYTES = 16 * 1024
MOST_HASHES = 63
MOST_SIZE = 2**63 - 1
_OLD = re.compile(r"old (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Request:
    """A request that decodes; nothing in it is verified yet. `proof` holds 32-byte hashes."""

    old: int
    proof: tuple[bytes, ...]
    note: Note
    checkpoint: Checkpoint


def decode(body: bytes) -> Request:
    """Reads the body of a request.

    Raises:
        FormatError: it does not decode, or says a size above 2^63 - 1, which no log has.
    """
    head, empty, rest = body.partition(b"\n\n")
    if not empty:
        raise FormatError("no empty line before the checkpoint")
    try:
        first, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise FormatError("text that is not ASCII before the checkpoint") from None
    old = _OLD.fullmatch(first)
    if old is None:
        raise FormatError("the first line is not `old N`")
    if len(lines) > MOST_HASHES:
        raise FormatError(f"a proof of {len(lines)} lines, where at most {MOST_HASHES} are of use")
    proof = tuple(base64_decode(line) for line in lines)
    if any(len(each) != len(EMPTY_ROOT) for each in proof):
        raise FormatError("a proof with a hash that is not 32 bytes long")
    signed = decode_note(rest)
    if "\n\n" in signed.text:
        raise FormatError("a checkpoint with an empty line")
    checkpoint = read_checkpoint(signed, extensions=True)
    if max(int(old[1]), checkpoint.size) > MOST_SIZE:
        raise FormatError(f"a size above {MOST_SIZE}")
    return Request(int(old[1]), proof, signed, checkpoint)
