"""Ed25519 taken strictly: what RFC 8032 leaves to the implementation is refused here before OpenSSL is asked.

A key of small order verifies signatures that nobody made, and an S above the group order gives one signature
two encodings; either would let two verifiers disagree about the same log (PROTOCOL.md section 9).
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
_Y_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
# y of the points of order 4, 1, 2 and 8; x is one of two values of either sign, and all of them are of small order.
_SMALL_ORDER_Y = frozenset({0, 1, _PRIME - 1, _Y_OF_ORDER_8, _PRIME - _Y_OF_ORDER_8})


def load_public_key(raw: bytes) -> Ed25519PublicKey:
    """Returns the public key of 32 bytes, if it is a point of the curve, canonically encoded and not of small order.

    Raises:
        ValueError: it is none of that; the message says what.
    """
    if len(raw) != 32:
        raise ValueError(f"an Ed25519 public key has 32 bytes, not {len(raw)}")
    y = int.from_bytes(raw, "little") & ((1 << 255) - 1)
    if y >= _PRIME:
        raise ValueError("the public key is not canonically encoded")
    if y in _SMALL_ORDER_Y:
        raise ValueError("the public key is a point of small order")
    if not _is_square((y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME):
        raise ValueError("the public key is not a point of the curve")
    return Ed25519PublicKey.from_public_bytes(raw)


def verify(key: Ed25519PublicKey, signature: bytes, message: bytes) -> None:
    """Checks that `signature` (64 bytes, S below the group order) is `key`'s over `message`.

    Raises:
        InvalidSignature: it is not.
    """
    if len(signature) != 64 or int.from_bytes(signature[32:], "little") >= _ORDER:
        raise InvalidSignature
    key.verify(signature, message)


def _is_square(value: int) -> bool:
    """Euler's criterion modulo the field's prime."""
    return value == 0 or pow(value, (_PRIME - 1) // 2, _PRIME) == 1
