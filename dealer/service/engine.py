"""The single writer: carries commands out in order and makes each batch durable with one append (group commit).

A command's way: it runs against the state as the batch has it so far; what it changed joins the batch, or nothing of
it where it is refused. Then the batch's entries go into the tree, the checkpoint is signed, the answers are built and
sealed, and one transaction makes all of it durable. Only then is anything shown to anybody.
"""

import asyncio
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from dealer.core.codec import dump_state
from dealer.core.seed import EntropyError, draw_seed
from dealer.errors import CutcardError, Reason, Refused
from dealer.games.plans import GAMES
from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactTree, Node, leaf_hash
from dealer.log.note import NoteSigner
from dealer.service.errors import draining
from dealer.service.hands import lose_hand
from dealer.service.live import LiveHand, load_hand
from dealer.service.sources import Sources
from dealer.service.subject import about_hand
from dealer.service.unit import Limits, Proofs, Reply, Unit
from dealer.store.interface import AnswerRow, Batch, HandRow, Store, StoreError, TableRow
from dealer.store.vault import Purpose, Vault, VaultError

_log = structlog.get_logger()
_MAX_BATCH = 512
_NODE_CACHE = 1 << 16
_TABLE_CACHE = 1 << 16


@dataclass(slots=True)
class Health:
    """What the service can do at the moment. Draining is for ever."""

    entropy: bool = True
    storage: bool = True
    draining: bool = False

    @property
    def serving(self) -> bool:
        """Whether hands can be opened and dealt."""
        return self.entropy and self.storage and not self.draining


@dataclass(frozen=True, slots=True)
class Command:
    """One request, ready to be carried out.

    Attributes:
        caller: whose request ids these are.
        run: changes the unit and returns how to build the answer; raises `Refused` and has changed nothing.
        request: the request id; None for one that changes nothing or is the dealer's own.
        body: digest of method and field values.
    """

    caller: str
    run: Callable[[Unit], tuple[bytes, Reply]] = field(repr=False)
    request: bytes | None = None
    body: bytes = b""


