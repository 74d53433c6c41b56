"""Opening the escrow of sealed hands: HPKE base mode as PROTOCOL.md section 8 asks, with the auditor's own keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from audit import protocol
from audit.errors import CheckError, FormatError

_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


PRIVATE = "cutcard-escrow-private-v1 "
PUBLIC = "cutcard-escrow-public-v1 "
"""How the one line of a key file begins."""


def _private_key(line: str) -> bytes:
    if line.startswith(PUBLIC):
        raise FormatError("the public half of an escrow key, which opens nothing: give the private one (OUT.key)")
    digits = line.removeprefix(PRIVATE)
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        raw = b""
    if len(raw) != 32 or raw.hex() != digits or not any(raw):
        raise FormatError(f"no escrow key: expected `{PRIVATE.strip()}` and 64 digits of lower-case hex, not all zero")
    return raw


@dataclass(frozen=True, slots=True)
class EscrowKeys:
    """The auditor's escrow keys: raw X25519 private keys by the 8 bytes that entries name them by."""

    by_id: dict[bytes, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, texts: list[str]) -> EscrowKeys:
        """Reads keys, each a line `cutcard-escrow-private-v1 HEX`, or bare hex of 32 raw bytes (API.md, Commands).

        Raises:
            FormatError: anything else, a public half or an all-zero key included. The message does not repeat the key.
        """
        keys = {}
        for text in texts:
            raw = _private_key(text.removesuffix("\n").removesuffix("\r"))
            public = X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
            keys[protocol.escrow_key_id(public)] = raw
        return cls(keys)

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
