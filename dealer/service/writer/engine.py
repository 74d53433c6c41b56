"""The single writer: carries commands out in order and makes each batch durable with one append (group commit).

A command's way: it runs against the state as the batch has it so far and builds its answer; what it changed joins the
batch, or nothing of it if it fails. Then the batch's entries go into the tree, the checkpoint is signed, the receipts
are filled in, and one transaction makes all of it durable. Only then is anything shown to anybody.
"""

import asyncio
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import structlog

from dealer.core.codec import dump_state
from dealer.core.hand import VoidReason
from dealer.core.seed import EntropyError, draw_seed
from dealer.errors import CutcardError, Reason, Refused
from dealer.log.checkpoint import Checkpoint, read_checkpoint
from dealer.log.merkle import NodeReader
from dealer.log.note import NoteSigner
from dealer.service.loglines import Lasting
from dealer.service.settings import Limits
from dealer.service.writer.about import about_hand
from dealer.service.writer.backlog import Backlog
from dealer.service.writer.change import HandAnswer, Unit, open_answer
from dealer.service.writer.hands import lose_hand, void_hand
from dealer.service.writer.health import Health, draining, lease_lost, log_conflict, standing_by
from dealer.service.writer.live import LiveHand
from dealer.service.writer.observer import Observer
from dealer.service.writer.sources import Sources
from dealer.service.writer.state import Signed, State
from dealer.service.writer.watched_source import WatchedSource
from dealer.store.at_rest import AtRest
from dealer.store.interface import (
    Answer,
    Batch,
    HandRow,
    KeptAnswer,
    LeaseLost,
    LogConflict,
    Store,
    StoreError,
    VaultError,
)

T = TypeVar("T")
_log = structlog.get_logger()
_MAX_BATCH = 512
_CROWDED_BATCH = 16
_FORGET_AT_ONCE = 500
"""Answers: some milliseconds of the writer's time."""
_FORGET_PAUSE = 0.02
_SEALED_AT_ONCE = 256
_PROOF_LENGTH = 1 << 16


@dataclass(frozen=True, slots=True)
class Command:
    """One request, ready to be carried out.

    Attributes:
        caller: whose request ids these are.
        run: changes the unit and builds the answer. What it raises is its own caller's alone, and nothing has changed.
        request: the request id; None for one that changes nothing.
        body: digest of method and field values.
        guard: refuses the caller before even a repeat is looked for; None where its name is enough.
    """

    caller: str
    run: Callable[[Unit], HandAnswer] = field(repr=False)
    request: bytes | None = None
    body: bytes = b""
    guard: Callable[[Unit], None] | None = field(default=None, repr=False)


Answered = Callable[[Any, Exception | None], None]
"""Is given the answer of what was handed in, or the error in its place."""


@dataclass(slots=True)
class _Pending:
    """A request's command, or work of the dealer's own (`command` is None), until it is answered."""

    run: Callable[[Unit], Any]
    command: Command | None
    answered: Answered
    source: str
    made: HandAnswer | None = None
    value: Any = field(default=None, repr=False)
    error: Exception | None = None
    twin: "_Pending | None" = None


