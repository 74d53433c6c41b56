"""Sealed seats: what the dealer and a player's program derive, seal and sign for one seat of one hand (SEATS.md)."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dealer.core.deck import SALT_BYTES
from dealer.core.seed import Seed, length_prefixed, tag

KEY_BYTES = 32
SECRET_BYTES = 32
MAC_BYTES = 32
ENVELOPE_BYTES = 32 + SECRET_BYTES + 16
SEALED_BYTES = 2 + SALT_BYTES + 16
LEAVE, WATCH = "leave", "watch"
"""Actions that are for no prompt: their proofs have sequence number 0 and amount 0."""
_NONCE = bytes(12)
"""A card's key seals one card, so that one nonce serves them all."""
_DIGEST, _SECRET, _ENVELOPE, _CARD = tag("seat-key"), tag("seat-secret"), tag("seat-envelope"), tag("seat-card")
_SHOW, _SHOWDOWN, _ACT = tag("seat-show"), tag("seat-showdown"), tag("seat-act")

SeatKeys = tuple[tuple[int, bytes], ...]
"""Seats and, of each, its key or its key's digest; in the order of the hand's seats."""


def seat_key_digest(hand: bytes, seat: int, key: bytes) -> bytes:
    """Returns the digest by which the log names a seat's public key, 32 bytes (section 1)."""
    return hashlib.sha256(_DIGEST + hand + _u16(seat) + key).digest()


def seat_key_digests(hand: bytes, seats: Sequence[int], keys: Mapping[int, bytes]) -> SeatKeys:
    """Returns the digests of the keys that seats brought, in the order of the hand's seats (section 2)."""
    return tuple((seat, seat_key_digest(hand, seat, keys[seat])) for seat in seats if seat in keys)


def seat_secret(hand: bytes, seat: int, seed: Seed) -> bytes:
    """Returns what the dealer shares with a sealed seat, 32 bytes (section 1)."""
    return hashlib.shake_256(_SECRET + hand + _u16(seat) + seed.value).digest(SECRET_BYTES)


def envelope_info(hand: bytes, seat: int, key: bytes) -> bytes:
    """Returns the HPKE `info` of a seat's envelope (section 1)."""
    return _ENVELOPE + hand + _u16(seat) + key


def seal_card(hand: bytes, position: int, secret: bytes, commitment: bytes, card: str, salt: bytes) -> bytes:
    """Returns a down card for its seat's eyes alone, 50 bytes (section 3).

    Args:
        hand: its 16 bytes.
        position: the card's.
        secret: the seat's.
        commitment: the card commitment at this position, which is bound to it.
        card: two characters.
        salt: 32 bytes.
    """
    key = hashlib.sha256(_CARD + hand + position.to_bytes(2, "big") + secret).digest()
    return ChaCha20Poly1305(key).encrypt(_NONCE, card.encode("ascii") + salt, commitment)


def open_card(hand: bytes, position: int, secret: bytes, commitment: bytes, sealed: bytes) -> tuple[str, bytes] | None:
    """Returns the card and the salt that `seal_card` sealed; None if it does not open, or holds none."""
    try:
        key = hashlib.sha256(_CARD + hand + position.to_bytes(2, "big") + secret).digest()
        opened = ChaCha20Poly1305(key).decrypt(_NONCE, sealed, commitment)
    except InvalidTag:
        return None
    card, salt = opened[:2], opened[2:]
    return (card.decode("ascii"), salt) if len(salt) == SALT_BYTES and card.isascii() else None


def show_consent(hand: bytes, secret: bytes, positions: Sequence[int]) -> bytes:
    """Returns a seat's consent to have these cards of its own turned up, 32 bytes (section 4)."""
    ascending = b"".join(_u16(position) for position in sorted(positions))
    return _mac(secret, _SHOW + hand + _u16(len(positions)) + ascending)


def showdown_consent(hand: bytes, secret: bytes) -> bytes:
    """Returns a seat's consent to the showdown, 32 bytes (section 4)."""
    return _mac(secret, _SHOWDOWN + hand)


def act_proof(hand: bytes, secret: bytes, sequence: int, action: str, amount: int) -> bytes:
    """Returns the proof that a seat's player acts, 32 bytes (section 5).

    Args:
        hand: its 16 bytes.
        secret: the seat's.
        sequence: number of the prompt; 0 for `LEAVE` and `WATCH`.
        action: in lower case, as `bring_in`.
        amount: in chips.
    """
    numbers = sequence.to_bytes(8, "big"), amount.to_bytes(8, "big")
    return _mac(secret, _ACT + hand + numbers[0] + length_prefixed(action.encode("ascii")) + numbers[1])


def _mac(secret: bytes, message: bytes) -> bytes:
    return hmac.digest(secret, message, "sha256")


def _u16(number: int) -> bytes:
    return number.to_bytes(2, "big")
