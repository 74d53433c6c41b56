"""What one batch keeps for later, as one sealed blob: answers to repeat, and pieces of referees' records.

One blob is quicker to seal than many rows, and repetition within a batch packs well: its receipts share a checkpoint.
What is needed to find and to forget a piece stands outside of the blob, as its members.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import zstandard

from dealer.store.interface import Answer, RecordLine, StoreError

_MEMBER = struct.Struct(">B16s16s32sI")
MEMBER_BYTES = _MEMBER.size
_LENGTH = struct.Struct(">I")
_ANSWER, _RECORD = 0, 1
_LEVEL = 1


class Member(NamedTuple):
    """What a piece is found by.

    Attributes:
        record: whether it is a piece of a record; an answer otherwise.
        hand: the hand that it is about, 16 bytes.
        request, body: of an answer.
        number: the caller of an answer, by the store's number for it; the number of a record's piece.
    """

    record: bool
    hand: bytes
    request: bytes
    body: bytes
    number: int


def members_of(answers: Sequence[Answer], callers: dict[str, int], records: Sequence[RecordLine]) -> list[Member]:
    """Returns a batch's members: its answers, then its pieces of records."""
    found = [Member(False, each.hand, each.request, each.body, callers[each.caller]) for each in answers]
    return found + [Member(True, each.hand, b"", b"", each.number) for each in records]


def write_members(members: Sequence[Member]) -> bytes:
    """Returns members as bytes, 69 each."""
    pack = _MEMBER.pack
    return b"".join([pack(_RECORD if m.record else _ANSWER, m.hand, m.request, m.body, m.number) for m in members])


def read_members(data: bytes) -> list[Member]:
    """Reads what `write_members` wrote.

    Raises:
        StoreError: it is damaged.
    """
    try:
        rows = list(_MEMBER.iter_unpack(data))
    except struct.error:
        raise StoreError("the store holds a damaged list of what it keeps") from None
    return [Member(kind == _RECORD, hand, request, body, number) for kind, hand, request, body, number in rows]


class Packing:
    """Packs what a batch keeps. Belongs to one thread at a time, as its contexts of zstandard do."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        self._decompressor = zstandard.ZstdDecompressor()

    def pack(self, pieces: Sequence[bytes]) -> bytes:
        """Returns pieces as one blob, compressed."""
        length = _LENGTH.pack
        return self._compressor.compress(b"".join([part for piece in pieces for part in (length(len(piece)), piece)]))

    def unpack(self, blob: bytes) -> list[bytes]:
        """Returns the pieces of a blob.

        Raises:
            StoreError: it is damaged.
        """
        try:
            data = self._decompressor.decompress(blob)
            return list(_pieces(data))
        except (zstandard.ZstdError, struct.error):
            raise StoreError("the store holds a damaged batch of answers") from None


def _pieces(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        (piece,) = struct.unpack_from(f"{length}s", data, at)
        yield piece
        at += length
