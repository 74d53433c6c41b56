"""What a dealer does beside answering: deadlines of offers, publishing, probes, and telling of its health."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from grpc_health.v1 import health_pb2

from dealer.core.hand import Status, VoidReason, over
from dealer.core.ids import uuid7_milliseconds
from dealer.errors import CutcardError, Reason, Refused
from dealer.log.checkpoint import read_checkpoint
from dealer.log.tiles import place, publish, published_checkpoint
from dealer.service.loglines import Lasting
from dealer.service.metrics import Metrics
from dealer.service.referee.clocks import seconds_left
from dealer.service.referee.tables import Tables
from dealer.service.rpc.dealer import DealerServicer
from dealer.service.rpc.health import HealthServicer
from dealer.service.settings import Settings
from dealer.service.witnesses.conflict import RolledBackError
from dealer.service.witnesses.shown import Shown
from dealer.service.writer import governing, hands
from dealer.service.writer.change import Unit
from dealer.service.writer.engine import Engine
from dealer.service.writer.health import lease_lost, standing_by
from dealer.service.writer.live import LiveHand
from dealer.service.writer.log_reader import LogReader
from dealer.service.writer.observer import Observer
from dealer.store.datadir import DataDir
from dealer.store.interface import LogStore
from dealer.store.sqlite import write_back, written_ahead

if TYPE_CHECKING:
    from dealer.service.witnesses.witnesses import Witnesses

_log = structlog.get_logger()
_AGAIN_SECONDS = 1.0
_SERVING = health_pb2.HealthCheckResponse.SERVING
_LOG_SERVICE = "dealer.v1.LogService"
_ABANDONED_SECONDS = 60.0
_MEASURE_SECONDS = 10.0
_TELL_SECONDS = 60.0
_SYNC_SECONDS = 1.0

Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a dealer that housekeeping looks after.

    Attributes:
        data: the data folder.
        engine: the writer.
        reader: what reads the log beside it.
        tables: the referee's hands.
        dealer: what serves rooms.
        health: what serves the dealer's health, and `services`, under which names.
        metrics: what counts.
        witnesses: who cosigns the log; None: nobody is asked.
    """

    data: DataDir
    engine: Engine
    reader: LogReader
    tables: Tables
    dealer: DealerServicer
    health: HealthServicer
    services: tuple[str, ...]
    metrics: Metrics
    witnesses: "Witnesses | None" = None


