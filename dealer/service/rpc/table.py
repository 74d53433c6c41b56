"""TableService: each rpc as one command of the writer, and streams for those who watch (API.md)."""

from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import grpc
from google.protobuf.message import Message

from dealer.core.ids import hand_text
from dealer.core.seed import draw
from dealer.errors import Reason, Refused
from dealer.log.acknowledgement import acknowledgement_text
from dealer.log.note import NoteSigner
from dealer.service.referee import record, steps
from dealer.service.referee.players import Claim, require_player, token_digest
from dealer.service.referee.record import RefereedHand
from dealer.service.referee.tables import Tables
from dealer.service.rpc import answers, requests, table_requests, table_views
from dealer.service.rpc.limits import source_of
from dealer.service.rpc.roles import Caller, Role, caller, not_your_role
from dealer.service.rpc.status import abort
from dealer.service.rpc.table_feed import HandFeed
from dealer.service.rpc.table_views import RAIL, Began, Closing
from dealer.service.rpc.unary import Answer, alike, unary
from dealer.service.writer import hands
from dealer.service.writer.about import describing_hand, describing_table
from dealer.service.writer.change import HandAnswer, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

TOKEN_BYTES = 32


Run = Callable[[Unit], HandAnswer]
T = TypeVar("T")


class TableRequests:
    """Makes a command's work of each request: checks its form, and says what is to be done with the hand."""

    def __init__(self, tables: Tables, signer: NoteSigner) -> None:
        self._tables, self._signer = tables, signer

    def start_hand(self, request: pb.StartHandRequest, caller: str) -> Run:
        """Opens a hand and runs it to the first prompt, or offers it to contributors."""
        opening, lineup, action_seconds = table_requests.opening(request)

        def run(unit: Unit) -> HandAnswer:
            open_seats = [seat for seat in lineup.seats if seat not in opening.seat_keys]
            tokens = {seat: draw(unit.sources.secrets, TOKEN_BYTES) for seat in open_seats}
            digests = {seat: token_digest(token) for seat, token in tokens.items()}
            refereed = steps.start(unit, caller, opening, lineup, action_seconds, digests)
            self._tables.save(unit, refereed)
            response = pb.StartHandResponse(
                tokens=[pb.SeatToken(seat=seat, token=token) for seat, token in tokens.items()]
            )
            self._write_view(unit, refereed, response.table_hand, whole=True)
            return HandAnswer(refereed.hand, response)

        return describing_table(run, opening.table, caller)

    def submit_table_entropy(self, request: pb.SubmitTableEntropyRequest, hand: bytes) -> Run:
        """Adds a contributor's value and acknowledges it."""
        contributor, value = requests.contribution(request)

        def run(unit: Unit) -> HandAnswer:
            refereed = self._tables.load(unit, hand)
            hands.submit_entropy(unit, hand, contributor, value)
            signed = self._signer.sign(acknowledgement_text(hand_text(hand), contributor, value))
            response = pb.SubmitTableEntropyResponse(acknowledgement=signed)
            self._write_view(unit, refereed, response.table_hand)
            return HandAnswer(hand, response)

        return run

    def lock_table_deck(self, request: pb.LockTableDeckRequest, hand: bytes) -> Run:
        """Ends the contributions, and runs the hand to the first prompt."""

        def run(unit: Unit) -> HandAnswer:
            response = pb.LockTableDeckResponse()
            self._write_view(unit, self._tables.lock(unit, hand), response.table_hand, whole=True)
            return HandAnswer(hand, response)

        return run

    def void_table_hand(self, request: pb.VoidTableHandRequest, hand: bytes) -> Run:
        """Gives a hand up."""
        reason = requests.void_reason(request.reason)

        def run(unit: Unit) -> HandAnswer:
            response = pb.VoidTableHandResponse()
            self._write_view(unit, self._tables.void(unit, hand, reason), response.table_hand, whole=True)
            return HandAnswer(hand, response)

        return run

    def act(self, request: pb.ActRequest, hand: bytes) -> Run:
        """Does what a seat was asked for."""
        claim, option = table_requests.act_claim(request), table_requests.option(request)

        def step(refereed: RefereedHand) -> RefereedHand:
            require_player(refereed, claim)
            return record.act(refereed, claim.seat, option)

        def run(unit: Unit) -> HandAnswer:
            response = pb.ActResponse()
            self._write_view(unit, self._tables.change(unit, hand, step), response.table_hand)
            return HandAnswer(hand, response)

        return run

    def leave_hand(self, request: pb.LeaveHandRequest, hand: bytes) -> Run:
        """Marks a seat's player as gone."""
        claim = table_requests.leave_claim(request)

        def step(refereed: RefereedHand) -> RefereedHand:
            require_player(refereed, claim)
            return record.leave(refereed, claim.seat)

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
            answers.FullHand(unit, live, refereed.envelopes).write(view.hand)


