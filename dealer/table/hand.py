"""A hand from the first ante to the last payout: state + what happens -> state + events (STUD.md).

The state says what it waits for: a street to be dealt, a seat to act, a seat to show. Whoever drives it hands that in.
It sees a card when it is dealt up or shown, and never reaches for another: the showdown reads the hands that are
handed in.
"""

from collections.abc import Mapping, Sequence

from dealer.errors import Reason, Refused
from dealer.table.betting import FOLD, Action, Option, Turn
from dealer.table.course import Course
from dealer.table.events import (
    AntePosted,
    Cause,
    Event,
    Mucked,
    Offered,
    PotsGathered,
    SeatLeft,
    Shown,
    Started,
    StreetDealt,
    Voided,
)
from dealer.table.payouts import Hand, read_hand, wins_a_part
from dealer.table.pots import Pot, build_pots
from dealer.table.stakes import Lineup
from dealer.table.state import STREETS, Deal, Lock, Show, TableState

Advance = tuple[TableState, tuple[Event, ...]]
"""The state after something happened, and the events that this brought about."""


def offer(lineup: Lineup) -> Advance:
    """Waits for the deck to be locked; nothing is posted or dealt before."""
    stacks = dict(zip(lineup.seats, lineup.stacks, strict=True))
    return _fresh(lineup, Lock(), stacks, dict.fromkeys(lineup.seats, 0), ()), (Offered(lineup),)


def lock(state: TableState) -> Advance:
    """Starts a hand that was offered; who has left meanwhile is folded when its turn comes.

    Raises:
        Refused: it was locked before, or is over.
    """
    if state.waits_for is None:
        raise Refused(Reason.HAND_CLOSED, "the hand is over")
    if not isinstance(state.waits_for, Lock):
        raise Refused(Reason.HAND_LOCKED, "the deck of this hand is locked already")
    started, events = start(state.lineup)
    return started._replace(left=state.left), events


def void(state: TableState, reason: str) -> Advance:
    """Gives a hand up: every seat gets back what it brought, and nobody wins anything.

    Raises:
        Refused: the hand is over.
    """
    if state.waits_for is None:
        raise Refused(Reason.HAND_CLOSED, "the hand is over")
    brought = dict(zip(state.lineup.seats, state.lineup.stacks, strict=True))
    nothing = dict.fromkeys(state.lineup.seats, 0)
    over = state._replace(waits_for=None, stacks=brought, paid=nothing, pots=(), round=None, returned=())
    return over, (Voided(reason, tuple(brought.items())),)


def start(lineup: Lineup) -> Advance:
    """Posts the antes; the hand then waits for third street."""
    events: list[Event] = [Started(lineup)]
    stacks: dict[int, int] = {}
    paid: dict[int, int] = {}
    for seat, stack in zip(lineup.seats, lineup.stacks, strict=True):
        paid[seat] = min(lineup.stakes.ante, stack)
        stacks[seat] = stack - paid[seat]
        if paid[seat]:
            events.append(AntePosted(seat, paid[seat], stacks[seat]))
    pots = build_pots(paid, lineup.seats)
    if pots:
        events.append(PotsGathered(pots))
    return _fresh(lineup, Deal(STREETS[0]), stacks, paid, pots), tuple(events)


def _fresh(
    lineup: Lineup, waits_for: Lock | Deal, stacks: dict[int, int], paid: dict[int, int], pots: tuple[Pot, ...]
) -> TableState:
    """Returns a hand without a card."""
    return TableState(
        lineup=lineup,
        waits_for=waits_for,
        live=lineup.seats,
        stacks=stacks,
        paid=paid,
        pots=pots,
        street=None,
        up=dict.fromkeys(lineup.seats, ()),
        board=None,
        round=None,
        bring_in=None,
        left=frozenset(),
        returned=(),
        shown={},
        mucked=(),
        result=None,
    )


def dealt(state: TableState, street: str, up: Mapping[int, str], board: str | None = None) -> Advance:
    """Deals a street: an up card for each seat still in; on seventh street none, or the board card.

    Raises:
        Refused: the hand does not wait for this street.
        ValueError: the cards are not those that the street has.
    """
    if state.waits_for != Deal(street):
        raise Refused(Reason.WRONG_STREET, f"the table does not wait for {street} street")
    last = street == STREETS[-1]
    if set(up) != (set() if last else set(state.live)) or (board and not last):
        raise ValueError(f"{street} street deals one up card to each seat still in; seventh none, or one to the board")
    course = Course(state)
    course.street = street
    course.board = board
    course.up = {seat: (*cards, up[seat]) if seat in up else cards for seat, cards in state.up.items()}
    rounds_down = 2 if street == STREETS[0] else int(last and board is None)
    course.events.append(StreetDealt(street, state.live * rounds_down, tuple(up.items()), board))
    course.open_street()
    return course.step()


