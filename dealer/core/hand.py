"""The hand state machine: old state + command -> new state + event (PROTOCOL.md, sections 6 and 7).

It works on positions, seats and faces alone. Which card lies at a position is looked up apart, by whoever may know it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from dealer.core.cards import DECK_KINDS
from dealer.errors import Reason, Refused

BOARD = 0
MAX_SEAT = 255


class Face(StrEnum):
    """Which way up a card is dealt."""

    DOWN = "down"
    UP = "up"
    __hash__ = str.__hash__  # an enum's own is a function in Python, and tables are asked by these all the time


class Reveal(StrEnum):
    """What becomes public after the close."""

    PUBLIC = "public"
    SEALED = "sealed"
    __hash__ = str.__hash__


class Status(StrEnum):
    """Where a hand stands."""

    OFFERED = "offered"
    COMMITTED = "committed"
    CLOSED = "closed"
    VOID = "void"
    LOST = "lost"
    __hash__ = str.__hash__


class VoidReason(StrEnum):
    """Why a hand is void."""

    OPERATOR = "operator"
    TIMEOUT = "timeout"
    MISDEAL = "misdeal"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Street:
    """One street: the faces of its rounds, each round one card to every seat still in.

    `board_if_short`: where fewer cards are left than one round needs, exactly one goes up to the board instead.
    """

    name: str
    rounds: tuple[Face, ...]
    board_if_short: bool = False


@dataclass(frozen=True, slots=True)
class Game:
    """How a game deals, as data. No streets: the room draws freely."""

    name: str
    deck_kinds: tuple[str, ...]
    min_seats: int
    max_seats: int
    streets: tuple[Street, ...] = ()
    street_names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "street_names", tuple([street.name for street in self.streets]))


class Dealt(NamedTuple):
    """One card on the table: where it lay in the deck, whose it is (0: the board), and which way up it was dealt."""

    position: int
    seat: int
    face: Face


@dataclass(frozen=True, slots=True)
class Deal:
    """A street was dealt. What follows is worked out once: `up`, seat and position of the cards dealt up; its hash."""

    street: str
    cards: tuple[Dealt, ...]
    up: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        up = tuple([(seat, position) for position, seat, face in self.cards if face is Face.UP])
        object.__setattr__(self, "up", up)
        object.__setattr__(self, "_hash", hash((self.street, self.cards)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Draw:
    """Cards were drawn."""

    cards: tuple[Dealt, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """A seat folded."""

    seat: int


@dataclass(frozen=True, slots=True)
class Show:
    """Down cards were turned up, by ascending position."""

    positions: tuple[int, ...]


Event = Deal | Draw | Fold | Show


@dataclass(frozen=True)  # without slots: a later state is a copy of a dictionary, in a third of the time
class HandState:
    """One hand in play: who is in and what happened, without a card or a seed.

    `invited` are the contributors with their commitments, in the offer's order; empty where nobody was invited.
    `seat_keys` are the sealed seats with the digests of their keys, in the order of the seats (SEATS.md, section 2).
    `deck_commitment` is empty until the deck is locked. From the events follow, and are worked out once: `dealt`, the
    cards dealt so far by position; `live`, the seats still in, in dealing order; `street`, the street last dealt.
    """

    hand: bytes
    table: str
    number: int
    game: Game
    deck: str
    seats: tuple[int, ...]
    reveal: Reveal
    status: Status
    seed_commitment: bytes
    deck_commitment: bytes = b""
    invited: tuple[tuple[str, bytes], ...] = ()
    seat_keys: tuple[tuple[int, bytes], ...] = ()
    events: tuple[Event, ...] = ()
    dealt: tuple[Dealt, ...] = field(init=False, repr=False, compare=False)
    live: tuple[int, ...] = field(init=False, repr=False, compare=False)
    street: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.__dict__.update(dealt=(), live=self.seats, street=None)
        for event in self.events:
            self.__dict__.update(self._following(event))

    def _following(self, event: Event) -> dict[str, Any]:
        """Returns what an event makes of what follows from the events."""
        match event:
            case Deal(street, cards):
                return {"dealt": self.dealt + cards, "street": street}
            case Draw(cards):
                return {"dealt": self.dealt + cards}
            case Fold(seat):
                return {"live": tuple([each for each in self.live if each != seat])}
            case Show():
                return {}

    def later(self, event: Event | None = None, **changes: Any) -> "HandState":
        """Returns the hand after one more event, or with other fields that the events do not depend on."""
        made: HandState = object.__new__(HandState)
        made.__dict__.update(self.__dict__, **changes)
        if len(made.__dict__) != len(self.__dict__):
            raise TypeError(f"a hand's state has no field for one of {', '.join(changes)}")
        if event is not None:
            made.__dict__.update(self._following(event), events=(*self.events, event))
        return made

    @property
    def cards_left(self) -> int:
        """How many cards are not dealt yet."""
        return len(DECK_KINDS[self.deck]) - len(self.dealt)

    @property
    def shown(self) -> frozenset[int]:
        """Positions of down cards that were turned up."""
        return frozenset(p for event in self.events if isinstance(event, Show) for p in event.positions)

    @property
    def seen(self) -> tuple[int, ...]:
        """Positions of every card that the table saw: dealt up, or shown; ascending."""
        shown = self.shown
        return tuple(c.position for c in self.dealt if c.face is Face.UP or c.position in shown)

    @property
    def in_play(self) -> bool:
        """Whether the hand is neither closed nor void nor lost."""
        return self.status is Status.COMMITTED or self.status is Status.OFFERED


def lock(state: HandState, deck_commitment: bytes = b"") -> HandState:
    """Ends the contributions, and names the deck that follows from them, if it is known already.

    Raises:
        Refused: the hand is committed or over already.
    """
    _require_in_play(state)
    if state.status is not Status.OFFERED:
        raise Refused(Reason.HAND_LOCKED, "the deck of this hand is locked already")
    return state.later(status=Status.COMMITTED, deck_commitment=deck_commitment)


def deal_street(state: HandState, name: str) -> tuple[HandState, Deal]:
    """Deals the next street, whole.

    Raises:
        Refused: not a stud hand, not its next street, one seat left, or the hand is not committed.
    """
    _require_committed(state)
    if not state.game.streets:
        raise Refused(Reason.WRONG_GAME, f"{state.game.name} has no streets: draw cards instead")
    names = state.game.street_names
    at = names.index(state.street) + 1 if state.street else 0
    if len(state.live) == 1:
        raise Refused(Reason.ONE_SEAT_LEFT, "one seat is left: no more cards are dealt")
    if at == len(names):
        raise Refused(Reason.WRONG_STREET, f"{names[-1]} street, the last, has been dealt")
    if name != names[at]:
        raise Refused(Reason.WRONG_STREET, f"the next street is {names[at]}, not {name}")
    event = _deal(state.game.streets[at], len(state.dealt), state.cards_left, state.live)
    return state.later(event), event


@lru_cache(4096)
def _deal(street: Street, start: int, cards_left: int, live: tuple[int, ...]) -> Deal:
    """Returns the event of a street: which seats are in decides it, so that most tables share theirs."""
    if street.board_if_short and cards_left < len(live):
        return Deal(street.name, (Dealt(start, BOARD, Face.UP),))
    order = [(seat, face) for face in street.rounds for seat in live]
    return Deal(street.name, tuple([Dealt(start + i, seat, face) for i, (seat, face) in enumerate(order)]))


def draw(state: HandState, wanted: Sequence[tuple[int, Face]]) -> tuple[HandState, Draw]:
    """Deals cards to seats still in or to the board (always up), in the order asked for.

    Raises:
        Refused: not free-draw, no card asked for, too many, a folded or unknown seat, or the hand is not committed.
    """
    _require_committed(state)
    if state.game.streets:
        raise Refused(Reason.WRONG_GAME, f"{state.game.name} is dealt by the street: cards cannot be drawn")
    if not wanted:
        raise Refused(Reason.INVALID_DRAWS, "no card is asked for")
    live = state.live
    for seat, face in wanted:
        if seat == BOARD:
            if face is not Face.UP:
                raise Refused(Reason.INVALID_DRAWS, "cards to the board are dealt up")
        else:
            _require_live(state, live, seat)
    if len(wanted) > state.cards_left:
        raise Refused(Reason.NOT_ENOUGH_CARDS, f"{len(wanted)} cards are asked for and {state.cards_left} are left")
    start = len(state.dealt)
    event = Draw(tuple(Dealt(start + i, seat, face) for i, (seat, face) in enumerate(wanted)))
    return state.later(event), event


def fold(state: HandState, seat: int) -> tuple[HandState, Fold]:
    """Folds a seat.

    Raises:
        Refused: the seat is not in, or is the last one in; stud before third street; or the hand is not committed.
    """
    _require_committed(state)
    live = state.live
    _require_live(state, live, seat)
    if len(live) == 1:
        raise Refused(Reason.ONE_SEAT_LEFT, "the last seat in cannot fold")
    if state.game.streets and state.street is None:
        raise Refused(Reason.WRONG_STREET, "nobody folds before third street is dealt")
    event = Fold(seat)
    return state.later(event), event


def show(state: HandState, positions: Sequence[int]) -> tuple[HandState, Show]:
    """Turns up down cards of seats still in.

    Raises:
        Refused: a position that is not such a card or was shown before, named twice, none, or the hand is not
            committed.
    """
    _require_committed(state)
    if not positions or len(set(positions)) != len(positions):
        raise Refused(Reason.INVALID_POSITIONS, "positions must be given, each once")
    size = len(DECK_KINDS[state.deck])
    live, shown, dealt = state.live, state.shown, state.dealt
    for position in positions:
        if not 0 <= position < size:
            raise Refused(Reason.INVALID_POSITIONS, f"the deck has positions 0 to {size - 1}, not {position}")
        if position >= len(dealt):
            raise Refused(Reason.NOT_A_DOWN_CARD, f"the card at position {position} has not been dealt")
        if dealt[position].face is Face.UP or position in shown:
            raise Refused(Reason.NOT_A_DOWN_CARD, f"the card at position {position} lies face up already")
        if dealt[position].seat not in live:
            raise Refused(Reason.SEAT_FOLDED, f"the card at position {position} belongs to a folded seat")
    event = Show(tuple(sorted(positions)))
    return state.later(event), event


def complete(state: HandState) -> HandState:
    """Completes the hand.

    Raises:
        Refused: a stud hand with more than one seat left before seventh street is dealt; or it is not committed.
    """
    _require_committed(state)
    streets = state.game.streets
    if streets and len(state.live) > 1 and state.street != streets[-1].name:
        raise Refused(
            Reason.HAND_NOT_FINISHED, f"{len(state.live)} seats are in and {streets[-1].name} street is not dealt"
        )
    return state.later(status=Status.CLOSED)


def void(state: HandState) -> HandState:
    """Gives a locked hand up; an offered one is locked first.

    Raises:
        Refused: the hand is over, or not locked.
    """
    _require_committed(state)
    return state.later(status=Status.VOID)


def lose(state: HandState) -> HandState:
    """Ends a hand, offered or locked, whose seed cannot be read any more (PROTOCOL.md, section 6).

    Raises:
        Refused: the hand is over.
    """
    _require_in_play(state)
    return state.later(status=Status.LOST)


def as_it_began(state: HandState) -> HandState:
    """Returns a hand as it was once it was committed and before its first card."""
    return replace(state, status=Status.COMMITTED, events=())


def as_offered(state: HandState) -> HandState:
    """Returns a hand as it was while contributions were awaited."""
    return replace(state, status=Status.OFFERED, events=(), deck_commitment=b"")


def over(state: HandState) -> Refused:
    """Returns what whoever wants to change a hand that is over is told."""
    if state.status is Status.LOST:
        text = "this hand is lost: its key at rest is gone, and its deck cannot be read any more"
        return Refused(Reason.HAND_LOST, text)
    text = "the hand was given up" if state.status is Status.VOID else "the hand is closed"
    return Refused(Reason.HAND_CLOSED, text)


def _require_in_play(state: HandState) -> None:
    if not state.in_play:
        raise over(state)


def _require_committed(state: HandState) -> None:
    _require_in_play(state)
    if state.status is not Status.COMMITTED:
        raise Refused(Reason.HAND_NOT_LOCKED, "contributions are still awaited: lock the deck first")


def _require_live(state: HandState, live: Sequence[int], seat: int) -> None:
    if seat in live:
        return
    if seat in state.seats:
        raise Refused(Reason.SEAT_FOLDED, f"seat {seat} has folded")
    raise Refused(Reason.INVALID_SEAT, f"seat {seat} is not in this hand")
