"""Signed notes (c2sp.org/signed-note) with Ed25519: a text, and below it who vouches for it (PROTOCOL.md section 9)."""

import re
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dealer.log import ed25519
from dealer.log.errors import NoteError
from dealer.log.strict import decode_base64, encode_base64

_ALGORITHM = b"\x01"  # Ed25519, as c2sp.org/signed-note numbers it
_DASH = "\u2014"
_NOT_TEXT = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")  # controls but the newline; what UTF-8 cannot hold
_NOT_IN_NAME = re.compile(r"[\s+\x00-\x1f\ud800-\udfff]")


def is_key_name(name: str) -> bool:
    """Whether a key may bear this name: not empty, UTF-8, no space or control character of any kind, no plus sign."""
    return bool(name) and not _NOT_IN_NAME.search(name)


def key_id(name: str, public_key: bytes) -> bytes:
    """`SHA-256(name || 0A || 01 || public key)[:4]`, for the 32 bytes of an Ed25519 public key."""
    return sha256(name.encode() + b"\n" + _ALGORITHM + public_key).digest()[:4]


class NoteSigner:
    """Signs texts with one Ed25519 key under its name.

    Attributes:
        name: the key's name; for a log's key, the log's origin.
        key_id: 4 bytes.
        verifier_key: the text by which others pin the key: `name+hex(key id)+base64(01 || public key)`.
    """

    __slots__ = ("_private_key", "key_id", "name", "verifier_key")

    def __init__(self, name: str, private_key: Ed25519PrivateKey) -> None:
        """Takes the key under `name`.

        Raises:
            NoteError: `name` is no legal key name.
        """
        if not is_key_name(name):
            raise NoteError(
                f"{name!r} is no key name: it must not be empty or hold spaces, control characters or plus signs"
            )
        public_key = private_key.public_key().public_bytes_raw()
        self._private_key = private_key
        self.name = name
        self.key_id = key_id(name, public_key)
        self.verifier_key = f"{name}+{self.key_id.hex()}+{encode_base64(_ALGORITHM + public_key)}"

    def __repr__(self) -> str:
        return f"NoteSigner({self.verifier_key!r})"

    def sign(self, text: str) -> str:
        """Returns the full signed note of `text`: the text, an empty line, the signature's line.

        Raises:
            NoteError: the text does not end in a newline or holds control characters.
        """
        _check_text(text)
        signature = self._private_key.sign(text.encode())
        return f"{text}\n{_DASH} {self.name} {encode_base64(self.key_id + signature)}\n"


class NoteVerifier:
    """Verifies notes against one pinned key.

    Attributes:
        name: the key's name; for a log's key, the log's origin.
        key_id: 4 bytes.
    """

    __slots__ = ("_public_key", "key_id", "name")

    def __init__(self, name: str, public_key: Ed25519PublicKey) -> None:
        """Takes the key under `name`; `parse` is the usual way in.

        Raises:
            NoteError: `name` is no legal key name, or the key is of small order.
        """
        if not is_key_name(name):
            raise NoteError(
                f"{name!r} is no key name: it must not be empty or hold spaces, control characters or plus signs"
            )
        raw = public_key.public_bytes_raw()
        try:
            self._public_key = ed25519.load_public_key(raw)
        except ValueError as error:
            raise NoteError(f"the key of {name} cannot be used: {error}") from error
        self.name = name
        self.key_id = key_id(name, raw)

    @classmethod
    def parse(cls, text: str) -> "NoteVerifier":
        """Returns the verifier of a verifier key text, `name+hex(key id)+base64(01 || public key)`, without a newline.

        Raises:
            NoteError: the text is no such key, its id is wrong, or the key is of small order.
        """
        name, _, rest = text.partition("+")
        stated_id, _, encoded = rest.partition("+")
        if not is_key_name(name):
            raise NoteError("a verifier key reads name+id+key, its name without spaces or control characters")
        try:
            data = decode_base64(encoded)
            if data[:1] != _ALGORITHM:
                raise ValueError("it is not an Ed25519 key (01)")
            public_key = ed25519.load_public_key(data[1:])
        except ValueError as error:
            raise NoteError(f"the verifier key of {name} cannot be used: {error}") from error
        verifier = cls(name, public_key)
        if stated_id != verifier.key_id.hex():
            raise NoteError(f"the verifier key of {name} states another key id than its key has")
        return verifier

    def __repr__(self) -> str:
        return f"NoteVerifier({self.name!r}, {self.key_id.hex()})"

    def verify(self, note: str) -> str:
        """Returns the text of the note, which ends in a newline, once this key's signature over it holds.

        Signatures by other keys are passed over; a wrong one under this key's name and id spoils the note.

        Raises:
            NoteError: the note does not decode, this key did not sign it, or a signature of this key is wrong.
        """
        text, signatures = signature_lines(note)
        message = text.encode()
        ours = [data[4:] for name, data in signatures if name == self.name and data[:4] == self.key_id]
        if not ours:
            raise NoteError(f"the note is not signed by {self.name} with key id {self.key_id.hex()}")
        for signature in ours:
            try:
                ed25519.verify(self._public_key, signature, message)
            except InvalidSignature as error:
                raise NoteError(f"the note's signature by {self.name} is wrong") from error
        return text


def signature_lines(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """Returns the note's text, and the name and data (key id, signature) of each of its signature lines.

    Raises:
        NoteError: the note does not decode.
    """
    body, blank, block = note.rpartition("\n\n")
    if not blank or not block.endswith("\n"):
        raise NoteError("a signed note is a text, an empty line, and signature lines that end in newlines")
    text = body + "\n"
    _check_text(text)
    signatures = []
    for line in block[:-1].split("\n"):
        parts = line.split(" ")
        if len(parts) != 3 or parts[0] != _DASH or not is_key_name(parts[1]):
            raise NoteError("a signature line of a note reads: dash, space, key name, space, base64")
        try:
            data = decode_base64(parts[2])
        except ValueError as error:
            raise NoteError(f"the note's signature by {parts[1]} does not decode: {error}") from error
        if len(data) < 5:
            raise NoteError(f"the note's signature by {parts[1]} is too short to hold a key id and a signature")
        signatures.append((parts[1], data))
    return text, signatures


def _check_text(text: str) -> None:
    """A note's text ends in a newline, is UTF-8 and holds no other ASCII control characters."""
    if not text.endswith("\n"):
        raise NoteError("the text of a signed note ends in a newline")
    if _NOT_TEXT.search(text):
        raise NoteError("the text of a signed note is UTF-8 without control characters but newlines")