class Engine:
    """The only writer: a thread that takes commands from a queue, batch by batch, and the loop's way to it.

    Attributes:
        state: what is durable; see there which thread owns what.
        shared: whether other dealers may write to the same store.
        on_conflict: called on the writer's thread where the store does not extend the log; it is given up for good.
        health: what the dealer can do at the moment; any thread may read it.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        signer: NoteSigner,
        vault: AtRest,
        sources: Sources,
        limits: Limits,
        *,
        stands_by: bool = False,
        before_signing: Callable[[Checkpoint, NodeReader], object] = lambda checkpoint, nodes: None,
    ) -> None:
        """Reads what is in play, and closes as lost what can never go on; a dealer that stands by reads nothing yet.

        Args:
            open_store: opens the writer's store.
            signer: of the log.
            vault: the keys at rest.
            sources: entropy, time and the like.
            limits: what the service allows itself and its callers.
            stands_by: whether it is one of several dealers, and does not write yet.
            before_signing: refuses a log that is another one than has been shown; what it raises goes on.

        Raises:
            StoreError: the store cannot be read.
            VaultError: a key at rest cannot be read at the moment.
        """
        self.health = Health()
        self.shared = stands_by
        source = WatchedSource(sources.entropy)
        self.state = State(open_store, signer, vault, replace(sources, entropy=source), limits)
        self.state.health = self.health
        self._observer = Observer()  # the loop's, once the engine has started
        self._loop: asyncio.AbstractEventLoop | None = None  # set once, by `start`
        self._backlog: Backlog[_Pending] = Backlog(limits.pending, sources.monotonic)  # says of itself who owns what
        self._under_way: list[_Pending] = []  # the writer's; once it has ended, under `_refusing`
        self._refusing = threading.Lock()
        self._commits_probed = 0  # the loop's
        self._prove = False  # the writer's, and set by what makes keys ready
        self._thread: threading.Thread | None = None
        self.on_conflict: Callable[[], None] = lambda: None
        self._taken = False  # the writer's, and set by the loop: the lease has been taken
        self._lasting = Lasting(sources.monotonic)
        vault.watch(lambda error: self._fail_storage(str(error)))
        if stands_by:
            self.health.standing = standing_by
        else:
            self.state.load()
            before_signing(
                read_checkpoint(self.state.note), self.state.store.node
            )  # the close of a lost hand is signed
            self._close_lost()
        try:
            source.start_up()
        except EntropyError as error:  # hands in play go on all the same
            self._fail_entropy(error)

    def _close_lost(self) -> None:
        """Closes every hand as lost whose key at rest is gone, all of them in one batch, and destroys spare keys."""
        unit = Unit(self.state)
        for hand in [hand for hand, live in self.state.live.items() if live.secrets is None]:
            lose_hand(unit, hand)
        if self.state.store.uncertain:
            _tell(_log.error, "the database may have lost what was shown: every hand in play is void")
            for hand in [hand for hand, live in self.state.live.items() if live.secrets is not None]:
                void_hand(unit, hand, VoidReason.FAILURE)
        self._make_durable(unit, [])
        self.state.store.uncertain = False
        self.state.destroy_unused_keys()

    def start(self, observer: Observer | None = None, *, threaded: bool = True) -> None:
        """Starts the writer, which answers on the loop that runs now, and has `observer` told there.

        Args:
            observer: is told what the writer has done.
            threaded: False: it has no thread, and whoever runs it calls `carry_out_next` when it is not `idle`.
        """
        self._loop = asyncio.get_running_loop()
        self._observer = observer or self._observer
        if not self.health.entropy:
            self._hop(self._observer.entropy_failed)
        if threaded:
            self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
            self._thread.start()

    def lead(self) -> None:
        """Has the writer read everything and go on: this dealer has taken the lease. On the loop."""
        self._taken = True
        self._backlog.put("", _Pending(lambda unit: None, None, lambda value, error: None, ""))

    def stand_by(self, why: Callable[[], Refused], text: str) -> None:
        """Notes that another dealer writes, or may: nothing is carried out any more until `lead`. On any thread.

        Whoever notices first, the writer or what looks at the lease, has it logged why.
        """
        if self.health.standing not in (why, log_conflict):
            leading = self.health.standing is None
            self.health.standing = why
            if leading:
                _tell(_log.error, "this dealer writes no more", error=text)
                self._hop(self._observer.stood_down, why())
            self._hop(self._observer.health_changed)

    def lapse(self, lapsed: bool) -> None:
        """Notes whether the lease has run out by the own clock, and is not renewed yet. On any thread."""
        if self.health.lapsed != lapsed:
            self.health.lapsed = lapsed
            self._hop(self._observer.health_changed)

    async def publish(self, note: str, *, witnessed: bool = False) -> None:
        """Brings forward what may be shown to readers of static files; while it drains, too.

        Args:
            note: a signed checkpoint that is durable, with its cosignatures.
            witnessed: whether the quorum of witnesses holds for it.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        run = lambda unit: self.state.store.publish(note, witnessed)  # noqa: E731
        self._backlog.put("", _Pending(run, None, partial(_resolve, future), ""))
        await future

    def drain(self) -> None:
        """Refuses new commands from now on; those that wait are carried out."""
        self.health.draining = True

    def stop(self) -> None:
        """Carries out what is pending, stops the writer and lets go of the state."""
        self._backlog.end()
        if self._thread is not None:
            self._thread.join()
        else:
            self._work()
        self.state.close()

    def hand_in(self, command: Command, source: str, answered: Answered) -> None:
        """Has a command carried out, after those that were handed in before it from the same source.

        Args:
            command: what is to be done.
            source: the connection that it came on.
            answered: is given the answer once it is durable; or `Refused`, and nothing has changed. On the loop.

        Raises:
            Refused: the dealer takes no commands at the moment.
        """
        self._hand_in(command.run, command, source, answered)

    def enqueue(self, command: Command, source: str = "") -> "asyncio.Future[bytes]":
        """Has a command carried out as `hand_in` does, and returns a future of its answer."""
        return self._enqueue(command.run, command, source)

    async def submit(self, command: Command, source: str = "") -> bytes:
        """Has a command carried out and waits for its answer; see `enqueue`."""
        return await self.enqueue(command, source)

    async def do(self, run: Callable[[Unit], T], source: str = "") -> T:
        """Has work done that is no request, and waits until what it changed is durable.

        Args:
            run: changes the unit; what it raises has changed nothing.
            source: the connection that asks for it; "" for the dealer's own.

        Returns:
            What `run` returned, its receipts filled in.

        Raises:
            Refused: the dealer takes no commands at the moment, or `run` refused.
        """
        future: asyncio.Future[T] = self._enqueue(run, None, source)
        return await future

    def _enqueue(self, run: Callable[[Unit], Any], command: Command | None, source: str) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._hand_in(run, command, source, partial(_resolve, future))
        return future

    def _hand_in(self, run: Callable[[Unit], Any], command: Command | None, source: str, answered: Answered) -> None:
        if self.health.draining:
            raise draining()
        if (standing := self.health.standing) is not None and not (self._taken and command is None):
            raise standing()
        self._backlog.put(source, _Pending(run, command, answered, source))
        if not self.health.writer:  # looked at after `put`: whichever of the two threads comes last, it is answered
            self._refuse_all()

    def _work(self) -> None:
        """Carries out batch after batch. If anything but `stop` ends that, nobody is left waiting for an answer."""
        ended = False
        try:
            while self.carry_out_next():
                pass
            ended = True
        finally:
            if not ended:
                self._lose_writer()
                _tell(_log.critical, "the writer has ended: nothing can be carried out any more")

    @property
    def waiting(self) -> int:
        """How many commands wait for the writer."""
        return self._backlog.waiting

    def waiting_of(self, room: str) -> int:
        """Returns how many commands of a room wait for the writer; `room` as in their sources."""
        return self._backlog.waiting_of(room)

    @property
    def idle(self) -> bool:
        """Whether nothing waits for the writer."""
        return self._backlog.is_empty()

    def carry_out_next(self) -> bool:
        """Waits for commands and carries them out as one batch; False once the writer is to end."""
        batch = self._backlog.take(_MAX_BATCH, _CROWDED_BATCH)
        if batch is None:
            return False
        self._under_way = batch
        self._carry_out(batch)
        self._under_way = []
        return True

    def _lose_writer(self) -> None:
        self.health.writer = False
        self._refuse_all()
        self._hop(self._observer.health_changed)

    def _refuse_all(self) -> None:
        """Refuses everything that waits, as there is no writer."""
        with self._refusing:  # the writer that ends, and the loop that has just put a command
            lost, self._under_way = [*self._under_way, *self._backlog.rest()], []
        _refuse(lost, "the dealer can carry nothing out any more: try again once it has been restarted")
        self._hop(self._deliver, lost)

    def check_writer(self) -> None:
        """Notices a writer that is gone and could not say so itself."""
        if self.health.writer and self._thread is not None and not self._thread.is_alive():
            self._lose_writer()

    def _carry_out(self, batch: list[_Pending]) -> None:
        """Carries a batch out and has everybody answered, whatever goes wrong on the way."""
        started = time.perf_counter()
        calls: list[Callable[[], object]] = []
        try:
            if (standing := self.health.standing) is not None and not self._taken:
                raise LeaseLost("another dealer writes")
            recovering = not self.health.storage or self._taken
            if recovering:
                self.state.load_anew()
                self._close_lost()
                self._taken = False
            unit = self._commit(batch)
            changed = list(unit.hands.values())
            seconds = time.perf_counter() - started
            calls += [lambda: self._observer.committed(changed, len(batch), seconds), *unit.on_loop]
            if recovering and self.health.storage:
                live = list(self.state.live.values())
                calls.append(lambda: self._observer.recovered(live))
                self.health.standing = None
                self._hop(self._observer.health_changed)
                _tell(_log.info, "storage answers again" if standing is None else "this dealer writes now")
        except LeaseLost as error:
            self._stand_down(batch, lease_lost, str(error))
        except LogConflict as error:
            self._stand_down(batch, log_conflict, str(error))
        except Exception as error:
            known = isinstance(error, StoreError | VaultError)
            self._fail_storage(str(error) if known else type(error).__name__)  # of others it might hold a secret
            what = "the dealer's storage does not answer" if known else "the dealer could not carry this out"
            _refuse(batch, f"{what}: try again later")
        self._hop(self._deliver, batch, calls)

    def _stand_down(self, batch: list[_Pending], why: Callable[[], Refused], text: str) -> None:
        """Lets go of the store, and refuses a batch: none of it is durable, nor may be answered from memory."""
        self._taken = False
        self.state.let_go()
        if self.health.standing is None or why is log_conflict:
            self.stand_by(why, text)
        if why is log_conflict:
            self.on_conflict()
        self._set_health(storage=True)
        for pending in batch:
            pending.value, pending.error = None, (self.health.standing or why)()

    def _hop(self, call: Callable[..., object], *arguments: object) -> None:
        """Has something called on the loop."""
        with suppress(Exception):  # the loop is gone, and with it everybody who waits
            if self._loop is not None:
                self._loop.call_soon_threadsafe(_tell, call, *arguments)

    def _deliver(self, batch: list[_Pending], calls: Sequence[Callable[[], object]] = ()) -> None:
        """Makes the calls that follow from a batch, and answers its callers. On the loop."""
        for call in calls:
            _tell(call)
        for pending in batch:
            self._backlog.answered(pending.source)  # not before: who has gone away leaves a command in the lines
            _tell(pending.answered, pending.value, pending.error)

    def _fail_storage(self, why: str) -> None:
        """Marks the storage as broken until a commit has succeeded again."""
        self._prove = True
        self._set_health(storage=False)
        if self._lasting.is_due("storage", why):
            _tell(_log.error, "storage failed", error=why)

    def _commit(self, batch: list[_Pending]) -> Unit:
        unit = Unit(self.state)
        commands = [pending.command for pending in batch if pending.command is not None]
        kept = self.state.store.answers([(each.caller, each.request) for each in commands if each.request is not None])
        firsts: dict[tuple[str, bytes], tuple[bytes, _Pending]] = {}
        for pending in batch:
            self._run(pending, unit, kept, firsts)
        prove = self._prove
        self._make_durable(unit, batch, prove)
        if prove:
            self._prove = False
            self._set_health(storage=True)
        for pending in batch:
            if pending.twin is not None:
                pending.value, pending.error = pending.twin.value, pending.twin.error
        for call in unit.after:
            self._follow_up(call)
        return unit

    def _make_durable(self, unit: Unit, batch: list[_Pending], prove: bool = False) -> None:
        """Signs what a unit appends, fills in the receipts, and makes all of it durable; then it is the state.

        With `prove` something is written even if nothing has changed.
        """
        state = self.state
        signed = state.sign(unit.entries)
        for part, name, index in unit.receipts:
            setattr(part, name, signed.receipt(index))
        answers = []
        for pending in batch:
            if (made := pending.made) is not None and (command := pending.command) is not None:
                if pending.value is None:
                    pending.value = made.encode()
                if command.request is not None:
                    answers.append(Answer(command.caller, command.request, command.body, made.hand, pending.value))
        if prove:
            state.vault.prove()
        if unit.changed or answers or prove:
            state.commit(self._batch(unit, signed, answers, self._proof() if prove else None))
        else:
            state.store.confirm()
        spent = state.take(signed, unit.hands, unit.tables, unit.recorded)
        if spent:
            unit.after.append(lambda: state.give_back(spent))

    def _follow_up(self, call: Callable[[], None]) -> None:
        """Does what follows from a batch; if that fails, the batch is durable all the same and is answered."""
        try:
            call()
        except Exception as error:
            self._fail_storage(str(error) if isinstance(error, CutcardError) else type(error).__name__)

    def _run(
        self,
        pending: _Pending,
        unit: Unit,
        kept: Mapping[tuple[str, bytes], KeptAnswer],
        firsts: dict[tuple[str, bytes], tuple[bytes, _Pending]],
    ) -> None:
        command = pending.command
        try:
            if command is not None and command.guard is not None:
                command.guard(unit)
            if command is not None and command.request is not None:
                key = (command.caller, command.request)
                if (first := firsts.get(key)) is not None:
                    body, twin = first
                    _require_same(body, command.body)
                    pending.twin = twin
                    return
                if (answer := kept.get(key)) is not None:
                    _require_same(answer.body, command.body)
                    pending.value = self._opened(unit, answer)
                    return
            mine = Unit(self.state, unit)
            made = pending.run(mine)
            if command is None:
                pending.value = made
            elif not mine.receipts:  # it is whole: encoded here, it can fail for its own caller alone
                pending.value = made.encode()
            unit.absorb(mine)
            if command is not None:
                pending.made = made
                if command.request is not None:
                    firsts[command.caller, command.request] = command.body, pending
        except Refused as refused:
            pending.error = refused
        except EntropyError as error:
            self._fail_entropy(error)
            pending.error = Refused(Reason.ENTROPY_SOURCE, "the entropy source failed: no hand can be opened")
        except VaultError as error:
            _tell(_log.error, "a key at rest cannot be read", error=str(error))
            pending.error = Refused(Reason.STORAGE, "the dealer's storage does not answer: try again later")
        except StoreError:
            raise
        except Exception as error:
            where = traceback.format_tb(error.__traceback__)[-1]  # not the message: it might hold a secret
            _tell(_log.error, "a command failed", error=type(error).__name__, where=where)
            pending.error = CutcardError("the dealer failed to carry this out; nothing has changed")

    def _fail_entropy(self, error: EntropyError) -> None:
        """Marks the entropy source as failed until it has passed its tests again."""
        if self.health.entropy:
            self._hop(self._observer.entropy_failed)
        self._set_health(entropy=False)
        _tell(_log.error, "the entropy source failed", error=str(error))

    def _opened(self, unit: Unit, kept: KeptAnswer) -> bytes:
        try:
            return open_answer(kept)
        except Refused as refused:
            refused.metadata = about_hand(unit, kept.hand, kept.caller)
            raise

    def _batch(self, unit: Unit, signed: Signed, answers: list[Answer], proof: str | None) -> Batch:
        return Batch(
            entries=unit.entries,
            nodes=list(signed.nodes),
            checkpoint=signed.note if signed.nodes else None,
            hands={key: _row(hand, unit.owner_of(hand.state.table)) for key, hand in unit.hands.items()},
            tables=unit.tables,
            answers=answers,
            records=unit.records,
            seen=list(unit.seen),
            asked=unit.asked,
            expires=unit.now + 1000 * self.state.limits.answer_seconds,
            proof=proof,
        )

    def _proof(self) -> str:
        """Returns what a commit writes to prove that it can: after a failure as much as a hand would need, and more."""
        return f"{self.state.commits}".rjust(0 if self.health.storage else _PROOF_LENGTH, ".")

    async def probe(self) -> None:
        """Tries whether entropy and storage work, if they failed or nothing was committed since the last probe.

        Of the storage only a durable write is proof: on a disk that is full everything can still be read.
        """
        self.check_writer()
        idle, self._commits_probed = self.state.commits == self._commits_probed, self.state.commits
        if idle or not (self.health.entropy and self.health.storage):
            with suppress(Refused):
                await self.do(self._probe)
            self._commits_probed = self.state.commits

    def _probe(self, unit: Unit) -> None:
        self._prove = True
        if not self.health.entropy:
            drawn = {draw_seed(unit.sources.entropy).seen_digest() for _ in range(2)}
            if len(drawn) < 2 or any(map(unit.is_seen, drawn)):
                raise EntropyError("the entropy source still gives seeds again")
            self._set_health(entropy=True)
            _tell(_log.info, "the entropy source passes its tests again")

    async def forget_expired(self) -> None:
        """Forgets what has expired, a little at a time, so that nobody who plays has to wait for it."""
        more = True
        while more:
            more = await self.do(self._forget)
            await asyncio.sleep(_FORGET_PAUSE)  # between two slices others have their turn

    def _forget(self, unit: Unit) -> bool:
        state = self.state
        more = state.store.forget(unit.now, _FORGET_AT_ONCE)
        if not more:  # keys of hands that were refused after they had taken one
            unit.after.append(lambda: state.vault.sweep(state.seed_keys))
        return more

    async def tend_keys(self) -> None:
        """Does what is due of the keys at rest, and seals hands in play anew, a few at a time."""
        more = True
        while more:
            more = await self.do(self._tend)
            await asyncio.sleep(_FORGET_PAUSE)

    def _tend(self, unit: Unit) -> bool:
        """Says whether hands are left that are to be sealed anew."""
        state = self.state
        if not state.store.tend():
            return False
        outdated = [hand for hand, live in state.live.items() if not state.vault.is_current(live.key)][:_SEALED_AT_ONCE]
        for hand in outdated:
            live = unit.hand(hand)
            if live.state.in_play and not state.vault.is_current(live.key):
                unit.put(live.but(sealed=None))
        if not outdated:
            unit.after.append(state.store.sealed_anew)
        return bool(outdated)

    def _set_health(self, *, entropy: bool | None = None, storage: bool | None = None) -> None:
        before = self.health.entropy, self.health.storage
        if entropy is not None:
            self.health.entropy = entropy
        if storage is not None:
            self.health.storage = storage
            if storage:
                self._lasting.over("storage")
        if before != (self.health.entropy, self.health.storage):
            self._hop(self._observer.health_changed)


def _row(hand: LiveHand, owner: str) -> HandRow:
    return HandRow(
        hand=hand.state.hand,
        state=dump_state(hand.state) if hand.state.in_play else None,
        referee=hand.referee,
        offer=hand.offer,
        commit=hand.commit,
        close=hand.close,
        secrets=hand.sealed,
        owner=owner,
    )


def _tell(call: Callable[..., object], *arguments: object, **values: object) -> None:
    """Tells somebody something. That may fail, and the writer goes on: it is the one means to say anything at all."""
    try:
        call(*arguments, **values)
    except Exception as error:
        with suppress(Exception):
            _log.error("somebody could not be told", error=type(error).__name__)


def _resolve(future: "asyncio.Future[Any]", value: Any, error: Exception | None) -> None:
    if future.done():  # the caller has gone away
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


def _refuse(batch: list[_Pending], why: str) -> None:
    for pending in batch:
        pending.value, pending.error = None, Refused(Reason.STORAGE, why)


def _require_same(kept: bytes, asked: bytes) -> None:
    if kept != asked:
        raise Refused(Reason.REQUEST_ID_REUSED, "this request id was used for another request")
