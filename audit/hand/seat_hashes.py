"""The derivations of SEATS.md, sections 1 and 3, in the form of `audit.protocol`: bytes to bytes."""

from __future__ import annotations

import hashlib

from audit.protocol import HASH_BYTES, sha256, tag, u16


def seat_key_preimage(hand: bytes, seat: int, key: bytes) -> bytes:
    """Returns what a seat-key digest is the hash of (SEATS.md section 1)."""
    return tag("seat-key") + hand + u16(seat) + key


def seat_key_digest(hand: bytes, seat: int, key: bytes) -> bytes:
    """Returns the digest by which the log names a seat's public key (SEATS.md section 1)."""
    return sha256(seat_key_preimage(hand, seat, key))


def seat_secret(hand: bytes, seat: int, seed: bytes) -> bytes:
    """Returns what the dealer shares with a sealed seat, 32 bytes (SEATS.md section 1)."""
    return hashlib.shake_256(tag("seat-secret") + hand + u16(seat) + seed).digest(HASH_BYTES)


def seat_envelope_info(hand: bytes, seat: int, key: bytes) -> bytes:
    """Returns HPKE's `info` for a seat's envelope (SEATS.md section 1)."""
    return tag("seat-envelope") + hand + u16(seat) + key


def seat_card_key(hand: bytes, position: int, secret: bytes) -> bytes:
    """Returns the key of a sealed seat's down card (SEATS.md section 3)."""
    return sha256(tag("seat-card") + hand + u16(position) + secret)
