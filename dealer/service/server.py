"""A dealer that runs: its parts put together, started in order, and ended in order."""

import asyncio
from contextlib import ExitStack
from typing import Any

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from dealer.service.housekeeping import Housekeeping, Parts
from dealer.service.metrics import Metrics
from dealer.service.referee.tables import Tables
from dealer.service.rpc.dealer import DealerServicer
from dealer.service.rpc.health import HealthServicer
from dealer.service.rpc.listener import listen_on, make_server, parse_loopback, require_free
from dealer.service.rpc.log import LogServicer
from dealer.service.rpc.streams import StreamCaps
from dealer.service.rpc.table import TableServicer
from dealer.service.settings import Settings
from dealer.service.writer.engine import Engine
from dealer.service.writer.hands import take_tables
from dealer.service.writer.log_reader import LogReader
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.interface import Store
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault

_log = structlog.get_logger()


class Dealer:
    """One dealer on one data folder.

    Attributes:
        services: full names of what `handlers` serves, for health and reflection.
        port: the port that it listens on, once started.
        engine: its writer, once started.
        failed: set when it can do nothing more, and only a restart helps.
    """

    threaded = True  # False: the writer has no thread of its own, in the simulation
    services: tuple[str, ...] = ("dealer.v1.DealerService", "dealer.v1.LogService", "dealer.v1.TableService")

    def __init__(self, data: DataDir, settings: Settings, sources: Sources) -> None:
        """Opens nothing yet; that is for `start`."""
        self._data, self._settings, self._sources = data, settings, sources
        self._held = ExitStack()
        self._health = HealthServicer()
        self._metrics = Metrics()
        self._running = False
        self.failed = asyncio.Event()
        self.port = 0

    async def start(self) -> None:
        """Opens the data folder, listens and serves.

        Raises:
            CutcardError: the folder is not whole or in use, the address is taken, or the published log is ahead.
        """
        host, port = parse_loopback(self._settings.listen)
        self._data.check()
        try:
            self._held.enter_context(self._data.only_server())
            self._open()
            if self._settings.table_owners:
                taken = await self.engine.do(lambda unit: take_tables(unit, self._settings.table_owners))
                _log.info("tables moved here", tables=taken)
            await self._tables.recover()
            await self._housekeeping.publish()
            await self._listen(host, port)
        except BaseException:
            self._held.close()
            raise
        self._housekeeping.start()
        self._running = True

    def open_vault(self) -> Vault:
        """Opens the keys at rest."""
        return Vault(self._data.at_rest, self._settings.limits.key_seconds, self._sources.secrets)

    def open_store(self, vault: Vault | None) -> Store:
        """Opens the store: for the writer with the keys at rest, else for reading the log."""
        return SqliteStore(self._data.database, vault, read_only=vault is None)

    def _open(self) -> None:
        limits, vault, signer = self._settings.limits, self.open_vault(), self._data.signer()
        self.engine = Engine(lambda: self.open_store(vault), signer, vault, self._sources, limits)
        self._reader = LogReader(lambda: self.open_store(None))
        self._tables = Tables(self.engine)
        self._dealer_service = DealerServicer(self.engine, identify, self._metrics)
        parts = Parts(self._data, self.engine, self._reader, self._tables, self._health, self.services, self._metrics)
        self._housekeeping = Housekeeping(parts, self._settings, self.failed)
        self.engine.start(self._housekeeping, threaded=self.threaded)
        self._held.callback(self.engine.stop)
        self._held.callback(self._reader.close)  # before the writer, who leaves the database in one file
        self._housekeeping.follow(list(self.engine.state.live.values()))

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
        await self._housekeeping.show_health()
        await self._server.start()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Returns the services that this dealer serves."""
        return [
            self._dealer_service.handler(),
            LogServicer(self.engine.state, self._reader).handler(),
            TableServicer(self.engine, self._tables, identify, self._metrics).handler(),
        ]

    async def stop(self) -> None:
        """Ends in order: takes no more calls, lets those under way end, publishes their work, and lets go.

        Of a dealer that does not run it does nothing.
        """
        if not self._running:
            return
        self._running = False
        self.engine.drain()
        self._metrics.serving.set(False)
        self._housekeeping.stop()
        self._dealer_service.drain()
        self._tables.close()
        await self._health.drain()
        await self._server.stop(self._settings.grace_seconds)
        await self._housekeeping.tried(self._housekeeping.publish)
        await asyncio.get_running_loop().run_in_executor(None, self._held.close)


def identify(context: Any) -> str:
    """Names the caller. Until roles are there everybody on the loopback is the one room."""
    return "local"
