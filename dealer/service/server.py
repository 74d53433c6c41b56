"""A dealer that runs: the writer, its services on a port, publishing, housekeeping, and an orderly end."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from dealer.core.hand import Status, over
from dealer.errors import CutcardError, Reason, Refused
from dealer.log.checkpoint import read_checkpoint
from dealer.log.tiles import publish, published_checkpoint
from dealer.service.metrics import Metrics
from dealer.service.referee.tables import Tables
from dealer.service.rpc.dealer import DealerServicer
from dealer.service.rpc.health import HealthServicer
from dealer.service.rpc.listener import listen_on, make_server, parse_loopback, require_free
from dealer.service.rpc.log import LogReader, LogServicer
from dealer.service.rpc.streams import StreamCaps
from dealer.service.rpc.table import TableServicer
from dealer.service.writer import hands
from dealer.service.writer.change import Limits
from dealer.service.writer.engine import Engine
from dealer.service.writer.live import LiveHand
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.interface import Store
from dealer.store.sqlite import SqliteStore, write_back, written_ahead
from dealer.store.vault import Vault

_log = structlog.get_logger()
_AGAIN_SECONDS = 1.0
_HOUSEKEEPING_SECONDS = 60.0
_SYNC_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How a dealer runs.

    Attributes:
        listen: HOST:PORT on the loopback; port 0 takes a free one.
        metrics: HOST:PORT for Prometheus; None: no metrics are served.
        reflection: whether server reflection is on.
        publish_seconds: at most so often the static log moves on; at least 1.
        contribution_seconds: after so long an offered hand is locked; 0: only by LockDeck.
        grace_seconds: for how long a dealer that is stopped lets calls end.
        probe_seconds: so often an idle storage is tried, and one that failed.
        tidy_seconds: so often the database's write-ahead log is looked at.
        most_ahead: bytes of it from which it is written back, and complained of if that is not possible.
        limits: what it allows itself and its callers.
    """

    listen: str = "127.0.0.1:0"
    metrics: str | None = None
    reflection: bool = True
    publish_seconds: float = 1.0
    contribution_seconds: float = 60.0
    grace_seconds: float = 10.0
    probe_seconds: float = 1.0
    tidy_seconds: float = 10.0
    most_ahead: int = 64 * 1024 * 1024
    limits: Limits = field(default_factory=Limits)


