"""C2SP signed notes (c2sp.org/signed-note): a text and who signed it."""

from __future__ import annotations

from typing import NamedTuple

from audit.errors import CheckError, FormatError, InputError
from audit.tlog.ed25519 import check_signature
from audit.tlog.keys import KEY_ID_BYTES, VerifierKey, base64_decode, is_name

MAX_NOTE_BYTES = 1_000_000
"""Witnesses and strangers may sign too: how many lines there are makes no difference up to here."""
DASH = "\u2014 "


class Signature(NamedTuple):
    """One signature line: the key's name, its 4 bytes of id, and the signature."""

    name: str
    key_id: bytes
    signature: bytes


class Note(NamedTuple):
    """A note that decodes; nothing in it is verified yet. `text` ends in a newline."""

    text: str
    signatures: tuple[Signature, ...]


def decode(data: bytes) -> Note:
    """Splits a signed note into text and signatures, verifying nothing.

    Raises:
        FormatError: it is no signed note.
        InputError: it is longer than what is read, so that nothing can be said of it.
    """
    if len(data) > MAX_NOTE_BYTES:
        raise InputError(f"a signed note of {len(data)} bytes: no more than {MAX_NOTE_BYTES} bytes of a note are read")
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
    name, space, encoded = line.removeprefix(DASH).partition(" ")
    if not line.startswith(DASH) or not space or not is_name(name):
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
