"""The answers that are sent most, put together from bytes: exactly those that protobuf's deterministic encoding gives.

A street's answer is most of what a busy dealer encodes. Its cards have few forms, and of its hand little changes from
street to street. A test holds each function here to the library's bytes.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from struct import Struct

from dealer.core.deck import SALT_BYTES, Deck
from dealer.core.hand import BOARD, Deal, Dealt, Face, HandState
from dealer.core.ids import hand_text
from dealer.core.seats import SEALED_BYTES
from dealer.service.writer.seats import Seals, no_seals
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


@lru_cache(_CACHED)
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


Named = tuple[int, int, int, int]
"""A hand's game, state, street and reveal as the wire has them."""
Opener = tuple[int, "types_pb2.OpenerReason.ValueType"]
"""Who opens the betting, and why."""


def street_answer(event: Deal, deck: Deck, opener: Opener | None, hand: bytes, seals: Seals) -> bytes:
    """Returns a DealStreetResponse.

    Args:
        event: the street; its cards lie behind each other in the deck.
        deck: the hand's deck.
        opener: None with one seat left.
        hand: the hand, as `hand_part` gives it.
        seals: seals the down cards of sealed seats.
    """
    if seals is no_seals or len(event.up) == len(event.cards):
        form, first, salts = _street_form(event)
        cards = [card.encode("ascii") for card in deck.cards[first : first + len(event.cards)]]
        dealt = form % tuple(
            chain.from_iterable(zip(cards, salts.unpack_from(deck.salts, SALT_BYTES * first), strict=True))
        )
    else:
        dealt = b"".join(
            [_sealed_head(*card) + sealed if (sealed := seals(card)) else _card(card, deck) for card in event.cards]
        )
    return dealt + (b"" if opener is None else _opener(opener)) + part(_HAND, hand)


@lru_cache(_CACHED)
def _street_form(event: Deal) -> tuple[bytes, int, Struct]:
    """Returns a street's cards with a gap for each card and salt, the first's position, and what parts the salts."""
    heads = [_card_head(*card).replace(b"%", b"%%") + b"%b\x2a\x20%b" for card in event.cards]
    return b"".join(heads), event.cards[0].position, Struct(f"{SALT_BYTES}s" * len(heads))


@lru_cache
def _opener(opener: Opener) -> bytes:
    seat, reason = opener
    return part(_OPENER, _number(1, seat) + _number(2, reason))


def _card(card: Dealt, deck: Deck) -> bytes:
    """Returns an open card of a DealStreetResponse."""
    text = deck.cards[card.position].encode("ascii")
    return _card_head(*card) + text + b"\x2a\x20" + deck.salt(card.position)


@lru_cache(_CACHED)
def _card_head(position: int, seat: int, face: Face) -> bytes:
    """Returns everything of a card of a DealStreetResponse that comes before its two characters."""
    head = _place(position, seat, face) + b"\x22\x02"
    return varint(_CARDS << 3 | 2) + varint(len(head) + 2 + 2 + SALT_BYTES) + head


@lru_cache(_CACHED)
def _sealed_head(position: int, seat: int, face: Face) -> bytes:
    """Returns everything of a sealed card of a DealStreetResponse that comes before its 50 bytes."""
    head = _place(position, seat, face) + varint(6 << 3 | 2) + varint(SEALED_BYTES)
    return varint(_CARDS << 3 | 2) + varint(len(head) + SEALED_BYTES) + head


def _place(position: int, seat: int, face: Face) -> bytes:
    value = types_pb2.FACE_UP if face is Face.UP else types_pb2.FACE_DOWN
    return _number(1, position) + _number(2, seat if seat != BOARD else 0) + _number(3, value)


def hand_part(state: HandState, named: Named, commit: int | None, offer: int | None) -> bytes:
    """Returns a Hand without its list of commitments, entries and receipts.

    Args:
        state: the hand.
        named: what of it has a number on the wire.
        commit: index of its commit entry.
        offer: index of its offer entry.
    """
    return _front(state, named) + _index(15, commit) + _index(17, offer)