class Dealer:
    """One dealer on one data folder.

    Attributes:
        services: full names of what `handlers` serves, for health and reflection.
        port: the port that it listens on, once started.
        engine: its writer.
        failed: set when it can do nothing more, and only a restart helps.
    """

    services: tuple[str, ...] = ("dealer.v1.DealerService", "dealer.v1.LogService", "dealer.v1.TableService")

    def __init__(self, data: DataDir, settings: Settings, sources: Sources) -> None:
        """Takes what it runs on; nothing is opened before `start`."""
        self._data, self._settings, self._sources = data, settings, sources
        self._held = ExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadlines: dict[bytes, asyncio.TimerHandle] = {}
        self._health = HealthServicer()
        self._metrics = Metrics()
        self._published: int | None = None
        self._ahead_told = False
        self.failed = asyncio.Event()
        self.port = 0

    async def start(self) -> None:
        """Opens the data folder, listens and serves.

        Raises:
            CutcardError: the folder is not whole or in use, the address is taken, or the published log is ahead.
        """
        host, port = parse_loopback(self._settings.listen)
        self._loop = asyncio.get_running_loop()
        self._data.check()
        try:
            self._held.enter_context(self._data.only_server())
            self._open()
            await self._table_hands.recover()
            await self._publish()
            await self._listen(host, port)
        except BaseException:
            self._held.close()
            raise
        self._spawn(self._repeat(self._publish, self._settings.publish_seconds))
        self._spawn(self._repeat(self._sync_signed, _SYNC_SECONDS))
        self._spawn(self._repeat(self.engine.probe, self._settings.probe_seconds))
        self._spawn(self._repeat(self.engine.forget_expired, _HOUSEKEEPING_SECONDS))
        self._spawn(self._repeat(self._tidy, self._settings.tidy_seconds))

    def _open(self) -> None:
        limits, database = self._settings.limits, self._data.database
        vault = Vault(self._data.at_rest, limits.key_seconds)
        signer = self._data.signer()
        self.engine = Engine(lambda: SqliteStore(database, vault), signer, vault, self._sources, limits)
        self.engine.on_health = self._threadsafe(self._show_health)
        self.engine.on_hands = self._threadsafe(self._watch)
        self.engine.on_batch = self._metrics.batch
        self.engine.on_recovery = self._threadsafe(lambda: self._spawn(self._tried(self._table_hands.recover)))
        self._table_hands = Tables(self.engine)
        self._dealer_service = DealerServicer(self.engine, identify, self._metrics)
        self.engine.start()
        self._held.callback(self.engine.stop)
        self._reader = LogReader(lambda: SqliteStore(database, read_only=True))
        self._held.callback(self._reader.close)  # before the writer, who leaves the database in one file
        self._watch(list(self.engine.live.values()))

    async def _listen(self, host: str, port: int) -> None:
        limits = self._settings.limits
        self._server = make_server(StreamCaps(identify, limits.streams, limits.caller_streams))
        for handler in self.handlers():
            self._server.add_generic_rpc_handlers((handler,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        if self._settings.reflection:
            names = (*self.services, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        self.address, self.port = listen_on(self._server, host, port)
        if self._settings.metrics is not None:
            where = parse_loopback(self._settings.metrics)
            require_free(*where)
            self._held.callback(self._metrics.listen(*where))
        await self._set_health()
        await self._server.start()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Returns the services that this dealer serves."""
        return [
            self._dealer_service.handler(),
            LogServicer(self.engine, self._reader).handler(),
            TableServicer(self.engine, self._table_hands, identify, self._metrics).handler(),
        ]

    async def stop(self) -> None:
        """Drains: takes no more calls, lets those under way end, publishes what they made durable, and lets go."""
        self.engine.health.draining = True
        self._metrics.serving.set(False)
        for task in self._tasks:
            task.cancel()
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._dealer_service.drain()
        self._table_hands.close()
        await self._health.drain()
        await self._server.stop(self._settings.grace_seconds)
        await self._tried(self._publish)
        await self._loop.run_in_executor(None, self._held.close)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _repeat(self, work: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            with suppress(Exception):  # not even that its failure cannot be told ends it
                await self._tried(work)

    async def _tried(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Does work that is done again later, whatever goes wrong."""
        try:
            await work()
        except Exception as error:
            told = isinstance(error, CutcardError | OSError)  # of any other the message might hold a secret
            _log.error("work in the background failed", work=work.__name__, error=str(error if told else type(error)))

    def _threadsafe(self, call: Callable[..., None]) -> Callable[..., None]:
        def hop(*arguments: Any) -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody is left to be told
                self._loop.call_soon_threadsafe(call, *arguments)

        return hop

    def _show_health(self) -> None:
        self._spawn(self._set_health())

    async def _set_health(self) -> None:
        if not self.engine.health.writer:
            self.failed.set()
        serving = self.engine.health.serving
        self._metrics.serving.set(serving)
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", *self.services):
            await self._health.set(name, status)

    def _watch(self, changed: list[LiveHand]) -> None:
        """Counts what is in play, and sets a deadline for every offer."""
        self._metrics.hands_in_play.set(len(self.engine.live))
        self._metrics.log_entries.set(self.engine.tree.size)
        for live in changed:
            hand = live.state.hand
            if live.state.status is not Status.OFFERED:
                if (deadline := self._deadlines.pop(hand, None)) is not None:
                    deadline.cancel()
            elif self._settings.contribution_seconds and hand not in self._deadlines:
                self._lock_in(self._settings.contribution_seconds, hand)
            if live.referee and live.state.status in (Status.VOID, Status.LOST):
                self._table_hands.give_up(hand, over(live.state))

    def _lock_in(self, seconds: float, hand: bytes) -> None:
        self._deadlines[hand] = self._loop.call_later(seconds, lambda: self._spawn(self._lock(hand)))

    async def _lock(self, hand: bytes) -> None:
        try:
            await self.engine.do(lambda unit: hands.lock_deck(unit, hand))
        except Refused as refused:
            if refused.reason in (Reason.STORAGE, Reason.TOO_MANY_REQUESTS):
                self._lock_in(_AGAIN_SECONDS, hand)

    async def _tidy(self) -> None:
        """Keeps the write-ahead log short, which grows for as long as somebody holds a read transaction."""
        database, most = self._data.database, self._settings.most_ahead
        ahead = written_ahead(database)
        if ahead > most:
            await self._loop.run_in_executor(None, write_back, database)
            ahead = written_ahead(database)
        if ahead > most and not self._ahead_told:
            _log.warning(
                "the database's write-ahead log cannot be written back: another program holds a read transaction on "
                "it, such as a sqlite3 shell; end that one, and the log shrinks by itself",
                bytes=ahead,
            )
        if self._ahead_told and ahead <= most:
            _log.info("the database's write-ahead log is short again", bytes=ahead)
        self._ahead_told = ahead > most
        self._metrics.written_ahead.set(ahead)

    async def _sync_signed(self) -> None:
        await self._loop.run_in_executor(None, self.engine.sync_signed)

    async def _publish(self) -> None:
        note = self.engine.note
        size = read_checkpoint(note).size
        if size == self._published:
            return
        previous = self._published
        await self._sync_signed()
        await self._reader.run(lambda store: _publish(self._data, previous, size, note, store))
        self._published = size
        self._metrics.published_entries.set(size)


def _publish(data: DataDir, previous: int | None, size: int, note: str, store: Store) -> None:
    if previous is None:  # a start: what the folder's checkpoint covers was in place before it, and is not read again
        shown = published_checkpoint(data.public)
        previous = shown.size if shown else 0
    publish(data.public, previous, size, note, store.node, store.entries)


def identify(context: Any) -> str:
    """Names the caller. Until roles are there everybody on the loopback is the one room."""
    return "local"
