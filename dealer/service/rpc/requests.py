"""From a request's bytes to values whose form has been checked; what depends on a hand's state is checked later."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from dealer.core.cards import DECK_KINDS
from dealer.core.hand import MAX_SEAT, Face, Reveal, VoidReason
from dealer.core.ids import MAX_INTEGER, RESERVED_CONTRIBUTOR, is_id, parse_uuid
from dealer.core.seed import VALUE_BYTES
from dealer.errors import Reason, Refused
from dealer.games.plans import FREE_DRAW, SEVEN_CARD_STUD, SEVEN_CARD_STUD_HI_LO
from dealer.service.writer.hands import Opening
from dealer.service.writer.seats import Consent, require_key, wrong_key
from dealer.v1 import dealer_pb2, table_pb2, types_pb2

GAMES_BY_ENUM = {
    types_pb2.GAME_SEVEN_CARD_STUD: SEVEN_CARD_STUD,
    types_pb2.GAME_SEVEN_CARD_STUD_HI_LO: SEVEN_CARD_STUD_HI_LO,
    types_pb2.GAME_FREE_DRAW: FREE_DRAW,
}
REVEALS = {types_pb2.REVEAL_PUBLIC: Reveal.PUBLIC, types_pb2.REVEAL_SEALED: Reveal.SEALED}
FACES = {types_pb2.FACE_DOWN: Face.DOWN, types_pb2.FACE_UP: Face.UP}
STREETS = {
    types_pb2.STREET_THIRD: "third",
    types_pb2.STREET_FOURTH: "fourth",
    types_pb2.STREET_FIFTH: "fifth",
    types_pb2.STREET_SIXTH: "sixth",
    types_pb2.STREET_SEVENTH: "seventh",
}
VOID_REASONS = {
    types_pb2.VOID_REASON_OPERATOR: VoidReason.OPERATOR,
    types_pb2.VOID_REASON_TIMEOUT: VoidReason.TIMEOUT,
    types_pb2.VOID_REASON_MISDEAL: VoidReason.MISDEAL,
    types_pb2.VOID_REASON_FAILURE: VoidReason.FAILURE,
}
MAX_CONTRIBUTORS = 64
USUAL_PAGE, LARGEST_PAGE = 100, 1000
"""Hands on a page, if nothing is said and at most."""
_REQUEST_ID_BYTES = 2 + 36
"""A UUID's text in field 1, with which every request that changes something begins."""
MAX_CARDS = 1024
"""How many cards a request may name; no deck is as large, and what is above it is not looked at one by one."""

M = TypeVar("M", bound=Message)


def decode(kind: type[M], data: bytes) -> M:
    """Reads a message.

    Raises:
        Refused: the bytes are no such message, or a text is not UTF-8.
    """
    try:
        return kind.FromString(data)
    except DecodeError:
        raise Refused(Reason.INVALID_REQUEST, f"this is no {kind.DESCRIPTOR.name}, or a text is not UTF-8") from None


def body_digest(message: Message) -> bytes:
    """Returns a digest of a request's kind and field values, its request id apart; unknown fields do not count.

    Args:
        message: the request, whose id has been checked; its unknown fields are dropped.
    """
    message.DiscardUnknownFields()
    bare = message.SerializeToString(deterministic=True)[_REQUEST_ID_BYTES:]
    name = message.DESCRIPTOR.full_name.encode("ascii")
    return hashlib.sha256(name + b"\0" + bare).digest()


def request_id(text: str) -> bytes:
    """Reads a request id."""
    return parse_uuid(text, Reason.INVALID_REQUEST_ID, "request_id")


@lru_cache(1 << 14)  # a hand is named in each of its requests
def hand_id(text: str) -> bytes:
    """Reads a hand id."""
    return parse_uuid(text, Reason.INVALID_HAND_ID, "hand_id")


