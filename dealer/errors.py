"""The dealer's errors: one base class, and refusals with a reason from one catalogue."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})


class CutcardError(Exception):
    """Base of all errors of the dealer, its log and its client. Messages never carry a secret."""


class Reason(StrEnum):
    """Why a request is refused; docs/errors.md says what to do about each."""

    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_REQUEST_ID = "INVALID_REQUEST_ID"
    INVALID_HAND_ID = "INVALID_HAND_ID"
    INVALID_TABLE = "INVALID_TABLE"
    INVALID_GAME = "INVALID_GAME"
    INVALID_DECK = "INVALID_DECK"
    INVALID_SEATS = "INVALID_SEATS"
    INVALID_SEAT = "INVALID_SEAT"
    INVALID_SEAT_KEY = "INVALID_SEAT_KEY"
    SEATS_NEED_SEALED = "SEATS_NEED_SEALED"
    INVALID_REVEAL = "INVALID_REVEAL"
    INVALID_NUMBER = "INVALID_NUMBER"
    INVALID_CONTRIBUTORS = "INVALID_CONTRIBUTORS"
    INVALID_VALUE = "INVALID_VALUE"
    INVALID_STREET = "INVALID_STREET"
    INVALID_DRAWS = "INVALID_DRAWS"
    INVALID_POSITIONS = "INVALID_POSITIONS"
    INVALID_VOID_REASON = "INVALID_VOID_REASON"
    INVALID_RANGE = "INVALID_RANGE"
    INVALID_STAKES = "INVALID_STAKES"
    INVALID_ACTION = "INVALID_ACTION"
    INVALID_STACK = "INVALID_STACK"

    HAND_NOT_FOUND = "HAND_NOT_FOUND"
    TABLE_NOT_FOUND = "TABLE_NOT_FOUND"
    ENTRY_NOT_FOUND = "ENTRY_NOT_FOUND"

    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"

    TABLE_BUSY = "TABLE_BUSY"
    WRONG_NUMBER = "WRONG_NUMBER"
    OTHER_SHARD = "OTHER_SHARD"
    NO_ESCROW_KEY = "NO_ESCROW_KEY"
    HAND_NOT_LOCKED = "HAND_NOT_LOCKED"
    HAND_LOCKED = "HAND_LOCKED"
    HAND_CLOSED = "HAND_CLOSED"
    LOG_ENDED = "LOG_ENDED"
    HAND_LOST = "HAND_LOST"
    ANSWER_LOST = "ANSWER_LOST"
    WRONG_GAME = "WRONG_GAME"
    WRONG_STREET = "WRONG_STREET"
    SEAT_FOLDED = "SEAT_FOLDED"
    ONE_SEAT_LEFT = "ONE_SEAT_LEFT"
    NOT_ENOUGH_CARDS = "NOT_ENOUGH_CARDS"
    NOT_A_DOWN_CARD = "NOT_A_DOWN_CARD"
    HAND_NOT_FINISHED = "HAND_NOT_FINISHED"
    NOT_WITNESSED_YET = "NOT_WITNESSED_YET"
    NO_WITNESSES = "NO_WITNESSES"
    OUT_OF_TURN = "OUT_OF_TURN"
    ACTION_NOT_ALLOWED = "ACTION_NOT_ALLOWED"

    TOO_MANY_HANDS = "TOO_MANY_HANDS"
    TOO_MANY_REQUESTS = "TOO_MANY_REQUESTS"
    TOO_MANY_STREAMS = "TOO_MANY_STREAMS"
    TOO_MANY_TABLES = "TOO_MANY_TABLES"
    TOO_MANY_CONNECTIONS = "TOO_MANY_CONNECTIONS"
    TOO_SLOW = "TOO_SLOW"

    REFEREE_HAND = "REFEREE_HAND"
    TABLE_OF_ANOTHER_ROOM = "TABLE_OF_ANOTHER_ROOM"
    NOT_YOUR_ROLE = "NOT_YOUR_ROLE"
    NO_IDENTITY = "NO_IDENTITY"
    WRONG_TOKEN = "WRONG_TOKEN"  # noqa: S105 - the name of a refusal
    WRONG_PROOF = "WRONG_PROOF"
    CONSENT_MISSING = "CONSENT_MISSING"

    ENTROPY_SOURCE = "ENTROPY_SOURCE"
    STORAGE = "STORAGE"
    DRAINING = "DRAINING"
    STANDBY = "STANDBY"
    LEASE_LOST = "LEASE_LOST"
    LOG_CONFLICT = "LOG_CONFLICT"


class Refused(CutcardError):
    """A request that is refused; nothing has changed.

    Attributes:
        reason: from the catalogue.
        metadata: what a program needs to know of the hand or table, by the names that API.md gives.
        retry: after how many seconds it may do to ask again; None: as its reason has it.
    """

    def __init__(
        self, reason: Reason, message: str, metadata: Mapping[str, str] = _NOTHING, *, retry: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.metadata = metadata
        self.retry = retry


def how_to_install(extra: str) -> str:
    """Says how a part that is missing comes in; no registry has this package under our name."""
    return (
        f"in a checkout of Cutcard, pip install '.[{extra}]'; of a wheel, pip install 'WHEEL[{extra}]', with the "
        "file's name for WHEEL"
    )
