"""The auditor's escrow keys as people give them: a line of text each."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from audit import protocol
from audit.errors import FormatError
from audit.hand.escrow import EscrowKeys

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


def read_keys(texts: list[str]) -> EscrowKeys:
    """Reads keys, each a line `cutcard-escrow-private-v1 HEX`, or bare hex of 32 raw bytes (API.md, Commands).

    Raises:
        FormatError: anything else, a public half or an all-zero key included. The message does not repeat the key.
    """
    keys = {}
    for text in texts:
        raw = _private_key(text.removesuffix("\n").removesuffix("\r"))
        public = X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
        keys[protocol.escrow_key_id(public)] = raw
    return EscrowKeys(keys)
