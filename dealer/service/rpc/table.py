"""TableService: each rpc as one command of the writer, and streams for those who watch (API.md)."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any

import grpc
from google.protobuf.message import Message

from dealer.service.metrics import Metrics
from dealer.service.referee import record, steps
from dealer.service.referee.record import Play
from dealer.service.referee.tables import Tables, require_token, token_digest
from dealer.service.rpc import answers, requests, table_requests, table_views
from dealer.service.rpc.status import abort
from dealer.service.rpc.table_views import RAIL, Closing
from dealer.service.rpc.unary import Answer, unary
from dealer.service.writer.about import Run, describing
from dealer.service.writer.change import Proofs, Reply, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

TOKEN_BYTES = 32


class TableRequests:
    """Makes a command of each request: checks its form, and says what is to be done with it."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def start_hand(self, request: pb.StartHandRequest, caller: str) -> Run:
        """Opens a hand and runs it to the first prompt."""
        opening, lineup, action_seconds = table_requests.opening(request)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            tokens = {seat: secrets.token_bytes(TOKEN_BYTES) for seat in lineup.seats}
            digests = {seat: token_digest(token) for seat, token in tokens.items()}
            play = steps.start(unit, caller, opening, lineup, action_seconds, digests)
            self._tables.save(unit, play)
            view = self._view(unit, play, whole=True)
            given = [pb.SeatToken(seat=seat, token=token) for seat, token in tokens.items()]
            return play.hand, _built(lambda proofs: pb.StartHandResponse(table_hand=view(proofs), tokens=given))

        return run

    def act(self, request: pb.ActRequest, caller: str) -> Run:
        """Does what a seat was asked for."""
        hand, seat = requests.hand_id(request.hand_id), requests.seat(request.seat)
        option = table_requests.option(request)

        def step(play: Play) -> Play:
            require_token(play, seat, request.token)
            return record.act(play, seat, option)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            view = self._view(unit, self._tables.change(unit, hand, step))
            return hand, _built(lambda proofs: pb.ActResponse(table_hand=view(proofs)))

        return run

    def leave_hand(self, request: pb.LeaveHandRequest, caller: str) -> Run:
        """Takes that a seat's player has left."""
        hand, seat = requests.hand_id(request.hand_id), requests.seat(request.seat)

        def step(play: Play) -> Play:
            require_token(play, seat, request.token)
            return record.leave(play, seat)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            view = self._view(unit, self._tables.change(unit, hand, step))
            return hand, _built(lambda proofs: pb.LeaveHandResponse(table_hand=view(proofs)))

        return run

    def get_table_hand(self, request: pb.GetTableHandRequest, caller: str) -> Run:
        """Looks a hand up."""
        hand = requests.hand_id(request.hand_id)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            view = self._view(unit, self._tables.load(unit, hand), whole=True)
            return hand, _built(lambda proofs: pb.GetTableHandResponse(table_hand=view(proofs)))

        return run

    def _view(self, unit: Unit, play: Play, *, whole: bool = False) -> Callable[[Proofs], pb.TableHand]:
        """Reads what the rail's view needs while the unit is open; `whole` with the certified hand."""
        view = table_views.table_hand(play, self._tables.milliseconds_left(play))
        closing = read_closing(unit, play)
        hand = read_hand(unit, play) if whole else None

        def build(proofs: Proofs) -> pb.TableHand:
            if closing is not None:
                close = closing(proofs)
                view.close_receipt, view.close_entry = close.receipt, close.entry
            if hand is not None:
                view.hand.CopyFrom(hand(proofs))
            return view

        return build


def read_closing(unit: Unit, play: Play) -> Callable[[Proofs], Closing] | None:
    """Reads a hand's close entry while the unit is open; None while the hand runs."""
    index = unit.hand(play.hand).close
    if index is None:
        return None
    entry = unit.entry(index)
    return lambda proofs: Closing(proofs.receipt(index), entry)


