"""What the rail and each seat may see of a referee's hand, as messages on the wire.

A down card is for its own seat alone until the seat shows it. Everything that leaves TableService is made here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dealer.core.hand import Face, VoidReason
from dealer.service.referee.record import RefereedHand, TableCard
from dealer.service.rpc.answers import FACE, STREET, VOID_REASON
from dealer.table import events as happened
from dealer.table.betting import FOLD, Action, Option, Turn
from dealer.table.naming import high_name
from dealer.table.payouts import Award, Half
from dealer.table.phh import write_phh
from dealer.table.pots import Pot, give_up
from dealer.table.reading import high_five
from dealer.table.stakes import Lineup, Stakes
from dealer.table.text import write_text
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

RAIL = 0
"""The seat number of those who only watch."""
HIDDEN = "??"

ACTION = {
    Action.BRING_IN: pb.ACTION_BRING_IN,
    Action.COMPLETE: pb.ACTION_COMPLETE,
    Action.CHECK: pb.ACTION_CHECK,
    Action.BET: pb.ACTION_BET,
    Action.CALL: pb.ACTION_CALL,
    Action.RAISE: pb.ACTION_RAISE,
    Action.FOLD: pb.ACTION_FOLD,
}
_HALF = {Half.HIGH: pb.HALF_HIGH, Half.LOW: pb.HALF_LOW}
_CAUSE = {
    happened.Cause.PLAYER: pb.CAUSE_PLAYER,
    happened.Cause.TIMEOUT: pb.CAUSE_TIMEOUT,
    happened.Cause.LEFT: pb.CAUSE_LEFT,
}


@dataclass(frozen=True, slots=True)
class Began:
    """A certified hand before its first card: as it was offered, if it was, and as it started, once it has."""

    offered: types_pb2.Hand | None
    started: types_pb2.Hand | None


@dataclass(slots=True)
class Closing:
    """A hand's close entry, the tlog-proof text for it, once it is filled in, and the hand as it ended."""

    entry: bytes
    hand: types_pb2.Hand
    receipt: str = ""


def table_hand(refereed: RefereedHand, milliseconds_left: int) -> pb.TableHand:
    """Returns the rail's view of a hand; certified hand and closing are for the caller to add.

    Args:
        refereed: the hand.
        milliseconds_left: what the seat to act has left.
    """
    state = refereed.state
    turn = state.waits_for if isinstance(state.waits_for, Turn) else None
    view = pb.TableHand(
        hand_id=refereed.heading.hand,
        street=STREET[state.street] if state.street else types_pb2.STREET_UNSPECIFIED,
        to_act=turn.seat if turn else 0,
        options=_options(turn.options if turn else ()),
        seats=_seats(refereed),
        board=[state.board] if state.board else [],
        bring_in_seat=state.bring_in or 0,
        pots=_pots(state.pots),
        finished=state.waits_for is None,
        returned=_amounts(state.returned),
        table=refereed.heading.table,
        game=types_pb2.GAME_SEVEN_CARD_STUD_HI_LO if state.lineup.hi_lo else types_pb2.GAME_SEVEN_CARD_STUD,
        stakes=_stakes(state.lineup.stakes),
        milliseconds_left=milliseconds_left if turn else 0,
        sequence=len(refereed.events),
    )
    if state.result is not None:
        view.payouts.extend(_amounts(state.result.payouts))
        view.shown.extend(state.shown)
        view.awards.extend(_award(award) for award in state.result.awards)
        view.history_phh = write_phh(refereed.heading, refereed.events)
    if view.finished:
        view.history_text = write_text(refereed.heading, refereed.events)
    return view


@dataclass(frozen=True, slots=True)
class Seen:
    """One event of a hand, with what lies on the table for it.

    Attributes:
        refereed: the hand.
        sequence: the event's number.
        event: the event.
        dealt: the cards, if it is a street.
        pots: the pots that lie there.
    """

    refereed: RefereedHand
    sequence: int
    event: happened.Event
    dealt: tuple[TableCard, ...]
    pots: tuple[Pot, ...]

    def eyes(self, seat: int) -> int:
        """Returns whose eyes see the same as this seat's: but for a street with a card of its own, the rail's."""
        own = any(card.seat == seat and card.face is Face.DOWN for card in self.dealt)
        return seat if own else RAIL

    def message(self, eyes: int) -> pb.TableEvent:
        """Returns the event as `eyes` may see it; certified hand and closing are for the caller to add."""
        view = _event(self.refereed, self.event, eyes, self.dealt, self.pots)
        view.sequence = self.sequence
        return view


def events(refereed: RefereedHand, after: int) -> Iterator[Seen]:
    """Yields the events from `after` + 1 on, each as it can be seen."""
    streets = iter(refereed.streets)
    pots: tuple[Pot, ...] = ()
    for sequence, event in enumerate(refereed.events, 1):
        cards: tuple[TableCard, ...] = next(streets) if isinstance(event, happened.StreetDealt) else ()
        if isinstance(event, happened.PotsGathered):
            pots = event.pots
        elif isinstance(event, happened.Acted) and event.option == FOLD:
            pots = give_up(pots, event.seat)
        if sequence > after:
            yield Seen(refereed, sequence, event, cards, pots)


