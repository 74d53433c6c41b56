"""DealerService: each rpc as one command of the writer (API.md)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any

import grpc
from google.protobuf.message import Message

from dealer.core.hand import Dealt
from dealer.core.ids import hand_text
from dealer.errors import Reason, Refused
from dealer.log.acknowledgement import acknowledgement_text
from dealer.log.note import NoteSigner
from dealer.service.metrics import Metrics
from dealer.service.rpc import answers, requests, splice
from dealer.service.rpc.limits import RoomLimits, source_of
from dealer.service.rpc.play_hands import PlayStream
from dealer.service.rpc.roles import caller
from dealer.service.rpc.status import abort
from dealer.service.rpc.unary import ALIKE_SECONDS, Answer, alike, unary
from dealer.service.writer import hands, seats
from dealer.service.writer.about import describing_hand, describing_table
from dealer.service.writer.change import HandAnswer, Unit
from dealer.service.writer.engine import Answered, Command, Engine
from dealer.service.writer.health import draining
from dealer.service.writer.live import LiveHand
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2

Run = Callable[[Unit], HandAnswer]
_FOLDED = pb.FoldSeatResponse.DESCRIPTOR.fields_by_name["hand"].number


class Requests:
    """Makes a command's work of each request: checks its form, and says what is to be done with the hand."""

    def __init__(self, signer: NoteSigner) -> None:
        self._signer = signer

    def open_hand(self, request: pb.OpenHandRequest, caller: str) -> Run:
        """Opens the table's next hand."""
        opening = requests.opening(request)

        def run(unit: Unit) -> HandAnswer:
            live = hands.open_hand(unit, caller, opening)
            return HandAnswer(live.state.hand, splice.Opened(answers.FullHand(unit, live).spliced()))

        return describing_table(run, opening.table, caller)

    def submit_entropy(self, request: pb.SubmitEntropyRequest, hand: bytes) -> Run:
        """Adds a contributor's value and acknowledges it."""
        contributor, value = requests.contribution(request)

        def run(unit: Unit) -> HandAnswer:
            live = hands.submit_entropy(unit, hand, contributor, value)
            signed = self._signer.sign(acknowledgement_text(hand_text(hand), contributor, value))
            return HandAnswer(hand, pb.SubmitEntropyResponse(hand=answers.hand_message(live), acknowledgement=signed))

        return run

    def lock_deck(self, request: pb.LockDeckRequest, hand: bytes) -> Run:
        """Ends the contributions."""

        def run(unit: Unit) -> HandAnswer:
            response = pb.LockDeckResponse()
            answers.FullHand(unit, hands.lock_deck(unit, hand)).write(response.hand)
            return HandAnswer(hand, response)

        return run

    def deal_street(self, request: pb.DealStreetRequest, hand: bytes) -> Run:
        """Deals a street."""
        street = requests.street(request.street)

        def run(unit: Unit) -> HandAnswer:
            live, event = hands.deal_street(unit, hand, street)
            deck, opener, part = live.known_deck(), answers.opener(live), answers.hand_bytes(live)
            seals = seats.seals_of(live)
            return HandAnswer(hand, splice.Encoded(splice.street_answer(event, deck, opener, part, seals)))

        return run

    def draw_cards(self, request: pb.DrawCardsRequest, hand: bytes) -> Run:
        """Draws cards."""
        wanted = requests.draws(request.draws)

        def run(unit: Unit) -> HandAnswer:
            live, dealt = hands.draw_cards(unit, hand, wanted)
            return HandAnswer(hand, pb.DrawCardsResponse(cards=_cards(live, dealt), hand=answers.hand_message(live)))

        return run

    def fold_seat(self, request: pb.FoldSeatRequest, hand: bytes) -> Run:
        """Folds a seat."""
        seat = requests.seat(request.seat)

        def run(unit: Unit) -> HandAnswer:
            part = answers.hand_bytes(hands.fold_seat(unit, hand, seat))
            return HandAnswer(hand, splice.Encoded(splice.part(_FOLDED, part)))

        return run

    def show_cards(self, request: pb.ShowCardsRequest, hand: bytes) -> Run:
        """Turns cards up."""
        positions, consents = requests.positions(request.positions), requests.consents(request.consents)

        def run(unit: Unit) -> HandAnswer:
            live, dealt = hands.show_cards(unit, hand, positions, consents)
            return HandAnswer(hand, pb.ShowCardsResponse(cards=_cards(live, dealt), hand=answers.hand_message(live)))

        return run

    def close_hand(self, request: pb.CloseHandRequest, hand: bytes) -> Run:
        """Completes a hand."""

        def run(unit: Unit) -> HandAnswer:
            return _over(unit, hands.close_hand(unit, hand))

        return run

    def void_hand(self, request: pb.VoidHandRequest, hand: bytes) -> Run:
        """Gives a hand up."""
        reason = requests.void_reason(request.reason)

        def run(unit: Unit) -> HandAnswer:
            return _over(unit, hands.void_hand(unit, hand, reason))

        return run

    def get_hand(self, request: pb.GetHandRequest, hand: bytes) -> Run:
        """Looks a hand up."""

        def run(unit: Unit) -> HandAnswer:
            full = answers.FullHand(unit, unit.hand(hand))
            response = pb.GetHandResponse(cards=full.cards())
            full.write(response.hand)
            return HandAnswer(hand, response)

        return run


