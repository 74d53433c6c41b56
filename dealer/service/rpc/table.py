"""TableService: each rpc as one command of the writer, and streams for those who watch (API.md)."""

from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import grpc
from google.protobuf.message import Message

from dealer.core.seed import draw
from dealer.service.metrics import Metrics
from dealer.service.referee import record, steps
from dealer.service.referee.record import RefereedHand
from dealer.service.referee.tables import Tables, require_token, token_digest
from dealer.service.rpc import answers, requests, table_requests, table_views
from dealer.service.rpc.status import abort
from dealer.service.rpc.table_feed import HandFeed
from dealer.service.rpc.table_views import RAIL, Closing
from dealer.service.rpc.unary import Answer, unary
from dealer.service.writer.about import describing_hand, describing_table
from dealer.service.writer.change import HandAnswer, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

TOKEN_BYTES = 32


Run = Callable[[Unit], HandAnswer]


class TableRequests:
    """Makes a command's work of each request: checks its form, and says what is to be done with the hand."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def start_hand(self, request: pb.StartHandRequest, caller: str) -> Run:
        """Opens a hand and runs it to the first prompt."""
        opening, lineup, action_seconds = table_requests.opening(request)

        def run(unit: Unit) -> HandAnswer:
            tokens = {seat: draw(unit.sources.secrets, TOKEN_BYTES) for seat in lineup.seats}
            digests = {seat: token_digest(token) for seat, token in tokens.items()}
            refereed = steps.start(unit, caller, opening, lineup, action_seconds, digests)
            self._tables.save(unit, refereed)
            response = pb.StartHandResponse(
                tokens=[pb.SeatToken(seat=seat, token=token) for seat, token in tokens.items()]
            )
            self._write_view(unit, refereed, response.table_hand, whole=True)
            return HandAnswer(refereed.hand, response)

        return describing_table(run, opening.table, caller)

    def act(self, request: pb.ActRequest, hand: bytes) -> Run:
        """Does what a seat was asked for."""
        seat, option = requests.seat(request.seat), table_requests.option(request)

        def step(refereed: RefereedHand) -> RefereedHand:
            require_token(refereed, seat, request.token)
            return record.act(refereed, seat, option)

        def run(unit: Unit) -> HandAnswer:
            response = pb.ActResponse()
            self._write_view(unit, self._tables.change(unit, hand, step), response.table_hand)
            return HandAnswer(hand, response)

        return run

    def leave_hand(self, request: pb.LeaveHandRequest, hand: bytes) -> Run:
        """Marks a seat's player as gone."""
        seat = requests.seat(request.seat)

        def step(refereed: RefereedHand) -> RefereedHand:
            require_token(refereed, seat, request.token)
            return record.leave(refereed, seat)

        def run(unit: Unit) -> HandAnswer:
            response = pb.LeaveHandResponse()
            self._write_view(unit, self._tables.change(unit, hand, step), response.table_hand)
            return HandAnswer(hand, response)

        return run

    def get_table_hand(self, request: pb.GetTableHandRequest, hand: bytes) -> Run:
        """Looks a hand up."""

        def run(unit: Unit) -> HandAnswer:
            response = pb.GetTableHandResponse()
            self._write_view(unit, self._tables.load(unit, hand), response.table_hand, whole=True)
            return HandAnswer(hand, response)

        return run

    def _write_view(self, unit: Unit, refereed: RefereedHand, view: pb.TableHand, *, whole: bool = False) -> None:
        """Writes the rail's view into its place in an answer; `whole` with the certified hand."""
        view.MergeFrom(table_views.table_hand(refereed, self._tables.milliseconds_left(refereed)))
        live = unit.hand(refereed.hand)
        if live.close is not None:
            view.close_entry = unit.entry(live.close)
            unit.receipt_into(view, "close_receipt", live.close)
        if whole:
            answers.FullHand(unit, live).write(view.hand)


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
        """Serves with this writer and referee; `identify` names the caller of a call, and `metrics` counts calls."""
        self._engine, self._tables, self._identify, self._metrics = engine, tables, identify, metrics
        self._requests = TableRequests(tables)
        self._feeds: WeakValueDictionary[bytes, HandFeed] = WeakValueDictionary()

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: unary(self._answer(maker, kind), self._metrics.counter(name))
            for name, (maker, kind) in METHODS.items()
        }
        methods["WatchHand"] = grpc.unary_stream_rpc_method_handler(self._watch_hand)
        return grpc.method_handlers_generic_handler("dealer.v1.TableService", methods)

    def _command(self, maker: str, request: Any, caller: str) -> Command:
        if isinstance(request, pb.StartHandRequest):
            run = self._requests.start_hand(request, caller)
        else:
            hand = requests.hand_id(request.hand_id)
            run = describing_hand(getattr(self._requests, maker)(request, hand), hand, caller)
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
                refereed, began, closing = await self._look(request, caller, connection)
                feed = self._feeds.get(hand)
                if feed is None:
                    feed = self._feeds[hand] = HandFeed(began)
                feed.end(closing)
                while True:
                    for encoded in feed.events(refereed, seat, after):
                        yield encoded
                    after = max(after, len(refereed.events))
                    if refereed.state.waits_for is None:
                        return
                    refereed = await watcher.later_than(refereed)
                    if refereed.state.waits_for is None:
                        async with feed.ending:
                            if not feed.ended:
                                refereed, _, closing = await self._look(request, caller, connection)
                                feed.end(closing)
        except Exception as error:
            await abort(context, error)

    async def _look(
        self, request: pb.WatchHandRequest, caller: str, connection: str
    ) -> tuple[RefereedHand, types_pb2.Hand, Closing | None]:
        """Reads a hand as it is durable, with its proofs, for eyes that may see it."""
        hand, seat, token = requests.hand_id(request.hand_id), request.seat, request.token

        def run(unit: Unit) -> tuple[RefereedHand, types_pb2.Hand, Closing | None]:
            refereed = self._tables.load(unit, hand)
            if seat != RAIL:
                require_token(refereed, seat, token)
            live, began, closing = unit.hand(hand), types_pb2.Hand(), None
            answers.FullHand(unit, live).write_as_it_began(began)
            if live.close is not None:
                closing = Closing(unit.entry(live.close))
                unit.receipt_into(closing, "receipt", live.close)
            return refereed, began, closing

        return await self._engine.do(describing_hand(run, hand, caller), connection)
