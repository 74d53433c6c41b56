"""Verifier keys as text (PROTOCOL.md section 9, c2sp.org/signed-note), and the base64 that they are written in."""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import NamedTuple

from audit.errors import FormatError
from audit.protocol import sha256
from audit.tlog.ed25519 import PUBLIC_KEY_BYTES, check_point

KEY_ID_BYTES = 4
_ED25519 = b"\x01"


def base64_decode(text: str) -> bytes:
    """Decodes canonical, padded base64 of the standard alphabet.

    Raises:
        FormatError: any other spelling.
    """
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise FormatError("not base64") from None
    if base64_encode(data) != text:
        raise FormatError("not canonical base64")
    return data


def base64_encode(data: bytes) -> str:
    """Returns padded base64 of the standard alphabet."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


class KeyFields(NamedTuple):
    """What a verifier key's text says: name, key id (4 bytes) and raw public key."""

    name: str
    key_id: bytes
    public: bytes


def parse_key(text: str, kind: bytes, what: str) -> KeyFields:
    """Reads `name+hex(key id)+base64(kind || public key)`.

    Args:
        text: the key's text.
        kind: the byte of the kind of signature that is expected.
        what: what to call such a key in an error.

    Raises:
        FormatError: malformed, of another kind, with another id than its own, or of small order.
    """
    name, plus, rest = text.partition("+")
    hex_id, plus_again, encoded = rest.partition("+")
    if not (plus and plus_again):
        raise FormatError("not a verifier key (name+id+key)")
    if not is_name(name):
        raise FormatError("the verifier key's name is empty or has spaces")
    data = base64_decode(encoded)
    if data[:1] != kind or len(data) != 1 + PUBLIC_KEY_BYTES:
        raise FormatError(f"not {what}")
    check_point(data[1:])
    key_id = derive_key_id(name, data[1:], kind)
    if key_id.hex() != hex_id:
        raise FormatError(f"the verifier key says id {hex_id!a} and has {key_id.hex()}")
    return KeyFields(name, key_id, data[1:])


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A log's public key: its name (the log's origin), its key id (4 bytes) and the raw key."""

    name: str
    key_id: bytes
    public: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Reads `name+hex(key id)+base64(01 || public key)`.

        Raises:
            FormatError: see `parse_key`.
        """
        return cls(*parse_key(text, _ED25519, "an Ed25519 verifier key"))

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64_encode(_ED25519 + self.public)}"


def is_name(name: str) -> bool:
    """Tells whether a signed note's key may have this name."""
    return bool(name) and "+" not in name and not any(c.isspace() or ord(c) < 0x20 for c in name)


def derive_key_id(name: str, public: bytes, kind: bytes = _ED25519) -> bytes:
    """The first 4 bytes of the SHA-256 of name, newline, the kind of signature (one byte) and the public key."""
    return sha256(name.encode("utf-8") + b"\n" + kind + public)[:KEY_ID_BYTES]
