"""What one seat knows of the hand, kept up to date from its own events."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dealer.client.values import Card
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2


@dataclass(slots=True)
class Seat:
    """One seat as it is seen.

    Attributes:
        stack: chips behind.
        bet: chips in front of it on this street.
        cards: its cards in the order dealt; `??` for what is hidden.
        folded: whether it has folded.
        last: what it did last, in words.
    """

    stack: int
    bet: int = 0
    cards: dict[int, str] = field(default_factory=dict)
    folded: bool = False
    last: str = ""


@dataclass(slots=True)
class TableSeen:
    """The table through one seat's eyes.

    Attributes:
        hi_lo: whether half of each pot is for a low.
        seats: the seats in dealing order.
        board: the card that everybody shares.
        pots: the pots of the rounds that are over.
        street: the street last dealt, in words.
        to_act: the seat to act; 0: nobody.
        options: what it may do.
    """

    hi_lo: bool = False
    seats: dict[int, Seat] = field(default_factory=dict)
    board: list[str] = field(default_factory=list)
    pots: Sequence[pb.Pot] = ()
    street: str = ""
    to_act: int = 0
    options: Sequence[pb.ActionOption] = ()

    def take(self, event: pb.TableEvent, cards: Sequence[Card]) -> None:
        """Updates the table by an event and its cards, which are checked."""
        for card in cards:
            if card.seat:
                self.seats[card.seat].cards[card.position] = str(card)
            else:
                self.board.append(str(card))
        match event.WhichOneof("event"):
            case "hand_started":
                self.seats = {each.seat: Seat(each.stack) for each in event.hand_started.seats}
            case "ante_posted":
                self.seats[event.ante_posted.seat].stack = event.ante_posted.stack
            case "street_dealt":
                self.street = types_pb2.Street.Name(event.street_dealt.street).removeprefix("STREET_").lower()
            case "seat_prompted":
                self.to_act, self.options = event.seat_prompted.seat, event.seat_prompted.options
                self.pots = event.seat_prompted.pots
            case "seat_acted":
                self._acted(event.seat_acted)
            case "bet_returned":
                seat = self.seats[event.bet_returned.seat]
                seat.stack, seat.bet = event.bet_returned.stack, seat.bet - event.bet_returned.amount
            case "pots_gathered":
                self.pots, self.to_act = event.pots_gathered.pots, 0
                for seat in self.seats.values():
                    seat.bet, seat.last = 0, "" if not seat.folded else seat.last
            case "hand_finished":
                self.pots, self.to_act = (), 0
                for each in event.hand_finished.stacks:
                    self.seats[each.seat].stack = each.stack

    def _acted(self, acted: pb.SeatActed) -> None:
        seat = self.seats[acted.seat]
        seat.stack, seat.bet = acted.stack, seat.bet + acted.chips
        seat.folded = seat.folded or acted.action == pb.ACTION_FOLD
        seat.last = words(acted.action, acted.amount)
        self.to_act = 0


def words(action: pb.Action.ValueType, amount: int) -> str:
    """An action in words: "raise to 200"."""
    name = pb.Action.Name(action).removeprefix("ACTION_").lower().replace("_", "-")
    if not amount:
        return name
    return f"{name} to {amount:,}" if action in (pb.ACTION_COMPLETE, pb.ACTION_RAISE) else f"{name} {amount:,}"
