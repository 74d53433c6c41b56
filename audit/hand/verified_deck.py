"""A deck that passed its hand's checks, for the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from audit import protocol
from audit.hand.checks import Case

_PLACES = {kind: {card: place for place, card in enumerate(cards)} for kind, cards in protocol.DECKS.items()}


class Dealt(NamedTuple):
    """One hand's deck and what it may be grouped by.

    Attributes:
        at: log index of the hand's close.
        hand: its 16 bytes.
        table: table id.
        number: the table's hand count.
        time: the commit's time text (`YYYY-MM-DDThh:mm:ss.sssZ`).
        seats: in dealing order; the last one is the dealer's.
        deck_kind: a name of `audit.protocol.DECKS`.
        order: the deck, top first, each card by its place in the kind's reference order; one byte a card.
    """

    at: int
    hand: bytes
    table: str
    number: int
    time: str
    seats: tuple[int, ...]
    deck_kind: str
    order: bytes


def dealt_hand(case: Case, deck: Sequence[str]) -> Dealt:
    """Returns the record of a closed hand that passed its checks."""
    commit = case.commit
    places = _PLACES[commit.deck]
    order = bytes([places[card] for card in deck])
    return Dealt(
        case.close_index, commit.hand, commit.table, commit.number, commit.time, commit.seats, commit.deck, order
    )
