"""Ed25519 verifier keys as text, and strict verification (PROTOCOL.md section 9, RFC 8032)."""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.errors import CheckError, FormatError
from audit.protocol import sha256

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64
KEY_ID_BYTES = 4
_ED25519 = b"\x01"
_FIELD = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _FIELD) % _FIELD


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
    """Padded base64 of the standard alphabet."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _y(encoded: bytes) -> int:
    return int.from_bytes(encoded, "little") & (2**255 - 1)


def _is_point(encoded: bytes) -> bool:
    """Whether 32 bytes are the canonical encoding of a point of the curve."""
    y = _y(encoded)
    if y >= _FIELD:
        return False
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _FIELD) % _FIELD
    if x_squared == 0:
        return encoded[31] < 128  # the x of zero has one sign only
    return pow(x_squared, (_FIELD - 1) // 2, _FIELD) == 1


def _is_small(encoded: bytes) -> bool:
    """Whether a point has an order that divides 8: the y of its eightfold is 1 (and so its x is 0)."""
    y = _y(encoded) % _FIELD
    # Doubling on y alone: with u = y^2 and v = x^2 = (u - 1) / (d u + 1), y(2P) = (u + v) / (1 - d u v).
    for _ in range(3):
        u = y * y % _FIELD
        v = (u - 1) * pow(_D * u + 1, -1, _FIELD) % _FIELD
        y = (u + v) * pow(1 - _D * u * v, -1, _FIELD) % _FIELD
    return y == 1


def check_point(encoded: bytes) -> None:
    """Refuses a public key that is no proper one.

    Raises:
        FormatError: not canonical, not on the curve, or of small order (all-zero included).
    """
    if len(encoded) != PUBLIC_KEY_BYTES or not _is_point(encoded):
        raise FormatError("the public key is no canonical point of Ed25519's curve")
    if _is_small(encoded):
        raise FormatError("the public key has small order: anybody can sign under it")


def check_signature(public: bytes, signature: bytes, message: bytes) -> None:
    """Verifies a signature strictly.

    Raises:
        CheckError: it is not the key's signature of `message`, or not in its one canonical form.
    """
    if len(signature) != SIGNATURE_BYTES:
        raise CheckError(f"a signature of {len(signature)} bytes, where Ed25519 has {SIGNATURE_BYTES}")
    if int.from_bytes(signature[32:], "little") >= _ORDER:
        raise CheckError("the signature's S is not below the group order")
    if not _is_point(signature[:32]) or _is_small(signature[:32]):
        raise CheckError("the signature's R is no proper point")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise CheckError("the signature does not verify") from None


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
    """Whether a signed note's key may have this name."""
    return bool(name) and "+" not in name and not any(c.isspace() or ord(c) < 0x20 for c in name)


def derive_key_id(name: str, public: bytes, kind: bytes = _ED25519) -> bytes:
    """The first 4 bytes of the SHA-256 of name, newline, the kind of signature (one byte) and the public key."""
    return sha256(name.encode("utf-8") + b"\n" + kind + public)[:KEY_ID_BYTES]
