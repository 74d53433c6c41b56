"""Strict Ed25519 (RFC 8032, PROTOCOL.md section 9): what two readers could judge differently is refused."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.errors import CheckError, FormatError

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64
_FIELD = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _FIELD) % _FIELD


def _y(encoded: bytes) -> int:
    return int.from_bytes(encoded, "little") & (2**255 - 1)


def _is_point(encoded: bytes) -> bool:
    """Tells whether 32 bytes are the canonical encoding of a point of the curve."""
    y = _y(encoded)
    if y >= _FIELD:
        return False
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _FIELD) % _FIELD
    if x_squared == 0:
        return encoded[31] < 128  # the x of zero has one sign only
    return pow(x_squared, (_FIELD - 1) // 2, _FIELD) == 1


def _is_small(encoded: bytes) -> bool:
    """Tells whether a point has an order that divides 8: the y of its eightfold is 1 (and so its x is 0)."""
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
