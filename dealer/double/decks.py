"""Stacked decks: what a test may choose, why it may not, and how the cards that it does not name fill up."""

from collections.abc import Iterable
from dataclasses import dataclass

from dealer.core.cards import DECK_KINDS
from dealer.core.hand import HandState
from dealer.errors import Reason, Refused
from dealer.games.plans import SEVEN_CARD_STUD

LARGEST = "standard52"


@dataclass(frozen=True, slots=True)
class StackedDeck:
    """What is chosen for one hand.

    Attributes:
        top: cards from the top; the rest fills up in the deck kind's reference order.
        seats: the seats that the order was worked out for, in dealing order; empty where it was given card by card.
    """

    top: tuple[str, ...]
    seats: tuple[int, ...] = ()

    def for_hand(self, state: HandState) -> tuple[str, ...]:
        """Returns the whole deck of a hand.

        Raises:
            Refused: a card that the hand's deck kind does not have, or a hand of other seats than the order is for.
        """
        if self.seats and (state.seats != self.seats or state.game.streets != SEVEN_CARD_STUD.streets):
            seats = ", ".join(map(str, self.seats))
            raise Refused(
                Reason.INVALID_SEATS, f"this hand is stacked for a stud hand of the seats {seats}, in this order"
            )
        return fill(state.deck, self.top)


def check_card(name: str, place: str) -> None:
    """Holds where `name` is a card of the largest deck kind.

    Raises:
        Refused: it is none; says where it stands.
    """
    if name not in DECK_KINDS[LARGEST]:
        raise Refused(
            Reason.INVALID_DECK,
            f"{name!a} {place} is no card: write a rank of 23456789TJQKA, then a suit of cdhs; there are no jokers",
        )


def parse_deck(text: str) -> tuple[str, ...]:
    """Reads a deck or its top part: cards separated by spaces, top first.

    Raises:
        Refused: no card at all, something that is no card, or a card twice; names it.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(text.split(), start=1):
        check_card(name, f"at place {place}")
        if name in places:
            raise Refused(Reason.INVALID_DECK, f"{name} stands twice in the deck, at places {places[name]} and {place}")
        places[name] = place
    if not places:
        raise Refused(Reason.INVALID_DECK, "the deck names no card")
    return tuple(places)


def fill(kind: str, top: Iterable[str]) -> tuple[str, ...]:
    """Returns the whole deck: the named cards, then all others in the deck kind's reference order.

    Raises:
        Refused: a named card is not in this deck kind.
    """
    named, reference = tuple(top), DECK_KINDS[kind]
    for card in named:
        if card not in reference:
            raise Refused(Reason.INVALID_DECK, f"{card} is stacked, and {kind} has no such card")
    return (*named, *(card for card in reference if card not in named))
