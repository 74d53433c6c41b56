"""A tap on the wire between a room and its dealer: it hands every call on as it is, and keeps all that passes."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from dealer.v1 import dealer_pb2, log_pb2, table_pb2

SERVICES = (dealer_pb2, table_pb2, log_pb2)
"""Imported for their descriptors, by which what passes is read."""


@dataclass
class Passed:
    """One message on its way, or an error's words.

    Attributes:
        method: the call's, such as `Act`.
        asked: whether it is the room's.
        data: its bytes.
        message: the same, read; None of an error.
    """

    method: str
    asked: bool
    data: bytes = field(repr=False)
    message: Message | None


class Tap(grpc.GenericRpcHandler):
    """The tap.

    Attributes:
        passed: what has passed, in order; to be cleared at will.
        address: where the room connects to.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self.passed: list[Passed] = []
        self.address = ""

    def service(self, details: Any) -> Any:
        """Takes every method as a stream of bytes each way: on the wire there is no other kind."""
        return grpc.stream_stream_rpc_method_handler(partial(self._call, details.method))

    async def _call(self, path: str, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        _, service, method = path.split("/")
        described = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method]
        asked, answered = map(message_factory.GetMessageClass, (described.input_type, described.output_type))

        async def going() -> AsyncIterator[bytes]:
            async for data in requests:
                self.passed.append(Passed(method, True, data, asked.FromString(data)))
                yield data

        call = self._channel.stream_stream(path)(going())
        try:
            async for data in call:
                self.passed.append(Passed(method, False, data, answered.FromString(data)))
                yield data
        except grpc.aio.AioRpcError as error:
            trailing = tuple(error.trailing_metadata() or ())
            words = f"{error.details()} {trailing}".encode()
            self.passed.append(Passed(method, False, words, None))
            await context.abort(error.code(), error.details() or "", trailing)
        finally:
            call.cancel()

    def messages(self) -> Iterator[Message]:
        """Yields every message that has passed."""
        return (each.message for each in self.passed if each.message is not None)


@asynccontextmanager
async def tapped(address: str) -> AsyncIterator[Tap]:
    """Listens before a dealer."""
    async with grpc.aio.insecure_channel(address) as channel:
        tap, server = Tap(channel), grpc.aio.server()
        server.add_generic_rpc_handlers((tap,))
        tap.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            yield tap
        finally:
            await server.stop(None)