def read_hand(unit: Unit, play: Play) -> Callable[[Proofs], types_pb2.Hand]:
    """Reads the certified hand with its commitments while the unit is open."""
    return answers.FullHand(unit, unit.hand(play.hand)).message


def _built(build: Callable[[Proofs], Message]) -> Reply:
    return lambda proofs: build(proofs).SerializeToString(deterministic=True)


# A method's name in the proto, its maker in TableRequests, and its request's type.
METHODS: Mapping[str, tuple[str, type[Message]]] = MappingProxyType(
    {
        "StartHand": ("start_hand", pb.StartHandRequest),
        "Act": ("act", pb.ActRequest),
        "LeaveHand": ("leave_hand", pb.LeaveHandRequest),
        "GetTableHand": ("get_table_hand", pb.GetTableHandRequest),
    }
)


class TableServicer:
    """Serves TableService from bytes to bytes, so that a repeated answer is the stored one to the byte."""

    def __init__(self, engine: Engine, tables: Tables, identify: Callable[[Any], str], metrics: Metrics) -> None:
        """Takes the writer, the referee's hands, what names the caller of a call, and what counts calls."""
        self._engine, self._tables, self._identify, self._metrics = engine, tables, identify, metrics
        self._requests = TableRequests(tables)

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: unary(self._answer(maker, kind), self._metrics.counter(name))
            for name, (maker, kind) in METHODS.items()
        }
        methods["WatchHand"] = grpc.unary_stream_rpc_method_handler(self._watch_hand)
        return grpc.method_handlers_generic_handler("dealer.v1.TableService", methods)

    def _command(self, maker: str, request: Any, caller: str) -> Command:
        made: Run = getattr(self._requests, maker)(request, caller)
        run = describing(made, request, caller)
        if isinstance(request, pb.GetTableHandRequest):
            return Command(caller, run)
        return Command(caller, run, requests.request_id(request.request_id), requests.body_digest(request))

    def _answer(self, maker: str, kind: type[Message]) -> Answer:
        async def answer(data: bytes, context: Any) -> bytes:
            caller = self._identify(context)
            return await self._engine.submit(self._command(maker, requests.decode(kind, data), caller), context.peer())

        return answer

    async def _watch_hand(self, data: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            caller, connection = self._identify(context), context.peer()
            request = requests.decode(pb.WatchHandRequest, data)
            hand = requests.hand_id(request.hand_id)
            seat, after = table_requests.watcher(request)
            with self._tables.watching(hand) as watcher:
                play, certified, closing = await self._look(request, caller, connection)
                while True:
                    for event in table_views.events(play, seat, after, certified, closing):
                        yield pb.WatchHandResponse(event=event).SerializeToString()
                        after = event.sequence
                    if play.state.waits_for is None:
                        return
                    play = await self._tables.news(watcher, play)
                    if play.state.waits_for is None:
                        play, certified, closing = await self._look(request, caller, connection)
        except Exception as error:
            await abort(context, error)

    async def _look(
        self, request: pb.WatchHandRequest, caller: str, connection: str
    ) -> tuple[Play, types_pb2.Hand, Closing | None]:
        """Reads a hand as it is durable, with its proofs, for eyes that may see it."""
        hand, seat, token = requests.hand_id(request.hand_id), request.seat, request.token
        seen: list[tuple[Play, types_pb2.Hand, Closing | None]] = []

        def run(unit: Unit) -> tuple[bytes, Reply]:
            play = self._tables.load(unit, hand)
            if seat != RAIL:
                require_token(play, seat, token)
            certified, closing = read_hand(unit, play), read_closing(unit, play)

            def reply(proofs: Proofs) -> bytes:
                seen.append((play, certified(proofs), closing(proofs) if closing is not None else None))
                return b""

            return hand, reply

        await self._engine.submit(Command("", describing(run, request, caller)), connection)
        return seen[0]
