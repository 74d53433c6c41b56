"""What a client is given: cards and openers as plain values, and how they stand on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dealer.client.errors import UsageError
from dealer.core.hand import Face, Game, Reveal, Status, VoidReason
from dealer.v1 import types_pb2


@dataclass(frozen=True, slots=True)
class Card:
    """A card that was dealt. Prints as `As`; as `??` if it is not for this caller.

    Attributes:
        position: in the deck, from 0, the top.
        seat: whose it is; 0: the board.
        face: which way up it lies.
        name: rank of 23456789TJQKA, then suit of cdhs; empty if it is not for this caller.
        salt: 32 bytes that open it against its commitment; empty likewise.
        sealed: a down card of a sealed seat as the dealer gives it, 50 bytes, which its player alone can open.
    """

    position: int
    seat: int
    face: Face
    name: str
    salt: bytes = field(repr=False)
    sealed: bytes = field(default=b"", repr=False)

    def __str__(self) -> str:
        return self.name or "??"


@dataclass(frozen=True, slots=True)
class Opener:
    """Who opens the betting of a street, by the cards alone.

    Attributes:
        seat: the seat.
        lowest_card: whether it is for the lowest door card; otherwise for the highest hand showing.
    """

    seat: int
    lowest_card: bool


_FACES = {types_pb2.FACE_DOWN: Face.DOWN, types_pb2.FACE_UP: Face.UP}
_STATUS = {
    types_pb2.HAND_STATE_OFFERED: Status.OFFERED,
    types_pb2.HAND_STATE_COMMITTED: Status.COMMITTED,
    types_pb2.HAND_STATE_CLOSED: Status.CLOSED,
    types_pb2.HAND_STATE_VOID: Status.VOID,
    types_pb2.HAND_STATE_LOST: Status.LOST,
}


_STATE_VALUES = {status: value for value, status in _STATUS.items()}


def read_card(card: types_pb2.Card) -> Card | None:
    """Reads a card; None if its face is neither up nor down."""
    face = _FACES.get(card.face)
    return None if face is None else Card(card.position, card.seat, face, card.card, card.salt, card.sealed)


def write_card(card: Card, *, open_: bool) -> types_pb2.Card:
    """Returns a card as it stands on the wire, with all that is known of it or only where it lies."""
    message = types_pb2.Card(position=card.position, seat=card.seat, face=face_value(card.face))
    if open_:
        message.card, message.salt, message.sealed = card.name, card.salt, card.sealed
    return message


def status_value(status: Status) -> types_pb2.HandState.ValueType:
    """Returns where a hand stands as it is on the wire."""
    return _STATE_VALUES[status]


def read_status(hand: types_pb2.Hand) -> Status | None:
    """Reads where a hand stands; None if it is no known state."""
    return _STATUS.get(hand.state)


def read_void_reason(close: Mapping[str, Any]) -> VoidReason | None:
    """Reads why a hand is void from its close; None if that is no reason."""
    reason = close.get("reason")
    return VoidReason(reason) if reason in tuple(VoidReason) else None


@dataclass(frozen=True, slots=True)
class HandInPlay:
    """A hand in play, as the dealer names it; nothing of it is checked before it is resumed.

    Attributes:
        hand_id: its UUID.
        table: the table's id.
        number: the table's hand count.
        status: whether it is offered or committed.
        referee: whether the referee runs it: then `Client.resume_table_hand` takes it up.
        opened_seconds: how long ago it was opened.
        idle_seconds: how long ago a call changed it last.
    """

    hand_id: str
    table: str
    number: int
    status: Status | None
    referee: bool
    opened_seconds: int
    idle_seconds: int


def read_in_play(hand: types_pb2.HandInPlay) -> HandInPlay:
    """Reads a hand of a list."""
    return HandInPlay(
        hand.hand_id,
        hand.table,
        hand.number,
        _STATUS.get(hand.state),
        hand.referee,
        hand.opened_seconds,
        hand.idle_seconds,
    )


def offer_index(hand: types_pb2.Hand) -> int | None:
    """Reads where a hand's offer stands in the log."""
    return hand.offer_index if hand.HasField("offer_index") else None


def commit_index(hand: types_pb2.Hand) -> int | None:
    """Reads where a hand's commit stands in the log."""
    return hand.commit_index if hand.HasField("commit_index") else None


def game_value(game: Game) -> types_pb2.Game.ValueType:
    """Returns a game as it stands on the wire."""
    return _game_value(game.name)


@cache
def _game_value(name: str) -> types_pb2.Game.ValueType:
    return types_pb2.Game.Value("GAME_" + name.upper().replace("-", "_"))


@cache
def reveal_value(reveal: Reveal) -> types_pb2.Reveal.ValueType:
    """Returns a policy as it stands on the wire."""
    return types_pb2.Reveal.Value(f"REVEAL_{reveal.upper()}")


@cache
def street_value(street: str | None) -> types_pb2.Street.ValueType:
    """Returns a street as it stands on the wire; UNSPECIFIED for None."""
    return types_pb2.Street.Value(f"STREET_{street.upper()}") if street else types_pb2.STREET_UNSPECIFIED


@cache
def face_value(face: Face) -> types_pb2.Face.ValueType:
    """Returns a face as it stands on the wire."""
    return types_pb2.Face.Value(f"FACE_{face.upper()}")


def parse_street(name: str) -> types_pb2.Street.ValueType:
    """Reads a street's name.

    Raises:
        UsageError: it is none.
    """
    try:
        return street_value(name)
    except ValueError:
        raise UsageError(f"{name!a} is no street: third, fourth, fifth, sixth or seventh") from None


def parse_face(face: Face | str) -> Face:
    """Reads a face.

    Raises:
        UsageError: it is none.
    """
    try:
        return Face(face)
    except ValueError:
        raise UsageError(f"{face!a} is no face: a card lies down or up") from None


def parse_reveal(reveal: Reveal | str) -> Reveal:
    """Reads a policy.

    Raises:
        UsageError: it is none.
    """
    try:
        return Reveal(reveal)
    except ValueError:
        raise UsageError(f"{reveal!a} is no policy: public or sealed") from None


def void_value(reason: VoidReason) -> types_pb2.VoidReason.ValueType:
    """Returns why a hand is void as it stands on the wire."""
    return types_pb2.VoidReason.Value(f"VOID_REASON_{reason.upper()}")


def parse_void_reason(reason: VoidReason | str) -> VoidReason:
    """Reads why a hand is void.

    Raises:
        UsageError: it is no reason.
    """
    try:
        return VoidReason(reason)
    except ValueError:
        raise UsageError(f"{reason!a} is no reason: operator, timeout, misdeal or failure") from None