@dataclass(slots=True)
class WholeHand:
    """A Hand with its list of commitments, entries and receipts, these once the batch is signed.

    Attributes:
        front: what comes before the commitments.
        commit, offer: indexes of its entries.
        seat_keys, envelopes: of the sealed seats.
    """

    front: bytes = field(repr=False)
    commitments: bytes
    commit: int | None
    offer: int | None
    commit_entry: bytes
    offer_entry: bytes
    receipt: str = ""
    offer_receipt: str = ""
    seat_keys: list[types_pb2.SeatKeyDigest] = field(default_factory=list)
    envelopes: list[types_pb2.SeatEnvelope] = field(default_factory=list)

    @classmethod
    def of(
        cls, state: HandState, named: Named, commitments: bytes, commit: int | None, offer: int | None
    ) -> "WholeHand":
        """Returns the hand without entries."""
        return cls(_front(state, named), commitments, commit, offer, b"", b"")

    def encode(self) -> bytes:
        """Returns the message's bytes."""
        return b"".join(
            (
                self.front,
                _text(14, self.commitments),
                _index(15, self.commit),
                _text(16, self.receipt.encode()),
                _index(17, self.offer),
                _text(18, self.offer_receipt.encode()),
                _text(19, self.commit_entry),
                _text(20, self.offer_entry),
                *[part(21, each.SerializeToString(deterministic=True)) for each in self.seat_keys],
                *[part(22, each.SerializeToString(deterministic=True)) for each in self.envelopes],
            )
        )


@dataclass(slots=True)
class Opened:
    """An OpenHandResponse."""

    hand: WholeHand

    def SerializeToString(self, *, deterministic: bool) -> bytes:  # noqa: N802 - protobuf's name
        """Returns its bytes, which are the deterministic ones."""
        return part(1, self.hand.encode())


@dataclass(slots=True)
class Over:
    """A CloseHandResponse or a VoidHandResponse; its receipt comes once the batch is signed."""

    hand: bytes
    entry: bytes
    receipt: str = ""

    def SerializeToString(self, *, deterministic: bool) -> bytes:  # noqa: N802 - protobuf's name
        """Returns its bytes, which are the deterministic ones."""
        return part(1, self.hand) + _text(2, self.receipt.encode()) + _text(3, self.entry)


def _index(number: int, index: int | None) -> bytes:
    """Returns a field with an entry's index; one that is there is written even if it is 0."""
    return b"" if index is None else varint(number << 3) + varint(index)


def _front(state: HandState, named: Named) -> bytes:
    """Returns the fields of a Hand before its list of commitments."""
    game, status, street, reveal = named
    head, tail = _hand_frame(
        state.hand,
        state.table,
        state.number,
        game,
        state.deck,
        state.seats,
        reveal,
        state.seed_commitment,
        state.deck_commitment,
    )
    return head + _changing(state.live, status, street, state.cards_left) + tail


@lru_cache(_CACHED)
def _hand_frame(
    hand: bytes,
    table: str,
    number: int,
    game: int,
    deck: str,
    seats: tuple[int, ...],
    reveal: int,
    seed: bytes,
    deck_commitment: bytes,
) -> tuple[bytes, bytes]:
    """Returns the fields before those that change while a hand is played, and those behind them."""
    head = [
        _text(1, hand_text(hand).encode("ascii")),
        _text(2, table.encode("ascii")),
        _number(3, number),
        _number(4, game),
        _text(5, deck.encode("ascii")),
        _seats(6, seats),
    ]
    return b"".join(head), _number(11, reveal) + _text(12, seed) + _text(13, deck_commitment)


@lru_cache(_CACHED)
def _changing(live: tuple[int, ...], status: int, street: int, cards_left: int) -> bytes:
    return _seats(7, live) + _number(8, status) + _number(9, street) + _number(10, cards_left)


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
