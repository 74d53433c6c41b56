"""The rail's history of a referee's hand, made of the events that a watcher saw: the close has to hash this."""

from collections.abc import Sequence

from dealer.table import events as happened
from dealer.table.betting import Action, Option
from dealer.table.payouts import Hand
from dealer.table.phh import Heading, write_phh
from dealer.table.stakes import Lineup, Stakes
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

_CAUSES = {
    pb.CAUSE_PLAYER: happened.Cause.PLAYER,
    pb.CAUSE_TIMEOUT: happened.Cause.TIMEOUT,
    pb.CAUSE_LEFT: happened.Cause.LEFT,
}
_NOT_READ = Hand((), 0, None)  # what a shown hand is worth does not stand in the history


def read_action(action: "pb.Action.ValueType") -> Action:
    """Reads an action from the wire.

    Raises:
        ValueError: it is none.
    """
    return Action(pb.Action.Name(action).removeprefix("ACTION_").lower().replace("_", "-"))


def history_of(heading: Heading, seen: Sequence[pb.TableEvent]) -> str:
    """Returns the rail's PHH file of a hand that is over.

    Args:
        heading: the hand.
        seen: every event that a watcher saw, to the end.

    Raises:
        ValueError, KeyError: an event is not in its form, or the hand is not whole.
    """
    return write_phh(heading, [event for each in seen if (event := _event(each)) is not None])


def _event(event: pb.TableEvent) -> happened.Event | None:
    match event.WhichOneof("event"):
        case "hand_started":
            return happened.Started(_lineup(event.hand_started))
        case "street_dealt":
            return _street(event.street_dealt)
        case "seat_acted":
            acted = event.seat_acted
            option = Option(read_action(acted.action), acted.amount)
            return happened.Acted(acted.seat, option, acted.chips, acted.stack, _CAUSES[acted.cause])
        case "seat_left":
            return happened.SeatLeft(event.seat_left.seat)
        case "bet_returned":
            back = event.bet_returned
            return happened.Returned(back.seat, back.amount, back.stack)
        case "hand_shown":
            cards = tuple(card.card for card in event.hand_shown.cards)
            return happened.Shown(event.hand_shown.seat, cards, _NOT_READ)
        case "hand_mucked":
            return happened.Mucked(event.hand_mucked.seat)
        case "hand_finished":
            over = event.hand_finished
            payouts = tuple((each.seat, each.amount) for each in over.payouts)
            return happened.Finished(payouts, tuple((each.seat, each.stack) for each in over.stacks))
        case _:
            return None  # what the notation has no word for


def _lineup(started: pb.HandStarted) -> Lineup:
    stakes = started.stakes
    return Lineup(
        hi_lo=started.hand.game == types_pb2.GAME_SEVEN_CARD_STUD_HI_LO,
        stakes=Stakes(
            ante=stakes.ante,
            bring_in=stakes.bring_in,
            small_bet=stakes.small_bet,
            big_bet=stakes.big_bet,
            chip=stakes.chip,
            open_pair_double=stakes.open_pair_double,
        ),
        seats=tuple(each.seat for each in started.seats),
        stacks=tuple(each.stack for each in started.seats),
    )


def _street(dealt: pb.StreetDealt) -> happened.StreetDealt:
    up = tuple((card.seat, card.card) for card in dealt.cards if card.seat and card.face == types_pb2.FACE_UP)
    down = tuple(card.seat for card in dealt.cards if card.face == types_pb2.FACE_DOWN)
    board = next((card.card for card in dealt.cards if not card.seat), None)
    return happened.StreetDealt(types_pb2.Street.Name(dealt.street).lower(), down, up, board)
