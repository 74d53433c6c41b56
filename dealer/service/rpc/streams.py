"""Caps on open streams: so many for each connection, and for each room or public address over all of its connections.

A stream that nobody reads holds memory for as long as it is open. One interceptor counts those of every service.
"""

import inspect
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc

from dealer.errors import Reason, Refused
from dealer.service.rpc.limits import key_of
from dealer.service.rpc.roles import Role, caller
from dealer.service.rpc.status import abort
from dealer.service.settings import Limits


class StreamCaps(grpc.aio.ServerInterceptor):
    """Counts the open streams and refuses what is too many."""

    def __init__(self, limits: Limits, changed: Callable[[int], None] = lambda count: None) -> None:
        """Allows as many streams as `limits` say; `changed` is told how many are open."""
        self._changed = changed
        self._most = {
            "connection": limits.streams,
            "caller": limits.caller_streams,
            "address": limits.address_streams,
        }
        self._open: Counter[tuple[str, str]] = Counter()

    async def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Returns the handler of a call; that of a stream counts it for as long as it is open."""
        handler: Any = await continuation(handler_call_details)
        if handler is None or not (handler.request_streaming or handler.response_streaming):
            return handler  # type: ignore[no-any-return]
        kind = f"{'stream' if handler.request_streaming else 'unary'}_stream"
        make: Any = getattr(grpc, f"{kind}_rpc_method_handler")
        counted = self._counted(getattr(handler, kind))
        return make(counted, handler.request_deserializer, handler.response_serializer)  # type: ignore[no-any-return]

    def _counted(self, serve: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        if inspect.isasyncgenfunction(serve):

            async def yielding(request: Any, context: Any) -> AsyncIterator[Any]:
                await self._admit(context)
                async for response in serve(request, context):
                    yield response

            return yielding

        async def writing(request: Any, context: Any) -> None:
            await self._admit(context)
            await serve(request, context)

        return writing

    async def _admit(self, context: Any) -> None:
        """Counts a stream until its call is over, or ends the call."""
        asking, peer = caller(), context.peer()
        who = [("connection", peer), ("address" if asking.role is Role.PUBLIC else "caller", key_of(asking, peer))]
        for key in who:
            if self._open[key] >= (most := self._most[key[0]]):
                refused = Refused(Reason.TOO_MANY_STREAMS, f"this {key[0]} has {most} streams open: end some first")
                await abort(context, refused)
        self._open.update(who)
        self._changed(self._open_streams())
        context.add_done_callback(lambda _: self._release(who))

    def _open_streams(self) -> int:
        return sum(count for (kind, _), count in self._open.items() if kind == "connection")

    def _release(self, who: list[tuple[str, str]]) -> None:
        self._open.subtract(who)
        self._changed(self._open_streams())
        for key in who:
            if not self._open[key]:
                del self._open[key]
