"""C2SP signed notes (c2sp.org/signed-note): a text and who signed it; and what checkpoints and acknowledgements say."""

from __future__ import annotations

import re
from typing import NamedTuple

from audit.errors import CheckError, FormatError
from audit.protocol import HASH_BYTES
from audit.record.fields import ID, UUID
from audit.tlog.keys import KEY_ID_BYTES, VerifierKey, base64_decode, base64_encode, check_signature, is_name

MAX_NOTE_BYTES = 1_000_000
"""Witnesses and strangers may sign too: how many lines there are makes no difference up to here."""
_DASH = "\u2014 "
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_VALUE = re.compile(r"[0-9a-f]{64}")
ACKNOWLEDGEMENT = "cutcard/v1/entropy"


class Signature(NamedTuple):
    """One signature line: the key's name, its 4 bytes of id, and the signature."""

    name: str
    key_id: bytes
    signature: bytes


class Note(NamedTuple):
    """A note that decodes; nothing in it is verified yet. `text` ends in a newline."""

    text: str
    signatures: tuple[Signature, ...]


class Checkpoint(NamedTuple):
    """A log's state: its origin, its size and its root (32 bytes)."""

    origin: str
    size: int
    root: bytes


class Acknowledgement(NamedTuple):
    """That a value was taken: hand (UUID text), contributor and value (32 bytes)."""

    hand: str
    contributor: str
    value: bytes


def decode(data: bytes) -> Note:
    """Splits a signed note into text and signatures, verifying nothing.

    Raises:
        FormatError: it is no signed note.
    """
    if len(data) > MAX_NOTE_BYTES:
        raise FormatError(f"a note of {len(data)} bytes")
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("not a signed note: not UTF-8") from None
    if any(ord(c) < 0x20 and c != "\n" for c in whole):
        raise FormatError("not a signed note: it holds a control character")
    text, empty, block = whole.rpartition("\n\n")
    if not empty or not block.endswith("\n"):
        raise FormatError("not a signed note: no empty line before the signatures, or no newline at the end")
    return Note(text + "\n", tuple([_signature(line) for line in block[:-1].split("\n")]))


def _signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not is_name(name):
        raise FormatError("not a signed note: a malformed signature line")
    data = base64_decode(encoded)
    if len(data) <= KEY_ID_BYTES:
        raise FormatError("not a signed note: a signature line that is too short")
    return Signature(name, data[:KEY_ID_BYTES], data[KEY_ID_BYTES:])


def check_signed(note: Note, key: VerifierKey) -> None:
    """Requires a signature by `key`; signatures by others are passed over, a wrong one by `key` spoils the note.

    Raises:
        CheckError: no signature by this key, or one that does not verify.
    """
    ours = [s for s in note.signatures if s.name == key.name and s.key_id == key.key_id]
    if not ours:
        raise CheckError(f"no signature by {key.name} with key id {key.key_id.hex()}")
    for signature in ours:
        check_signature(key.public, signature.signature, note.text.encode("utf-8"))


def note_line(signature: Signature) -> str:
    """Returns a signature as a line of a signed note, its newline with it."""
    return f"{_DASH}{signature.name} {base64_encode(signature.key_id + signature.signature)}\n"


def checkpoint(note: Note, *, extensions: bool = False) -> Checkpoint:
    """Reads a checkpoint from a note's text (c2sp.org/tlog-checkpoint).

    Args:
        note: the signed note.
        extensions: pass extension lines over, which other logs may have and this one never has.

    Raises:
        FormatError: it is not one.
    """
    lines = note.text.split("\n")[:-1]
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


def acknowledgement(note: Note) -> Acknowledgement:
    """Reads an acknowledgement of a contributed value (PROTOCOL.md section 3) from a note's text.

    Raises:
        FormatError: it is not one.
    """
    lines = note.text.split("\n")[:-1]
    if len(lines) != 4 or lines[0] != ACKNOWLEDGEMENT:
        raise FormatError("not an acknowledgement")
    _, hand, contributor, value = lines
    if not (UUID.fullmatch(hand) and ID.fullmatch(contributor) and _VALUE.fullmatch(value)):
        raise FormatError("an acknowledgement with a malformed hand, contributor or value")
    return Acknowledgement(hand, contributor, bytes.fromhex(value))
