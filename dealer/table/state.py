"""Where a hand at the table stands, and what it waits for."""

from collections.abc import Mapping
from typing import NamedTuple

from dealer.table.betting import Round, Turn
from dealer.table.payouts import Award, Hand
from dealer.table.pots import Pot
from dealer.table.stakes import Lineup

STREETS = ("third", "fourth", "fifth", "sixth", "seventh")


class Deal(NamedTuple):
    """The hand waits for a street to be dealt."""

    street: str


class Show(NamedTuple):
    """The hand waits for a seat to show its down cards; where it `may_muck` it mucks instead if it is beaten."""

    seat: int
    may_muck: bool


class Lock(NamedTuple):
    """The hand is offered, and waits for its deck to be locked."""


class Result(NamedTuple):
    """How a hand ended: who won what of each pot, and what each winner got out of all of them, in dealing order."""

    awards: tuple[Award, ...]
    payouts: tuple[tuple[int, int], ...]


class TableState(NamedTuple):
    """One hand at the table. Mappings are by seat, and never changed in place.

    Attributes:
        lineup: who plays, and for what.
        waits_for: what the hand waits for; None once it is over.
        live: the seats still in, in dealing order.
        stacks: the chips that each seat has behind.
        paid: what each seat has put in before this round: ante and past streets, less what was returned.
        pots: the same chips as pots, for the seats still in; those that were awarded, once the hand is over.
        street: the street last dealt, or None.
        up: the up cards of each seat, in the order dealt.
        board: the card that everybody shares, or None.
        round: the betting round, or None where nobody bets.
        bring_in: the seat that brought in or has to, or None.
        left: seats whose players have left.
        returned: what went back, and to whom.
        shown: the hands that lie open, in the order of showing.
        mucked: the seats that gave their hands up unseen.
        result: how it ended; None as long as it has not, and of a hand that was given up.
    """

    lineup: Lineup
    waits_for: Lock | Deal | Turn | Show | None
    live: tuple[int, ...]
    stacks: Mapping[int, int]
    paid: Mapping[int, int]
    pots: tuple[Pot, ...]
    street: str | None
    up: Mapping[int, tuple[str, ...]]
    board: str | None
    round: Round | None
    bring_in: int | None
    left: frozenset[int]
    returned: tuple[tuple[int, int], ...]
    shown: Mapping[int, Hand]
    mucked: tuple[int, ...]
    result: Result | None
