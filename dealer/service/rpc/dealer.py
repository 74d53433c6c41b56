"""DealerService: each rpc as one command of the writer (API.md)."""

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
from dealer.service.rpc import answers, requests
from dealer.service.rpc.play_hands import PlayStream
from dealer.service.rpc.status import abort, draining
from dealer.service.rpc.unary import Answer, unary
from dealer.service.writer import hands
from dealer.service.writer.about import Run, describing
from dealer.service.writer.change import Proofs, Reply, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.service.writer.live import LiveHand
from dealer.v1 import dealer_pb2 as pb


def _built(live: LiveHand, build: Callable[[Proofs], Message]) -> tuple[bytes, Reply]:
    return live.state.hand, lambda proofs: build(proofs).SerializeToString(deterministic=True)


class Requests:
    """Makes a command of each request: checks its form, and says what is to be done with it."""

    def __init__(self, signer: NoteSigner) -> None:
        self._signer = signer

    def open_hand(self, request: pb.OpenHandRequest, caller: str) -> Run:
        """Opens the table's next hand."""
        opening = requests.opening(request)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            live = hands.open_hand(unit, caller, opening)
            full = answers.FullHand(unit, live)
            return _built(live, lambda proofs: pb.OpenHandResponse(hand=full.message(proofs)))

        return run

    def submit_entropy(self, request: pb.SubmitEntropyRequest, caller: str) -> Run:
        """Takes a contributor's value and acknowledges it."""
        hand = requests.hand_id(request.hand_id)
        contributor, value = requests.contribution(request)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            live = hands.submit_entropy(unit, hand, contributor, value)
            text = acknowledgement_text(hand_text(hand), contributor, value)
            return _built(
                live,
                lambda proofs: pb.SubmitEntropyResponse(
                    hand=answers.hand_message(live), acknowledgement=self._signer.sign(text)
                ),
            )

        return run

    def lock_deck(self, request: pb.LockDeckRequest, caller: str) -> Run:
        """Ends the contributions."""
        hand = requests.hand_id(request.hand_id)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            live = hands.lock_deck(unit, hand)
            full = answers.FullHand(unit, live)
            return _built(live, lambda proofs: pb.LockDeckResponse(hand=full.message(proofs)))

        return run

    def deal_street(self, request: pb.DealStreetRequest, caller: str) -> Run:
        """Deals a street."""
        hand, street = requests.hand_id(request.hand_id), requests.street(request.street)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            live, dealt = hands.deal_street(unit, hand, street)
            cards, opener = _cards(live, dealt), answers.opener(live)
            message = answers.hand_message(live)
            return _built(live, lambda proofs: pb.DealStreetResponse(cards=cards, opener=opener, hand=message))

        return run

    def draw_cards(self, request: pb.DrawCardsRequest, caller: str) -> Run:
        """Draws cards."""
        hand, wanted = requests.hand_id(request.hand_id), requests.draws(request.draws)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            live, dealt = hands.draw_cards(unit, hand, wanted)
            cards, message = _cards(live, dealt), answers.hand_message(live)
            return _built(live, lambda proofs: pb.DrawCardsResponse(cards=cards, hand=message))

        return run

    def fold_seat(self, request: pb.FoldSeatRequest, caller: str) -> Run:
        """Folds a seat."""
        hand, seat = requests.hand_id(request.hand_id), requests.seat(request.seat)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            live = hands.fold_seat(unit, hand, seat)
            message = answers.hand_message(live)
            return _built(live, lambda proofs: pb.FoldSeatResponse(hand=message))

        return run

    def show_cards(self, request: pb.ShowCardsRequest, caller: str) -> Run:
        """Turns cards up."""
        hand, positions = requests.hand_id(request.hand_id), requests.positions(request.positions)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            live, dealt = hands.show_cards(unit, hand, positions)
            cards, message = _cards(live, dealt), answers.hand_message(live)
            return _built(live, lambda proofs: pb.ShowCardsResponse(cards=cards, hand=message))

        return run

    def close_hand(self, request: pb.CloseHandRequest, caller: str) -> Run:
        """Completes a hand."""
        hand = requests.hand_id(request.hand_id)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            return _over(unit, hands.close_hand(unit, hand), pb.CloseHandResponse)

        return run

    def void_hand(self, request: pb.VoidHandRequest, caller: str) -> Run:
        """Gives a hand up."""
        hand, reason = requests.hand_id(request.hand_id), requests.void_reason(request.reason)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            return _over(unit, hands.void_hand(unit, hand, reason), pb.VoidHandResponse)

        return run

    def get_hand(self, request: pb.GetHandRequest, caller: str) -> Run:
        """Looks a hand up."""
        hand = requests.hand_id(request.hand_id)

        def run(unit: Unit) -> tuple[bytes, Reply]:
            _require_own(unit, hand, caller)
            full = answers.FullHand(unit, unit.hand(hand))
            cards = full.cards()
            return hand, lambda proofs: pb.GetHandResponse(hand=full.message(proofs), cards=cards).SerializeToString()

        return run


