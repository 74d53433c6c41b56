"""A sealed seat: the digest of its key, the secret in its envelope, and the cards under that secret (SEATS.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from audit import protocol
from audit.errors import CheckError, FormatError
from audit.hand import seat_hashes
from audit.record.entries import SeatKeys

_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
_KEY_BYTES = 32
_CARD_BYTES = 2
_NONCE = bytes(12)


@dataclass(frozen=True, slots=True)
class SeatKey:
    """A player's key for one hand: the private half, 32 bytes, which is not printed, and the public one."""

    private: bytes = field(repr=False)
    public: bytes

    @classmethod
    def parse(cls, text: str) -> SeatKey:
        """Reads a private key: 64 digits of lower-case hex, a newline after them or not.

        Raises:
            FormatError: anything else. The message does not repeat the key.
        """
        digits = text.removesuffix("\n").removesuffix("\r")
        try:
            raw = bytes.fromhex(digits)
        except ValueError:
            raw = b""
        if len(raw) != _KEY_BYTES or raw.hex() != digits or not any(raw):
            raise FormatError("no seat key: expected 64 digits of lower-case hex, not all zero")
        return cls(raw, X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw())

    def seat(self, hand: bytes, digests: SeatKeys) -> int | None:
        """Returns the seat of a hand whose digest is this key's, None where there is none (section 1)."""
        for seat, digest in digests:
            if seat_hashes.seat_key_digest(hand, seat, self.public) == digest:
                return seat
        return None

    def open(self, hand: bytes, seat: int, envelope: bytes) -> bytes:
        """Returns the seat secret that an envelope holds, 32 bytes (section 1). HPKE does not say who sealed it.

        Raises:
            CheckError: it does not open.
        """
        try:
            private = X25519PrivateKey.from_private_bytes(self.private)
            secret = _SUITE.decrypt(envelope, private, seat_hashes.seat_envelope_info(hand, seat, self.public))
        except (InvalidTag, ValueError):
            raise CheckError("the envelope does not open under this seat's key") from None
        if len(secret) != protocol.HASH_BYTES:
            raise CheckError(f"the envelope holds {len(secret)} bytes, where a seat secret has {protocol.HASH_BYTES}")
        return secret


class OwnSeat(NamedTuple):
    """What a player has of its sealed seat: the number, the key, the envelope if it came, position and sealed card."""

    seat: int
    key: SeatKey
    envelope: bytes | None
    sealed: tuple[tuple[int, bytes], ...]


def open_card(hand: bytes, position: int, secret: bytes, commitment: bytes, sealed: bytes) -> tuple[str, bytes]:
    """Returns the card and the salt in a sealed card (section 3).

    Args:
        hand: its 16 bytes.
        position: the card's.
        secret: the seat's, 32 bytes.
        commitment: the card commitment at this position, which is bound to it.
        sealed: 50 bytes.

    Raises:
        CheckError: it does not open, or holds no card and salt.
    """
    key = seat_hashes.seat_card_key(hand, position, secret)
    try:
        opened = ChaCha20Poly1305(key).decrypt(_NONCE, sealed, commitment)
    except InvalidTag:
        raise CheckError("the sealed card does not open under the seat's secret and its commitment") from None
    card, salt = opened[:_CARD_BYTES], opened[_CARD_BYTES:]
    if len(salt) != protocol.SALT_BYTES or not card.isascii():
        raise CheckError("the sealed card holds no card and salt")
    return card.decode("ascii"), salt
