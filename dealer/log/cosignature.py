"""Cosignatures (c2sp.org/tlog-cosignature, version 1): what a witness has seen, and when (WITNESS.md section 2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dealer.log import ed25519
from dealer.log.errors import NoteError
from dealer.log.note import is_key_name, signature_lines
from dealer.log.strict import decode_base64, encode_base64

_ALGORITHM = b"\x04"
_TIME_BYTES = 8
MOST_TIME = 2**63 - 1
"""The latest time that a cosignature may say, in POSIX seconds."""


class CosignatureError(NoteError):
    """A line with a known witness's name and key id that is no cosignature of its: it spoils the note."""


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """A witness's public key.

    Attributes:
        name: the key's name.
        key_id: 4 bytes.
        raw: the 32 bytes of the key.
        public: the key itself.
    """

    name: str
    key_id: bytes
    raw: bytes
    public: Ed25519PublicKey

    @classmethod
    def parse(cls, text: str) -> "WitnessKey":
        """Returns the key of `name+hex(key id)+base64(04 || public key)`.

        Raises:
            NoteError: the text is no such key, its id is wrong, or the key is of small order.
        """
        name, _, rest = text.partition("+")
        stated_id, _, encoded = rest.partition("+")
        if not is_key_name(name):
            raise NoteError("a witness's key reads name+id+key, its name without spaces or control characters")
        try:
            data = decode_base64(encoded)
            if data[:1] != _ALGORITHM:
                raise ValueError("it is no key for cosignatures of version 1 (Ed25519, 04)")
            public = ed25519.load_public_key(data[1:])
        except ValueError as error:
            raise NoteError(f"the key of witness {name} cannot be used: {error}") from error
        key_id = sha256(name.encode() + b"\n" + _ALGORITHM + data[1:]).digest()[:4]
        if stated_id != key_id.hex():
            raise NoteError(f"the key of witness {name} states another key id than its key has")
        return cls(name, key_id, data[1:], public)

    def time_of(self, text: str, data: bytes) -> int:
        """Returns when this witness cosigned `text`, in POSIX seconds, by what its line holds after the name.

        Raises:
            CosignatureError: it is no cosignature by this key over this text.
        """
        time = int.from_bytes(data[4 : 4 + _TIME_BYTES], "big")
        if data[:4] != self.key_id or time > MOST_TIME:
            raise CosignatureError(f"the cosignature of {self.name} is wrong: of another key, or of no time")
        try:
            ed25519.verify(self.public, data[4 + _TIME_BYTES :], f"cosignature/v1\ntime {time}\n{text}".encode())
        except InvalidSignature as error:
            raise CosignatureError(f"the cosignature of {self.name} is wrong") from error
        return time


def cosigned(note: str, keys: Mapping[str, WitnessKey]) -> dict[str, int]:
    """Returns when each of the witnesses cosigned a note, by the names that `keys` gives them; who did not is left out.

    Lines by other keys are passed over. Of two good lines by one witness the later time counts.

    Raises:
        CosignatureError: a line with a witness's name and key id does not verify.
        NoteError: the note does not decode.
    """
    text, lines = signature_lines(note)
    times: dict[str, int] = {}
    for name, key in keys.items():
        for signer, data in lines:
            if signer == key.name and data[:4] == key.key_id:
                times[name] = max(times.get(name, 0), key.time_of(text, data))
    return times


def with_lines(note: str, keys: Mapping[str, WitnessKey], *others: str) -> str:
    """Returns a note whose first line's signature is the log's, with the witnesses' newest cosignatures below it.

    Args:
        note: the signed note: its first signature line is kept.
        keys: the witnesses, in the order in which their lines are to stand.
        others: notes of the same text; of all cosignatures in these and in `note` each witness's latest is taken.

    Raises:
        NoteError: one does not decode, or has a cosignature that does not verify.
    """
    text, (first, *_) = signature_lines(note)
    newest: dict[str, tuple[int, bytes]] = {}
    for each in (note, *others):
        its_text, lines = signature_lines(each)
        if its_text != text:
            continue
        for name, key in keys.items():
            for signer, data in lines:
                if signer == key.name and data[:4] == key.key_id:
                    newest[name] = max(newest.get(name, (-1, b"")), (key.time_of(text, data), data))
    below = [(keys[name].name, newest[name][1]) for name in keys if name in newest]
    written = [f"\u2014 {name} {encode_base64(data)}\n" for name, data in [first, *below]]
    return f"{text}\n{''.join(written)}"