def _get_table(request: pb.GetTableRequest, caller: str) -> Run:
    """Looks a table of the caller's own up."""
    name = requests.table_id(request.table)

    def run(unit: Unit) -> HandAnswer:
        table = hands.find_table(unit, name, caller)
        response = pb.GetTableResponse(next_number=table.number + 1)
        if table.hand is not None:
            found = answers.in_play_message(unit, unit.hand(table.hand))
            response.hand_id, response.number, response.state = found.hand_id, found.number, found.state
            response.street, response.referee = found.street, found.referee
        return HandAnswer(b"", response)

    return describing_table(run, name, caller)


def _list_hands(request: pb.ListHandsRequest, caller: str) -> Run:
    """Lists the caller's own hands in play."""
    size, after = requests.page(request.page_size, request.page_token)

    def run(unit: Unit) -> HandAnswer:
        found, last = hands.list_hands(unit, caller, size, after)
        listed = [answers.in_play_message(unit, live) for live in found]
        return HandAnswer(b"", pb.ListHandsResponse(hands=listed, next_page_token=hand_text(last) if last else ""))

    return run


_LOOK_UPS: Mapping[str, Callable[[Any, str], Run]] = MappingProxyType(
    {"get_table": _get_table, "list_hands": _list_hands}
)
"""What is about no one hand, and changes nothing."""


def _alike(answered: Answered) -> Answered:
    """Returns what is answered as `alike` has it, of a request that came now on a stream."""
    loop = asyncio.get_running_loop()
    leaves = loop.time() + ALIKE_SECONDS

    def answer(value: Any, error: Exception | None) -> None:
        if isinstance(error, Refused) and error.reason is Reason.HAND_NOT_FOUND:
            loop.call_at(leaves, answered, value, error)
        else:
            answered(value, error)

    return answer


def _of_own_hand(run: Run, hand: bytes, caller: str) -> Run:
    """Returns work that is done only with a hand of the caller's own, which no referee runs."""

    def checked(unit: Unit) -> HandAnswer:
        if unit.own_hand(hand, caller).referee:
            raise Refused(Reason.REFEREE_HAND, "the referee runs this hand: use TableService")
        return run(unit)

    return describing_hand(checked, hand, caller)


def _cards(live: LiveHand, dealt: tuple[Dealt, ...]) -> list[types_pb2.Card]:
    return answers.card_messages(dealt, hands.faces_of(live), seats.seals_of(live), live.state.shown)


def _over(unit: Unit, live: LiveHand) -> HandAnswer:
    if live.close is None:
        raise AssertionError("a hand that is over has its close entry")
    response = splice.Over(answers.hand_bytes(live), unit.entry(live.close))
    unit.receipt_into(response, "receipt", live.close)
    return HandAnswer(live.state.hand, response)