def _event(
    refereed: RefereedHand, event: happened.Event, eyes: int, dealt: Iterable[TableCard], pots: tuple[Pot, ...]
) -> pb.TableEvent:
    """Returns one event as `eyes` may see it; a street with the cards `dealt`, a prompt with the `pots` there."""
    match event:
        case happened.Offered(lineup):
            offered = pb.HandOffered(
                stakes=_stakes(lineup.stakes), seats=_brought(lineup), action_seconds=refereed.action_seconds
            )
            return pb.TableEvent(hand_offered=offered)
        case happened.Started(lineup):
            started = pb.HandStarted(
                stakes=_stakes(lineup.stakes), seats=_brought(lineup), action_seconds=refereed.action_seconds
            )
            return pb.TableEvent(hand_started=started)
        case happened.AntePosted(seat, amount, stack):
            return pb.TableEvent(ante_posted=pb.AntePosted(seat=seat, amount=amount, stack=stack))
        case happened.StreetDealt(street, _, _, _):
            cards = [_card(card, open_=card.face is Face.UP or card.seat == eyes) for card in dealt]
            return pb.TableEvent(street_dealt=pb.StreetDealt(street=STREET[street], cards=cards))
        case happened.BringInDue(seat):
            return pb.TableEvent(bring_in_due=pb.BringInDue(seat=seat))
        case Turn(seat, options):
            prompted = pb.SeatPrompted(
                seat=seat, options=_options(options), pots=_pots(pots), action_seconds=refereed.action_seconds
            )
            return pb.TableEvent(seat_prompted=prompted)
        case happened.Acted(seat, option, chips, stack, cause):
            acted = pb.SeatActed(
                seat=seat,
                action=ACTION[option.action],
                amount=option.amount,
                chips=chips,
                stack=stack,
                cause=_CAUSE[cause],
            )
            return pb.TableEvent(seat_acted=acted)
        case happened.SeatLeft(seat):
            return pb.TableEvent(seat_left=pb.SeatLeft(seat=seat))
        case happened.Returned(seat, amount, stack):
            return pb.TableEvent(bet_returned=pb.BetReturned(seat=seat, amount=amount, stack=stack))
        case happened.PotsGathered(gathered):
            return pb.TableEvent(pots_gathered=pb.PotsGathered(pots=_pots(gathered)))
        case happened.Shown(seat, _, hand):
            turned = [
                _card(c, open_=True, face=Face.UP) for c in refereed.cards if c.seat == seat and c.face is Face.DOWN
            ]
            name = high_name(high_five(hand.cards, hand.high))
            return pb.TableEvent(hand_shown=pb.HandShown(seat=seat, cards=turned, name=name))
        case happened.Mucked(seat):
            return pb.TableEvent(hand_mucked=pb.HandMucked(seat=seat))
        case happened.Awarded(award):
            return pb.TableEvent(pot_awarded=pb.PotAwarded(award=_award(award)))
        case happened.Finished(payouts, stacks):
            finished = pb.HandFinished(
                payouts=_amounts(payouts),
                stacks=_stacks(stacks),
                history_phh=write_phh(refereed.heading, refereed.events),
                history_text=write_text(refereed.heading, refereed.events),
            )
            return pb.TableEvent(hand_finished=finished)
        case happened.Voided(reason, stacks):
            voided = pb.HandVoided(reason=VOID_REASON[VoidReason(reason)], stacks=_stacks(stacks))
            return pb.TableEvent(hand_voided=voided)


def _seats(refereed: RefereedHand) -> Iterator[pb.TableSeat]:
    state = refereed.state
    cards: Mapping[int, list[str]] = {seat: [] for seat in (RAIL, *state.lineup.seats)}
    for card in refereed.cards:
        seen = card.face is Face.UP or card.seat in state.shown
        cards[card.seat].append(card.card if seen else HIDDEN)
    for seat in state.lineup.seats:
        if seat not in state.live:
            stands = pb.SEAT_STATE_FOLDED
        else:
            stands = pb.SEAT_STATE_IN if state.stacks[seat] else pb.SEAT_STATE_ALL_IN
        yield pb.TableSeat(
            seat=seat,
            stack=state.stacks[seat],
            street_bet=state.round.bets[seat] if state.round else 0,
            state=stands,
            cards=cards[seat],
            left=seat in state.left,
        )


def _card(card: TableCard, *, open_: bool, face: Face | None = None) -> types_pb2.Card:
    """Returns a card with all that is needed to check it, or only where it lies.

    A sealed seat's down card is sealed until it is shown, which its `face` then says.
    """
    shown = types_pb2.Card(position=card.position, seat=card.seat, face=FACE[face or card.face])
    if open_ and card.sealed and face is None:
        shown.sealed = card.sealed
    elif open_:
        shown.card, shown.salt = card.card, card.salt
    return shown


def _stakes(stakes: Stakes) -> pb.Stakes:
    return pb.Stakes(
        ante=stakes.ante,
        bring_in=stakes.bring_in,
        small_bet=stakes.small_bet,
        big_bet=stakes.big_bet,
        chip=stakes.chip,
        open_pair_double=stakes.open_pair_double,
    )


def _options(options: Iterable[Option]) -> list[pb.ActionOption]:
    return [pb.ActionOption(action=ACTION[option.action], amount=option.amount) for option in options]


def _pots(pots: Iterable[Pot]) -> list[pb.Pot]:
    return [pb.Pot(amount=pot.amount, eligible=pot.eligible) for pot in pots]


def _amounts(amounts: Iterable[tuple[int, int]]) -> list[pb.SeatAmount]:
    return [pb.SeatAmount(seat=seat, amount=amount) for seat, amount in amounts]


def _brought(lineup: Lineup) -> list[pb.SeatStack]:
    return _stacks(zip(lineup.seats, lineup.stacks, strict=True))


def _stacks(stacks: Iterable[tuple[int, int]]) -> list[pb.SeatStack]:
    return [pb.SeatStack(seat=seat, stack=stack) for seat, stack in stacks]


def _award(award: Award) -> pb.Award:
    winners = [pb.Winner(seat=w.seat, cards=w.cards, name=w.name, share=w.share) for w in award.winners]
    return pb.Award(pot=award.pot, half=_HALF[award.half], amount=award.amount, winners=winners)