def _hidden_from(who: Caller) -> Reason | None:
    """Returns whose time must tell a caller nothing: a room's refusals for hands of others, all of the public's."""
    return None if who.role is Role.PUBLIC else Reason.HAND_NOT_FOUND


def _began(full: answers.FullHand, refereed: RefereedHand) -> Began:
    """Reads a certified hand as it was before its first card."""
    offered = types_pb2.Hand() if full.offered else None
    if offered is not None:
        full.write_as_offered(offered)
    started = types_pb2.Hand() if refereed.started else None
    if started is not None:
        full.write_as_it_began(started)
    return Began(offered, started)


# A method's name in the proto, its maker in TableRequests, and its request's type.
METHODS: Mapping[str, tuple[str, type[Message]]] = MappingProxyType(
    {
        "StartHand": ("start_hand", pb.StartHandRequest),
        "SubmitTableEntropy": ("submit_table_entropy", pb.SubmitTableEntropyRequest),
        "LockTableDeck": ("lock_table_deck", pb.LockTableDeckRequest),
        "VoidTableHand": ("void_table_hand", pb.VoidTableHandRequest),
        "Act": ("act", pb.ActRequest),
        "LeaveHand": ("leave_hand", pb.LeaveHandRequest),
        "GetTableHand": ("get_table_hand", pb.GetTableHandRequest),
    }
)


