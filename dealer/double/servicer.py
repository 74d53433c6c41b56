"""TestDoubleService: decks, faults, a clean start and the clock, over gRPC, so in any language."""

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import Message

from dealer.core import entries
from dealer.core.hand import Status, VoidReason
from dealer.double.decks import StackedDeck, parse_deck
from dealer.double.faults import LONGEST_DELAY, Fault
from dealer.double.seats import stack_seats
from dealer.errors import Reason, Refused
from dealer.games.plans import SEVEN_CARD_STUD
from dealer.service.rpc import requests
from dealer.service.rpc.unary import unary, written
from dealer.service.writer.change import Unit
from dealer.v1 import double_pb2 as pb

if TYPE_CHECKING:
    from dealer.double.server import Double


class TestDoubleServicer:
    """Serves TestDoubleService. What it changes goes through the double's writer, between the hands' own commands."""

    __test__ = False  # its name is the service's; pytest is not to collect it

    def __init__(self, double: "Double") -> None:
        """Takes the double that it drives."""
        self._double = double

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        calls: dict[str, Callable[[bytes], Coroutine[Any, Any, Message]]] = {
            "StackDeck": self._stack_deck,
            "StackSeats": self._stack_seats,
            "Reset": self._reset,
            "SetClock": self._set_clock,
            "AdvanceClock": self._advance_clock,
            "InjectFault": self._inject_fault,
        }
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: unary(written(call)) for name, call in calls.items()
        }
        return grpc.method_handlers_generic_handler("dealer.v1.TestDoubleService", methods)

    async def _stack_deck(self, data: bytes) -> pb.StackDeckResponse:
        request = requests.decode(pb.StackDeckRequest, data)
        table = requests.table_id(request.table)
        return pb.StackDeckResponse(
            number=await self._stack(table, StackedDeck(parse_deck(request.deck), filler_seed=_seed(request)))
        )

    async def _stack_seats(self, data: bytes) -> pb.StackSeatsResponse:
        request = requests.decode(pb.StackSeatsRequest, data)
        table = requests.table_id(request.table)
        seats = requests.seats(request.seats, SEVEN_CARD_STUD.min_seats, SEVEN_CARD_STUD.max_seats)
        deck = stack_seats(seats, _streets(request), _seed(request))
        return pb.StackSeatsResponse(number=await self._stack(table, deck), deck=" ".join(deck.top))

    async def _stack(self, table: str, deck: StackedDeck) -> int:
        def run(unit: Unit) -> int:
            row = unit.table(table)
            number = 1 + (row.number if row else 0)
            self._double.stacked[table, number] = deck
            return number

        return await self._double.engine.do(run)

    async def _reset(self, data: bytes) -> pb.ResetResponse:
        requests.decode(pb.ResetRequest, data)

        def run(unit: Unit) -> pb.ResetResponse:
            for hand in list(self._double.engine.state.live):
                if unit.hand(hand).state.in_play:
                    self._double.tables.void_any(unit, hand, VoidReason.OPERATOR)
            use = self._double.use(unit)
            self._double.forget()
            return pb.ResetResponse(
                unused=[pb.UnusedStack(table=table, number=number) for table, number in use.unused],
                opened=[pb.OpenedTable(table=table, number=number) for table, number in use.opened],
                unmet=[pb.UnmetFault(method=method) for method in use.unmet],
            )

        response = await self._double.engine.do(run)
        self._double.clock.run()
        return response

    async def _set_clock(self, data: bytes) -> pb.SetClockResponse:
        request = requests.decode(pb.SetClockRequest, data)
        return pb.SetClockResponse(unix_milliseconds=await self._stop_clock(request.unix_milliseconds))

    async def _advance_clock(self, data: bytes) -> pb.AdvanceClockResponse:
        request = requests.decode(pb.AdvanceClockRequest, data)
        later = self._double.clock() + request.milliseconds
        now = await self._stop_clock(later)
        self._double.hasten(request.milliseconds / 1000)
        return pb.AdvanceClockResponse(unix_milliseconds=now)

    async def _inject_fault(self, data: bytes) -> pb.InjectFaultResponse:
        request = requests.decode(pb.InjectFaultRequest, data)
        self._double.faults.add(_fault(request))
        return pb.InjectFaultResponse()

    async def _stop_clock(self, milliseconds: int) -> int:
        try:
            now = self._double.clock.stop_at(milliseconds)
        except ValueError as error:
            raise Refused(Reason.INVALID_REQUEST, str(error)) from None
        await self._double.engine.do(self._end_contributions)
        return now

    def _end_contributions(self, unit: Unit) -> None:
        """Locks the offered hands whose deadline has passed by the driven clock, counted from the offer's own time."""
        wait = self._double.contribution_milliseconds
        for hand in list(self._double.engine.state.live):
            live = unit.hand(hand)
            if wait and live.offer is not None and live.state.status is Status.OFFERED:
                offered = datetime.fromisoformat(entries.decode(unit.entry(live.offer))["time"])
                if offered.timestamp() * 1000 + wait <= unit.now:
                    self._double.tables.lock_any(unit, hand)


def _seed(request: pb.StackDeckRequest | pb.StackSeatsRequest) -> int | None:
    return request.filler_seed if request.HasField("filler_seed") else None


def _fault(request: pb.InjectFaultRequest) -> Fault:
    method, times = request.method, request.times
    match request.WhichOneof("fault"):
        case "drop":
            return Fault(method, times, drop=True)
        case "delay_milliseconds":
            if not 1 <= request.delay_milliseconds <= LONGEST_DELAY:
                raise Refused(Reason.INVALID_REQUEST, f"a delay in milliseconds lies from 1 to {LONGEST_DELAY}")
            return Fault(method, times, delay=request.delay_milliseconds / 1000)
        case "reason":
            if request.reason not in Reason.__members__:
                raise Refused(
                    Reason.INVALID_REQUEST, f"{request.reason!a} is no reason: they are {', '.join(Reason.__members__)}"
                )
            return Fault(method, times, reason=Reason(request.reason))
        case "change_card":
            return Fault(method, times, change_card=True)
        case _:
            raise Refused(
                Reason.INVALID_REQUEST, "no fault is set: drop, delay_milliseconds, reason or change_card is one"
            )


def _streets(request: pb.StackSeatsRequest) -> dict[str, dict[int, str]]:
    streets: dict[str, dict[int, str]] = {}
    for street in request.streets:
        name = requests.street(street.street)
        if name in streets:
            raise Refused(Reason.INVALID_STREET, f"{name} street is given twice")
        streets[name] = {}
        for each in street.seats:
            if not each.HasField("seat"):
                raise Refused(Reason.INVALID_SEATS, f"on {name} street a seat is not set")
            if each.seat in streets[name]:
                raise Refused(Reason.INVALID_SEATS, f"on {name} street seat {each.seat} is given twice")
            streets[name][each.seat] = each.cards
    return streets
