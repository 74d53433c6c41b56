"""Faults on demand: calls whose answer is lost, late, refused or wrong, as a test asks for them."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from dealer.errors import Reason, Refused
from dealer.service.rpc.status import abort
from dealer.v1 import dealer_pb2, log_pb2, table_pb2, types_pb2

LONGEST_DELAY = 600_000
_CARD = types_pb2.Card.DESCRIPTOR
METHODS: dict[str, MethodDescriptor] = {
    method.name: method
    for file in (dealer_pb2, table_pb2, log_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
"""Every method that can meet a fault, by its name."""


@dataclass(slots=True)
class Fault:
    """A fault and for how many more calls it is; exactly one of the last four is set.

    Attributes:
        method: of the calls.
        times: how many calls are left.
        drop: whether the answer is lost.
        delay: by how many seconds it is late.
        reason: what the call is refused with.
        change_card: whether a card of the answer is changed.
        met: whether a call has met it.
    """

    method: str
    times: int
    drop: bool = False
    delay: float = 0.0
    reason: Reason | None = None
    change_card: bool = False
    met: bool = False

    def __post_init__(self) -> None:
        """Refuses a fault that no call could meet.

        Raises:
            Refused: no such method, no calls, or a card to change in answers that have none.
        """
        if self.method not in METHODS:
            raise Refused(
                Reason.INVALID_REQUEST, f"{self.method!a} is no method: they are {', '.join(sorted(METHODS))}"
            )
        if self.times < 1:
            raise Refused(Reason.INVALID_REQUEST, "a fault is for at least one call: set times")
        if self.change_card and not _has_cards(METHODS[self.method].output_type):
            raise Refused(Reason.INVALID_REQUEST, f"an answer of {self.method} has no card that could be changed")


class Faults:
    """The faults that wait for their calls."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Fault]] = defaultdict(deque)
        self._all: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Has the fault's calls meet it, after those that were added for its method before."""
        self._waiting[fault.method].append(fault)
        self._all.append(fault)

    def next(self, method: str) -> Fault | None:
        """Returns the fault that the next call of a method is for."""
        waiting = self._waiting.get(method)
        return waiting[0] if waiting else None

    def meet(self, fault: Fault) -> None:
        """Counts a call that has met a fault."""
        fault.met = True
        fault.times -= 1
        if not fault.times:
            self._waiting[fault.method].remove(fault)

    def unmet(self) -> tuple[str, ...]:
        """Returns the methods of the faults that not one call met."""
        return tuple(fault.method for fault in self._all if not fault.met)

    def clear(self) -> None:
        """Drops all."""
        self._waiting.clear()
        self._all.clear()


class FaultyHandler(grpc.GenericRpcHandler):
    """A service whose calls meet faults; without one they are what they were."""

    def __init__(self, service: grpc.GenericRpcHandler, faults: Faults) -> None:
        """Takes the service's own handler, whose methods go from bytes to bytes."""
        self._service, self._faults = service, faults

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Returns the handler of a call."""
        handler: Any = self._service.service(handler_call_details)
        name = handler_call_details.method.rpartition("/")[2]
        if handler is None or self._faults.next(name) is None:
            return handler  # type: ignore[no-any-return]
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(self._unary(name, handler.unary_unary))
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(self._stream(name, handler.unary_stream))
        return grpc.stream_stream_rpc_method_handler(self._stream(name, handler.stream_stream))

    def _unary(self, name: str, call: Callable[[bytes, Any], Awaitable[bytes]]) -> Any:
        async def answer(data: bytes, context: Any) -> bytes:
            fault = await self._begin(name, context)
            return await self._end(fault, await call(data, context), context)

        return answer

    def _stream(self, name: str, call: Callable[[Any, Any], AsyncIterator[bytes]]) -> Any:
        async def answer(data: Any, context: Any) -> AsyncIterator[bytes]:
            fault = await self._begin(name, context)
            async for message in call(data, context):
                changed = await self._end(fault, message, context)
                if fault is not None and not (fault.change_card and changed == message):
                    fault = None
                yield changed

        return answer

    async def _begin(self, name: str, context: Any) -> Fault | None:
        """Lets a call meet what is not about its answer; returns the fault that is."""
        fault = self._faults.next(name)
        if fault is None:  # another call has met it meanwhile
            return None
        if fault.change_card:
            return fault
        self._faults.meet(fault)
        if fault.reason is not None:
            await abort(context, Refused(fault.reason, "the test has this call refused"))
        return fault

    async def _end(self, fault: Fault | None, answer: bytes, context: Any) -> bytes:
        if fault is None:
            return answer
        if fault.drop:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the test has the answer lost")
        if fault.change_card:
            message = GetMessageClass(METHODS[fault.method].output_type).FromString(answer)
            card = next((card for card in _cards(message) if card.card), None)
            if card is None or not fault.times:
                return answer
            self._faults.meet(fault)
            card.card = card.card[0] + "cdhs"[("cdhs".index(card.card[1]) + 1) % 4]
            return message.SerializeToString()
        await asyncio.sleep(fault.delay)
        return answer


def _has_cards(kind: Descriptor) -> bool:
    return kind is _CARD or any(_has_cards(field.message_type) for field in kind.fields if field.message_type)


def _cards(message: Message) -> Iterator[types_pb2.Card]:
    """Yields every card in a message, so that it can be changed there."""
    if isinstance(message, types_pb2.Card):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for each in [value] if isinstance(value, Message) else value:
                yield from _cards(each)
