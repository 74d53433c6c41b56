"""Receipts: c2sp.org/tlog-proof texts for one entry, as PROTOCOL.md section 9 writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from audit.errors import FormatError
from audit.protocol import HASH_BYTES
from audit.tlog.checkpoint import Checkpoint, read_checkpoint
from audit.tlog.keys import base64_decode, base64_encode
from audit.tlog.note import Note
from audit.tlog.note import decode as decode_note

HEADER = "c2sp.org/tlog-proof@v1"
MAX_PROOF = 63
_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that decodes; nothing in it is verified yet. `proof` holds 32-byte hashes, the leaf's sibling first."""

    index: int
    proof: tuple[bytes, ...]
    note: Note
    checkpoint: Checkpoint


def is_receipt(data: bytes) -> bool:
    """Tells whether the text says that it is a tlog-proof."""
    return data.startswith(HEADER.encode("ascii"))


def encode(index: int, proof: Sequence[bytes], signed: bytes) -> bytes:
    """Returns the receipt of entry `index`: its inclusion proof, and the checkpoint's signed note whole."""
    lines = [HEADER, f"index {index}", *map(base64_encode, proof)]
    return "\n".join(lines).encode("ascii") + b"\n\n" + signed


def decode(data: bytes) -> Receipt:
    """Reads a receipt, verifying nothing.

    Raises:
        FormatError: it is not one.
    """
    head, empty, rest = data.partition(b"\n\n")
    if not empty:
        raise FormatError("not a receipt: no empty line before the checkpoint")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise FormatError("not a receipt: text that is not ASCII before the checkpoint") from None
    if len(lines) < 2 or lines[0] != HEADER:
        raise FormatError(f"not a receipt: the first line is not {HEADER}")
    index = _INDEX.fullmatch(lines[1])
    if index is None:
        raise FormatError("not a receipt: the second line is not `index N`")
    if len(lines) - 2 > MAX_PROOF:
        raise FormatError(f"a receipt with {len(lines) - 2} hashes")
    proof = tuple([base64_decode(line) for line in lines[2:]])
    if any(len(node) != HASH_BYTES for node in proof):
        raise FormatError("a receipt with a hash that is not 32 bytes long")
    signed = decode_note(rest)
    return Receipt(int(index[1]), proof, signed, read_checkpoint(signed))
