"""A dealer that runs: its parts put together, started in order, and ended in order."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from dealer.code_digest import code_digest, version
from dealer.log.tiles import check_extends, published_checkpoint, published_note
from dealer.service.housekeeping import Housekeeping, Parts
from dealer.service.log_http import serve_log
from dealer.service.metrics import Metrics
from dealer.service.referee.tables import Tables
from dealer.service.rpc.certificates import (
    Authorities,
    Callers,
    Pair,
    Revoked,
    Watched,
    check_domain,
    credentials,
    read_authorities,
    read_pair,
    read_revoked,
)
from dealer.service.rpc.dealer import DealerServicer
from dealer.service.rpc.gate import Gate, Identify, by_certificate, local_only, meshed, public_only
from dealer.service.rpc.health import HealthServicer
from dealer.service.rpc.limits import RoomLimits
from dealer.service.rpc.listener import (
    Address,
    ListenError,
    Listening,
    Tcp,
    make_server,
    parse_address,
    parse_loopback,
    require_free,
)
from dealer.service.rpc.log import LogServicer
from dealer.service.rpc.operator import OperatorServicer
from dealer.service.rpc.roles import PUBLIC_METHODS
from dealer.service.rpc.streams import StreamCaps
from dealer.service.rpc.table import TableServicer
from dealer.service.settings import Settings, Shared, Tls, Witnessing
from dealer.service.witnesses.conflict import RolledBackError
from dealer.service.witnesses.metrics import WitnessMetrics
from dealer.service.writer.engine import Engine
from dealer.service.writer.hands import take_tables
from dealer.service.writer.health import lease_lost, log_conflict, standing_by
from dealer.service.writer.log_reader import LogReader
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir, lies_in_memory
from dealer.store.ends import publish_ends
from dealer.store.interface import LogConflict, Store
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault

if TYPE_CHECKING:  # the driver of the one is an extra, and the other's client takes a tenth of a second to load
    from dealer.service.witnesses.witnesses import Witnesses
    from dealer.store.postgres.contender import Contender

_log = structlog.get_logger()
_LOOK_SECONDS = 10.0


class TlsFiles:
    """The files of TLS, watched.

    Attributes:
        pair: the server's own certificate and key.
        callers: what judges callers' certificates.
    """

    def __init__(self, tls: Tls) -> None:
        """Reads all of them.

        Raises:
            CertificateError: one cannot be used.
        """
        self.pair: Watched[Pair] = Watched((tls.certificate, tls.key), lambda: read_pair(tls.certificate, tls.key))
        authorities: Watched[Authorities] = Watched((tls.client_ca,), lambda: read_authorities(tls.client_ca))
        revoked: Watched[Revoked] | None = None
        if (listed := tls.revoked) is not None:
            revoked = Watched((listed,), lambda: read_revoked(listed))
        self.callers = Callers(check_domain(tls.domain), authorities, revoked)

    def look(self) -> list[str]:
        """Reads files that have changed, and returns what is wrong with those that cannot be used."""
        self.pair.look()
        return [*([self.pair.failed] if self.pair.failed is not None else []), *self.callers.look()]

    def days_left(self) -> float:
        """Returns for how many days the server's certificate in use holds."""
        return (self.pair.value.expires - datetime.now(UTC)).total_seconds() / 86_400


