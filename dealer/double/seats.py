"""From "which cards does each seat get on each street" to the order of the deck, or why there is none.

The positions come from the hand state machine that deals real hands, so the order cannot differ from the dealing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dealer.core import hand as machine
from dealer.core.hand import BOARD, Deal, Face, HandState, Reveal, Status
from dealer.double.decks import LARGEST, StackedDeck, StreetPlan, check_card, fill
from dealer.errors import Reason, Refused
from dealer.games.plans import SEVEN_CARD_STUD

ANY = "??"
FOLD = "fold"
STREETS = tuple(street.name for street in SEVEN_CARD_STUD.streets)


@dataclass(slots=True)
class _Places:
    """Which card lies at which position, and who it was given to, so that nobody else can have it."""

    cards: dict[int, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def put(self, position: int, card: str, where: str) -> None:
        if card == ANY:
            return
        check_card(card, f"for {where}")
        if card in self.given:
            raise Refused(Reason.INVALID_DECK, f"{card} is given twice: to {self.given[card]} and to {where}")
        self.given[card] = where
        self.cards[position] = card


def stack_seats(
    seats: Sequence[int], streets: Mapping[str, Mapping[int, str]], filler_seed: int | None = None
) -> StackedDeck:
    """Works out the deck of a stud hand.

    Args:
        seats: 2 to 8 seats in dealing order.
        streets: for each street by its name what each seat gets, such as `{"third": {1: "As Ad | 7c", 2: "?? ?? | 2h"},
            "fourth": {1: "Kd", 2: "fold"}}`. `??` is any card; "fold" folds the seat before the street is dealt; a seat
            that is left out gets any cards; seat 0 is the board.
        filler_seed: shuffles the cards that nobody named; None: they come in reference order.

    Returns:
        All 52 cards, top first, those that nobody named in the gaps and at the end; and what each street has to be
        like.

    Raises:
        Refused: the hand cannot be dealt like that; names the card or the seat.
    """
    for name in streets:
        if name not in STREETS:
            raise Refused(Reason.INVALID_STREET, f"{name!a} is no street: they are {', '.join(STREETS)}")
    if not any(streets.values()):
        raise Refused(Reason.INVALID_DECK, "no street names a card")
    state, places = _committed(tuple(seats)), _Places()
    plans: dict[str, StreetPlan] = {}
    last = max(STREETS.index(name) for name in streets)
    for name in STREETS[: last + 1]:
        wanted = streets.get(name, {})
        folds = tuple(seat for seat, text in wanted.items() if text.strip() == FOLD)
        for seat in folds:
            state, _ = machine.fold(state, seat)
        state, event = machine.deal_street(state, name)
        for seat, text in wanted.items():
            if text.strip() != FOLD:
                _place(state, event, seat, text, places)
        named = {c.position: (c.seat, places.cards[c.position]) for c in event.cards if c.position in places.cards}
        plans[name] = StreetPlan(folds, named)
    spare = iter([card for card in fill(LARGEST, (), filler_seed) if card not in places.given])
    top = [places.cards.get(position) or next(spare) for position in range(len(state.dealt))]
    return StackedDeck(fill(LARGEST, top, filler_seed), tuple(seats), plans)


def _committed(seats: tuple[int, ...]) -> HandState:
    return HandState(
        hand=bytes(16),
        table="stacked",
        number=1,
        game=SEVEN_CARD_STUD,
        deck=LARGEST,
        seats=seats,
        reveal=Reveal.PUBLIC,
        status=Status.COMMITTED,
        seed_commitment=b"",
    )


def _place(state: HandState, event: Deal, seat: int, text: str, places: _Places) -> None:
    """Puts the cards that one seat gets on one street at their places in the deck."""
    where = f"{'the board' if seat == BOARD else f'seat {seat}'} on {event.street} street"
    _require_dealt_to(state, event, seat)
    left, bar, right = text.partition("|")
    if not bar and not any(c.face is Face.DOWN for c in event.cards if c.seat == seat):
        left, right = right, left  # a street without down cards needs no bar
    for face, names in ((Face.DOWN, left.split()), (Face.UP, right.split())):
        positions = [c.position for c in event.cards if c.seat == seat and c.face is face]
        if len(names) > len(positions):
            hint = "; the door card stands behind a bar, as in 'As Ad | 7c'" if event.street == STREETS[0] else ""
            raise Refused(
                Reason.INVALID_DECK,
                f"{names[len(positions)]} is a card too many for {where}: {len(positions)} {face} there{hint}",
            )
        for position, name in zip(positions, names, strict=False):
            places.put(position, name, where)


def _require_dealt_to(state: HandState, event: Deal, seat: int) -> None:
    if any(card.seat == seat for card in event.cards):
        return
    live, left = len(state.live), state.cards_left + len(event.cards)
    if seat == BOARD:
        raise Refused(
            Reason.INVALID_SEATS, f"{event.street} street deals no board card: {left} cards are left for {live} seats"
        )
    if seat in state.live:
        raise Refused(
            Reason.INVALID_SEATS,
            f"{event.street} street deals one card, to the board, for {left} are left and {live} seats are in: "
            f"give it to seat {BOARD}, not to seat {seat}",
        )
    if seat in state.seats:
        raise Refused(Reason.SEAT_FOLDED, f"seat {seat} has folded before {event.street} street")
    raise Refused(Reason.INVALID_SEATS, f"seat {seat} is not among the seats {', '.join(map(str, state.seats))}")