# A method's name in the proto, its field in PlayRequest, and its request's type.
METHODS: Mapping[str, tuple[str, type[Message]]] = MappingProxyType(
    {
        "OpenHand": ("open_hand", pb.OpenHandRequest),
        "SubmitEntropy": ("submit_entropy", pb.SubmitEntropyRequest),
        "LockDeck": ("lock_deck", pb.LockDeckRequest),
        "DealStreet": ("deal_street", pb.DealStreetRequest),
        "DrawCards": ("draw_cards", pb.DrawCardsRequest),
        "FoldSeat": ("fold_seat", pb.FoldSeatRequest),
        "ShowCards": ("show_cards", pb.ShowCardsRequest),
        "CloseHand": ("close_hand", pb.CloseHandRequest),
        "VoidHand": ("void_hand", pb.VoidHandRequest),
        "GetHand": ("get_hand", pb.GetHandRequest),
        "GetTable": ("get_table", pb.GetTableRequest),
        "ListHands": ("list_hands", pb.ListHandsRequest),
    }
)


class DealerServicer:
    """Serves DealerService from bytes to bytes, so that a repeated answer is the stored one to the byte."""

    def __init__(self, engine: Engine, metrics: Metrics, limits: RoomLimits) -> None:
        """Serves with this writer; `metrics` counts what streams refuse, `limits` what rooms use."""
        self._engine, self._metrics, self._limits = engine, metrics, limits
        self._requests = Requests(engine.state.signer)
        self._streams: set[PlayStream] = set()

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: unary(self._answer(field, kind)) for name, (field, kind) in METHODS.items()
        }
        methods["PlayHands"] = grpc.stream_stream_rpc_method_handler(self._play_hands)
        return grpc.method_handlers_generic_handler("dealer.v1.DealerService", methods)

    def command(self, field: str, request: Any, caller: str) -> Command:
        """Makes a request's command.

        Raises:
            Refused: the request's form is wrong.
        """
        if field in _LOOK_UPS:
            return Command(caller, _LOOK_UPS[field](request, caller))
        request_id = None if field == "get_hand" else requests.request_id(request.request_id)
        if field == "open_hand":
            run = self._requests.open_hand(request, caller)
        else:
            hand = requests.hand_id(request.hand_id)
            run = _of_own_hand(getattr(self._requests, field)(request, hand), hand, caller)
        return Command(caller, run, request_id, b"" if request_id is None else requests.body_digest(request))

    def _answer(self, field: str, kind: type[Message]) -> Answer:
        async def answer(data: bytes, context: Any) -> bytes:
            who = caller()
            command = self.command(field, requests.decode(kind, data), who.owner)
            async with alike(Reason.HAND_NOT_FOUND):  # another room's hand is looked at, one that never was is not
                return await self._engine.submit(command, source_of(who, context))

        return answer

    async def _play_hands(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        try:
            who, peer = caller(), context.peer()
            if self._engine.health.draining:
                raise draining()
            if (standing := self._engine.health.standing) is not None:
                raise standing()
            connection = source_of(who, context)

            def hand_in(request: pb.PlayRequest, answered: Answered) -> None:
                if wait := self._limits.rated(who, peer):
                    raise Refused(Reason.TOO_MANY_REQUESTS, "too many requests a second: slow down", retry=wait)
                self._engine.hand_in(self._played(request, who.owner), connection, _alike(answered))

            stream = PlayStream(hand_in, self._metrics.refuse)
            self._streams.add(stream)
            try:
                async for answers in stream.run(requests):
                    yield answers
            finally:
                self._streams.discard(stream)
        except Exception as error:
            await abort(context, error)

    def stand_down(self, why: Refused) -> None:
        """Ends the open streams: who asks is to ask the dealer that deals now."""
        for stream in self._streams:
            stream.end(why)

    def drain(self) -> None:
        """Ends the open streams as soon as what is under way on them is answered."""
        for stream in self._streams:
            stream.end(draining())

    def _played(self, request: pb.PlayRequest, caller: str) -> Command:
        field = request.WhichOneof("request")
        if field is None:
            raise Refused(Reason.INVALID_REQUEST, "this request asks for nothing")
        return self.command(field, getattr(request, field), caller)
