"""One life of the simulated dealer, from its start to its end: the real one, without sockets and threads."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import grpc

from dealer.service.rpc.gate import Gate, local_only
from dealer.service.rpc.limits import RoomLimits
from dealer.service.server import Dealer
from dealer.service.settings import Limits, Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.interface import Store
from dealer.store.slots import Slots
from dealer.store.vault import Vault
from simulation.loop import Clock, Loop

READY_KEYS = 8
# A killed dealer's calls are thrown away from outside, where no span of theirs is current: that is no news.
logging.getLogger("opentelemetry.context").disabled = True
Reply = Callable[[bytes | None, grpc.aio.AioRpcError | None], None]


def unavailable(why: str) -> grpc.aio.AioRpcError:
    """Returns what gRPC itself says of a dealer that is not there."""
    empty = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, empty, empty, why)


class _Ended(Exception):
    def __init__(self, status: Any) -> None:
        super().__init__()
        self.status = status


class _Context:
    """What a servicer knows of a call."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer

    def time_remaining(self) -> float:
        return 30.0  # callers give a deadline, and keep to it themselves

    async def abort_with_status(self, status: Any) -> None:
        raise _Ended(status)

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def auth_context(self) -> dict[str, Any]:
        return {}


class _Shared:
    """The writer's store, for who reads beside it: the simulated disk knows one connection at a time."""

    def __init__(self, dealer: "SimulatedDealer") -> None:
        self._dealer = dealer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dealer.engine.state.store, name)

    def close(self) -> None:
        """Leaves it to the writer."""


class SimulatedDealer(Dealer):
    """The dealer, with its store and its keys opened as the world says."""

    threaded = False

    def __init__(
        self, data: DataDir, settings: Settings, sources: Sources, open_store: Callable[[Vault], Store]
    ) -> None:
        super().__init__(data, settings, sources)
        self._open_simulated = open_store

    def open_vault(self) -> Vault:
        folder, secrets = self._data.at_rest, self._sources.secrets
        slots = Slots(folder / "seeds", ready=READY_KEYS, entropy=secrets, threaded=False)
        self.vault = Vault(folder, self._settings.limits.key_seconds, secrets, slots)
        return self.vault

    def open_store(self, vault: Vault | None) -> Store:
        shared: Any = _Shared(self)
        return shared if vault is None else self._open_simulated(vault)

    async def _listen(self, addresses: list[Any]) -> None:
        async def stop(grace: float) -> None: ...

        server: Any = SimpleNamespace(stop=stop)
        self._servers = [server]
        await self._housekeeping.show_health()


class Life:
    """A process that runs a dealer: its loop, its calls under way.

    Attributes:
        dealer: the dealer.
        loop: its loop.
        started: its start, as a task.
        up: whether it answers calls.
    """

    def __init__(self, clock: Clock, make: Callable[[], SimulatedDealer]) -> None:
        self.loop = Loop(clock)
        self._gate = Gate(local_only, RoomLimits(Limits()), Limits())
        self._replies: dict[int, Reply] = {}
        self._count = 0
        self.up = False
        self.stopped: asyncio.Task[None] | None = None
        self.dealer = self.loop.within(make)
        self.started = self.loop.create_task(self._start())

    async def _start(self) -> None:
        await self.dealer.start()
        self._handlers = self.dealer.handlers()
        self.up = True

    def serve(self, method: str, data: bytes, peer: str, reply: Reply) -> None:
        """Serves a unary call."""

        async def run() -> bytes:
            return bytes(await (await self._handler(method)).unary_unary(data, _Context(peer)))

        self._take(run(), reply)

    def stream(self, method: str, data: bytes, peer: str, part: Callable[[bytes], None], reply: Reply) -> None:
        """Serves a call that is answered in parts."""

        async def run() -> bytes:
            async for each in (await self._handler(method)).unary_stream(data, _Context(peer)):
                part(each)
            return b""

        self._take(run(), reply)

    def stop(self) -> None:
        """Begins an orderly end."""
        self.up = False
        self.stopped = self.loop.create_task(self.dealer.stop())

    def kill(self) -> None:
        """Ends the process: nothing of it runs any more, and who waits is told by gRPC."""
        self.up = False
        replies, self._replies = self._replies, {}
        for reply in replies.values():
            reply(None, unavailable("the connection was lost"))

    def bury(self) -> None:
        """Lets go of what a dead process left, once it can do no more harm."""
        self.dealer._held.pop_all()
        for task in self.loop.tasks:
            with suppress(BaseException):
                self.loop.within(task.get_coro().close)

    async def _handler(self, method: str) -> Any:
        """Finds what serves a method, behind the gate that every call goes through."""

        async def found(details: Any) -> Any:
            return next(each for handler in self._handlers if (each := handler.service(details)) is not None)

        details: Any = SimpleNamespace(method=method, invocation_metadata=())
        return await self._gate.intercept_service(found, details)

    def _take(self, call: Any, reply: Reply) -> None:
        self._count += 1
        number = self._count
        self._replies[number] = reply

        def done(task: "asyncio.Task[Any]") -> None:
            if (waiting := self._replies.pop(number, None)) is not None:
                waiting(*_outcome(task))

        self.loop.create_task(call).add_done_callback(done)


def _outcome(task: "asyncio.Task[Any]") -> tuple[bytes | None, grpc.aio.AioRpcError | None]:
    error = task.exception()
    if error is None:
        return task.result(), None
    if not isinstance(error, _Ended):
        raise error
    status = error.status
    metadata = grpc.aio.Metadata(*status.trailing_metadata)
    return None, grpc.aio.AioRpcError(status.code, grpc.aio.Metadata(), metadata, status.details)
