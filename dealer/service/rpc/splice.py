"""The answers that are sent most, put together from bytes: exactly those that protobuf's deterministic encoding gives.

A street's answer is most of what a busy dealer encodes. Its cards have few forms, and of its hand little changes from
street to street. A test holds each function here to the library's bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from dealer.core.deck import Deck
from dealer.core.hand import BOARD, Dealt, Face, HandState
from dealer.core.ids import hand_text
from dealer.v1 import types_pb2

_CARDS, _OPENER, _HAND = 1, 2, 3
_CACHED = 1 << 15


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer that is encoded already, in place of its message."""

    data: bytes = field(repr=False)

    def SerializeToString(self, *, deterministic: bool) -> bytes:  # noqa: N802 - protobuf's name
        """Returns its bytes, which are the deterministic ones."""
        return self.data


def varint(value: int) -> bytes:
    """Returns a number that is not negative as protobuf writes it."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def part(number: int, data: bytes) -> bytes:
    """Returns a field of bytes, text or a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def _number(number: int, value: int) -> bytes:
    """Returns a field with a number; nothing for 0, the default."""
    return varint(number << 3) + varint(value) if value else b""


def _text(number: int, data: bytes) -> bytes:
    """Returns a field of bytes or text; nothing if it is empty, the default."""
    return part(number, data) if data else b""


def street_answer(dealt: Iterable[Dealt], deck: Deck, opener: types_pb2.Opener | None, hand: bytes) -> bytes:
    """Returns a DealStreetResponse.

    Args:
        dealt: the street's cards.
        deck: the hand's deck.
        opener: who opens the betting; None with one seat left.
        hand: the hand, as `hand_part` gives it.
    """
    cards, salts = deck.cards, deck.salts
    parts = list[bytes]()
    for each in dealt:
        at = each.position
        salt = salts[32 * at : 32 * at + 32]
        parts += (_card_head(at, each.seat, each.face), cards[at].encode("ascii"), b"\x2a\x20", salt)
    if opener is not None:
        parts.append(part(_OPENER, opener.SerializeToString(deterministic=True)))
    parts += (part(_HAND, hand),)
    return b"".join(parts)


@lru_cache(_CACHED)
def _card_head(position: int, seat: int, face: Face) -> bytes:
    """Returns everything of a card of a DealStreetResponse that comes before its two characters."""
    value = types_pb2.FACE_UP if face is Face.UP else types_pb2.FACE_DOWN
    head = _number(1, position) + _number(2, seat if seat != BOARD else 0) + _number(3, value) + b"\x22\x02"
    return varint(_CARDS << 3 | 2) + varint(len(head) + 2 + 2 + 32) + head


def hand_part(state: HandState, named: tuple[int, int, int, int], commit: int | None, offer: int | None) -> bytes:
    """Returns a Hand without its list of commitments, entries and receipts.

    Args:
        state: the hand.
        named: its game, state, street and reveal as the wire has them.
        commit: index of its commit entry.
        offer: index of its offer entry.
    """
    game, status, street, reveal = named
    head = _hand_head(state.hand, state.table, state.number, game, state.deck, state.seats)
    tail = _hand_tail(reveal, state.seed_commitment, state.deck_commitment, commit, offer)
    changing = _seats(7, state.live) + _number(8, status) + _number(9, street) + _number(10, state.cards_left)
    return head + changing + tail


@lru_cache(_CACHED)
def _hand_head(hand: bytes, table: str, number: int, game: int, deck: str, seats: tuple[int, ...]) -> bytes:
    return b"".join(
        [
            _text(1, hand_text(hand).encode("ascii")),
            _text(2, table.encode("ascii")),
            _number(3, number),
            _number(4, game),
            _text(5, deck.encode("ascii")),
            _seats(6, seats),
        ]
    )


@lru_cache(_CACHED)
def _hand_tail(reveal: int, seed: bytes, deck: bytes, commit: int | None, offer: int | None) -> bytes:
    """Returns the fields behind those that change; an index that is there is written even if it is 0."""
    return b"".join(
        [
            _number(11, reveal),
            _text(12, seed),
            _text(13, deck),
            b"" if commit is None else varint(15 << 3) + varint(commit),
            b"" if offer is None else varint(17 << 3) + varint(offer),
        ]
    )


@lru_cache(_CACHED)
def _seats(number: int, seats: tuple[int, ...]) -> bytes:
    return part(number, b"".join(map(varint, seats))) if seats else b""


def played(correlation_id: str, field: int, answer: bytes) -> bytes:
    """Returns one answer as a PlayHandsResponse, to be put behind others in one message.

    Args:
        correlation_id: the mark of the request.
        field: number of the answer's field in PlayResponse.
        answer: its bytes.
    """
    return part(1, part(1, correlation_id.encode("utf-8")) + part(field, answer))
