"""The auditor's key: sealing seeds to it (PROTOCOL.md, section 8), and the files that hold either half of the pair.

A file is one line that says which half it holds, and its 32 bytes in hex (API.md, Commands).
"""

import hashlib
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dealer.core.seed import Seed, escrow_info
from dealer.errors import CutcardError
from dealer.files import read_text
from dealer.store.datadir import write_secret

PRIVATE = "cutcard-escrow-private-v1"
PUBLIC = "cutcard-escrow-public-v1"
_log = structlog.get_logger()
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


class KeyFileError(CutcardError):
    """A key, or the file that should hold it, is missing or is not what it should be."""


class EscrowKey:
    """The auditor's public key, to which seeds of sealed hands are encrypted (PROTOCOL.md, section 8)."""

    def __init__(self, raw: bytes) -> None:
        """Makes a key of the 32 raw bytes of an X25519 public key.

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


def read_escrow_public(path: Path) -> EscrowKey:
    """Reads a file with an auditor's public key. A mark of byte order before it is passed over.

    Raises:
        KeyFileError: there is no such file, or it holds no public key.
    """
    try:
        words = read_text(path).split()
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is not UTF-8 text')}") from None
    if words[:1] == [PRIVATE]:
        raise KeyFileError(
            f"{path} holds the auditor's private key, which never belongs on the dealer's machine: delete it here, and "
            f"give the file with the public half"
        )
    labelled = words[:1] == [PUBLIC]
    try:
        (text,) = words[1:] if labelled else words
        key = EscrowKey(bytes.fromhex(text))
    except (ValueError, KeyFileError):
        raise KeyFileError(f"{path} must be one line, {PUBLIC} and the X25519 key in 64 hex digits") from None
    if not labelled:
        _log.warning(
            "nothing says which half of the pair this key is; with the private one, nobody can open sealed hands",
            file=str(path),
            remedy=f"ask the auditor for a file that begins with {PUBLIC}",
        )
    return key


def trial_escrow(folder: Path) -> Path:
    """Returns the public half of a pair for trials, made once in the dealer's own folder.

    Raises:
        KeyFileError: it cannot be written.
    """
    public = folder / "trial-escrow.pub"
    if not public.exists():
        write_escrow_pair(folder / "trial-escrow")
    return public


def write_escrow_pair(out: Path) -> tuple[Path, Path]:
    """Makes an auditor's pair: `OUT.key`, 0600, and `OUT.pub`.

    Raises:
        KeyFileError: one of them exists, or cannot be written.
    """
    private, public = make_escrow_pair()
    key, pub = out.with_name(out.name + ".key"), out.with_name(out.name + ".pub")
    try:
        if pub.exists():
            raise FileExistsError(17, "File exists")
        write_secret(key, f"{PRIVATE} {private}\n")
        pub.write_text(f"{PUBLIC} {public}\n", "ascii")
    except OSError as error:
        raise KeyFileError(f"{key} and {pub.name} cannot be written: {error.strerror}") from None
    return key, pub