class TableServicer:
    """Serves TableService from bytes to bytes, so that a repeated answer is the stored one to the byte."""

    def __init__(self, engine: Engine, tables: Tables, *, public_rail: bool = False) -> None:
        """Serves with this writer and referee; `public_rail` lets anybody watch the rail."""
        self._engine, self._tables, self._public_rail = engine, tables, public_rail
        self._requests = TableRequests(tables, engine.state.signer)
        self._feeds: WeakValueDictionary[bytes, HandFeed] = WeakValueDictionary()

    def handler(self, only: frozenset[str] | None = None) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server; `only` these calls, SERVICE/NAME, where not all are served."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: unary(self._answer(maker, kind)) for name, (maker, kind) in METHODS.items()
        }
        methods["WatchHand"] = grpc.unary_stream_rpc_method_handler(self._watch_hand)
        service = "dealer.v1.TableService"
        served = {name: each for name, each in methods.items() if only is None or f"{service}/{name}" in only}
        return grpc.method_handlers_generic_handler(service, served)

    def _command(self, maker: str, request: Any, who: Caller) -> Command:
        if isinstance(request, pb.StartHandRequest):
            run = self._requests.start_hand(request, who.owner)
            return Command(who.owner, run, requests.request_id(request.request_id), requests.body_digest(request))
        hand = requests.hand_id(request.hand_id)
        made = getattr(self._requests, maker)(request, hand)
        if isinstance(request, pb.GetTableHandRequest):
            self._require_rail(who)
            return Command(who.owner, self._for(who, made, hand))
        request_id, body = requests.request_id(request.request_id), requests.body_digest(request)
        if who.role is Role.PUBLIC:
            # The look-up is the authorisation, and request ids are the seat's.
            acts = isinstance(request, pb.ActRequest)
            claim = table_requests.act_claim(request) if acts else table_requests.leave_claim(request)
            return Command(f"{hand.hex()}/{claim.seat}", made, request_id, body, self._guard(hand, claim))
        by_claim = isinstance(request, pb.ActRequest | pb.LeaveHandRequest)
        return Command(who.owner, self._for(who, made, hand, by_claim=by_claim), request_id, body)

    def _for(
        self, who: Caller, run: Callable[[Unit], T], hand: bytes, *, by_claim: bool = False
    ) -> Callable[[Unit], T]:
        """Returns work that is done only with a hand that its caller may reach: a room its own tables'.

        Where the work looks at a token or proof itself (`by_claim`), that is enough for a local caller, as for others.
        """

        def checked(unit: Unit) -> T:
            if who.role is Role.ROOM or (who.role is Role.LOCAL and not by_claim):
                unit.own_hand(hand, who.owner)
            return run(unit)

        return describing_hand(checked, hand, who.owner)

    def _guard(self, hand: bytes, claim: Claim) -> Callable[[Unit], None]:
        """Returns what refuses all that is not a seat's own in one way: unknown hands, other seats, wrong claims."""

        def guard(unit: Unit) -> None:
            try:
                require_player(self._tables.recorded(unit, hand), claim, once=True)
            except Refused:
                what = "proof" if claim.proof else "token"
                raise claim.refusal(f"this is not the {what} of a seat in this hand") from None

        return guard

    def _require_rail(self, who: Caller) -> None:
        if who.role is Role.PUBLIC and not self._public_rail:
            raise not_your_role(who)

    def _answer(self, maker: str, kind: type[Message]) -> Answer:
        async def answer(data: bytes, context: Any) -> bytes:
            who = caller()
            command = self._command(maker, requests.decode(kind, data), who)
            async with alike(_hidden_from(who)):
                return await self._engine.submit(command, source_of(caller(), context))

        return answer

    async def _watch_hand(self, data: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            who, connection = caller(), source_of(caller(), context)
            request = requests.decode(pb.WatchHandRequest, data)
            hand = requests.hand_id(request.hand_id)
            seat, after = table_requests.watcher(request)
            if seat == RAIL:
                self._require_rail(who)
            with self._tables.watching(hand) as watcher:
                async with alike(_hidden_from(who)):
                    refereed, began, closing = await self._look(request, who, connection)
                feed = self._feeds.get(hand)
                if feed is None:
                    feed = self._feeds[hand] = HandFeed()
                feed.learn(began, closing)
                while True:
                    for encoded in feed.events(refereed, seat, after):
                        yield encoded
                    after = max(after, len(refereed.events))
                    if refereed.state.waits_for is None:
                        return
                    refereed = await watcher.later_than(refereed)
                    if not feed.covers(refereed):
                        async with feed.learning:
                            if not feed.covers(refereed):
                                refereed, began, closing = await self._look(request, who, connection)
                                feed.learn(began, closing)
        except Exception as error:
            await abort(context, error)

    async def _look(
        self, request: pb.WatchHandRequest, who: Caller, connection: str
    ) -> tuple[RefereedHand, Began, Closing | None]:
        """Reads a hand as it is durable, with its proofs, for eyes that may see it."""
        hand = requests.hand_id(request.hand_id)
        claim = None if request.seat == RAIL else table_requests.watch_claim(request)
        guard = self._guard(hand, claim) if who.role is Role.PUBLIC and claim is not None else None
        by_claim = claim is not None and not claim.empty

        def run(unit: Unit) -> tuple[RefereedHand, Began, Closing | None]:
            if guard is not None:
                guard(unit)
            refereed = self._tables.load(unit, hand)
            if claim is not None and not (claim.empty and refereed.is_sealed(claim.seat)):
                require_player(refereed, claim)  # a sealed seat's own cards are sealed: its room may pass them on
            live, closing = unit.hand(hand), None
            full = answers.FullHand(unit, live, refereed.envelopes)
            if live.close is not None:
                closing = Closing(unit.entry(live.close), types_pb2.Hand())
                full.write(closing.hand)
                unit.receipt_into(closing, "receipt", live.close)
            return refereed, _began(full, refereed), closing

        return await self._engine.do(self._for(who, run, hand, by_claim=by_claim), connection)
