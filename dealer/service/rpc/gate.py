"""The gate that every call goes through: who calls, whether its role may, and whether a stream's caller still may.

One listener has one gate. Nothing that a caller sends as metadata is looked at.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc

from dealer.errors import Reason, Refused
from dealer.service.rpc.certificates import Callers
from dealer.service.rpc.limits import RoomLimits
from dealer.service.rpc.roles import LOCAL, LOCAL_OWNER, PUBLIC, Caller, Role, require_role, set_caller
from dealer.service.rpc.status import CallEnd, abort, watch_end
from dealer.service.settings import Limits
from dealer.service.tracing import traced

Identify = Callable[[Any], Caller]
"""Says who makes a call, by its context; raises `Refused` if that is nobody."""

Count = Callable[[str, grpc.StatusCode, Exception | None, float | None], None]
"""Is told of a call that has ended: its method, its status, what refused it, and of a unary one the seconds."""

_TLS = b"TLSv1.3"
AGAIN_SECONDS = 60.0


def local_only(context: Any) -> Caller:
    """Identifies the callers of a listener without TLS, on the loopback or a Unix socket."""
    return LOCAL


def public_only(context: Any) -> Caller:
    """Identifies the callers of the public listener, whatever they show."""
    _require_tls_version(context)
    return PUBLIC


def meshed(context: Any) -> Caller:
    """Identifies callers where a mesh brings the TLS: one room over TCP, and never an operator."""
    return LOCAL if _is_unix(context) else Caller(Role.ROOM, LOCAL_OWNER)


def by_certificate(callers: Callers) -> Identify:
    """Returns what identifies callers by their certificates; on a Unix socket they are local."""

    def identify(context: Any) -> Caller:
        if _is_unix(context):
            return LOCAL
        _require_tls_version(context)
        shown = context.auth_context()
        # The caller has shown to hold the key of this one certificate. The chain is what else it sent, anybody's
        # certificates, and it does not begin with this one.
        (own,) = shown.get("x509_pem_cert") or [b""]
        if not own:
            raise Refused(Reason.NO_IDENTITY, "the connection shows no certificate")
        return callers.judge(own, b"".join(shown.get("x509_pem_cert_chain", ())))

    return identify


def _is_unix(context: Any) -> bool:
    return str(context.peer()).startswith("unix:")


def _require_tls_version(context: Any) -> None:
    versions = context.auth_context().get("ssl_tls_version")
    if versions is not None and versions[0] != _TLS:
        raise Refused(Reason.NO_IDENTITY, "TLS 1.3 is needed")


class Gate(grpc.aio.ServerInterceptor):
    """Judges each call before anything else, and open streams again and again; counts every call that is served."""

    def __init__(
        self,
        identify: Identify,
        limits: RoomLimits,
        settings: Limits,
        again_seconds: float = AGAIN_SECONDS,
        count: Count = lambda method, code, error, seconds: None,
    ) -> None:
        """Judges with `identify`, and the callers of open streams once in so many seconds; counts what rooms use."""
        self._count = count
        self._identify, self._again = identify, again_seconds
        self._limits, self._settings = limits, settings

    async def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Returns the handler of a call behind the gate; what is not served stays unknown."""
        handler: Any = await continuation(handler_call_details)
        if handler is None:
            return None
        method = str(handler_call_details.method).removeprefix("/")
        asked, answered = (
            "stream" if each else "unary" for each in (handler.request_streaming, handler.response_streaming)
        )
        kind, streams = f"{asked}_{answered}", "stream" in (asked, answered)
        make: Any = getattr(grpc, f"{kind}_rpc_method_handler")
        behind = (
            self._streaming(getattr(handler, kind), method) if streams else self._single(getattr(handler, kind), method)
        )
        return make(behind, handler.request_deserializer, handler.response_serializer)  # type: ignore[no-any-return]

    @contextmanager
    def _counted(self, method: str, *, unary: bool) -> Iterator[CallEnd]:
        """Counts a call when it has ended, but for one that its caller has given up."""
        start, end = time.perf_counter(), watch_end()
        try:
            yield end
        except Exception:
            end.code = end.code or grpc.StatusCode.UNKNOWN  # a library's service raised it
            raise
        else:
            end.code = end.code or grpc.StatusCode.OK
        finally:
            if end.code is not None:
                seconds = time.perf_counter() - start if unary else None
                self._count(method.rpartition("/")[2], end.code, end.error, seconds)

    async def _admit(self, context: Any, method: str) -> Caller:
        try:
            who = self._identify(context)
            await self._limits.require_rate(who, context.peer())  # before the role: what is refused counts as well
            require_role(who, method)
        except Refused as refused:
            await abort(context, refused)
        set_caller(who)
        return who

    def _single(self, serve: Callable[[Any, Any], Any], method: str) -> Callable[[Any, Any], Any]:
        async def call(request: Any, context: Any) -> Any:
            with traced(method, context.invocation_metadata()), self._counted(method, unary=True) as end:
                return await judged(request, context, end)

        async def judged(request: Any, context: Any, end: CallEnd) -> Any:
            who = await self._admit(context, method)
            given = None if context.time_remaining() is not None else self._settings.call_seconds
            try:
                async with asyncio.timeout(given), self._limits.turn(who, context.peer()):
                    answer = serve(request, context)
                    return await answer if inspect.isawaitable(answer) else answer
            except TimeoutError:
                end.code = grpc.StatusCode.DEADLINE_EXCEEDED
                await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "no answer in the time that a call is given")
            except Refused as refused:
                await abort(context, refused)

        return call

    def _streaming(self, serve: Callable[[Any, Any], Any], method: str) -> Callable[[Any, Any], Any]:
        if inspect.isasyncgenfunction(serve):

            async def yielding(request: Any, context: Any) -> AsyncIterator[Any]:
                with self._counted(method, unary=False):
                    await self._admit(context, method)
                    with _Judged(self._identify, context, self._again) as judged:
                        async for response in serve(request, context):
                            judged.writes(self._settings.slow_seconds)
                            yield response
                            judged.has_written()

            return yielding

        async def writing(request: Any, context: Any) -> None:
            with self._counted(method, unary=False):
                await self._admit(context, method)
                with _Judged(self._identify, context, self._again):
                    await serve(request, context)

        return writing


class _Judged:
    """Judges the caller of an open stream again and again, and ends the stream once it is nobody any more."""

    def __init__(self, identify: Identify, context: Any, seconds: float) -> None:
        self._identify, self._context, self._seconds = identify, context, seconds
        self._task = asyncio.current_task()
        self._ending: asyncio.Future[None] | None = None
        self._slow: asyncio.TimerHandle | None = None

    def __enter__(self) -> "_Judged":
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._judge)
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        self.has_written()

    def writes(self, seconds: float) -> None:
        """Gives what is sent now so many seconds to be taken."""
        self._slow = asyncio.get_running_loop().call_later(seconds, self._end_with, _too_slow())

    def has_written(self) -> None:
        """Notes that it was taken."""
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _end_with(self, refused: Refused) -> None:
        self._ending = asyncio.ensure_future(self._end(refused))

    async def _end(self, refused: Refused) -> None:
        """Ends the call from outside: its own task may be waiting for somebody who takes nothing."""
        with suppress(Exception):  # it has ended meanwhile
            await abort(self._context, refused)
        if self._task is not None:
            self._task.cancel()

    def _judge(self) -> None:
        try:
            self._identify(self._context)
        except Refused as refused:
            self._end_with(refused)
        else:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._judge)


def _too_slow() -> Refused:
    return Refused(Reason.TOO_SLOW, "what was sent was not taken for too long: go on from where you are")
