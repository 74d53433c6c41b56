"""What happens in a hand, in the order in which it happens. Views, histories and audits are made of these alone.

A down card is in no event before its seat shows it.
"""

from enum import StrEnum
from typing import NamedTuple

from dealer.table.betting import Option, Turn
from dealer.table.payouts import Award, Hand
from dealer.table.pots import Pot
from dealer.table.stakes import Lineup


class Cause(StrEnum):
    """Why a seat acted: its player did, its time ran out, or its player has left."""

    PLAYER = "player"
    TIMEOUT = "timeout"
    LEFT = "left"


class Offered(NamedTuple):
    """Contributors are invited; the hand starts once its deck is locked."""

    lineup: Lineup


class Started(NamedTuple):
    """The hand began."""

    lineup: Lineup


class AntePosted(NamedTuple):
    """A seat posted its ante, or what it had of it; `stack` is what it has left."""

    seat: int
    amount: int
    stack: int


class StreetDealt(NamedTuple):
    """A street was dealt: down cards to the seats in `down`, one for each mention; up cards; or the board card."""

    street: str
    down: tuple[int, ...]
    up: tuple[tuple[int, str], ...]
    board: str | None


class BringInDue(NamedTuple):
    """The seat with the lowest up card of those that have chips brings in."""

    seat: int


class Acted(NamedTuple):
    """A seat acted: `option` as it was offered, `chips` what it moved in now, `stack` what it has left."""

    seat: int
    option: Option
    chips: int
    stack: int
    cause: Cause


class SeatLeft(NamedTuple):
    """A player has left; its seat is folded when its turn comes."""

    seat: int


class Returned(NamedTuple):
    """The part of a bet that nobody matched went back to its owner."""

    seat: int
    amount: int
    stack: int


class PotsGathered(NamedTuple):
    """The antes, or the bets of a round that is over, lie in the pots."""

    pots: tuple[Pot, ...]


class Shown(NamedTuple):
    """A seat turned its down cards up; `hand` is what it holds with its up cards and the board card."""

    seat: int
    cards: tuple[str, ...]
    hand: Hand


class Mucked(NamedTuple):
    """A seat gave its hand up unseen at the showdown: the hands shown beat it in every part."""

    seat: int


class Awarded(NamedTuple):
    """A pot, or a half of it, was won."""

    award: Award


class Finished(NamedTuple):
    """The hand is over: what each winner got out of the pots, and every seat's stack, in dealing order."""

    payouts: tuple[tuple[int, int], ...]
    stacks: tuple[tuple[int, int], ...]


class Voided(NamedTuple):
    """The hand was given up: every seat has what it brought, in dealing order; `reason` is as the log says it."""

    reason: str
    stacks: tuple[tuple[int, int], ...]


Event = (
    Offered
    | Started
    | AntePosted
    | StreetDealt
    | BringInDue
    | Turn
    | Acted
    | SeatLeft
    | Returned
    | PotsGathered
    | Shown
    | Mucked
    | Awarded
    | Finished
    | Voided
)
