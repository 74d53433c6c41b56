"""Cosignatures (c2sp.org/tlog-cosignature, version 1): what a witness has seen, and when (WITNESS.md section 2)."""

from __future__ import annotations

from dataclasses import dataclass

from audit.errors import CheckError
from audit.tlog.ed25519 import SIGNATURE_BYTES, check_signature
from audit.tlog.keys import base64_encode, derive_key_id, parse_key
from audit.tlog.note import Note, Signature

_KIND = b"\x04"
_TIME_BYTES = 8
MOST_TIME = 2**63 - 1
"""The latest time that a cosignature may say, in POSIX seconds."""


class CosignatureError(CheckError):
    """A line with a known witness's name and key id that is no cosignature of its; `why` says what is wrong."""

    def __init__(self, witness: WitnessKey, why: str) -> None:
        super().__init__(f"the cosignature of {witness.name} is wrong: {why}")
        self.why = why


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """A witness's public key: its name, its key id (4 bytes) and the raw key."""

    name: str
    key_id: bytes
    public: bytes

    @classmethod
    def parse(cls, text: str) -> WitnessKey:
        """Reads `name+hex(key id)+base64(04 || public key)`.

        Raises:
            FormatError: see `audit.tlog.keys.parse_key`.
        """
        return cls(*parse_key(text, _KIND, "a witness's key of version 1 (Ed25519, type 04)"))

    @classmethod
    def of(cls, name: str, public: bytes) -> WitnessKey:
        """Returns the key of a name and a raw public key."""
        return cls(name, derive_key_id(name, public, _KIND), public)

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64_encode(_KIND + self.public)}"


def cosigned_message(text: str, time: int) -> bytes:
    """Returns what a witness signs for a checkpoint's text at a time in POSIX seconds."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def cosignature_line(key: WitnessKey, time: int, signature: bytes) -> str:
    """Returns a cosignature as a line of the signed note, its newline with it."""
    return f"\u2014 {key.name} {base64_encode(key.key_id + time.to_bytes(_TIME_BYTES, 'big') + signature)}\n"


def cosigned_at(note: Note, key: WitnessKey) -> int | None:
    """Returns when a witness has cosigned a note: the latest of its cosignatures, None if there is none.

    Raises:
        CosignatureError: a line with its name and key id that does not verify; it spoils the note.
    """
    mine = [line for line in note.signatures if line.name == key.name and line.key_id == key.key_id]
    return max((_check(note.text, line, key) for line in mine), default=None)


def _check(text: str, line: Signature, key: WitnessKey) -> int:
    time = int.from_bytes(line.signature[:_TIME_BYTES], "big")
    if len(line.signature) != _TIME_BYTES + SIGNATURE_BYTES:
        expected = _TIME_BYTES + SIGNATURE_BYTES
        raise CosignatureError(key, f"{len(line.signature)} bytes, where time and signature have {expected}")
    if time > MOST_TIME:
        raise CosignatureError(key, f"its time, {time}, is above {MOST_TIME}")
    try:
        check_signature(key.public, line.signature[_TIME_BYTES:], cosigned_message(text, time))
    except CheckError as error:
        raise CosignatureError(key, str(error)) from None
    return time
