"""The durable state: the store, and what is kept of it in memory. It belongs to the writer's thread."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from dealer.games.plans import GAMES
from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, Node, NodeReader, inclusion_proof, leaf_hash
from dealer.log.note import NoteSigner
from dealer.log.receipt import make_receipt
from dealer.service.settings import Limits
from dealer.service.writer.health import Health
from dealer.service.writer.live import LiveHand, load_hand
from dealer.service.writer.sources import Sources
from dealer.store.at_rest import AtRest
from dealer.store.interface import RETIRED, Batch, Store, StoreError, TableRow, one_entry
from dealer.store.remembered import Remembered, require_extends
from dealer.store.vault import Purpose

_log = structlog.get_logger()
_NODE_CACHE = 1 << 16
_TABLE_CACHE = 1 << 16
_RECORDED_OVER = 1024
"""So many referee's hands that are over stay in memory, for those who look at their end."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A referee's hand as it follows from its record.

    Attributes:
        pieces: how many pieces its record has.
        hand: what the referee made of them; nobody here looks inside.
    """

    pieces: int
    hand: object = field(repr=False)


class Signed:
    """The tree and its signed checkpoint as they are once a batch is durable."""

    def __init__(self, tree: CompactRange, note: str, nodes: Sequence[Node], read: NodeReader) -> None:
        """Holds the tree with the batch's entries, its note, and the new nodes; `read` reads the older ones."""
        self.tree, self.note, self.nodes = tree, note, nodes
        self.fresh = {(node.level, node.index): node.hash for node in nodes}
        self._read = read
        self._ragged: dict[tuple[int, int], bytes] = {}

    def receipt(self, index: int) -> str:
        """Returns the tlog-proof text of an entry."""
        return make_receipt(index, inclusion_proof(index, self.tree.size, self._node, self._ragged), self.note)

    def _node(self, level: int, index: int) -> bytes:
        return self.fresh.get((level, index)) or self._read(level, index)


