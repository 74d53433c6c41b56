"""HPKE by RFC 9180's own text, with an ephemeral key that can be repeated: what the auditor opens, made another way."""

from __future__ import annotations

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from audit.protocol import u16


def _extract(suite: bytes, salt: bytes, label: bytes, data: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + data, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labeled = u16(length) + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labeled + b"\x01", "sha256")[:length]


def sealed(plaintext: bytes, public: bytes, info: bytes, ephemeral: bytes) -> bytes:
    """HPKE base mode (RFC 9180, sections 4 and 5) by its own text, with an ephemeral key that can be repeated."""
    private = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = private.public_key().public_bytes_raw()
    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"
    shared = _extract(kem, b"", b"eae_prk", private.exchange(X25519PublicKey.from_public_bytes(public)))
    shared = _expand(kem, shared, b"shared_secret", enc + public, 32)
    context = b"\x00" + _extract(suite, b"", b"psk_id_hash", b"") + _extract(suite, b"", b"info_hash", info)
    secret = _extract(suite, shared, b"secret", b"")
    key, nonce = _expand(suite, secret, b"key", context, 32), _expand(suite, secret, b"base_nonce", context, 12)
    return enc + ChaCha20Poly1305(key).encrypt(nonce, plaintext, b"")