@dataclass(slots=True)
class _Pending:
    command: Command
    future: "asyncio.Future[bytes]"
    loop: asyncio.AbstractEventLoop
    hand: bytes = b""
    reply: Reply | None = None
    answer: bytes | None = field(default=None, repr=False)
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
        self._queue: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._load()
        self.vault.destroy_unused(Purpose.SEED, self._seed_keys)

    def _load(self) -> None:
        self.store = self._open_store()
        self._nodes: dict[tuple[int, int], bytes] = {}
        self._tables: dict[str, TableRow] = {}
        self.tree = CompactTree.load(self.store.size(), self._node)
        self.note = self.store.checkpoint()
        self.live = {row.hand: load_hand(row, GAMES, self.vault) for row in self.store.hands_in_play()}
        sealed = [hand.sealed for hand in self.live.values() if hand.sealed is not None]
        self._seed_keys = Counter(one.key for one in sealed)
        self._close_lost()

    def start(self) -> None:
        """Starts the writer."""
        self._thread.start()

    def stop(self) -> None:
        """Carries out what is pending and stops the writer."""
        self._queue.put(None)
        self._thread.join()
        self.store.close()

    def enqueue(self, command: Command) -> "asyncio.Future[bytes]":
        """Has a command carried out, after those that were enqueued before it.

        Returns:
            Its answer, once it is durable; or `Refused`, and nothing has changed.

        Raises:
            Refused: the dealer takes no commands at the moment.
        """
        if self.health.draining:
            raise draining()
        if self._waiting >= self.limits.pending:
            raise Refused(Reason.TOO_MANY_REQUESTS, f"{self._waiting} requests are waiting: try again later")
        loop = asyncio.get_running_loop()
        pending = _Pending(command, loop.create_future(), loop)
        self._waiting += 1
        self._queue.put(pending)
        return pending.future

    async def submit(self, command: Command) -> bytes:
        """Has a command carried out and waits for its answer; see `enqueue`."""
        return await self.enqueue(command)

    def _work(self) -> None:
        stopping = False
        while not stopping:
            batch: list[_Pending] = []
            item = self._queue.get()
            while True:
                if item is None:
                    stopping = True
                    break
                batch.append(item)
                if len(batch) == _MAX_BATCH:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            if batch:
                started = time.perf_counter()
                self._carry_out(batch)
                self.on_batch(len(batch), time.perf_counter() - started)

    def _carry_out(self, batch: list[_Pending]) -> None:
        try:
            if not self.health.storage:
                self._recover()
            self._commit(batch)
        except (StoreError, VaultError) as error:
            _log.error("storage failed", error=str(error))
            self._set_health(storage=False)
            for pending in batch:
                pending.error = Refused(Reason.STORAGE, "the dealer's storage does not answer: try again later")
        except Exception as error:
            _log.error("a batch failed", error=type(error).__name__)
            self._set_health(storage=False)
            for pending in batch:
                pending.error = Refused(Reason.STORAGE, "the dealer could not carry this out: try again later")
        loops = {id(pending.loop): pending.loop for pending in batch}
        for key, loop in loops.items():
            mine = [pending for pending in batch if id(pending.loop) == key]
            try:
                loop.call_soon_threadsafe(self._deliver, mine)
            except RuntimeError:  # the loop is gone, and with it everybody who waits
                continue

    def _deliver(self, batch: list[_Pending]) -> None:
        self._waiting -= len(batch)  # not before: a caller who has gone away leaves its command in the queue
        for pending in batch:
            if pending.future.done():
                continue
            if pending.error is not None:
                pending.future.set_exception(pending.error)
            elif pending.answer is not None:
                pending.future.set_result(pending.answer)
            else:
                pending.future.set_exception(CutcardError("a command was carried out without an answer"))

    def _recover(self) -> None:
        """Reads anew what is durable: of a batch that failed it may be everything or nothing."""
        self.store.close()
        self._load()
        self.vault.destroy_unused(Purpose.SEED, self._seed_keys)
        self._set_health(storage=True)
        _log.info("storage answers again")
        self.on_hands(list(self.live.values()))
        self.on_recovery()

    def _commit(self, batch: list[_Pending]) -> None:
        unit = Unit(self)
        asked = [(p.command.caller, p.command.request) for p in batch if p.command.request is not None]
        unit.looked_up = {**dict.fromkeys(asked), **self.store.answers(asked)}
        pendings: dict[tuple[str, bytes], _Pending] = {}
        for pending in batch:
            self._run(pending, unit, pendings)
        self._make_durable(unit, batch)
        for pending in batch:
            if pending.twin is not None:
                pending.answer, pending.error = pending.twin.answer, pending.twin.error
        self.on_hands(list(unit.hands.values()))
        for call in unit.after:
            self._follow_up(call)

    def _make_durable(self, unit: Unit, batch: list[_Pending]) -> None:
        """Signs what a unit appends, builds the answers, and makes all of it durable; then it is the state."""
        tree, note, nodes = self.tree, self.note, list[Node]()
        if unit.entries:
            tree = tree.copy()
            for entry in unit.entries:
                nodes += tree.append(leaf_hash(entry))
            note = sign_checkpoint(Checkpoint(self.signer.name, tree.size, tree.root()), self.signer)
        if len(self._nodes) > _NODE_CACHE:
            self._nodes.clear()
        fresh = {(node.level, node.index): node.hash for node in nodes}
        proofs = Proofs(tree.size, note, lambda level, index: fresh.get((level, index)) or self._node(level, index))
        for pending in batch:
            if pending.reply is not None:
                pending.answer = pending.reply(proofs)
                if (request := pending.command.request) is not None:
                    unit.keep(pending.command.caller, request, pending.command.body, pending.hand, pending.answer)
        if unit.changed:
            self.store.commit(self._batch(unit, nodes, note))
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
        except CutcardError as error:
            _log.error("storage failed", error=str(error))
            self._set_health(storage=False)

    def _run(self, pending: _Pending, unit: Unit, pendings: dict[tuple[str, bytes], _Pending]) -> None:
        command = pending.command
        try:
            if command.request is not None:
                key = (command.caller, command.request)
                if (twin := pendings.get(key)) is not None:
                    _require_same(twin.command.body, command.body)
                    pending.twin = twin
                    return
                if (kept := unit.kept(*key)) is not None:
                    _require_same(kept.body, command.body)
                    pending.answer = self._opened(unit, kept)
                    return
            mine = Unit(self, unit)
            pending.hand, pending.reply = command.run(mine)
            unit.absorb(mine)
            if command.request is not None:
                pendings[command.caller, command.request] = pending
        except Refused as refused:
            pending.error = refused
        except EntropyError as error:
            _log.error("the entropy source failed", error=str(error))
            self._set_health(entropy=False)
            pending.error = Refused(Reason.ENTROPY_SOURCE, "the entropy source failed: no hand can be opened")
        except VaultError as error:
            _log.error("a key at rest cannot be read", error=str(error))
            pending.error = Refused(Reason.STORAGE, "the dealer's storage does not answer: try again later")
        except StoreError:
            raise
        except Exception as error:
            where = traceback.format_tb(error.__traceback__)[-1]  # not the message: it might hold a secret
            _log.error("a command failed", error=type(error).__name__, where=where)
            pending.error = CutcardError("the dealer failed to carry this out; nothing has changed")

    def _opened(self, unit: Unit, kept: AnswerRow) -> bytes:
        try:
            return unit.open(kept)
        except Refused as refused:
            refused.metadata = about_hand(unit, kept.hand, kept.caller)
            raise

    def _batch(self, unit: Unit, nodes: list[Node], note: str) -> Batch:
        expires = unit.now + 1000 * self.limits.answer_seconds
        return Batch(
            entries=unit.entries,
            nodes=nodes,
            checkpoint=note if nodes else None,
            hands={key: _row(hand) for key, hand in unit.hands.items()},
            tables=unit.tables,
            answers=unit.answers,
            seen=unit.seen,
            expiries=dict.fromkeys(unit.closed, expires),
        )

    def _publish(self, unit: Unit) -> None:
        """Shows what is durable now, and has each seed key destroyed whose last hand has closed."""
        if len(self._tables) > _TABLE_CACHE:
            self._tables.clear()
        self._tables.update(unit.tables)
        spent = False
        for key, hand in unit.hands.items():
            before = self.live.pop(key, None)
            if before is not None and before.sealed is not None:
                self._seed_keys[before.sealed.key] -= 1
                spent = spent or not self._seed_keys[before.sealed.key]
            if hand.state.in_play:
                self.live[key] = hand
                if hand.sealed is not None:
                    self._seed_keys[hand.sealed.key] += 1
        if spent:
            self._seed_keys += Counter()  # drops the zeros
            unit.after.append(lambda: self.vault.destroy_unused(Purpose.SEED, self._seed_keys))

    def _forget(self, unit: Unit) -> tuple[bytes, Reply]:
        def drop() -> None:
            self.store.drop_answers(unit.now)
            self.vault.destroy_unused(Purpose.ANSWER, self.store.answer_keys())

        unit.after.append(drop)  # not before this batch's own answers are in the store, and with them their key's use
        return b"", lambda proofs: b""

    async def probe(self) -> None:
        """Tries whether entropy and storage work again, where they failed."""
        if not (self.health.entropy and self.health.storage):
            with suppress(Refused):
                await self.submit(Command("", self._probe))

    def _probe(self, unit: Unit) -> tuple[bytes, Reply]:
        if not self.health.entropy:
            drawn = {draw_seed(self.sources.entropy).seen_digest() for _ in range(2)}
            if len(drawn) < 2 or any(map(unit.is_seen, drawn)):
                raise EntropyError("the entropy source still gives seeds again")
            self._set_health(entropy=True)
        return b"", lambda proofs: b""

    async def forget_expired(self) -> None:
        """Drops answers that expired, and destroys each answer key whose last answer did."""
        await self.submit(Command("", self._forget))

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
            self.on_health()


def _row(hand: LiveHand) -> HandRow:
    return HandRow(
        hand=hand.state.hand,
        state=dump_state(hand.state),
        referee=hand.referee,
        offer=hand.offer,
        commit=hand.commit,
        close=hand.close,
        secrets=hand.sealed,
    )


def _require_same(kept: bytes, asked: bytes) -> None:
    if kept != asked:
        raise Refused(Reason.REQUEST_ID_REUSED, "this request id was used for another request")
