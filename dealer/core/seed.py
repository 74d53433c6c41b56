"""Seeds and entropy: what is drawn for a hand, what binds the dealer to it, and what others contribute."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dealer.errors import CutcardError

SEED_BYTES = 64
VALUE_BYTES = 32
Entropy = Callable[[int], bytes]
"""Gives so many bytes of a CSPRNG; in production the operating system's, handed in from outside."""


class EntropyError(CutcardError):
    """The entropy source failed or gave something that cannot have come from a CSPRNG."""


def tag(name: str) -> bytes:
    """Returns the domain tag of one purpose (PROTOCOL.md, section 1)."""
    return b"cutcard/v1/" + name.encode("ascii") + b"\0"


def length_prefixed(data: bytes) -> bytes:
    """Returns `u16(len(data)) || data`."""
    return len(data).to_bytes(2, "big") + data


@dataclass(frozen=True, slots=True)
class Seed:
    """The 64 bytes that one hand's deck comes from. Prints as `<seed>`."""

    value: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.value) != SEED_BYTES:
            raise ValueError("a seed has 64 bytes")

    def __repr__(self) -> str:
        return "<seed>"

    def commitment(self, hand: bytes) -> bytes:
        """Returns the seed commitment of a hand, 32 bytes (PROTOCOL.md, section 3)."""
        return hashlib.sha256(tag("seed") + hand + self.value).digest()

    def seen_digest(self) -> bytes:
        """Returns the digest by which a seed that comes again is recognised; it tells nothing of the seed."""
        return hashlib.sha256(tag("seen") + self.value).digest()


def draw(entropy: Entropy, length: int) -> bytes:
    """Draws so many bytes.

    Raises:
        EntropyError: the source raised, or gave bytes too few or too many.
    """
    try:
        value = entropy(length)
    except EntropyError:
        raise
    except Exception as error:
        raise EntropyError(f"the entropy source failed: {type(error).__name__}") from None
    if not isinstance(value, bytes) or len(value) != length:
        raise EntropyError(f"the entropy source did not give the {length} bytes that it was asked for")
    return value


def draw_seed(entropy: Entropy) -> Seed:
    """Draws a seed.

    Raises:
        EntropyError: see `draw`; or two halves are alike (all zero, say), which a working CSPRNG shows once in 2^256
            draws.
    """
    value = draw(entropy, SEED_BYTES)
    if value[: SEED_BYTES // 2] == value[SEED_BYTES // 2 :]:
        raise EntropyError("the entropy source gave bytes that repeat")
    return Seed(value)


def contribution_commitment(table: str, number: int, contributor: str, value: bytes) -> bytes:
    """Returns what a contributor gives before the hand is opened, 32 bytes (PROTOCOL.md, section 3)."""
    return hashlib.sha256(
        tag("contribution")
        + length_prefixed(table.encode("ascii"))
        + number.to_bytes(8, "big")
        + length_prefixed(contributor.encode("ascii"))
        + value
    ).digest()


def entropy_digest(hand: bytes, contributions: Iterable[tuple[str, bytes]]) -> bytes:
    """Returns the digest of the values taken, in the offer's order, 32 bytes (PROTOCOL.md, section 3)."""
    parts = [length_prefixed(contributor.encode("ascii")) + value for contributor, value in contributions]
    return hashlib.sha256(tag("entropy") + hand + len(parts).to_bytes(2, "big") + b"".join(parts)).digest()


def escrow_info(hand: bytes, seed_commitment: bytes) -> bytes:
    """Returns the HPKE `info` of a hand's escrow (PROTOCOL.md, section 8)."""
    return tag("escrow") + hand + seed_commitment


def escrow_digest(hand: bytes, ciphertext: bytes) -> bytes:
    """Returns what the commit says of the escrow ciphertext, 32 bytes (PROTOCOL.md, section 8)."""
    return hashlib.sha256(tag("escrow-digest") + hand + ciphertext).digest()
