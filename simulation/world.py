"""A world from a seed: a dealer that is started, spoilt, killed and started again, and people who use it meanwhile."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256, shake_256
from pathlib import Path
from typing import Any, cast

from grpc_health.v1 import health_pb2

import audit
from dealer.core.ids import uuid7
from dealer.core.seed import Seed
from dealer.log.note import NoteVerifier
from dealer.service.settings import Limits, Settings
from dealer.service.writer.change import HandAnswer
from dealer.service.writer.engine import Command
from dealer.service.writer.sources import Sources
from dealer.store.escrow import EscrowKey
from dealer.store.interface import Store
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2, operator_pb2, table_pb2
from simulation.disk import Disk
from simulation.faults import FAULTS, Fault
from simulation.life import Life, SimulatedDealer, unavailable
from simulation.loop import Clock, Loop
from simulation.machine import ORIGIN, Files, data_folder, installed
from simulation.people import Auditor, Operator, Person, Room, Table
from simulation.promises import Answered, BrokenPromise, Promises, hold
from simulation.stores import FailingStore, Model, ModelStore, Plan

SETTLING_SECONDS = 900.0
_FAULTS_LAST = 50
"""Steps, about."""
_MONDAY = 1_790_000_000_000
_MODULES = {"Table": table_pb2, "Log": log_pb2, "Dealer": pb, "Operator": operator_pb2}
_SERVICES = {
    method.name: service
    for service, module in _MODULES.items()
    for method in module.DESCRIPTOR.services_by_name[f"{service}Service"].methods
}


class _Auditor(EscrowKey):
    """An auditor whose envelopes are the same in every process: the library draws a key of its own for each."""

    def seal(self, seed: Seed, hand: bytes, seed_commitment: bytes) -> bytes:
        return shake_256(b"envelope" + hand + seed_commitment + sha256(seed.value).digest()).digest(112)


_AUDITOR = _Auditor(bytes.fromhex("d1b1b5b1a6d9f3b56b0ad96c5d1f0b7f4bd8cdd9b6e3fd6ab77ef6b5a4db9a0e"))


@dataclass(slots=True)
class Outcome:
    """How a world went.

    Attributes:
        seed: what it came from.
        history: its faults, with their times.
        counts: hands, answers, faults and so on.
        trace: digest of everything that was answered, in order: the same for the same seed.
    """

    seed: int
    history: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    trace: str = ""


class World:
    """One world. `run` lives it."""

    def __init__(
        self,
        seed: int,
        *,
        disk: bool = False,
        rooms: int = 2,
        tables: int = 1,
        steps: int = 300,
        fault_every: int = 60,
        faults: Sequence[Fault] = FAULTS,
        script: Mapping[int, str] | None = None,
        audited: bool = True,
        begin: Path | None = None,
    ) -> None:
        """Makes a world.

        Args:
            seed: decides everything.
            disk: whether the store is the real SQLite on a simulated disk; else a model.
            rooms: so many deal by hand.
            tables: so many have the referee.
            steps: so many things happen before everybody goes home.
            fault_every: a fault comes once in so many steps, about; 0: never.
            faults: those that may come.
            script: which fault comes at which step, by name, in place of chance.
            audited: whether the log is verified at the end.
            begin: a data folder to begin with, on the disk; None: an empty log.
        """
        self.seed = seed
        self.rng = random.Random(seed)
        self._on_disk, self._steps, self._fault_every, self._audited = disk, steps, fault_every, audited
        self._faults = [fault for fault in faults if disk or not fault.disk]
        self._script, self._begin_with = script, begin
        self._people = (rooms, tables)
        self.clock = Clock(_MONDAY)
        self.people_loop = Loop(self.clock)
        self.disk, self.files, self.plan = Disk(), Files(), Plan(random.Random(seed))
        self.outcome = Outcome(seed)
        self._trace = sha256()
        self.entropy_fault = ""
        self._source = random.Random(seed)
        self.mute = self.deaf = self.home = False
        self.full = self._known_full = False
        self._storage_failed = False
        self.dropping = 0
        self.keys_lost = False
        self.life: Life | None = None
        self._graves: list[Life] = []
        self._start_at: float | None = 0.0
        self._old: Any = None
        self._older: Any = None
        self._must_refuse = self._spoilt = False
        self._signed = 0
        self._sealing_keys: dict[bytes, int] = {}
        self._lines: list[str] = []

    # -- what the dealer is made of

    def _entropy(self, length: int) -> bytes:
        match self.entropy_fault:
            case "raises":
                raise OSError("no entropy")
            case "zero":
                return bytes(length)
            case "short":
                return bytes(length - 1)
            case "stalls":
                self.clock.now += 2.0
        return self._source.randbytes(length)

    def replay_entropy(self) -> None:
        """Has the source give what it has given from the beginning: its machine goes on from a copy of itself."""
        self._source = random.Random(self.seed)

    def _open(self, vault: Vault) -> Store:
        self.plan.opened()
        if self._on_disk:
            store: Store = SqliteStore(self.data.database, vault, connect=self.disk.connect)
        else:
            store = ModelStore(self.model)
        return cast(Store, FailingStore(store, self.plan))

    def _make(self) -> SimulatedDealer:
        sources = Sources(
            entropy=self._entropy,
            secrets=self.rng.randbytes,
            clock=self.clock.milliseconds,
            monotonic=self.clock.monotonic,
            hand_ids=lambda milliseconds: uuid7(milliseconds, self.rng.randbytes(10)),
            escrow=_AUDITOR,
        )
        settings = Settings(
            publish_seconds=2.0,
            probe_seconds=2.0,
            tidy_seconds=1e9,
            contribution_seconds=10.0,
            limits=Limits(key_seconds=600),
        )
        return SimulatedDealer(self.data, settings, sources, self._open)

    # -- living

    def run(self) -> Outcome:
        """Lives until everybody has gone home, and holds that everything was kept.

        Raises:
            BrokenPromise: something was not.
        """
        with ExitStack() as stack:
            self.data = stack.enter_context(data_folder(self._begin_with))
            stack.enter_context(installed(self.files, self.clock.monotonic, self.rng.randrange, self._line))
            stack.callback(self._end)
            self._begin()
            for step in range(self._steps):
                if (fault := self._fault_at(step)) is not None:
                    self._happen(fault)
                elif self._fault_every and self.rng.random() * _FAULTS_LAST < 1:
                    self.all_is_well()
                self.step()
            self._settle()
        self.outcome.counts = dict(self.promises.counts)
        self.outcome.trace = self._trace.hexdigest()
        return self.outcome

    def _fault_at(self, step: int) -> Fault | None:
        if self._script is not None:
            return next((fault for fault in self._faults if fault.name == self._script.get(step)), None)
        if not self._fault_every or self.rng.random() * self._fault_every >= 1:
            return None
        return self.rng.choices(self._faults, [fault.weight for fault in self._faults])[0]

    def _begin(self) -> None:
        database, signer = self.data.database, self.data.signer()
        if self._on_disk:
            self.disk.put(database, database.read_bytes())
        else:
            with_note = SqliteStore(database, read_only=True)
            self.model = Model(ORIGIN, with_note.checkpoint())
            with_note.close()
        self.promises = Promises(NoteVerifier.parse(signer.verifier_key))
        rooms, tables = self._people
        people: list[Person] = [Room(self, f"room-{n}") for n in range(rooms)]
        people += [Table(self, f"table-{n}") for n in range(tables)]
        people += [Auditor(self, "auditor"), Operator(self, "operator")]
        self._lives = [self.people_loop.create_task(each.live()) for each in people]

    def _happen(self, fault: Fault) -> None:
        self.promises.counts["faults"] += 1
        self.outcome.history.append(f"{self.clock.now:.1f} s: {fault.name}")
        self._storage_failed |= fault.storage
        fault.begin(self)
        self._spoilt = True

    def step(self) -> None:
        """Lets one thing happen: a callback of somebody, a batch of the writer's, or time."""
        self._look_after_the_dealer()
        life = self.life
        choices: list[Callable[[], None]] = []
        if self.people_loop.due:
            choices.append(self.people_loop.step)
        if life is not None and life.loop.due:
            choices.append(life.loop.step)
        if life is not None and self._writer_waits(life):
            choices.append(lambda: self._write(life))
        if choices:
            self.rng.choice(choices)()
        else:
            self._let_time_pass()
        self._hold_what_is_always_so()

    def _writer_waits(self, life: Life) -> bool:
        engine = getattr(life.dealer, "engine", None)
        return engine is not None and not engine.idle

    def _write(self, life: Life) -> None:
        """Has the writer carry a batch out, as its thread does; nothing may end it."""
        life.dealer.engine.carry_out_next()
        if not self._on_disk or self.rng.random() < 0.3:
            life.dealer.vault.slots.renew()

    def _let_time_pass(self) -> None:
        times = [self._start_at] if self.life is None else [self.life.loop.next_time]
        times.append(self.people_loop.next_time)
        next_time = min((time for time in times if time is not None), default=None)
        hold(next_time is not None, "nobody has anything to do any more, and yet not all is done")
        self.clock.now = max(self.clock.now, next_time or 0.0)
        if self.life is not None and self.life.up:
            self.life.dealer.vault.slots.renew()

    def _look_after_the_dealer(self) -> None:
        """Starts a dealer that does not run, as an operator's supervisor does."""
        life = self.life
        if life is None:
            if self._start_at is not None and self.clock.now >= self._start_at:
                self._start()
        elif life.stopped is not None and life.stopped.done():
            life.stopped.exception()
            self._bury()
        elif life.started.done() and (error := life.started.exception()) is not None:
            self._must_refuse = False
            if self._old is not None:
                self._put_newest_back()
            elif not self._spoilt:
                raise BrokenPromise(f"the dealer does not start: {error!r}")
            self._bury()
        elif life.up and self._must_refuse:
            raise BrokenPromise("a dealer goes on from an older database")

    def _start(self) -> None:
        self._start_at, self._spoilt, self._known_full = None, self._has_fault, False
        self.promises.counts["starts"] += 1
        self.life = Life(self.clock, self._make)
        self._deafen(self.life)

    def _bury(self) -> None:
        if self.life is not None:
            self._graves.append(self.life)
            self.life.kill()
            self.life = None
            self.disk.kill()
            self.files.kill()
            self.plan.opened()
        self._start_at = self.clock.now + 1.0

    # -- faults

    @property
    def _has_fault(self) -> bool:
        return self.plan.first is not None or bool(self.files.failing) or self.disk.fault is not Disk.no_fault

    def kill(self, *, power: bool = False) -> None:
        """Kills the dealer's process, or its machine."""
        if power:
            self.disk.lose_power(self.rng)
        self._bury()

    def restart(self) -> None:
        """Stops the dealer in order; it is started again."""
        if self.life is not None and self.life.up:
            self.life.loop.within(self.life.stop)

    def lose_keys(self, which: str) -> None:
        """Takes keys at rest away, as if their machine had gone, and starts on another."""
        self._bury()
        self.keys_lost = True
        for path in self.data.at_rest.glob(which):
            path.unlink()

    def put_old_back(self) -> None:
        """Puts the database of a while ago in the place of the newest: a dealer must not go on from it."""
        self._bury()
        if self._old is not None:
            return  # one is in its place already, and nobody has refused it yet
        newest = self._copied()
        if self._older is None or self._size_of(self._older) >= self._signed:
            self._older = newest  # nothing was signed since: such a database is no older one
            return
        self._old = newest
        self._restore(self._older)
        self._must_refuse = True

    def _put_newest_back(self) -> None:
        self._restore(self._old)
        self._old = None

    def _copied(self) -> Any:
        return self.disk.copy() if self._on_disk else deepcopy(self.model)

    def _size_of(self, copied: Any) -> int:
        """How many entries a copied database has."""
        if not self._on_disk:
            return len(copied.log)
        disk = Disk()
        disk.restore(copied)
        with closing(disk.connect(self.data.database, True)) as db:
            (size,) = db.execute("SELECT count(*) FROM entries").fetchone()
        return int(size)

    def _restore(self, copied: Any) -> None:
        if self._on_disk:
            self.disk.restore(copied)
        else:
            self.model = deepcopy(copied)

    def move_calendar(self, milliseconds: int) -> None:
        """Sets the dealer's clock back or on."""
        self.clock.calendar += milliseconds
        if milliseconds > 0:
            self.promises.forget_repeats(self.clock.milliseconds())

    def ask_the_unwritable(self) -> None:
        """Asks for something whose answer cannot be encoded: that is its caller's trouble alone."""
        life = self.life
        if life is None or not life.up:
            return

        class Unwritable:
            def SerializeToString(self, *, deterministic: bool) -> bytes:
                raise ValueError("a fault of the dealer's own")

        command = Command("somebody", lambda unit: HandAnswer(bytes(16), Unwritable()), self.rng.randbytes(16))
        try:
            life.loop.within(lambda: life.dealer.engine.hand_in(command, "elsewhere", lambda value, error: None))
        except Exception as error:
            self._note(repr(error).encode())

    def _deafen(self, life: Life) -> None:
        """Has what the loop does after a batch fail, while callbacks raise."""
        opening = life.dealer._open

        def spoilt(call: Callable[..., None]) -> Callable[..., None]:
            def told(*arguments: Any) -> None:
                if self.deaf and self.rng.random() < 0.5:
                    raise RuntimeError("a callback raised")
                call(*arguments)

            return told

        def opened(reader: Any = None) -> None:
            opening(reader)
            housekeeping: Any = life.dealer._housekeeping
            tables: Any = life.dealer._tables
            housekeeping.committed = spoilt(housekeeping.committed)
            housekeeping.health_changed = spoilt(housekeeping.health_changed)
            tables._show = spoilt(tables._show)

        life.dealer._open = opened  # type: ignore[method-assign]

    def all_is_well(self) -> None:
        """Ends every fault."""
        self.plan.stop()
        self.files.failing.clear()
        self.disk.fault = Disk.no_fault
        self.mute = self.deaf = False
        self.full = self._known_full = False
        self.entropy_fault, self.dropping = "", 0

    # -- what people see of it

    async def call(self, method: str, request: Any, seconds: float = 30.0) -> Any:
        """Sends a request, and holds its answer against everything before it."""
        loop, life = self.people_loop, self.life
        data = request.SerializeToString()
        if life is None or not life.up:
            await asyncio.sleep(0.05)
            raise unavailable("connection refused")
        answered = loop.create_future()

        def reply(value: bytes | None, error: Any) -> None:
            loop.call_soon(self._answered, answered, value, error)

        service = _SERVICES[method]
        life.loop.call_soon(life.serve, f"/dealer.v1.{service}Service/{method}", data, "people", reply)
        late = loop.call_later(seconds, self._answered, answered, None, unavailable("deadline"))
        try:
            value = await answered
        finally:
            late.cancel()
        response = getattr(_MODULES[service], f"{method}Response").FromString(value)
        if service != "Operator":  # whose answers say times of the real clock
            self._note(value)
        self.promises.secrets_in(method, value, self._seeds_in_play())
        if method == "GetCheckpoint":
            self.promises.checkpoint(response.checkpoint, "LogService")
        else:
            self.promises.answer(method, request, value, response)
        if self.dropping and self.rng.random() < 0.5:
            self.dropping -= 1
            raise unavailable("the answer was lost on the way")
        return response

    def _answered(self, answered: "asyncio.Future[bytes]", value: bytes | None, error: Any) -> None:
        if answered.done():
            return
        if error is not None:
            self._note(f"{error.code()} {error.details()}".encode())
            answered.set_exception(error)
        else:
            answered.set_result(value or b"")

    async def watch(self, request: table_pb2.WatchHandRequest, seen: Callable[[int], None]) -> None:
        """Watches a hand; see `Ask`."""
        loop, life = self.people_loop, self.life
        if life is None or not life.up:
            raise unavailable("connection refused")
        ended = loop.create_future()
        expected = request.after

        def part(data: bytes) -> None:
            nonlocal expected
            event = table_pb2.WatchHandResponse.FromString(data).event
            expected += 1
            hold(event.sequence == expected, f"a watcher was shown event {event.sequence}, and {expected} was next")
            self.promises.secrets_in("WatchHand", data, self._seeds_in_play())
            if not event.HasField("hand_started") and not event.HasField("hand_finished"):
                self.promises.event(request.hand_id, request.seat, event.sequence, data)
            seen(event.sequence)

        def reply(value: bytes | None, error: Any) -> None:
            loop.call_soon(self._answered, ended, value, error)

        method = "/dealer.v1.TableService/WatchHand"
        life.loop.call_soon(life.stream, method, request.SerializeToString(), "people", part, reply)
        await ended

    def finished(self, hand: str) -> None:
        """Counts a hand that is over."""
        self.promises.counts["hands"] += 1

    def _note(self, data: bytes) -> None:
        self._trace.update(data)

    def _line(self, line: str) -> None:
        if self.mute:
            raise OSError("nobody reads these lines any more")
        self._lines.append(line)

    def _seeds_in_play(self) -> list[bytes]:
        engine = None if self.life is None else getattr(self.life.dealer, "engine", None)
        if engine is None:
            return []
        return [live.secrets.seed.value for live in engine.state.live.values() if live.secrets is not None]

    # -- promises

    def _hold_what_is_always_so(self) -> None:
        for lives in (self.people_loop, *([self.life.loop] if self.life else [])):
            if lives.failures:
                raise lives.failures[0]
        for life in self._lives:
            if life.done() and not life.cancelled() and life.exception() is not None:
                raise BrokenPromise(f"somebody could not go on: {life.exception()!r}") from life.exception()
        engine = None if self.life is None else getattr(self.life.dealer, "engine", None)
        if engine is not None:
            hold(engine.health.writer, "the writer has ended")
            self._signed = max(self._signed, engine.state.tree.size)
            for hand, live in engine.state.live.items():
                if live.key is not None:
                    self._sealing_keys[hand] = live.key
            if self.full:
                self._known_full |= not engine.health.storage
                hold(not (self._known_full and engine.health.serving), "nothing can be written, and health says it can")
            if self._lines:
                seeds = self._seeds_in_play()
                for line in self._lines:
                    self.promises.secrets_in("a log line", line.encode(), seeds)
                    failed = "storage failed" in line and not (self._storage_failed or self.plan.failed)
                    hold(not failed, "the storage is said to fail, and what failed was one caller's alone")
                self._lines.clear()

    def _settle(self) -> None:
        """Ends all faults, lets everybody finish, and holds that all is served and nothing was lost."""
        self.all_is_well()
        self.home = True
        self.outcome.history.append(f"{self.clock.now:.1f} s: all is well")
        until = self.clock.now + SETTLING_SECONDS
        while not all(life.done() for life in self._lives):
            hold(
                self.clock.now < until, f"not everybody could finish within {SETTLING_SECONDS:.0f} s of the last fault"
            )
            self.step()
        if self._begin_with is not None:
            self._lives.append(self.people_loop.create_task(Operator(self, "successor").clear()))
            self._go_on_until(lambda: self._lives[-1].done(), until)
        self._lives.append(self.people_loop.create_task(self._ask_everything_again()))
        self._go_on_until(lambda: self._lives[-1].done(), until)
        self._go_on_until(self._is_quiet, until)
        self._hold_what_is_so_at_the_end()

    def _go_on_until(self, done: Callable[[], bool], until: float) -> None:
        while not done():
            hold(self.clock.now < until, f"not everything is served within {SETTLING_SECONDS:.0f} s of the last fault")
            self.step()

    def _is_quiet(self) -> bool:
        """Whether the dealer serves, and has published everything."""
        life = self.life
        if life is None or not life.up or self._writer_waits(life) or life.loop.due:
            return False
        engine = life.dealer.engine
        if self._told_health(life) != engine.health.serving:
            return False
        published = self.data.public / "checkpoint"
        return engine.health.serving and published.exists() and published.read_text() == engine.state.note

    def _told_health(self, life: Life) -> bool:
        """What the dealer says of its health to whoever asks."""
        return bool(life.dealer._health._server_status.get("") == health_pb2.HealthCheckResponse.SERVING)

    async def _ask_everything_again(self) -> None:
        """Asks for every answer that is kept once more: each must be the same to the byte."""
        for request_id in sorted(self.promises.repeatable):
            answered: Answered = self.promises.answered[request_id]
            service = _SERVICES[answered.method]
            request = getattr(_MODULES[service], f"{answered.method}Request").FromString(answered.request)
            while True:
                try:
                    await self.call(answered.method, request)
                except Exception as error:
                    code = getattr(error, "code", None)
                    if code is None:
                        raise
                    if code().name == "UNAVAILABLE":
                        await asyncio.sleep(0.2)
                        continue
                    hold(self.keys_lost, f"an answer that was given to {answered.method} is lost: {error}")
                break

    def _hold_what_is_so_at_the_end(self) -> None:
        life = self.life
        assert life is not None
        engine = life.dealer.engine
        state = engine.state
        hold(engine.health.serving, "all is well, and health does not say so")
        hold(not state.live, f"{len(state.live)} hands are in play, and nobody can end them")
        self.promises.whole_log(list(state.store.entries(0, state.store.size())))
        life.dealer.vault.slots.renew()
        left = [hand for hand, key in self._sealing_keys.items() if life.dealer.vault.slots.secret(key) is not None]
        hold(not left, "the key of a hand that is over is still there")
        if self._audited:
            self._audit(self.data.public)

    def _audit(self, public: Path) -> None:
        report = audit.verify(
            audit.open_log(str(public)), audit.Options(audit.VerifierKey.parse(self.data.signer().verifier_key))
        )
        self.promises.counts["lost"] = report.hands.lost
        hold(not report.findings, f"the auditor found {[finding.detail for finding in report.findings][:3]}")
        hold(report.hands.open == 0, "the log has open hands")
        hold(self.keys_lost or not report.hands.lost, "a hand is lost, and no key was")

    def _end(self) -> None:
        """Lets go of everything, so that nothing of this world reaches another."""
        if self.life is not None:
            self._graves.append(self.life)
        self.files.end()
        self.disk.kill()
        for life in self._graves:
            life.bury()
        for task in self.people_loop.tasks:
            self.people_loop.within(task.get_coro().close)
