"""OperatorService: what an operator may look at and do (API.md). It never shows a card."""

import asyncio
from functools import partial
from typing import Any, Protocol

import grpc
import structlog

from dealer.core.hand import VoidReason
from dealer.core.ids import hand_text
from dealer.errors import Reason, Refused
from dealer.log.checkpoint import read_checkpoint
from dealer.service.referee.tables import Tables
from dealer.service.rpc import answers, requests
from dealer.service.rpc.limits import source_of
from dealer.service.rpc.roles import LOCAL, LOCAL_OWNER, NAME, Caller, Role, caller
from dealer.service.rpc.unary import Answer, unary
from dealer.service.settings import Limits
from dealer.service.writer import governing, hands
from dealer.service.writer.about import describing_hand
from dealer.service.writer.change import HandAnswer, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.v1 import operator_pb2 as pb

_log = structlog.get_logger()
_MOST_NOTE_BYTES = 500


class Facts(Protocol):
    """What the service knows of itself beside the writer's state."""

    version: str
    code_digest: str

    def epoch(self) -> int:
        """Returns the epoch of the lease on a shared database; 0 with an embedded store."""

    def published_size(self) -> int:
        """Returns the entries under the published checkpoint."""

    def certificate_days(self) -> float | None:
        """Returns for how many days the server's certificate holds; None without TLS."""

    async def show_health(self) -> None:
        """Sets what is served as the dealer's health."""


class OperatorServicer:
    """Serves OperatorService."""

    def __init__(self, engine: Engine, tables: Tables, facts: Facts) -> None:
        """Serves with this writer and referee; `facts` are the service's own."""
        self._engine, self._tables, self._facts = engine, tables, facts
        self._started = engine.state.sources.monotonic()
        self._admission = asyncio.Lock()

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        calls: dict[str, Answer] = {
            "ListAllHands": self._list,
            "VoidAnyHand": self._void,
            "MoveTable": self._move,
            "Drain": partial(self._admit, False),
            "Resume": partial(self._admit, True),
            "GetStatus": self._status,
        }
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {name: unary(call) for name, call in calls.items()}
        return grpc.method_handlers_generic_handler("dealer.v1.OperatorService", methods)

    async def _list(self, data: bytes, context: Any) -> bytes:
        request = requests.decode(pb.ListAllHandsRequest, data)
        size, after = requests.page(request.page_size, request.page_token)

        def run(unit: Unit) -> pb.ListAllHandsResponse:
            found, last = hands.list_hands(unit, None, size, after)
            listed = [answers.in_play_message(unit, live, room=True) for live in found]
            return pb.ListAllHandsResponse(hands=listed, next_page_token=hand_text(last) if last else "")

        return (await self._engine.do(run, source_of(caller(), context))).SerializeToString()

    async def _void(self, data: bytes, context: Any) -> bytes:
        request = requests.decode(pb.VoidAnyHandRequest, data)
        hand, who = requests.hand_id(request.hand_id), caller()
        if len(request.note.encode()) > _MOST_NOTE_BYTES:
            raise Refused(Reason.INVALID_REQUEST, f"note has at most {_MOST_NOTE_BYTES} bytes")

        def run(unit: Unit) -> HandAnswer:
            live = self._tables.void_any(unit, hand, VoidReason.OPERATOR)
            assert live.close is not None
            response = pb.VoidAnyHandResponse(hand=answers.hand_message(live))
            unit.receipt_into(response, "receipt", live.close)
            told = partial(_log.info, "an operator gave a hand up", operator=str(who), hand=request.hand_id)
            unit.on_loop.append(partial(told, table=live.state.table, number=live.state.number, note=request.note))
            return HandAnswer(hand, response)

        request_id, body = requests.request_id(request.request_id), requests.body_digest(request)
        command = Command(who.owner, describing_hand(run, hand, who.owner), request_id, body)
        return await self._engine.submit(command, source_of(caller(), context))

    async def _move(self, data: bytes, context: Any) -> bytes:
        request = requests.decode(pb.MoveTableRequest, data)
        table, who = requests.table_id(request.table), caller()
        before, after = (_room(getattr(request, "from")), _room(request.to))

        def run(unit: Unit) -> int:
            number = governing.move_table(unit, table, before, after)
            if table in unit.tables:
                told = partial(_log.info, "an operator moved a table", operator=str(who), table=table)
                unit.on_loop.append(partial(told, before=before, after=after))
            return number

        number = await self._engine.do(run, source_of(caller(), context))
        return pb.MoveTableResponse(next_number=number).SerializeToString()

    async def _admit(self, admitting: bool, data: bytes, context: Any) -> bytes:
        kind = pb.ResumeRequest if admitting else pb.DrainRequest
        requests.decode(kind, data)
        health, who = self._engine.health, caller()
        async with self._admission:
            if health.admitting != admitting or health.receding == admitting:  # the latter: an earlier call gave up
                health.receding = not admitting
                if admitting:
                    health.admitting = True
                await self._facts.show_health()  # of a drain health first, and only then no new hand
                health.admitting = admitting
                what = "an operator resumed new hands" if admitting else "an operator stopped new hands"
                _log.info(what, operator=str(who))
        in_play = len(self._engine.state.live)
        answer = pb.ResumeResponse if admitting else pb.DrainResponse
        return answer(hands_in_play=in_play).SerializeToString()

    async def _status(self, data: bytes, context: Any) -> bytes:
        requests.decode(pb.GetStatusRequest, data)
        state, health, facts = self._engine.state, self._engine.health, self._facts
        leads = health.writer and health.standing is None and not health.draining
        used = await self._engine.do(governing.use, source_of(caller(), context)) if leads else []
        published = await asyncio.get_running_loop().run_in_executor(None, facts.published_size)
        response = pb.GetStatusResponse(
            version=facts.version,
            code_digest=facts.code_digest,
            origin=state.signer.name,
            key_id=state.signer.key_id.hex(),
            uptime_seconds=int(state.sources.monotonic() - self._started),
            role="writer" if health.standing is None else "standby",
            epoch=facts.epoch(),
            log_size=read_checkpoint(state.note).size,
            published_size=published,
            entropy=health.entropy,
            storage=health.storage,
            draining=health.draining or not health.admitting,
            certificate_days=facts.certificate_days(),
            hands_in_play=len(state.live),
            most_hands=state.limits.hands_in_play,
            rooms=[
                pb.RoomUse(
                    room=each.room,
                    hands_in_play=each.hands,
                    tables=each.tables,
                    requests_waiting=self._engine.waiting_of(str(_owner(each.room))),
                )
                for each in used
            ],
            limits=_limits(state.limits),
        )
        return response.SerializeToString()


def _owner(room: str) -> Caller:
    return LOCAL if room == LOCAL_OWNER else Caller(Role.ROOM, room)


def _limits(limits: Limits) -> pb.RoomLimits:
    return pb.RoomLimits(
        hands_in_play=limits.room_hands,
        tables=limits.room_tables,
        requests_a_second=limits.room_rate,
        connections=limits.room_connections,
        streams=limits.caller_streams,
        requests_waiting=limits.pending,
        calls_waiting=limits.room_pending,
    )


def _room(name: str) -> str:
    if name and not NAME.fullmatch(name):
        raise Refused(
            Reason.INVALID_REQUEST, "a room's name is 1 to 64 characters of A-Z a-z 0-9 . _ -, and not . or .."
        )
    return name or LOCAL_OWNER