def _require_own(unit: Unit, hand: bytes, caller: str) -> None:
    live = unit.hand(hand)
    table = unit.table(live.state.table)
    if table is None or table.owner != caller:
        raise Refused(Reason.TABLE_OF_ANOTHER_ROOM, "this table belongs to another room")
    if live.referee:
        raise Refused(Reason.REFEREE_HAND, "the referee runs this hand: use TableService")


def _cards(live: LiveHand, dealt: tuple[Dealt, ...]) -> list[Any]:
    return answers.card_messages(dealt, hands.faces_of(live), live.state.shown)


def _over(
    unit: Unit, live: LiveHand, kind: type[pb.CloseHandResponse] | type[pb.VoidHandResponse]
) -> tuple[bytes, Reply]:
    close = live.close
    if close is None:
        raise AssertionError("a hand that is over has its close entry")
    entry, message = unit.entry(close), answers.hand_message(live)
    return _built(live, lambda proofs: kind(hand=message, receipt=proofs.receipt(close), entry=entry))


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
    }
)


class DealerServicer:
    """Serves DealerService from bytes to bytes, so that a repeated answer is the stored one to the byte."""

    def __init__(self, engine: Engine, identify: Callable[[Any], str], metrics: Metrics) -> None:
        """Takes the writer, what names the caller of a call, and what counts calls."""
        self._engine, self._identify, self._metrics = engine, identify, metrics
        self._requests = Requests(engine.signer)
        self._streams: set[PlayStream] = set()

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: unary(self._answer(field, kind), self._metrics.counter(name))
            for name, (field, kind) in METHODS.items()
        }
        methods["PlayHands"] = grpc.stream_stream_rpc_method_handler(self._play_hands)
        return grpc.method_handlers_generic_handler("dealer.v1.DealerService", methods)

    def command(self, field: str, request: Any, caller: str) -> Command:
        """Makes a request's command.

        Raises:
            Refused: the request's form is wrong.
        """
        if field == "get_hand":
            return Command(caller, describing(self._requests.get_hand(request, caller), request, caller))
        request_id = requests.request_id(request.request_id)
        run: Run = getattr(self._requests, field)(request, caller)
        return Command(caller, describing(run, request, caller), request_id, requests.body_digest(request))

    def _answer(self, field: str, kind: type[Message]) -> Answer:
        async def answer(data: bytes, context: Any) -> bytes:
            caller = self._identify(context)
            return await self._engine.submit(self.command(field, requests.decode(kind, data), caller), context.peer())

        return answer

    async def _play_hands(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        try:
            caller = self._identify(context)
            if self._engine.health.draining:
                raise draining()
            connection = context.peer()
            stream = PlayStream(lambda request: self._engine.enqueue(self._played(request, caller), connection))
            self._streams.add(stream)
            try:
                async for answers in stream.run(requests):
                    yield answers
            finally:
                self._streams.discard(stream)
        except Exception as error:
            await abort(context, error)

    def drain(self) -> None:
        """Ends the open streams as soon as what is under way on them is answered."""
        for stream in self._streams:
            stream.drain()

    def _played(self, request: pb.PlayRequest, caller: str) -> Command:
        field = request.WhichOneof("request")
        if field is None:
            raise Refused(Reason.INVALID_REQUEST, "this request asks for nothing")
        return self.command(field, getattr(request, field), caller)
