"""Acknowledgements: the log key's word that a contributor's value was taken in time (PROTOCOL.md section 3)."""

import re
from dataclasses import dataclass, field

from dealer.log.errors import ReceiptError
from dealer.log.note import NoteVerifier

_HEADER = "cutcard/v1/entropy"
_HAND = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_CONTRIBUTOR = re.compile(r"[A-Za-z0-9._-]{1,64}")
_VALUE = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What the dealer acknowledges. A contributor who holds it and is listed as silent has the proof in hand.

    Attributes:
        hand: the hand's UUID (version 7), lower case with hyphens.
        contributor: the contributor's id.
        value: the 32 bytes that were taken; not shown in a repr, for they are not public before the commit.
    """

    hand: str
    contributor: str
    value: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not _HAND.fullmatch(self.hand):
            raise ReceiptError("an acknowledgement names its hand by a version 7 UUID in lower case")
        if not _CONTRIBUTOR.fullmatch(self.contributor):
            raise ReceiptError("an acknowledgement names a contributor by 1 to 64 characters of A-Z a-z 0-9 . _ -")
        if len(self.value) != 32:
            raise ReceiptError(f"a contributed value has 32 bytes, not {len(self.value)}")

    def text(self) -> str:
        """Returns the text that is signed, each part on a line."""
        return f"{_HEADER}\n{self.hand}\n{self.contributor}\n{self.value.hex()}\n"

    @classmethod
    def parse(cls, text: str) -> "Acknowledgement":
        """Returns the acknowledgement of a text that was signed.

        Raises:
            ReceiptError: the text is no acknowledgement.
        """
        lines = text.split("\n")
        if len(lines) != 5 or lines[0] != _HEADER or lines[4]:
            raise ReceiptError(f"an acknowledgement is four lines: {_HEADER}, hand, contributor, value")
        if not _VALUE.fullmatch(lines[3]):
            raise ReceiptError("an acknowledgement gives the value as 64 lower-case hex digits")
        return cls(lines[1], lines[2], bytes.fromhex(lines[3]))


def acknowledgement_text(hand: str, contributor: str, value: bytes) -> str:
    """Returns the text that the log's key signs for a value that it took.

    Raises:
        ReceiptError: the hand is no version 7 UUID, the contributor no id, or the value not 32 bytes.
    """
    return Acknowledgement(hand, contributor, value).text()


def open_acknowledgement(note: str, verifier: NoteVerifier) -> Acknowledgement:
    """Returns the acknowledgement of a signed note, once the pinned key's signature holds.

    Raises:
        NoteError: the note does not decode or the signature is missing or wrong.
        ReceiptError: what is signed is no acknowledgement.
    """
    return Acknowledgement.parse(verifier.verify(note))
