"""The single writer: carries commands out in order and makes each batch durable with one append (group commit).

A command's way: it runs against the state as the batch has it so far and builds its answer; what it changed joins the
batch, or nothing of it if it fails. Then the batch's entries go into the tree, the checkpoint is signed, the receipts
are filled in, and one transaction makes all of it durable. Only then is anything shown to anybody.
"""

import asyncio
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog

from dealer.core.codec import dump_state
from dealer.core.seed import EntropyError, draw_seed
from dealer.errors import CutcardError, Reason, Refused
from dealer.games.plans import GAMES
from dealer.log.checkpoint import Checkpoint, read_checkpoint, sign_checkpoint
from dealer.log.merkle import CompactTree, Node, inclusion_proof, leaf_hash
from dealer.log.note import NoteSigner
from dealer.log.receipt import make_receipt
from dealer.service.rpc.status import draining
from dealer.service.writer.about import about_hand
from dealer.service.writer.backlog import Backlog
from dealer.service.writer.change import HandAnswer, Limits, Recorded, Unit, open_answer
from dealer.service.writer.hands import lose_hand
from dealer.service.writer.live import LiveHand, load_hand
from dealer.service.writer.sources import Sources
from dealer.store.interface import (
    Answer,
    Batch,
    HandRow,
    KeptAnswer,
    Store,
    StoreError,
    TableRow,
    VaultError,
    one_entry,
)
from dealer.store.remembered import Remembered
from dealer.store.vault import Purpose, Vault

T = TypeVar("T")
_log = structlog.get_logger()
_MAX_BATCH = 512
_WHAT_TO_DO = (
    "Put the newest database back; where there is none, this log has ended: start another with `dealer init` "
    "(docs/operations.md, Restoring a backup)"
)
_NODE_CACHE = 1 << 16
_TABLE_CACHE = 1 << 16
_RECORDED_OVER = 1024
"""So many referee's hands that are over stay in memory, for who looks at their end."""
_FORGET_AT_ONCE = 500
"""Answers: some milliseconds of the writer's time."""
_FORGET_PAUSE = 0.02
_PROOF_LENGTH = 1 << 16


@dataclass(slots=True)
class Health:
    """What the service can do at the moment. Draining is for ever, and so is the loss of the writer."""

    entropy: bool = True
    storage: bool = True
    writer: bool = True
    draining: bool = False

    @property
    def serving(self) -> bool:
        """Whether hands can be opened and dealt."""
        return self.entropy and self.storage and self.writer and not self.draining


@dataclass(frozen=True, slots=True)
class Command:
    """One request, ready to be carried out.

    Attributes:
        caller: whose request ids these are.
        run: changes the unit and builds the answer. What it raises is its own caller's alone, and nothing has changed.
        request: the request id; None for one that changes nothing.
        body: digest of method and field values.
    """

    caller: str
    run: Callable[[Unit], HandAnswer] = field(repr=False)
    request: bytes | None = None
    body: bytes = b""


@dataclass(slots=True)
class _Pending:
    """A request's command, or work of the dealer's own (`command` is None), until it is answered."""

    run: Callable[[Unit], Any]
    command: Command | None
    future: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop
    source: str
    made: HandAnswer | None = None
    value: Any = field(default=None, repr=False)
    error: Exception | None = None
    twin: "_Pending | None" = None