def table_id(text: str) -> str:
    """Reads a table id."""
    if not is_id(text):
        raise Refused(Reason.INVALID_TABLE, "table must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
    return text


def opening(request: dealer_pb2.OpenHandRequest) -> Opening:
    """Reads what a hand is opened with."""
    table = table_id(request.table)
    game = GAMES_BY_ENUM.get(request.game)
    if game is None:
        raise Refused(Reason.INVALID_GAME, "game must be set to a known game")
    deck = request.deck or "standard52"
    if deck not in DECK_KINDS:
        raise Refused(Reason.INVALID_DECK, f"deck must be one of {', '.join(DECK_KINDS)}")
    if deck not in game.deck_kinds:
        raise Refused(Reason.INVALID_DECK, f"{game.name} is dealt from {', '.join(game.deck_kinds)} only")
    reveal = REVEALS.get(request.reveal)
    if reveal is None:
        raise Refused(Reason.INVALID_REVEAL, "reveal must be set to a known policy")
    if request.seat_keys and reveal is not Reveal.SEALED:
        text = "a room that says when cards come may seal seats only in a hand with a sealed reveal"
        raise Refused(Reason.SEATS_NEED_SEALED, text)
    numbers = seats(request.seats, game.min_seats, game.max_seats)
    return Opening(
        table=table,
        game=game,
        deck=deck,
        seats=numbers,
        reveal=reveal,
        invited=contributors(request.contributors),
        number=hand_number(request.number),
        seat_keys=seat_keys(request.seat_keys, numbers),
    )


def hand_number(number: int) -> int:
    """Reads the number that the table's next hand is to have; 0: whatever it is."""
    if number > MAX_INTEGER:
        raise Refused(Reason.INVALID_NUMBER, f"number must be at most {MAX_INTEGER}")
    return number


def page(size: int, token: str) -> tuple[int, bytes]:
    """Reads how many hands a page is to have, and the id of the hand after which it begins; b"": at the first."""
    if size > LARGEST_PAGE:
        raise Refused(Reason.INVALID_RANGE, f"page_size must be at most {LARGEST_PAGE}")
    after = parse_uuid(token, Reason.INVALID_RANGE, "page_token") if token else b""
    return size or USUAL_PAGE, after


def seats(numbers: Sequence[int], fewest: int, most: int) -> tuple[int, ...]:
    """Reads seats in dealing order."""
    require_seats(len(numbers), fewest, most)
    given = tuple(numbers)
    if len(set(given)) != len(given):
        raise Refused(Reason.INVALID_SEATS, "a seat is named twice")
    if not all(1 <= seat <= MAX_SEAT for seat in given):
        raise Refused(Reason.INVALID_SEATS, f"seats are numbered from 1 to {MAX_SEAT}")
    return given


def require_seats(count: int, fewest: int, most: int) -> None:
    """Refuses a number of seats that the game does not take."""
    if not fewest <= count <= most:
        raise Refused(Reason.INVALID_SEATS, f"this game takes {fewest} to {most} seats, not {count}")


def seat(number: int) -> int:
    """Reads one seat; an unset one is no seat."""
    if not 1 <= number <= MAX_SEAT:
        raise Refused(Reason.INVALID_SEAT, f"seat must be set, from 1 to {MAX_SEAT}")
    return number


def seat_keys(given: Sequence[types_pb2.SeatKey], numbers: Sequence[int]) -> dict[int, bytes]:
    """Reads the keys of the seats that are to be sealed, among the hand's seats `numbers`."""
    keys: dict[int, bytes] = {}
    for each in given:
        if each.seat not in numbers:
            raise wrong_key(each.seat, f"a key is given for seat {each.seat}, which is not in this hand")
        if each.seat in keys:
            raise wrong_key(each.seat, f"two keys are given for seat {each.seat}")
        require_key(each.seat, each.key)
        if each.key in keys.values():
            raise wrong_key(each.seat, f"the key of seat {each.seat} is another seat's too")
        keys[each.seat] = each.key
    return keys


def consents(given: Sequence[dealer_pb2.SeatConsent]) -> tuple[Consent, ...]:
    """Reads what sealed seats consent to; whether it is right depends on the hand."""
    if len(given) > MAX_SEAT:
        raise Refused(Reason.INVALID_SEATS, f"{len(given)} seats consent, and a hand has {MAX_SEAT} at most")
    return tuple(Consent(each.seat, each.mac, each.showdown) for each in given)


def contributors(given: Sequence[dealer_pb2.Contributor]) -> tuple[tuple[str, bytes], ...]:
    """Reads who is invited to contribute, each with its commitment."""
    if len(given) > MAX_CONTRIBUTORS:
        raise Refused(Reason.INVALID_CONTRIBUTORS, f"at most {MAX_CONTRIBUTORS} contributors can be invited")
    invited = tuple((each.id, each.commitment) for each in given)
    if len({name for name, _ in invited}) != len(invited):
        raise Refused(Reason.INVALID_CONTRIBUTORS, "a contributor is named twice")
    for name, commitment in invited:
        if not is_id(name):
            raise Refused(Reason.INVALID_CONTRIBUTORS, "a contributor's id must be 1 to 64 of A-Z a-z 0-9 . _ -")
        if name.startswith(RESERVED_CONTRIBUTOR):
            raise Refused(Reason.INVALID_CONTRIBUTORS, f"ids that begin with {RESERVED_CONTRIBUTOR} are reserved")
        if len(commitment) != VALUE_BYTES:
            raise Refused(Reason.INVALID_CONTRIBUTORS, "a contributor's commitment must be 32 bytes")
    return invited


def contribution(request: dealer_pb2.SubmitEntropyRequest | table_pb2.SubmitTableEntropyRequest) -> tuple[str, bytes]:
    """Reads a contributor's id and value."""
    if not is_id(request.contributor):
        raise Refused(Reason.INVALID_CONTRIBUTORS, "contributor must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
    if len(request.value) != VALUE_BYTES:
        raise Refused(Reason.INVALID_VALUE, "value must be 32 bytes")
    return request.contributor, request.value


def street(value: types_pb2.Street.ValueType) -> str:
    """Reads a street."""
    name = STREETS.get(value)
    if name is None:
        raise Refused(Reason.INVALID_STREET, "street must be set to a known street")
    return name


def draws(given: Sequence[dealer_pb2.Draw]) -> tuple[tuple[int, Face], ...]:
    """Reads the cards that are asked for; the board's seat 0 must be said."""
    _require_count(given, Reason.INVALID_DRAWS)
    wanted = []
    for each in given:
        face = FACES.get(each.face)
        if face is None:
            raise Refused(Reason.INVALID_DRAWS, "each card's face must be set to DOWN or UP")
        if not each.HasField("seat") or each.seat > MAX_SEAT:
            raise Refused(Reason.INVALID_DRAWS, f"each card's seat must be set, from 0 (the board) to {MAX_SEAT}")
        wanted.append((each.seat, face))
    if not wanted:
        raise Refused(Reason.INVALID_DRAWS, "no card is asked for")
    return tuple(wanted)


def positions(given: Sequence[int]) -> tuple[int, ...]:
    """Reads the positions of cards that are to be shown."""
    _require_count(given, Reason.INVALID_POSITIONS)
    return tuple(given)


def _require_count(cards: Sequence[object], reason: Reason) -> None:
    if len(cards) > MAX_CARDS:
        raise Refused(reason, f"{len(cards)} cards are named, and a request may name {MAX_CARDS}")


def void_reason(value: types_pb2.VoidReason.ValueType) -> VoidReason:
    """Reads why a hand is void."""
    reason = VOID_REASONS.get(value)
    if reason is None:
        raise Refused(Reason.INVALID_VOID_REASON, "reason must be set to a known reason")
    return reason
