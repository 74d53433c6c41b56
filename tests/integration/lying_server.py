"""A server between a client and an honest dealer that hands every call on, and lets a lie change what comes back."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.message import Message

from dealer.log.checkpoint import read_checkpoint, sign_checkpoint
from dealer.log.note import NoteSigner
from dealer.log.receipt import Receipt
from dealer.service.server import Dealer, Settings
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
    """

    behind: str
    signer: NoteSigner
    lies: dict[str, Lie] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
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
                {m.name: self._method(service.full_name, m) for m in service.methods if not m.client_streaming},
            )
            for service in _SERVICES
        ]

    def _method(self, service: str, method: Any) -> Any:
        kind, answer = map(message_factory.GetMessageClass, (method.input_type, method.output_type))

        async def forward(request: Message) -> Message:
            async with grpc.aio.insecure_channel(self.behind) as channel:
                call = channel.unary_unary(f"/{service}/{method.name}", kind.SerializeToString, answer.FromString)
                return await call(request)

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
    liar = LyingServer(dealer.address, dealer.engine.signer)
    server = grpc.aio.server()
    for handler in liar.handlers():
        server.add_generic_rpc_handlers((handler,))
    liar.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield liar
    finally:
        await server.stop(0.5)
