"""A hand that is found again: what must have happened to it, from the cards that lie there and the log's order."""

from collections.abc import Mapping, Sequence
from typing import Any

from dealer.client.checks import HASH_BYTES, Asked, require
from dealer.client.errors import CheckError
from dealer.client.receipts import Proven, read_entry
from dealer.client.values import Card
from dealer.core import hand as machine
from dealer.core.hand import BOARD, MAX_SEAT, Deal, Dealt, Draw, Event, Face, Fold, HandState, Reveal
from dealer.core.history import logged_events
from dealer.core.ids import MAX_INTEGER, is_id
from dealer.errors import Refused
from dealer.games.plans import GAMES


def asked_again(offer: Proven | None, commit: Proven | None) -> Asked:
    """Returns what a hand was opened with, as its first entry says; the entry's own checks hold it to that.

    Raises:
        CheckError: `schema`: the entry is not in its form, or there is none.
    """
    first = offer or commit
    if first is None:
        raise CheckError("schema", "the dealer gave neither an offer nor a commit of the hand")
    content = read_entry(first.entry)
    try:
        game, deck, seats = GAMES[content["game"]], content["deck"], tuple(content["seats"])
        table, number, reveal = content["table"], content["number"], Reveal(content["reveal"])
        invited = () if offer is None else tuple(_invited(each) for each in content["contributors"])
        sealed = tuple((seat, bytes.fromhex(digest)) for seat, digest in content.get("seat_keys", ()))
        right = (
            isinstance(table, str)
            and is_id(table)
            and type(number) is int
            and 0 < number <= MAX_INTEGER
            and deck in game.deck_kinds
            and game.min_seats <= len(seats) <= game.max_seats
            and len(set(seats)) == len(seats)
            and all(type(seat) is int and 0 < seat <= MAX_SEAT for seat in seats)
            and all(is_id(name) and len(commitment) == HASH_BYTES for name, commitment in invited)
            and [seat for seat, _ in sealed] == [seat for seat in seats if seat in dict(sealed)]
            and all(len(digest) == HASH_BYTES for _, digest in sealed)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckError("schema", f"an entry of the hand is not in its form: {type(error).__name__}") from error
    require(right, "schema", "an entry of the hand has a member out of its range")
    return Asked(table, number, 0, game, deck, seats, reveal, invited, digests=sealed)


def _invited(content: Mapping[str, Any]) -> tuple[str, bytes]:
    return content["contributor"], bytes.fromhex(content["commitment"])


def follow(start: HandState, cards: Sequence[Card], live: Sequence[int]) -> tuple[HandState, HandState]:
    """Plays a hand to where it stands: streets by the rules, folds by who got no more cards.

    Cards do not tell which of several seats folded first, nor when a card was shown: any order will do until the close
    names the one that was; see `as_logged`.

    Args:
        start: the hand after its commit.
        cards: all that lie there, by position, shown ones face up.
        live: the seats that are said to be in.

    Returns:
        The hand, and how it stood when the street last dealt had been dealt.

    Raises:
        Refused: the rules do not lead there.
    """
    state = start
    if not state.game.streets:
        if cards:
            state, _ = machine.draw(state, [(card.seat, card.face) for card in cards])
        at_street = state
    for name in state.game.street_names:
        if len(state.dealt) >= len(cards):
            break
        if state.street is not None:
            state = _fold_others(state, _takers(state, cards), cards)
        state, _ = machine.deal_street(state, name)
        at_street = state
    if not state.dealt:
        at_street = state
    state = _fold_others(state, live, cards)
    return _show(state, state.live, cards), at_street


def _takers(state: HandState, cards: Sequence[Card]) -> tuple[int, ...]:
    """Returns the seats that get the next street's cards: one each, in dealing order, until the order begins anew."""
    takers: list[int] = []
    for card in cards[len(state.dealt) :]:
        if card.seat == BOARD:
            return tuple(takers) or state.live  # who is in takes no card of a street that goes to the board
        at = state.live.index(card.seat) if card.seat in state.live else -1
        if at < 0 or (takers and at <= state.live.index(takers[-1])):
            break
        takers.append(card.seat)
    return tuple(takers)


def _fold_others(state: HandState, stay: Sequence[int], cards: Sequence[Card]) -> HandState:
    for seat in state.live:
        if seat not in stay:
            state, _ = machine.fold(_show(state, (seat,), cards), seat)
    return state


def _show(state: HandState, seats: Sequence[int], cards: Sequence[Card]) -> HandState:
    """Shows what lies up of these seats' down cards."""
    shown = state.shown
    positions = [
        position
        for position, seat, face in state.dealt
        if seat in seats and face is Face.DOWN and position not in shown and _lies_up(cards, position)
    ]
    return machine.show(state, positions)[0] if positions else state


def _lies_up(cards: Sequence[Card], position: int) -> bool:
    return position < len(cards) and cards[position].face is Face.UP


def lying(state: HandState) -> list[Dealt]:
    """Returns the cards as they lie: those that were shown face up."""
    shown = state.shown
    return [card._replace(face=Face.UP) if card.position in shown else card for card in state.dealt]


def replay(start: HandState, events: Sequence[Event]) -> HandState:
    """Plays what is said to have happened.

    Raises:
        Refused: the rules do not allow it.
        CheckError: `dealing`: cards went elsewhere than the rules say.
    """
    state = start
    for event in events:
        made: Event
        match event:
            case Deal(street, _):
                state, made = machine.deal_street(state, street)
            case Draw(cards):
                state, made = machine.draw(state, [(card.seat, card.face) for card in cards])
            case Fold(seat):
                state, made = machine.fold(state, seat)
            case _:
                state, made = machine.show(state, event.positions)
        if made != event:
            raise CheckError("dealing", "the log's events are not what the rules make of them")
    return state


def events_of(close: Proven) -> tuple[Event, ...]:
    """Reads the events of a close.

    Raises:
        CheckError: `dealing`: one of them is not in its form.
    """
    try:
        return logged_events(close.content)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckError("dealing", f"the close's events are not in their form: {type(error).__name__}") from error


def as_logged(start: HandState, found: HandState, now: HandState, close: Proven) -> HandState:
    """Returns a hand's end with its events in the order of its close, as far as that order was not known.

    Args:
        start: the hand after its commit.
        found: how it stood when it was found, its events in an order of our own.
        now: how it ended: the same events, and behind them those that we saw.
        close: its close entry.

    Returns:
        The end with the log's events, if they lead to what was found and from there go on as we saw; else `now`, which
        the comparison with the close then refuses.
    """
    logged, seen = events_of(close), now.events[len(found.events) :]
    before = logged[: len(logged) - len(seen)]
    if logged[len(before) :] != seen:
        return now
    try:
        told = replay(start, before)
    except Refused:
        return now
    if (lying(told), told.live) != (lying(found), found.live):
        return now
    for event in seen:
        told = told.later(event)
    return told.later(status=now.status)
