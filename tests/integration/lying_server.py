"""A server between a client and an honest dealer that hands every call on, and lets a lie change what comes back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from dealer.log.checkpoint import read_checkpoint, sign_checkpoint
from dealer.log.note import NoteSigner
from dealer.log.receipt import Receipt
from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.v1 import dealer_pb2, log_pb2

_SERVICES = [
    dealer_pb2.DESCRIPTOR.services_by_name["DealerService"],
    log_pb2.DESCRIPTOR.services_by_name["LogService"],
]
Forward = Callable[[Any], Awaitable[Any]]
Lie = Callable[[Any, Forward], Awaitable[Any]]
"""Gets the request, and what hands a request on; gives the answer, or any bytes in its place."""


class Unavailable(Exception):
    """Makes the liar answer that it is not there, whatever it has done."""


@dataclass
class LyingServer:
    """The liar.

    Attributes:
        behind: address of the honest dealer.
        signer: the log's own key, for a dishonest dealer signs whatever suits it.
        lies: by method.
        calls: every method that was called, in order.
        parts: bytes that are streamed instead of the log's entries.
        messages: of PlayHands streams, the methods that each asked for.
        numbers: of the fields of a stream's answer that methods' answers are put into, if not into their own.
        end_with: code and reason of the error that ends a stream.
    """

    behind: str
    signer: NoteSigner
    lies: dict[str, Lie] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    messages: list[list[str]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    end_with: tuple[grpc.StatusCode, str] = (grpc.StatusCode.UNAVAILABLE, "")
    address: str = ""

    def lie(self, method: str, change: Callable[[Any], None]) -> None:
        """Changes every answer of a method."""

        async def told(request: Any, forward: Forward) -> Any:
            answer = await forward(request)
            change(answer)
            return answer

        self.lies[method] = told

    def go_over_to(self, address: str) -> None:
        """Puts another dealer behind: the same log's key, another log."""
        self.behind = address

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        return [
            grpc.method_handlers_generic_handler(
                service.full_name,
                {m.name: self._method(service.full_name, m) for m in service.methods},
            )
            for service in _SERVICES
        ]

    def _method(self, service: str, method: Any) -> Any:
        kind, answer = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
        if method.client_streaming:
            return grpc.stream_stream_rpc_method_handler(self._play, kind.FromString, _written)
        forward = self._forward(service, method)

        async def stream(request: Message, context: Any) -> AsyncIterator[Message | bytes]:
            for data in self.parts:
                yield data
            if self.parts:
                return
            async with grpc.aio.insecure_channel(self.behind) as channel:
                call = channel.unary_stream(f"/{service}/{method.name}", kind.SerializeToString, answer.FromString)
                async for part in call(request):
                    yield part

        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, kind.FromString, _written)

        async def told(request: Message, context: Any) -> Message:
            self.calls.append(method.name)
            try:
                return await self.lies.get(method.name, _truth)(request, forward)
            except Unavailable:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection is gone")
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details() or "", tuple(error.trailing_metadata() or ()))

        return grpc.unary_unary_rpc_method_handler(told, kind.FromString, _written)

    def _forward(self, service: str, method: Any) -> Forward:
        kind, answer = map(message_factory.GetMessageClass, (method.input_type, method.output_type))

        async def forward(request: Message) -> Message:
            async with grpc.aio.insecure_channel(self.behind) as channel:
                call = channel.unary_unary(f"/{service}/{method.name}", kind.SerializeToString, answer.FromString)
                return await call(request)

        return forward

    async def _play(self, messages: AsyncIterator[dealer_pb2.PlayHandsRequest], context: Any) -> AsyncIterator[bytes]:
        """Answers a stream's requests by the same lies; one that is unavailable breaks the stream."""
        answers: asyncio.Queue[bytes] = asyncio.Queue()

        async def answer(request: dealer_pb2.PlayRequest) -> None:
            field = dealer_pb2.PlayRequest.DESCRIPTOR.fields_by_name[str(request.WhichOneof("request"))]
            method = _of_a_hand(field.name)
            mark = _delimited(1, request.correlation_id.encode())
            try:
                forward = self._forward(_SERVICES[0].full_name, method)
                told = await self.lies.get(method.name, _truth)(getattr(request, field.name), forward)
                number = dealer_pb2.PlayResponse.DESCRIPTOR.fields_by_name[field.name].number
                number = self.numbers.get(method.name, number)
                answers.put_nowait(_delimited(1, mark + _delimited(number, _written(told))))
            except Unavailable:
                answers.put_nowait(b"")
            except grpc.aio.AioRpcError as error:
                details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
                status = status_pb2.Status.FromString(details) if details else None
                status = status or status_pb2.Status(code=error.code().value[0], message=error.details() or "")
                answers.put_nowait(_delimited(1, mark + _delimited(2, status.SerializeToString())))

        async def read() -> None:
            async for message in messages:
                names = [_of_a_hand(str(request.WhichOneof("request"))).name for request in message.requests]
                self.calls += names
                self.messages.append(names)
                tasks.extend(asyncio.ensure_future(answer(request)) for request in message.requests)

        tasks: list[asyncio.Future[None]] = []
        tasks.append(asyncio.ensure_future(read()))
        try:
            while data := await answers.get():
                yield data
            await context.abort_with_status(rpc_status.to_status(_status(*self.end_with)))
        finally:
            for task in tasks:
                task.cancel()


def _of_a_hand(field: str) -> Any:
    """The method whose request stands in this field of a stream's message."""
    return _SERVICES[0].methods_by_name["".join(word.capitalize() for word in field.split("_"))]


def _status(code: grpc.StatusCode, reason: str) -> status_pb2.Status:
    status = status_pb2.Status(code=code.value[0], message="the connection is gone")
    if reason:
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="cutcard"))
    return status


def _delimited(number: int, data: bytes) -> bytes:
    """A field of a protobuf message that holds these bytes, whatever they are."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def _written(answer: Message | bytes) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


async def _truth(request: Any, forward: Forward) -> Any:
    return await forward(request)


def resigned(receipt: str, signer: NoteSigner, root: bytes | None = None) -> str:
    """A receipt whose checkpoint a key has signed again, with another root where one is given."""
    parsed = Receipt.parse(receipt)
    signed = read_checkpoint(parsed.checkpoint_note)
    note = sign_checkpoint(replace(signed, root=root or signed.root), signer)
    return Receipt(parsed.index, parsed.proof, note).text()


@asynccontextmanager
async def honest_dealer(
    folder: Path, sources: Sources | None = None, settings: Settings | None = None
) -> AsyncIterator[Dealer]:
    """A real dealer of this process on a data folder, which is made where it is missing."""
    data = DataDir.at(folder)
    if not data.exists():
        data.init("example.com/room")
    escrow = EscrowKey(bytes.fromhex(make_escrow_pair()[1]))
    dealer = Dealer(data, settings or Settings(grace_seconds=0.5), sources or Sources(escrow=escrow))
    await dealer.start()
    try:
        yield dealer
    finally:
        await dealer.stop()


@asynccontextmanager
async def lying_server(dealer: Dealer) -> AsyncIterator[LyingServer]:
    """A liar in front of a dealer, with the log's own key."""
    liar = LyingServer(dealer.address, dealer.engine.state.signer)
    server = grpc.aio.server()
    for handler in liar.handlers():
        server.add_generic_rpc_handlers((handler,))
    liar.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield liar
    finally:
        await server.stop(0.5)