class Dealer:
    """One dealer on one data folder.

    Attributes:
        services: full names of what `handlers` serves, for health and reflection.
        addresses: where it listens, once started; `port` is the first one's.
        public_address: where the public calls, once started; None: nowhere.
        engine: its writer, once started.
        contender: what stands by and takes the lease, where several dealers share a database.
        failed: set when it can do nothing more, and only a restart helps.
    """

    threaded = True  # False: the writer has no thread of its own, in the simulation
    services: tuple[str, ...] = (
        "dealer.v1.DealerService",
        "dealer.v1.LogService",
        "dealer.v1.OperatorService",
        "dealer.v1.TableService",
    )

    def __init__(self, data: DataDir, settings: Settings, sources: Sources) -> None:
        """Opens nothing yet; that is for `start`."""
        self._data, self._settings, self._sources = data, settings, sources
        self._held = ExitStack()
        self._health = HealthServicer()
        self._metrics = Metrics()
        self._room_limits = RoomLimits(settings.limits)
        self._running = False
        self._watching: asyncio.Task[None] | None = None
        self._tls: TlsFiles | None = None
        self._witnesses: Witnesses | None = None
        self.contender: Contender | None = None
        self.failed = asyncio.Event()
        self.addresses: list[str] = []
        self.version, self.code_digest = version(), code_digest()
        self.public_address: str | None = None
        self.log_address: str | None = None
        self.port = 0

    @property
    def address(self) -> str:
        """The first address that it listens on, once started."""
        return self.addresses[0]

    async def start(self) -> None:
        """Opens the data folder, listens and serves.

        Raises:
            CutcardError: the folder is not whole or in use, the address is taken, or the published log is ahead.
        """
        self._tls = None if self._settings.tls is None else TlsFiles(self._settings.tls)
        addresses = [self._address(text) for text in self._settings.listen]
        self._data.check(shared=self._settings.shared is not None)
        try:
            self._held.enter_context(self._data.only_server())
            self._open(await self._ask_witnesses())
            if self.contender is not None:
                await self._first_look(self.contender)
                if self._witnesses is not None:
                    await self._hold_against(self._witnesses)
            elif self._settings.table_owners:
                taken = await self.engine.do(lambda unit: take_tables(unit, self._settings.table_owners))
                _log.info("tables moved here", tables=taken)
            if self.contender is None:
                await self._tables.recover()
            await self._housekeeping.publish()
            await self._reader.run(lambda store: publish_ends(store, self._data.public))
            await self._listen(addresses)
            if self.contender is not None:
                self.contender.start()
        except BaseException:
            if self._witnesses is not None:
                await self._witnesses.close()
            self._held.close()
            raise
        self._housekeeping.start()
        if self._tls is not None:
            self._watching = asyncio.create_task(self._watch_files(self._tls))
        self._running = True
        self._metrics.build.labels(self.version, self.code_digest).set(1)
        signer, escrow = self.engine.state.signer, self._sources.escrow
        _log.info(
            "serving",
            version=self.version,
            code_digest=self.code_digest,
            origin=signer.name,
            key_id=signer.key_id.hex(),
            escrow=None if escrow is None else str(escrow),
            addresses=self.addresses,
            public=self.public_address,
            tls=self._tls is not None,
            hands_in_play=len(self.engine.state.live),
            limits=asdict(self._settings.limits),
        )

    async def _ask_witnesses(self) -> LogReader | None:
        """Asks the witnesses before anything is signed or served: what they hold, the embedded log must extend.

        Returns:
            What the log is read by from now on; None where nobody is asked, or a database is not open yet.

        Raises:
            RolledBackError: it does not.
        """
        if self._settings.witnesses is None or self._settings.shared is not None:
            return None
        reader = LogReader(lambda: self.open_store(None))
        try:
            self._witnesses = self._make_witnesses(self._settings.witnesses, reader)
            await self._witnesses.start_up(published_note(self._data.public) or await reader.published())
        except BaseException:
            reader.close()
            raise
        return reader

    def _make_witnesses(self, settings: Witnessing, reader: LogReader) -> "Witnesses":
        from dealer.service.witnesses.witnesses import Witnesses

        metrics = WitnessMetrics(self._metrics.registry)
        clock = lambda: self._sources.clock() / 1000  # noqa: E731
        return Witnesses(settings, self._data.signer(), reader, metrics, self._data.conflicts, clock)

    def _ask_on_moves(self, contender: "Contender", witnesses: "Witnesses", settings: Witnessing) -> None:
        """Has the witnesses asked before the writer goes on with a database that has changed its place."""
        loop = asyncio.get_running_loop()

        def ask() -> None:
            asked = asyncio.run_coroutine_threadsafe(self._hold_against(witnesses), loop)
            try:
                asked.result(settings.timeout + _LOOK_SECONDS)
            except RolledBackError as error:
                raise LogConflict(str(error)) from None
            except TimeoutError:
                asked.cancel()

        contender.on_moved = ask

    async def _hold_against(self, witnesses: "Witnesses") -> None:
        await witnesses.start_up(await self._reader.published())

    async def _first_look(self, contender: "Contender") -> None:
        """Looks at the database, and refuses what cannot be used."""
        if contender.replication == "asynchronous":
            _log.warning("a failover of the database may lose the last commits: cards and signatures that have left")
        if not lies_in_memory(self._data.at_rest):
            _log.warning(
                "the keys at rest lie on a disk: with several dealers they belong in memory (tmpfs), so that a machine "
                "that is gone opens nothing (docs/several-dealers.md, Where key folders belong)",
                folder=str(self._data.at_rest),
            )
        await asyncio.get_running_loop().run_in_executor(None, contender.check)

    def _open_contender(self, shared: Shared) -> "Contender":
        from dealer.store.postgres.contender import Contender, Terms
        from dealer.store.postgres.link import Database, Replication

        database = Database(shared.url, Replication(shared.replication))
        limits = self._settings.limits
        terms = Terms(shared.lease_seconds, limits.key_seconds, answer_seconds=limits.answer_seconds)
        return Contender(database, self._data.root, self._data.at_rest, self._data.signer(), terms)

    def _follow_lease(self, contender: "Contender", engine: Engine) -> None:
        loop = asyncio.get_running_loop()
        contender.on_taken = partial(_on_loop, loop, self._lead)
        contender.on_lost = lambda why: engine.stand_by(lease_lost, why)
        contender.on_lapsed = engine.lapse
        contender.works = lambda: engine.health.storage
        contender.on_standby = lambda: engine.stand_by(standing_by, "another dealer has taken the lease")
        engine.on_conflict = contender.give_up
        contender.on_conflict = lambda why: engine.stand_by(log_conflict, why)

    def _lead(self) -> None:
        self.engine.lead()
        self._housekeeping.lead()

    def open_vault(self) -> Vault:
        """Opens the keys at rest."""
        return Vault(self._data.at_rest, self._settings.limits.key_seconds, self._sources.secrets)

    def open_store(self, vault: Vault | None) -> Store:
        """Opens the store: for the writer with the keys at rest, else for reading the log."""
        return SqliteStore(self._data.database, vault, read_only=vault is None)

    def _open(self, reader: LogReader | None = None) -> None:
        limits, signer = self._settings.limits, self._data.signer()
        if self._settings.shared is None:
            vault = self.open_vault()
            extends = partial(
                check_extends, self._data.public
            )  # of a database nothing is signed before it is published
            self.engine = Engine(
                lambda: self.open_store(vault), signer, vault, self._sources, limits, before_signing=extends
            )
            self._reader = reader or LogReader(lambda: self.open_store(None))
        else:
            self.contender = contender = self._open_contender(self._settings.shared)
            self._held.callback(contender.stop)
            self._metrics.key_overdue.set_function(contender.key_overdue_seconds)
            keys = contender.keyring
            self.engine = Engine(contender.open_store, signer, keys, self._sources, limits, stands_by=True)
            self._reader = LogReader(contender.open_reader)
            if self._settings.witnesses is not None:
                self._witnesses = self._make_witnesses(self._settings.witnesses, self._reader)
                self._ask_on_moves(contender, self._witnesses, self._settings.witnesses)
            self._follow_lease(contender, self.engine)
        self._tables = Tables(self.engine)
        self._dealer_service = DealerServicer(self.engine, self._metrics, self._room_limits)
        rail = self._settings.public_rail
        self._table_service = TableServicer(self.engine, self._tables, public_rail=rail)
        self._log_service = LogServicer(self.engine, self._reader, has_witnesses=self._witnesses is not None)
        self._operator_service = OperatorServicer(self.engine, self._tables, self)
        parts = Parts(
            self._data,
            self.engine,
            self._reader,
            self._tables,
            self._dealer_service,
            self._health,
            self.services,
            self._metrics,
            self._witnesses,
        )
        self._housekeeping = Housekeeping(parts, self._settings, self.failed)
        self.engine.start(self._housekeeping, threaded=self.threaded)
        self._held.callback(self.engine.stop)
        self._held.callback(self._reader.close)  # before the writer, who leaves the database in one file
        self._housekeeping.follow(list(self.engine.state.live.values()))

    async def _listen(self, addresses: list[Address]) -> None:
        limits, tls = self._settings.limits, self._tls
        self._server = make_server(self._gate(self._identify()), StreamCaps(limits, self._metrics.streams.set))
        for handler in self.handlers():
            self._server.add_generic_rpc_handlers((handler,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        servers = [self._server]
        if self._settings.reflection:
            names = (*self.services, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        begun = self._metrics.connections.labels("rooms").inc
        for address in addresses:
            secure = credentials(tls.pair, tls.callers, begun) if tls is not None and isinstance(address, Tcp) else None
            self._take(Listening(self._server, address, secure))
        if self._settings.public is not None:
            servers.append(self._listen_public(self._settings.public))
        if self._settings.metrics is not None:
            where = parse_address(self._settings.metrics)
            if not isinstance(where, Tcp):
                raise ListenError("metrics are served on a port")
            require_free(where)
            self._held.callback(
                self._metrics.listen(
                    where.host, where.port, lambda: self.engine.health.writer, lambda: self.engine.health.serving
                )
            )
        if self._settings.log is not None:
            address = parse_address(self._settings.log)
            if not isinstance(address, Tcp):
                raise ListenError("the static log is served on a port")
            self.log_address, close = serve_log(self._data.public, address)
            self._held.callback(close)
        await self._housekeeping.show_health()
        self._servers = servers
        for server in servers:
            await server.start()

    def _take(self, listening: Listening) -> None:
        self._held.callback(listening.close)
        self.addresses.append(listening.address)
        self.port = self.port or listening.port

    def _listen_public(self, where: str) -> grpc.aio.Server:
        address = self._address(where)
        if not isinstance(address, Tcp):
            raise ListenError(f"{where!r}: the public listener has a port")
        limits = self._settings.limits
        idle = self._settings.public_idle_seconds
        server = make_server(self._gate(public_only), StreamCaps(limits), idle_seconds=idle)
        for handler in self.public_handlers():
            server.add_generic_rpc_handlers((handler,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._settings.reflection:
            names = ("dealer.v1.LogService", "dealer.v1.TableService", health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, server)
        begun = self._metrics.connections.labels("public").inc
        secure = credentials(self._tls.pair, None, begun) if self._tls is not None else None
        listening = Listening(server, address, secure)
        self._held.callback(listening.close)
        self.public_address = listening.address
        return server

    def epoch(self) -> int:
        """Returns the epoch of the lease on a shared database; 0 with an embedded store."""
        return 0 if self.contender is None else self.contender.lease.epoch

    def published_size(self) -> int:
        """Returns the entries under the published checkpoint; 0 if nothing is published yet."""
        published = published_checkpoint(self._data.public)
        return 0 if published is None else published.size

    def certificate_days(self) -> float | None:
        """Returns for how many days the server's certificate holds; None without TLS."""
        return None if self._tls is None else self._tls.days_left()

    async def show_health(self) -> None:
        """Sets what is served as the dealer's health."""
        await self._housekeeping.show_health()

    async def _watch_files(self, tls: TlsFiles) -> None:
        """Reads the files of TLS again when they change, and says what is wrong with them, once."""
        said: list[str] = []
        while True:
            failed = await asyncio.get_running_loop().run_in_executor(None, tls.look)
            for why in failed:
                if why not in said:
                    _log.error("a file of TLS cannot be used: the old one stays in use", error=why)
            said = failed
            self._metrics.certificate_failed.set(len(failed))
            self._metrics.certificate_days.set(tls.days_left())
            await asyncio.sleep(_LOOK_SECONDS)

    def _gate(self, identify: Identify) -> Gate:
        return Gate(
            identify, self._room_limits, self._settings.limits, self._settings.judge_seconds, self._metrics.call
        )

    def _identify(self) -> Identify:
        if self._tls is not None:
            return by_certificate(self._tls.callers)
        return meshed if self._settings.anywhere else local_only

    def _address(self, text: str) -> Address:
        """Reads an address; without TLS only this machine may call there, unless a mesh brings TLS of its own."""
        return parse_loopback(text) if self._tls is None and not self._settings.anywhere else parse_address(text)

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Returns the services that this dealer serves."""
        services = (self._dealer_service, self._log_service, self._operator_service, self._table_service)
        return [service.handler() for service in services]

    def public_handlers(self) -> list[grpc.GenericRpcHandler]:
        """Returns what the public listener serves; the rest is unknown there."""
        return [self._log_service.handler(), self._table_service.handler(PUBLIC_METHODS)]

    async def stop(self) -> None:
        """Ends in order: takes no more calls, lets those under way end, publishes their work, and lets go.

        Of a dealer that does not run it does nothing.
        """
        if not self._running:
            return
        self._running = False
        if self._watching is not None:
            self._watching.cancel()
        _log.info("draining", hands_in_play=len(self.engine.state.live))
        self.engine.drain()
        self._metrics.serving.set(False)
        self._housekeeping.stop()
        self._dealer_service.drain()
        self._tables.close()
        await self._health.drain()
        await asyncio.gather(*(server.stop(self._settings.grace_seconds) for server in self._servers))
        await self._housekeeping.tried(partial(self._housekeeping.publish, patience=self._settings.grace_seconds))
        if self._witnesses is not None:
            await self._witnesses.close()
        await asyncio.get_running_loop().run_in_executor(None, self._held.close)
        _log.info("stopped")


def _on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(call)
