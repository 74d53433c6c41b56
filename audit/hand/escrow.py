"""Opening the escrow of sealed hands: HPKE base mode as PROTOCOL.md section 8 asks, with the auditor's own keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from audit import protocol
from audit.errors import CheckError

_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


@dataclass(frozen=True, slots=True)
class EscrowKeys:
    """The auditor's escrow keys: raw X25519 private keys by the 8 bytes that entries name them by."""

    by_id: dict[bytes, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.by_id)

    def open(self, key_id: bytes, hand: bytes, commitment: bytes, ciphertext: bytes) -> bytes:
        """Returns the seed that the escrow of a hand holds: 64 bytes.

        Args:
            key_id: the 8 bytes that the commit names; one of ours.
            hand: the hand's 16 bytes.
            commitment: its seed commitment.
            ciphertext: `enc || ct`, 112 bytes.

        Raises:
            CheckError: it does not open.
        """
        private = X25519PrivateKey.from_private_bytes(self.by_id[key_id])
        try:
            seed = _SUITE.decrypt(ciphertext, private, protocol.escrow_info(hand, commitment))
        except (InvalidTag, ValueError):
            raise CheckError("the escrow does not open under the key that the commit names") from None
        if len(seed) != protocol.SEED_BYTES:
            raise CheckError(f"the escrow holds {len(seed)} bytes, where a seed has {protocol.SEED_BYTES}")
        return seed
