"""Acknowledgements of contributed values (PROTOCOL.md section 3): what the text of a signed note says."""

from __future__ import annotations

import re
from typing import NamedTuple

from audit.errors import FormatError
from audit.record.fields import ID, UUID
from audit.tlog.note import Note

HEADER = "cutcard/v1/entropy"
_VALUE = re.compile(r"[0-9a-f]{64}")


class Acknowledgement(NamedTuple):
    """That a value was taken: hand (UUID text), contributor and value (32 bytes)."""

    hand: str
    contributor: str
    value: bytes


def read_acknowledgement(note: Note) -> Acknowledgement:
    """Reads an acknowledgement of a contributed value (PROTOCOL.md section 3) from a note's text.

    Raises:
        FormatError: it is not one.
    """
    lines = note.text.split("\n")[:-1]
    if len(lines) != 4 or lines[0] != HEADER:
        raise FormatError("not an acknowledgement")
    _, hand, contributor, value = lines
    if not (UUID.fullmatch(hand) and ID.fullmatch(contributor) and _VALUE.fullmatch(value)):
        raise FormatError("an acknowledgement with a malformed hand, contributor or value")
    return Acknowledgement(hand, contributor, bytes.fromhex(value))