def act(state: TableState, seat: int, option: Option) -> Advance:
    """Does what a player chose.

    Args:
        state: the hand.
        seat: the seat that acts.
        option: what it does, and its total on this street afterwards; 0 for check and fold.

    Raises:
        Refused: not this seat's turn, or not one of its options.
    """
    turn = _turn_of(state, seat)
    if option not in turn.options:
        may = ", ".join(f"{each.action} {each.amount}" if each.amount else each.action for each in turn.options)
        raise Refused(Reason.ACTION_NOT_ALLOWED, f"seat {seat} may {may}, not {option.action} {option.amount}")
    course = Course(state)
    course.carry_out(seat, option, Cause.PLAYER)
    return course.step()


def time_out(state: TableState, seat: int) -> Advance:
    """Acts for a seat whose time ran out: it checks where it may, brings in where it must, and otherwise folds.

    Raises:
        Refused: not this seat's turn.
    """
    turn = _turn_of(state, seat)
    unasked = (option for option in turn.options if option.action in (Action.CHECK, Action.BRING_IN))
    course = Course(state)
    course.carry_out(seat, next(unasked, FOLD), Cause.TIMEOUT)
    return course.step()


def leave(state: TableState, seat: int) -> Advance:
    """Marks a seat's player as gone: the seat is folded when its turn comes, its bring-in posted first.

    An all-in seat has no more turns, and stays in for the pots that it has paid for.

    Raises:
        Refused: the hand is over, or the seat is not in it.
    """
    if state.waits_for is None:
        raise Refused(Reason.HAND_CLOSED, "the hand is over")
    _require_seat(state, seat)
    course = Course(state)
    if seat not in state.left:
        course.left |= {seat}
        course.events.append(SeatLeft(seat))
        if isinstance(state.waits_for, Turn) and state.waits_for.seat == seat:
            course.act_for_who_left(state.waits_for)
    return course.step()


def show(state: TableState, seat: int, cards: Sequence[str]) -> Advance:
    """Shows a seat's down cards at the showdown.

    Raises:
        Refused: it is not this seat's turn to show.
        ValueError: the cards do not make up seven.
    """
    _show_of(state, seat)
    hand = _read(state, seat, cards)
    course = Course(state)
    course.shown = {**state.shown, seat: hand}
    course.events.append(Shown(seat, tuple(cards), hand))
    course.go_on_showing()
    return course.step()


def muck(state: TableState, seat: int) -> Advance:
    """Mucks a seat's hand.

    Raises:
        Refused: it is not this seat's turn to show, or it has to show.
    """
    if not _show_of(state, seat).may_muck:
        raise Refused(Reason.ACTION_NOT_ALLOWED, f"seat {seat} has to show")
    course = Course(state)
    course.mucked = (*state.mucked, seat)
    course.events.append(Mucked(seat))
    course.go_on_showing()
    return course.step()


def is_beaten(state: TableState, seat: int, cards: Sequence[str]) -> bool:
    """Tells whether a seat's hand neither wins nor ties any part against the hands shown; needs its down cards."""
    return not wins_a_part(_read(state, seat, cards), seat, state.shown, state.pots)


def _turn_of(state: TableState, seat: int) -> Turn:
    """Returns the turn of this seat, if it has it."""
    turn = state.waits_for
    if isinstance(turn, Turn) and turn.seat == seat:
        return turn
    _require_seat(state, seat)
    if turn is None:
        raise Refused(Reason.HAND_CLOSED, "the hand is over")
    if isinstance(turn, Lock):
        raise Refused(Reason.HAND_NOT_LOCKED, "contributions are still awaited: nobody acts before the deck is locked")
    whose = f"seat {turn.seat}'s" if isinstance(turn, Turn) else "nobody's"
    raise Refused(Reason.OUT_OF_TURN, f"it is {whose} turn, not seat {seat}'s")


def _show_of(state: TableState, seat: int) -> Show:
    """Returns the turn of this seat to show, if it has it."""
    waits_for = state.waits_for
    if isinstance(waits_for, Show) and waits_for.seat == seat:
        return waits_for
    raise Refused(Reason.OUT_OF_TURN, f"seat {seat} is not asked to show")


def _require_seat(state: TableState, seat: int) -> None:
    if seat not in state.lineup.seats:
        raise Refused(Reason.INVALID_SEAT, f"seat {seat} is not in this hand")


def _read(state: TableState, seat: int, cards: Sequence[str]) -> Hand:
    """Reads a seat's hand from the down cards handed in, its up cards and the board card."""
    seven = (*cards, *state.up[seat], *((state.board,) if state.board else ()))
    if len(seven) != 7 or len(set(seven)) != 7:
        raise ValueError(f"seat {seat} must show the down cards that make up seven distinct cards")
    return read_hand(seven, hi_lo=state.lineup.hi_lo)
