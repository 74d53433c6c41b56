"""Stacked decks: what a test may choose, why it may not, and how the cards that it does not name fill up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from dealer.core.cards import DECK_KINDS
from dealer.core.deck import shuffle
from dealer.core.hand import BOARD, Deal, HandState
from dealer.errors import Reason, Refused
from dealer.games.plans import SEVEN_CARD_STUD

LARGEST = "standard52"


@dataclass(frozen=True, slots=True)
class StreetPlan:
    """The street that the stacked cards were worked out for; any other would send them elsewhere.

    Attributes:
        folds: the seats that fold before it.
        cards: seat and card by the position in the deck, of the cards that were named.
    """

    folds: tuple[int, ...]
    cards: Mapping[int, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class StackedDeck:
    """What is chosen for one hand.

    Attributes:
        top: cards from the top; the rest fills up, see `fill`.
        seats: the seats that the order was worked out for, in dealing order; empty if it was given card by card.
        streets: what each street has to be like, by its name; none if the order was given card by card.
        filler_seed: shuffles the filler; None: the deck kind's reference order.
    """

    top: tuple[str, ...]
    seats: tuple[int, ...] = ()
    streets: Mapping[str, StreetPlan] = field(default_factory=dict)
    filler_seed: int | None = None

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
        return fill(state.deck, self.top, self.filler_seed)

    def check_street(self, state: HandState, street: Deal) -> None:
        """Refuses a street of which a stacked fold was forgotten, or a card would go elsewhere than was stacked.

        Args:
            state: the hand before the street.
            street: what is about to be dealt.

        Raises:
            Refused: it is not dealt like this; names the seat.
        """
        plan = self.streets.get(street.street)
        if plan is None:
            return
        for seat in plan.folds:
            if seat in state.live:
                raise Refused(
                    Reason.WRONG_STREET,
                    f"the stack has seat {seat} fold before {street.street} street, and it is still in: "
                    "fold it first, or stack the hand without the fold",
                )
        dealt = {card.position: card.seat for card in street.cards}
        for position, (seat, card) in plan.cards.items():
            if dealt.get(position) != seat:
                gone = [str(each) for each in self.seats if each not in state.live]
                raise Refused(
                    Reason.WRONG_STREET,
                    f"{card} is stacked for {'the board' if seat == BOARD else f'seat {seat}'} on {street.street} "
                    f"street and would go elsewhere: the seats that have folded are {', '.join(gone) or 'none'}, "
                    "and the stack has other folds",
                )


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


def fill(kind: str, top: Iterable[str], seed: int | None = None) -> tuple[str, ...]:
    """Returns the whole deck: the named cards, then all others.

    Args:
        kind: deck kind.
        top: the named cards.
        seed: shuffles the others; None: they follow in the deck kind's reference order.

    Raises:
        Refused: a named card is not in this deck kind.
    """
    named, reference = tuple(top), DECK_KINDS[kind]
    for card in named:
        if card not in reference:
            raise Refused(Reason.INVALID_DECK, f"{card} is stacked, and {kind} has no such card")
    others = reference if seed is None else shuffle(reference, sha256(b"filler" + seed.to_bytes(8, "big")).digest())
    return (*named, *(card for card in others if card not in named))
