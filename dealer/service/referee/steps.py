"""Runs a referee's hand on its certified hand, by the same steps as a room would by hand, each durable with its cause.

It has no other way to the deck than a room has: it deals a street and is given its cards, folds, shows and closes.
"""

import hashlib

from dealer.core.hand import Face, Status, VoidReason
from dealer.core.ids import hand_text
from dealer.service.referee import record
from dealer.service.referee.record import RefereedHand, TableCard
from dealer.service.writer import hands, seats
from dealer.service.writer.change import Unit
from dealer.service.writer.hands import Opening
from dealer.service.writer.live import LiveHand
from dealer.table import hand as referee
from dealer.table.betting import FOLD, Turn
from dealer.table.events import Acted
from dealer.table.phh import Heading, write_phh
from dealer.table.stakes import Lineup
from dealer.table.state import Deal, Lock, Show


def start(
    unit: Unit, caller: str, opening: Opening, lineup: Lineup, action_seconds: int, tokens: dict[int, bytes]
) -> RefereedHand:
    """Opens a certified hand, and runs it to the first prompt; one to which contributors are invited is offered only.

    Args:
        unit: what changes.
        caller: the room.
        opening: the certified hand to open.
        lineup: who plays, and for what.
        action_seconds: the time for each action.
        tokens: SHA-256 of each open seat's token.

    Raises:
        Refused: see `hands.open_hand`.
    """
    live = hands.open_hand(unit, caller, opening, referee=True)
    heading = Heading(hand_text(live.state.hand), live.state.table, live.state.number)
    offered = live.state.status is Status.OFFERED
    refereed = record.begin(live.state.hand, heading, lineup, action_seconds, tokens, offered=offered)
    if offered:
        return refereed
    refereed = _seal(refereed, live)
    return follow(unit, refereed, refereed)


def lock(unit: Unit, refereed: RefereedHand) -> RefereedHand:
    """Locks an offered hand's deck and starts the hand: the antes are posted, and third street is waited for.

    Raises:
        Refused: it is locked already, or over.
    """
    live = hands.lock_deck(unit, refereed.hand)
    return record.lock(_seal(refereed, live))


def _seal(refereed: RefereedHand, live: LiveHand) -> RefereedHand:
    return record.seal(refereed, live.seat_secrets, live.known_secrets().envelopes)


def void(unit: Unit, refereed: RefereedHand, reason: VoidReason) -> RefereedHand:
    """Gives a hand up at the table and in the log.

    The close names no history: nothing that was played counts, and the events in the log tell what was dealt.

    Raises:
        Refused: it is over.
    """
    given_up = record.void(refereed, reason)
    hands.void_hand(unit, refereed.hand, reason)
    return given_up


def follow(unit: Unit, before: RefereedHand, refereed: RefereedHand) -> RefereedHand:
    """Folds on the certified hand who folded at the table, then deals, shows and closes until a seat has to act.

    Args:
        unit: what changes.
        before: the hand before something happened.
        refereed: the hand after it.
    """
    _fold(unit, before, refereed)
    while not isinstance(waits_for := refereed.state.waits_for, Lock | Turn | None):
        before = refereed
        if isinstance(waits_for, Deal):
            refereed = _deal(unit, refereed, waits_for.street)
        else:
            refereed = _show(unit, refereed, waits_for)
        _fold(unit, before, refereed)
    if refereed.state.waits_for is None:
        hands.close_hand(unit, refereed.hand, hashlib.sha256(phh(refereed)).digest())
    return refereed


def phh(refereed: RefereedHand) -> bytes:
    """Returns the exact bytes of the rail's PHH file, whose hash the close entry holds."""
    return write_phh(refereed.heading, refereed.events).encode("ascii")


def _fold(unit: Unit, before: RefereedHand, refereed: RefereedHand) -> None:
    for event in refereed.events[len(before.events) :]:
        if isinstance(event, Acted) and event.option == FOLD:
            hands.fold_seat(unit, refereed.hand, event.seat)


def _deal(unit: Unit, refereed: RefereedHand, street: str) -> RefereedHand:
    live, event = hands.deal_street(unit, refereed.hand, street)
    faces, seals = hands.faces_of(live), seats.seals_of(live)
    cards = [TableCard(c.position, c.seat, c.face, *faces(c.position), sealed=seals(c)) for c in event.cards]
    return record.deal(refereed, street, cards)


def _show(unit: Unit, refereed: RefereedHand, asked: Show) -> RefereedHand:
    if asked.may_muck and referee.is_beaten(refereed.state, asked.seat, record.down_cards(refereed, asked.seat)):
        return record.muck(refereed, asked.seat)
    positions = [card.position for card in refereed.cards if card.seat == asked.seat and card.face is Face.DOWN]
    hands.show_cards(unit, refereed.hand, positions, None)
    return record.show(refereed, asked.seat)
