"""From TableService's requests to values whose form has been checked; what depends on a hand's state comes later."""

from dealer.core.ids import MAX_INTEGER
from dealer.core.seats import LEAVE, WATCH
from dealer.errors import Reason, Refused
from dealer.games.plans import SEVEN_CARD_STUD_HI_LO
from dealer.service.referee.players import Claim
from dealer.service.rpc.requests import (
    GAMES_BY_ENUM,
    REVEALS,
    contributors,
    hand_number,
    require_seats,
    seat_keys,
    seats,
    table_id,
)
from dealer.service.rpc.requests import seat as one_seat
from dealer.service.rpc.table_views import ACTION, RAIL
from dealer.service.writer.hands import Opening
from dealer.table.betting import Option
from dealer.table.stakes import Lineup, Stakes
from dealer.v1 import table_pb2 as pb

DEFAULT_ACTION_SECONDS = 30
_ACTIONS = {value: action for action, value in ACTION.items()}


def opening(request: pb.StartHandRequest) -> tuple[Opening, Lineup, int]:
    """Reads what a hand is started with: the certified hand, who plays for what, and the time for each action.

    Raises:
        Refused: the table's id, game, stakes, seats, stacks, reveal, contributors, number or time are not what they
            must be.
    """
    table = table_id(request.table)
    game = GAMES_BY_ENUM.get(request.game)
    if game is None or not game.streets:
        raise Refused(Reason.INVALID_GAME, "game must be set to Seven Card Stud or Seven Card Stud Hi/Lo")
    reveal = REVEALS.get(request.reveal)
    if reveal is None:
        raise Refused(Reason.INVALID_REVEAL, "reveal must be set to a known policy")
    if not request.HasField("stakes"):
        raise Refused(Reason.INVALID_STAKES, "stakes must be set")
    require_seats(len(request.seats), game.min_seats, game.max_seats)
    numbers = seats([each.seat for each in request.seats], game.min_seats, game.max_seats)
    stacks = tuple(each.stack for each in request.seats)
    lineup = Lineup(game is SEVEN_CARD_STUD_HI_LO, _stakes(request.stakes), numbers, stacks)
    return (
        Opening(
            table=table,
            game=game,
            deck="standard52",
            seats=numbers,
            reveal=reveal,
            invited=contributors(request.contributors),
            number=hand_number(request.number),
            seat_keys=seat_keys(request.seat_keys, numbers),
        ),
        lineup,
        request.action_seconds or DEFAULT_ACTION_SECONDS,
    )


def option(request: pb.ActRequest) -> Option:
    """Reads what a seat wants to do; an unset action is none."""
    action = _ACTIONS.get(request.action)
    if action is None:
        raise Refused(Reason.INVALID_ACTION, "action must be set to a known action")
    return Option(action, request.amount)


def act_claim(request: pb.ActRequest) -> Claim:
    """Reads by what a seat acts."""
    seat, chosen = one_seat(request.seat), option(request)
    action = chosen.action.replace("-", "_")
    return _claim(request, seat, action, chosen.amount)


def leave_claim(request: pb.LeaveHandRequest) -> Claim:
    """Reads by what a seat's player leaves."""
    return _claim(request, one_seat(request.seat), LEAVE)


def watch_claim(request: pb.WatchHandRequest) -> Claim:
    """Reads by what somebody watches with a seat's eyes."""
    return _claim(request, one_seat(request.seat), WATCH)


def _claim(
    request: pb.ActRequest | pb.LeaveHandRequest | pb.WatchHandRequest, seat: int, action: str, amount: int = 0
) -> Claim:
    if request.token and request.proof:
        raise Refused(Reason.INVALID_REQUEST, "a seat shows its token or, where it is sealed, a proof: never both")
    return Claim(seat, action, amount, request.token, request.proof)


def watcher(request: pb.WatchHandRequest) -> tuple[int, int]:
    """Reads whose eyes a watcher has, and after which event it goes on."""
    if request.after > MAX_INTEGER:
        raise Refused(Reason.INVALID_RANGE, f"after must be at most {MAX_INTEGER}")
    return (RAIL if request.seat == RAIL else one_seat(request.seat)), request.after


def _stakes(given: pb.Stakes) -> Stakes:
    return Stakes(
        ante=given.ante,
        bring_in=given.bring_in,
        small_bet=given.small_bet,
        big_bet=given.big_bet,
        chip=given.chip if given.HasField("chip") else 1,
        open_pair_double=given.open_pair_double if given.HasField("open_pair_double") else True,
    )