class Engine:
    """The dealer's state and its only writer, a thread of its own."""

    def __init__(
        self, open_store: Callable[[], Store], signer: NoteSigner, vault: Vault, sources: Sources, limits: Limits
    ) -> None:
        """Reads what is in play, and closes as lost what can never go on.

        Raises:
            StoreError: the store cannot be read.
            VaultError: a key at rest cannot be read at the moment.
        """
        self.sources, self.limits, self.vault, self.signer = sources, limits, vault, signer
        self.health = Health()
        self.on_health: Callable[[], None] = lambda: None
        self.on_batch: Callable[[int, float], None] = lambda commands, seconds: None
        self.on_hands: Callable[[list[LiveHand]], None] = lambda hands: None
        self.on_recovery: Callable[[], None] = lambda: None
        self._open_store = open_store
        self._backlog: Backlog[_Pending] = Backlog(limits.pending)
        self._under_way: list[_Pending] = []
        self._refusing = threading.Lock()
        self._commits = self._commits_probed = 0
        self._prove = False
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.vault.slots.on_failure = lambda error: self._fail_storage(str(error))
        self._remembered = Remembered(vault.folder / "signed-last")
        self._load()
        self.vault.destroy_unused(Purpose.SEED, self._seed_keys)

    def _load(self) -> None:
        self.store = self._open_store()
        if self.store.origin != self.signer.name:
            raise StoreError(f"the store is the log {self.store.origin}, the signing key that of {self.signer.name}")
        self._nodes: dict[tuple[int, int], bytes] = {}
        self._tables: dict[str, TableRow] = {}
        self.tree = CompactTree.load(self.store.size(), self._node)
        self.note = self.store.checkpoint()
        self._require_what_was_signed()
        self.recorded: dict[bytes, Recorded] = {}
        self._recorded_over: deque[bytes] = deque()
        rows = self.store.hands_in_play()
        self.live = {row.hand: load_hand(row, GAMES, self.vault, partial(one_entry, self.store)) for row in rows}
        self._seed_keys = Counter(hand.key for hand in self.live.values() if hand.key is not None)
        self._close_lost()

    def _require_what_was_signed(self) -> None:
        """Holds where the tree extends the one signed last: an older database would have a second history signed."""
        if (note := self._remembered.note) is not None:
            signed = read_checkpoint(note)
            if signed.size > self.tree.size:
                raise StoreError(
                    f"the database holds {self.tree.size} entries, and this log has signed {signed.size}: it is an "
                    f"older one, and to go on from it would be a second history. {_WHAT_TO_DO}"
                )
            if CompactTree.load(signed.size, self._node).root() != signed.root:
                raise StoreError(
                    f"the database holds other entries than the {signed.size} that this log has signed. {_WHAT_TO_DO}"
                )
        if note != self.note:
            self._remembered.keep(self.note)

    def sync_signed(self) -> None:
        """Makes it outlive the machine what was signed last. On any thread.

        Raises:
            VaultError: that cannot be done.
        """
        self._remembered.sync()

    def start(self) -> None:
        """Starts the writer."""
        self._thread.start()

    def stop(self) -> None:
        """Carries out what is pending and stops the writer."""
        self._backlog.end()
        self._thread.join()
        self.store.close()
        self.vault.close()
        self._remembered.close()

    def enqueue(self, command: Command, source: str = "") -> "asyncio.Future[bytes]":
        """Has a command carried out, after those that were enqueued before it from the same source.

        Args:
            command: what is to be done.
            source: the connection that it came on; "" for the dealer's own.

        Returns:
            Its answer, once it is durable; or `Refused`, and nothing has changed.

        Raises:
            Refused: the dealer takes no commands at the moment.
        """
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
        if self.health.draining:
            raise draining()
        loop = asyncio.get_running_loop()
        pending = _Pending(run, command, loop.create_future(), loop, source)
        self._backlog.put(source, pending)
        if not self.health.writer:  # looked at after `put`: whichever of the two threads comes last, it is answered
            self._refuse_all()
        return pending.future

    def _work(self) -> None:
        """Carries out batch after batch. If anything but `stop` ends that, nobody is left waiting for an answer."""
        ended = False
        try:
            while (batch := self._backlog.take(_MAX_BATCH)) is not None:
                self._under_way = batch
                started = time.perf_counter()
                self._carry_out(batch)
                self._under_way = []
                _tell(self.on_batch, len(batch), time.perf_counter() - started)
            ended = True
        finally:
            if not ended:
                self.health.writer = False
                self._refuse_all()
                _tell(self.on_health)
                _tell(_log.critical, "the writer has ended: nothing can be carried out any more")

    def _refuse_all(self) -> None:
        """Refuses everything that waits, as there is no writer."""
        with self._refusing:  # the writer that ends, and the loop that has just put a command
            lost, self._under_way = [*self._under_way, *self._backlog.rest()], []
        _refuse(lost, "the dealer can carry nothing out any more: try again once it has been restarted")
        self._answer(lost)

    def check_writer(self) -> None:
        """Notices a writer that is gone and could not say so itself."""
        if self.health.writer and not self._thread.is_alive():
            self.health.writer = False
            self._refuse_all()
            _tell(self.on_health)

    def _carry_out(self, batch: list[_Pending]) -> None:
        """Carries a batch out and has everybody answered, whatever goes wrong on the way."""
        try:
            recovering = not self.health.storage
            if recovering:
                self._read_anew()
            self._commit(batch)
            if recovering and self.health.storage:
                _tell(self.on_hands, list(self.live.values()))
                _tell(self.on_recovery)
                _tell(_log.info, "storage answers again")
        except Exception as error:
            known = isinstance(error, StoreError | VaultError)
            self._fail_storage(str(error) if known else type(error).__name__)  # of others it might hold a secret
            what = "the dealer's storage does not answer" if known else "the dealer could not carry this out"
            _refuse(batch, f"{what}: try again later")
        self._answer(batch)

    def _answer(self, batch: list[_Pending]) -> None:
        loops = {id(pending.loop): pending.loop for pending in batch}
        for key, loop in loops.items():
            mine = [pending for pending in batch if id(pending.loop) == key]
            with suppress(Exception):  # the loop is gone, and with it everybody who waits
                loop.call_soon_threadsafe(self._deliver, mine)

    def _deliver(self, batch: list[_Pending]) -> None:
        for pending in batch:
            self._backlog.answered(pending.source)  # not before: who has gone away leaves a command in the lines
            if pending.future.done():
                continue
            if pending.error is not None:
                pending.future.set_exception(pending.error)
            else:
                pending.future.set_result(pending.value)

    def _read_anew(self) -> None:
        """Reads anew what is durable: of a batch that failed it may be everything or nothing."""
        self.store.close()
        self._load()
        self.vault.destroy_unused(Purpose.SEED, self._seed_keys)

    def _fail_storage(self, why: str) -> None:
        """Takes the storage for broken until a commit has succeeded again."""
        self._prove = True
        self._set_health(storage=False)
        _tell(_log.error, "storage failed", error=why)

    def _commit(self, batch: list[_Pending]) -> None:
        unit = Unit(self)
        commands = [pending.command for pending in batch if pending.command is not None]
        kept = self.store.answers([(each.caller, each.request) for each in commands if each.request is not None])
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
        _tell(self.on_hands, list(unit.hands.values()))
        for call in unit.after:
            self._follow_up(call)

    def _make_durable(self, unit: Unit, batch: list[_Pending], prove: bool = False) -> None:
        """Signs what a unit appends, fills in the receipts, and makes all of it durable; then it is the state.

        With `prove` something is written even if nothing has changed.
        """
        tree, note, nodes = self.tree, self.note, list[Node]()
        if unit.entries:
            tree = tree.copy()
            for entry in unit.entries:
                nodes += tree.append(leaf_hash(entry))
            note = sign_checkpoint(Checkpoint(self.signer.name, tree.size, tree.root()), self.signer)
        if len(self._nodes) > _NODE_CACHE:
            self._nodes.clear()
        fresh = {(node.level, node.index): node.hash for node in nodes}

        def node(level: int, index: int) -> bytes:
            return fresh.get((level, index)) or self._node(level, index)

        ragged = dict[tuple[int, int], bytes]()
        for part, name, index in unit.receipts:
            setattr(part, name, make_receipt(index, inclusion_proof(index, tree.size, node, ragged), note))
        answers = []
        for pending in batch:
            if (made := pending.made) is not None and (command := pending.command) is not None:
                if pending.value is None:
                    pending.value = made.encode()
                if command.request is not None:
                    answers.append(Answer(command.caller, command.request, command.body, made.hand, pending.value))
        if prove:
            self.vault.prove()
        if unit.changed or answers or prove:
            self.store.commit(self._batch(unit, nodes, note, answers, self._proof() if prove else None))
            self._commits += 1
        if note != self.note:
            self._remembered.keep(note)
        self.tree, self.note = tree, note
        self._nodes.update(fresh)
        self._publish(unit)

    def _close_lost(self) -> None:
        """Closes every hand as lost whose key at rest is gone, all of them in one batch."""
        unit = Unit(self)
        for hand in [hand for hand, live in self.live.items() if live.secrets is None]:
            lose_hand(unit, hand)
        self._make_durable(unit, [])

    def _follow_up(self, call: Callable[[], None]) -> None:
        """Does what follows from a batch; where that fails, the batch is durable all the same and is answered."""
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
            if command is not None and command.request is not None:
                key = (command.caller, command.request)
                if (first := firsts.get(key)) is not None:
                    body, pending.twin = first
                    _require_same(body, command.body)
                    return
                if (answer := kept.get(key)) is not None:
                    _require_same(answer.body, command.body)
                    pending.value = self._opened(unit, answer)
                    return
            mine = Unit(self, unit)
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
            self._set_health(entropy=False)
            _tell(_log.error, "the entropy source failed", error=str(error))
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

    def _opened(self, unit: Unit, kept: KeptAnswer) -> bytes:
        try:
            return open_answer(kept)
        except Refused as refused:
            refused.metadata = about_hand(unit, kept.hand, kept.caller)
            raise

    def _batch(self, unit: Unit, nodes: list[Node], note: str, answers: list[Answer], proof: str | None) -> Batch:
        return Batch(
            entries=unit.entries,
            nodes=nodes,
            checkpoint=note if nodes else None,
            hands={key: _row(hand) for key, hand in unit.hands.items()},
            tables=unit.tables,
            answers=answers,
            records=unit.records,
            seen=unit.seen,
            expires=unit.now + 1000 * self.limits.answer_seconds,
            proof=proof,
        )

    def _publish(self, unit: Unit) -> None:
        """Shows what is durable now, and has each seed key destroyed that no hand in play needs any more."""
        if len(self._tables) > _TABLE_CACHE:
            self._tables.clear()
        self._tables.update(unit.tables)
        self._keep_recorded(unit)
        held = set[int]()
        for name, hand in unit.hands.items():
            before = self.live.pop(name, None)
            if before is not None and before.key is not None:
                self._seed_keys[before.key] -= 1
                held.add(before.key)
            if hand.state.in_play:
                self.live[name] = hand
                if hand.key is not None:
                    self._seed_keys[hand.key] += 1
        spent = [key for key in held if not self._seed_keys[key]]
        for key in spent:
            del self._seed_keys[key]
        if spent:
            unit.after.append(lambda: self.vault.give_back(spent, self._seed_keys))

    def _keep_recorded(self, unit: Unit) -> None:
        """Keeps the referee's hands in memory, and of those that are over the last ones."""
        self.recorded.update(unit.recorded)
        for hand in unit.recorded:
            if not unit.hand(hand).state.in_play:
                self._recorded_over.append(hand)
        while len(self._recorded_over) > _RECORDED_OVER:
            self.recorded.pop(self._recorded_over.popleft(), None)

    def _forget(self, unit: Unit) -> bool:
        more = self.store.forget(unit.now, _FORGET_AT_ONCE)
        if not more:  # keys of hands that were refused after they had taken one
            unit.after.append(lambda: self.vault.slots.give_back_all_but(self._seed_keys))
        return more

    def _proof(self) -> str:
        """Returns what a commit writes to prove that it can: after a failure as much as a hand would need, and more."""
        return f"{self._commits}".rjust(0 if self.health.storage else _PROOF_LENGTH, ".")

    async def probe(self) -> None:
        """Tries whether entropy and storage work, if they failed or nothing was committed since the last probe.

        Of the storage only a durable write is proof: on a disk that is full everything can still be read.
        """
        self.check_writer()
        idle, self._commits_probed = self._commits == self._commits_probed, self._commits
        if idle or not (self.health.entropy and self.health.storage):
            with suppress(Refused):
                await self.do(self._probe)
            self._commits_probed = self._commits

    def _probe(self, unit: Unit) -> None:
        self._prove = True
        if not self.health.entropy:
            drawn = {draw_seed(self.sources.entropy).seen_digest() for _ in range(2)}
            if len(drawn) < 2 or any(map(unit.is_seen, drawn)):
                raise EntropyError("the entropy source still gives seeds again")
            self._set_health(entropy=True)

    async def forget_expired(self) -> None:
        """Forgets what has expired, a little at a time, so that nobody who plays has to wait for it."""
        more = True
        while more:
            more = await self.do(self._forget)
            await asyncio.sleep(_FORGET_PAUSE)  # between two slices others have their turn

    def table(self, table: str) -> TableRow | None:
        """Returns a table as it is durable."""
        found = self._tables.get(table)
        if found is None and (found := self.store.table(table)) is not None:
            self._tables[table] = found
        return found

    def _node(self, level: int, index: int) -> bytes:
        found = self._nodes.get((level, index))
        if found is None:
            found = self._nodes[level, index] = self.store.node(level, index)
        return found

    def _set_health(self, *, entropy: bool | None = None, storage: bool | None = None) -> None:
        before = self.health.serving
        if entropy is not None:
            self.health.entropy = entropy
        if storage is not None:
            self.health.storage = storage
        if before != self.health.serving:
            _tell(self.on_health)


def _row(hand: LiveHand) -> HandRow:
    return HandRow(
        hand=hand.state.hand,
        state=dump_state(hand.state) if hand.state.in_play else None,
        referee=hand.referee,
        offer=hand.offer,
        commit=hand.commit,
        close=hand.close,
        secrets=hand.sealed,
    )


def _tell(call: Callable[..., object], *arguments: object, **values: object) -> None:
    """Tells somebody something. That may fail, and the writer goes on: it is the one means to say anything at all."""
    try:
        call(*arguments, **values)
    except Exception as error:
        with suppress(Exception):
            _log.error("somebody could not be told", error=type(error).__name__)


def _refuse(batch: list[_Pending], why: str) -> None:
    for pending in batch:
        pending.value, pending.error = None, Refused(Reason.STORAGE, why)


def _require_same(kept: bytes, asked: bytes) -> None:
    if kept != asked:
        raise Refused(Reason.REQUEST_ID_REUSED, "this request id was used for another request")
