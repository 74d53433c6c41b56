"""What the log's key vouches for in the database: dealers' public keys, and data keys (MACHINES.md, section 8).

Without these notes whoever writes to the database could become a dealer, or have seeds sealed under keys of his own.
"""

import hashlib
from dataclasses import dataclass, field

from dealer.core.seed import tag
from dealer.log.errors import NoteError
from dealer.log.note import NoteSigner, NoteVerifier

_AHEAD_SECONDS = 300
_OLD_PERIODS = 2
_DEALER, _KEY = "cutcard/v1/dealer", "cutcard/v1/key"


@dataclass(frozen=True, slots=True)
class Registration:
    """A dealer's public key for one generation.

    Attributes:
        dealer: its id, 16 bytes.
        generation: that the key is for.
        public: X25519, 32 bytes.
        seconds: when it was signed, POSIX.
    """

    dealer: bytes
    generation: int
    public: bytes
    seconds: int


class Unvouched(ValueError):
    """A registration or a data key is not what the log's key has signed."""


@dataclass(frozen=True, slots=True)
class Vouching:
    """Signs and judges these notes with the log's key.

    Attributes:
        signer: of the log's key.
        verifier: of the same.
    """

    signer: NoteSigner
    verifier: NoteVerifier = field(repr=False)

    @classmethod
    def by(cls, signer: NoteSigner) -> "Vouching":
        """Returns the notes of a log by its signer."""
        return cls(signer, NoteVerifier.parse(signer.verifier_key))

    @property
    def origin(self) -> str:
        """Returns the log's origin."""
        return self.signer.name

    def register(self, registration: Registration) -> str:
        """Signs a dealer's registration."""
        return self.signer.sign(
            f"{_DEALER}\n{self.origin}\n{registration.dealer.hex()}\n{registration.generation}\n"
            f"{registration.public.hex()}\n{registration.seconds}\n"
        )

    def registration(self, note: str, dealer: bytes, generation: int) -> Registration:
        """Reads a registration that stands in the row of a dealer and generation.

        Raises:
            Unvouched: the log's key has not signed it, or it belongs into another row.
        """
        head, origin, who, of, public, seconds = self._lines(note, 6)
        try:
            found = Registration(bytes.fromhex(who), int(of), bytes.fromhex(public), int(seconds))
        except ValueError:
            raise Unvouched("a registration does not decode") from None
        canonical = self._text(note) == (
            f"{_DEALER}\n{self.origin}\n{found.dealer.hex()}\n{found.generation}\n{found.public.hex()}\n"
            f"{found.seconds}\n"
        )
        if (head, origin) != (_DEALER, self.origin) or not canonical or len(found.public) != 32:
            raise Unvouched("a note is no registration of this log")
        if (found.dealer, found.generation) != (dealer, generation):
            raise Unvouched("a registration stands in another dealer's row, or another generation's")
        return found

    def key(self, id_: int, purpose: str, generation: int, secret: bytes) -> str:
        """Signs that a data key is the log's own."""
        return self.signer.sign(self._key_text(id_, purpose, generation, secret))

    def check_key(self, note: str, id_: int, purpose: str, generation: int, secret: bytes) -> None:
        """Checks that a data key is the one that was signed under its id, for its purpose and generation.

        Raises:
            Unvouched: it is not.
        """
        if self._text(note) != self._key_text(id_, purpose, generation, secret):
            raise Unvouched("a data key is not the one that the log's key has signed")

    def _key_text(self, id_: int, purpose: str, generation: int, secret: bytes) -> str:
        digest = hashlib.sha256(tag("data-key") + secret).hexdigest()
        return f"{_KEY}\n{self.origin}\n{id_:016x}\n{purpose}\n{generation}\n{digest}\n"

    def _text(self, note: str) -> str:
        try:
            return self.verifier.verify(note)
        except NoteError:
            raise Unvouched("a note is not signed by the log's key") from None

    def _lines(self, note: str, count: int) -> list[str]:
        lines = self._text(note).split("\n")[:-1]
        if len(lines) != count:
            raise Unvouched("a note has another form")
        return lines


def is_timely(registration: Registration, now: float, period: float) -> bool:
    """Tells whether a registration may be wrapped for, by the reader's own wall clock in POSIX seconds."""
    return -_AHEAD_SECONDS <= now - registration.seconds <= _OLD_PERIODS * period