class State:
    """What is durable, and what of it is kept in memory.

    Attributes:
        sources, limits, vault, signer: handed in, and never replaced; any thread may read them.
        note: the newest signed checkpoint that is durable; replaced whole by the writer's thread, read by any.
        store, tree: the writer's thread's alone, but that the loop may read `tree.size`.
        live: the hands in play; the writer's thread's alone, but that the loop may count them.
        recorded: the referee's hands in memory; the writer's thread's alone.
        seed_keys: for each key at rest of hands in play, how many it seals; the writer's thread's alone.
        waited: when what hands in play wait for was asked, on the monotonic clock, of those read at the last `load`.
        hands_of: how many hands in play each room has; the writer's thread's alone.
        touched: when each hand in play was changed last, Unix milliseconds, or read back; the writer's thread's alone.
        health: what the dealer can do at the moment; see there who sets what.
        commit_seconds: how long the last one took.
        commits: how many there were; counted on the writer's thread, read by any.
    """

    def __init__(
        self, open_store: Callable[[], Store], signer: NoteSigner, vault: AtRest, sources: Sources, limits: Limits
    ) -> None:
        """Reads nothing yet; that is for `load`."""
        self.sources, self.limits, self.vault, self.signer = sources, limits, vault, signer
        self.commits = 0
        self.commit_seconds = 0.0
        self.health = Health()
        self.touched: dict[bytes, int] = {}
        self.hands_of: Counter[str] = Counter()
        self._tables_of: Counter[str] | None = None
        self._open_store = open_store
        self._opened: Store | None = None
        self.note = ""
        self.tree = CompactRange()
        self.live: dict[bytes, LiveHand] = {}
        self._tables: dict[str, TableRow] = {}
        self.waited: dict[bytes, float] = {}
        self._remembered = Remembered(vault.folder / "signed-last")

    def load(self) -> None:
        """Reads what is durable.

        Raises:
            StoreError: the store cannot be read, or is another log's or an older one.
            VaultError: a key at rest cannot be read at the moment.
        """
        self.store = self._opened = self._open_store()
        if self.store.origin != self.signer.name:
            raise StoreError(f"the store is the log {self.store.origin}, the signing key that of {self.signer.name}")
        self._nodes: dict[tuple[int, int], bytes] = {}
        self.tree = CompactRange.load(self.store.size(), self._node)
        self.note = self.store.checkpoint()
        self.health.retired = self.store.mark(RETIRED) is not None
        self._require_what_was_signed()
        self.recorded: dict[bytes, Recorded] = {}
        self._recorded_over: deque[bytes] = deque()
        self._tables = {row.table: row for row in self.store.tables_in_play()}
        self.live = self._load_hands()
        now = self.sources.monotonic()
        self.waited = {hand: now - seconds for hand, seconds in self.store.waited().items()}
        self.seed_keys = Counter(hand.key for hand in self.live.values() if hand.key is not None)
        self._tables_of = None
        self.hands_of = Counter(self._owner(hand) for hand in self.live.values())
        read_at = self.sources.clock()
        self.touched = {hand: self.touched.get(hand, read_at) for hand in self.live}

    def _load_hands(self) -> dict[bytes, LiveHand]:
        """Reads the hands in play, but none that its table says is over: such a row was put back from outside."""
        playing = {table.hand for table in self._tables.values()}
        live = dict[bytes, LiveHand]()
        for row in self.store.hands_in_play():
            if row.hand in playing:
                live[row.hand] = load_hand(row, GAMES, self.vault, partial(one_entry, self.store))
            else:
                _log.error("a hand's row was changed from outside: its table has it not in play", hand=row.hand.hex())
        return live

    def load_anew(self) -> None:
        """Reads it again: of a batch that failed everything may be durable, or nothing."""
        self.let_go()
        self.load()

    def let_go(self) -> None:
        """Closes the store, if one is open."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _require_what_was_signed(self) -> None:
        """Refuses a tree that does not extend the one signed last: an older database would sign a second history."""
        if self._remembered.damaged and self.tree.size:
            _log.error(
                "what was signed last cannot be read, so an older database would not be noticed: see dealer fsck"
            )
        note = self._remembered.note
        require_extends(note, self.tree.size, self._node)
        if note != self.note:
            self._remembered.keep(self.note)

    def table(self, table: str) -> TableRow | None:
        """Returns a table."""
        found = self._tables.get(table)
        if found is None and (found := self.store.table(table)) is not None:
            self._tables[table] = found
        return found

    def sign(self, entries: Sequence[bytes]) -> Signed:
        """Appends entries to a copy of the tree and signs its checkpoint; without any it is what it was."""
        if len(self._nodes) > _NODE_CACHE:
            self._nodes.clear()
        if not entries:
            return Signed(self.tree, self.note, (), self._node)
        tree, nodes = self.tree.copy(), list[Node]()
        for entry in entries:
            nodes += tree.append(leaf_hash(entry))
        note = sign_checkpoint(Checkpoint(self.signer.name, tree.size, tree.root()), self.signer)
        return Signed(tree, note, nodes, self._node)

    def commit(self, batch: Batch) -> None:
        """Makes a batch durable.

        Raises:
            StoreError: it is durable or not; `load_anew` tells.
        """
        start = time.perf_counter()
        self.store.commit(batch)
        self.commit_seconds = time.perf_counter() - start
        self.commits += 1

    def take(
        self,
        signed: Signed,
        hands: Mapping[bytes, LiveHand],
        tables: Mapping[str, TableRow],
        recorded: Mapping[bytes, Recorded],
    ) -> list[int]:
        """Makes what has become durable the state.

        Returns:
            The seed keys that no hand in play needs any more.
        """
        if signed.note != self.note:
            self._remembered.keep(signed.note)
        self.tree, self.note = signed.tree, signed.note
        self._nodes.update(signed.fresh)
        if len(self._tables) > _TABLE_CACHE:
            self._tables.clear()
        self._tables.update(tables)
        now = self.sources.clock()
        self._keep_recorded(recorded, hands, now)
        return self._take_hands(hands, now)

    def _take_hands(self, hands: Mapping[bytes, LiveHand], now: int) -> list[int]:
        freed = set[int]()
        for name, hand in hands.items():
            before = self.live.pop(name, None)
            self.touched.pop(name, None)
            if (before is None) == hand.state.in_play:
                self.hands_of[self._owner(hand)] += 1 if before is None else -1
            if before is not None and before.key is not None:
                self.seed_keys[before.key] -= 1
                freed.add(before.key)
            if hand.state.in_play:
                self.live[name] = hand
                self.touched[name] = now
                if hand.key is not None:
                    self.seed_keys[hand.key] += 1
        spent = [key for key in freed if not self.seed_keys[key]]
        for key in spent:
            del self.seed_keys[key]
        return spent

    def _owner(self, hand: LiveHand) -> str:
        table = self.table(hand.state.table)
        return "" if table is None else table.owner

    def tables_of(self, owner: str) -> int:
        """Returns how many tables a room has; counted when first asked for."""
        if self._tables_of is None:
            self._tables_of = Counter(row.owner for row in self.store.tables())
        return self._tables_of[owner]

    def count_table(self, owner: str) -> None:
        """Counts a new table of a room."""
        if self._tables_of is not None:
            self._tables_of[owner] += 1

    def forget_tables(self) -> None:
        """Has the tables counted anew when somebody asks for their number."""
        self._tables_of = None

    def _keep_recorded(self, recorded: Mapping[bytes, Recorded], hands: Mapping[bytes, LiveHand], now: int) -> None:
        """Keeps the referee's hands in memory, and of those that are over the last ones."""
        for id_, made in recorded.items():
            known = self.recorded.get(id_)
            if id_ in self.touched and known is not None and known.pieces < made.pieces:
                self.touched[id_] = now
        self.recorded.update(recorded)
        for hand in recorded:
            stands = hands.get(hand) or self.live.get(hand)
            if stands is None or not stands.state.in_play:
                self._recorded_over.append(hand)
        while len(self._recorded_over) > _RECORDED_OVER:
            self.recorded.pop(self._recorded_over.popleft(), None)

    def destroy_unused_keys(self) -> None:
        """Destroys every key at rest of hands that are not in play.

        Raises:
            VaultError: one cannot be destroyed.
        """
        self.vault.destroy_unused(Purpose.SEED, self.seed_keys)

    def give_back(self, keys: Iterable[int]) -> None:
        """Destroys keys at rest that no hand in play needs any more.

        Raises:
            VaultError: one cannot be destroyed.
        """
        self.vault.give_back(keys, self.seed_keys)

    def sync_signed(self) -> None:
        """Makes it outlive the machine what was signed last. On any thread.

        Raises:
            VaultError: that cannot be done.
        """
        self._remembered.sync()

    def close(self) -> None:
        """Lets go of the store and the keys."""
        self.let_go()
        self.vault.close()
        self._remembered.close()

    def _node(self, level: int, index: int) -> bytes:
        found = self._nodes.get((level, index))
        if found is None:
            found = self._nodes[level, index] = self.store.node(level, index)
        return found
