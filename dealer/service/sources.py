"""What is handed in to the dealer: entropy, time, ids, and the auditor's key."""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dealer.core.entries import CERTIFIED
from dealer.core.hand import Deal, HandState
from dealer.core.ids import uuid7
from dealer.core.seed import Entropy, Seed, escrow_info
from dealer.errors import CutcardError

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


class KeyFileError(CutcardError):
    """A key, or the file that should hold it, is missing or is not what it should be."""


class EscrowKey:
    """The auditor's public key, to which seeds of sealed hands are encrypted (PROTOCOL.md, section 8)."""

    def __init__(self, raw: bytes) -> None:
        """Takes the 32 raw bytes of an X25519 public key.

        Raises:
            KeyFileError: they are no key that a secret can be shared with.
        """
        try:
            self._key = X25519PublicKey.from_public_bytes(raw)
            X25519PrivateKey.generate().exchange(self._key)  # refuses the points of small order
        except ValueError:
            raise KeyFileError("this is not an X25519 public key of 32 bytes, or one of small order") from None
        self.id = hashlib.sha256(raw).digest()[:8]

    def __str__(self) -> str:
        return self.id.hex()

    def seal(self, seed: Seed, hand: bytes, seed_commitment: bytes) -> bytes:
        """Returns `enc || ct`, 112 bytes."""
        return _SUITE.encrypt(seed.value, self._key, escrow_info(hand, seed_commitment))


def make_escrow_pair() -> tuple[str, str]:
    """Returns a new pair for an auditor: private and public key in hex."""
    private = X25519PrivateKey.generate()
    return private.private_bytes_raw().hex(), private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def _system_entropy(length: int) -> bytes:
    return os.urandom(length)


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _hand_id(milliseconds: int) -> bytes:
    return uuid7(milliseconds, os.urandom(10))


@dataclass(frozen=True, slots=True)
class Sources:
    """Where things come from. The defaults are production's; only the test double and tests hand in others.

    Attributes:
        entropy: gives bytes of a CSPRNG.
        clock: Unix time in milliseconds, for the log's times and for expiries.
        hand_ids: makes a hand's id from Unix time.
        escrow: the auditor's key; None: sealed hands are refused.
        family: schema family of the log's entries.
        stacked: names the deck for a hand that is about to be committed, in the test double; None: it is shuffled.
        check_street: refuses a street that a stacked deck was not made for, in the test double; None: none is.
    """

    entropy: Entropy = field(default=_system_entropy)
    clock: Callable[[], int] = field(default=_unix_milliseconds)
    hand_ids: Callable[[int], bytes] = field(default=_hand_id)
    escrow: EscrowKey | None = None
    family: str = CERTIFIED
    stacked: Callable[[HandState], tuple[str, ...] | None] | None = None
    check_street: Callable[[HandState, Deal], None] | None = None