class Housekeeping(Observer):
    """Follows the writer, and does by the clock what nobody asks for. It belongs to the loop.

    Attributes:
        failed: set when the dealer can do nothing more, and only a restart helps.
    """

    def __init__(self, parts: Parts, settings: Settings, failed: asyncio.Event) -> None:
        """Looks after these parts; does nothing before `start`."""
        self._parts, self._settings, self.failed = parts, settings, failed
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadlines: dict[bytes, asyncio.TimerHandle] = {}
        self._published: int | None = None
        self._shown: Shown | None = None
        self._ahead_told = False
        self._told_published = self._loop.time()
        self._lasting = Lasting(self._loop.time)

    def start(self) -> None:
        """Begins what is done by the clock."""
        engine, settings = self._parts.engine, self._settings
        pace = settings.publish_seconds if settings.witnesses is None else settings.witnesses.seconds
        self._spawn(self._repeat(self.publish, pace, at_pace=True))
        for work, seconds in (
            (self._sync_signed, _SYNC_SECONDS),
            (engine.probe, settings.probe_seconds),
            (self.show_health, settings.probe_seconds),
            (engine.forget_expired, settings.forget_seconds),
            (self._tidy, settings.tidy_seconds),
            (self._tend_keys, settings.tend_seconds),
            (self._look_again, settings.forget_seconds),
            (self._measure, _MEASURE_SECONDS),
        ):
            self._spawn(self._repeat(work, seconds))
        if settings.hand_seconds is not None:
            self._spawn(self._repeat(self._void_abandoned, min(_ABANDONED_SECONDS, settings.hand_seconds / 4)))

    async def _measure(self) -> None:
        """Sets what is measured now and then, and says how many calls were refused since the last time, and why."""
        parts = self._parts
        state, metrics = parts.engine.state, parts.metrics
        now = state.sources.clock()
        metrics.in_play(dict(state.hands_of), [(now - uuid7_milliseconds(hand)) / 1000 for hand in list(state.live)])
        metrics.waiting.set(parts.engine.waiting)
        metrics.watchers.set(parts.tables.watched)
        refused, metrics.refused = metrics.refused, Counter()
        for reason, count in refused.items():
            _log.info("calls refused", reason=str(reason), calls=count, seconds=_MEASURE_SECONDS)

    async def _void_abandoned(self) -> None:
        """Voids hands that nobody has touched for too long."""
        if (seconds := self._settings.hand_seconds) is None:
            return

        def run(unit: Unit) -> int:
            void = partial(hands.void_hand, reason=VoidReason.TIMEOUT)
            return governing.void_abandoned(unit, int(1000 * seconds), void)

        if count := await self._parts.engine.do(run):
            _log.warning("hands that nobody touched are void", hands=count)

    def stop(self) -> None:
        """Ends it, and drops the deadlines."""
        for task in self._tasks:
            task.cancel()
        for deadline in self._deadlines.values():
            deadline.cancel()

    def committed(self, changed: Sequence[LiveHand], commands: int, seconds: float) -> None:
        """Counts a batch, and follows the hands that it changed."""
        self._parts.metrics.batch(commands, seconds)
        self._parts.metrics.commit_seconds.observe(self._parts.engine.state.commit_seconds)
        self.follow(changed)

    def recovered(self, live: Sequence[LiveHand]) -> None:
        """Follows the hands in play from what is durable."""
        self.follow(live)
        self._spawn(self.tried(self._parts.tables.recover))

    def stood_down(self, why: Refused) -> None:
        """Stops every clock, and sends watchers away: what follows is another dealer's, or not known yet."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._deadlines.clear()
        self._parts.tables.stand_down(why)
        self._parts.dealer.stand_down(why)

    def health_changed(self) -> None:
        """Has everybody told who asks for the dealer's health."""
        self._spawn(self.show_health())

    def entropy_failed(self) -> None:
        """Counts it."""
        self._parts.metrics.entropy_failures.inc()

    async def show_health(self) -> None:
        """Sets what is served as the dealer's health."""
        parts = self._parts
        if not parts.engine.health.writer:
            self.failed.set()
        serving = parts.engine.health.serving
        parts.metrics.serving.set(serving)
        parts.metrics.entropy.set(parts.engine.health.entropy)
        status = _SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", *parts.services):
            of_this = _SERVING if name == _LOG_SERVICE and self._reads_the_log() else status
            await parts.health.set(name, of_this)

    def _reads_the_log(self) -> bool:
        """Whether LogService is served: by one who stands by too, from the database, and of a log that has ended."""
        health = self._parts.engine.health
        return (
            health.writer and not health.draining and (health.retired or health.standing in (standing_by, lease_lost))
        )

    def follow(self, changed: Sequence[LiveHand]) -> None:
        """Counts what is in play, sets a deadline for every offer, and gives up the referee's hands that are void."""
        parts = self._parts
        parts.metrics.hands_in_play.set(len(parts.engine.state.live))
        parts.metrics.log_entries.set(parts.engine.state.tree.size)
        for live in changed:
            hand, status = live.state.hand, live.state.status
            if status is Status.OFFERED:
                if (seconds := self._settings.contribution_seconds) and hand not in self._deadlines:
                    state = parts.engine.state
                    left = seconds_left(seconds, state.waited.get(hand), state.sources.monotonic())
                    self._lock_in(left, hand)
            elif (deadline := self._deadlines.pop(hand, None)) is not None:
                deadline.cancel()
            if live.referee and status in (Status.VOID, Status.LOST):
                parts.tables.give_up(hand, over(live.state))

    def _lock_in(self, seconds: float, hand: bytes) -> None:
        self._deadlines[hand] = self._loop.call_later(seconds, lambda: self._spawn(self._lock(hand)))

    async def _lock(self, hand: bytes) -> None:
        try:
            await self._parts.engine.do(lambda unit: self._parts.tables.lock_any(unit, hand))
        except Refused as refused:
            if refused.reason in (Reason.STORAGE, Reason.TOO_MANY_REQUESTS):
                self._lock_in(_AGAIN_SECONDS, hand)

    async def publish(self, *, patience: float | None = None) -> None:
        """Brings the static log up to what is durable; with witnesses, shows it to them first.

        Args:
            patience: seconds for which witnesses are waited for; as the settings have it if it is not given.
        """
        parts, previous = self._parts, self._published
        shown = await self._to_publish(patience)
        size = read_checkpoint(shown.note).size
        if size == previous and self._shown is not None and self._shown.note == shown.note:
            return
        await self._sync_signed()
        await parts.reader.run(lambda store: _publish(parts.data, previous, size, shown.note, store))
        self._published, self._shown = size, shown
        self._tell_published(size)
        parts.metrics.published_entries.set(size)

    def _tell_published(self, size: int) -> None:
        """Says up to where the log is published, once a minute."""
        if (now := self._loop.time()) - self._told_published >= _TELL_SECONDS:
            self._told_published = now
            _log.info("published", entries=size)

    async def _to_publish(self, patience: float | None) -> Shown:
        """Returns the checkpoint that the static log is to be brought up to: with several dealers the writer's."""
        parts = self._parts
        leads = parts.engine.health.standing is None
        note = parts.engine.state.note
        if parts.witnesses is not None and leads:
            return await self._cosigned(parts.witnesses, note, patience)
        if not parts.engine.shared:
            return Shown(note, None)
        if leads and (self._published is None or read_checkpoint(note).size > self._published):
            await parts.engine.publish(note)
        return Shown(await parts.reader.published(), None)

    async def _cosigned(self, witnesses: "Witnesses", note: str, patience: float | None) -> Shown:
        """Has a checkpoint cosigned: its tiles are in place before, and it stands in the store before it is shown."""
        parts, previous = self._parts, self._published
        before = self._shown
        if before is None:
            before = witnesses.judged(await parts.reader.published())
            if before.since is not None:
                witnesses.note_quorum(before)
        await self._sync_signed()
        await parts.reader.run(lambda store: _publish(parts.data, previous, None, note, store))
        shown = await witnesses.cosign(note, before, patience)
        await self._heed(witnesses)  # before what may take its time, or fail
        if shown.note != before.note:
            await parts.engine.publish(shown.note, witnessed=shown.since is not None)
        witnesses.note_quorum(shown)
        return shown

    def lead(self) -> None:
        """Holds the log against the witnesses in the background: this dealer has taken the lease, and cards go on."""
        if self._parts.witnesses is not None:
            self._spawn(self.tried(partial(self._hold_against, self._parts.witnesses)))

    async def _hold_against(self, witnesses: "Witnesses") -> None:
        with suppress(RolledBackError):
            await witnesses.start_up(await self._parts.reader.published())
        await self._heed(witnesses)

    async def _heed(self, witnesses: "Witnesses") -> None:
        """Opens no hand any more once witnesses hold another history of the log."""
        if witnesses.conflict is not None and not self._parts.engine.health.contradicted:
            self._parts.engine.health.contradicted = True
            await self.show_health()

    async def _tend_keys(self) -> None:
        if self._parts.engine.shared and self._parts.engine.health.standing is None:
            await self._parts.engine.tend_keys()

    async def _sync_signed(self) -> None:
        await self._loop.run_in_executor(None, self._parts.engine.state.sync_signed)

    async def _tidy(self) -> None:
        """Keeps the write-ahead log short, which grows for as long as somebody holds a read transaction."""
        if self._parts.engine.shared:
            return
        database, most = self._parts.data.database, self._settings.most_ahead
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
        self._parts.metrics.written_ahead.set(ahead)

    async def _look_again(self) -> None:
        """Sets deadlines and clocks that are missing: what should have, when their hands changed, may have failed."""
        parts = self._parts
        if not parts.engine.health.serving:
            return
        live = await parts.engine.do(lambda unit: list(parts.engine.state.live.values()))
        self.follow(live)
        if any(each.referee and not parts.tables.has_clock(each.state.hand) for each in live):
            await parts.tables.recover()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _repeat(self, work: Work, seconds: float, *, at_pace: bool = False) -> None:
        """Does work again and again, so many seconds apart; at a pace, from one beginning to the next."""
        spent = 0.0
        while True:
            await asyncio.sleep(max(0.0, seconds - spent))
            began = self._loop.time()
            with suppress(Exception):  # not even that its failure cannot be told ends it
                await self.tried(work)
            spent = self._loop.time() - began if at_pace else 0.0

    async def tried(self, work: Work) -> None:
        """Runs one round of background work and logs what fails, as it lasts; the next round retries.

        That this dealer stands by is no failure: such work is the writer's.
        """
        name = getattr(work, "__name__", "publish")
        try:
            await work()
        except Exception as error:
            if isinstance(error, Refused) and self._parts.engine.health.standing is not None:
                return
            told = str(error) if isinstance(error, CutcardError | OSError) else str(type(error))  # it may hold a secret
            if self._lasting.is_due(name, told):
                _log.error("work in the background failed", work=name, error=told)
        else:
            self._lasting.over(name)


def _publish(data: DataDir, previous: int | None, size: int | None, note: str, store: LogStore) -> None:
    """Publishes a checkpoint; without `size` only what its readers need beside it is brought into place."""
    if previous is None:  # a start: what the folder's checkpoint covers was in place before it, and is not read again
        shown = published_checkpoint(data.public)
        previous = shown.size if shown else 0
    if size is None:
        place(data.public, previous, note, store.node, store.entries)
    else:
        publish(data.public, previous, size, note, store.node, store.entries)
