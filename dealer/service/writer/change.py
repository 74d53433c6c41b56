"""A unit of change: what one command, or a batch of them, makes of the state, before it is durable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from dealer.errors import Reason, Refused
from dealer.games.plans import GAMES
from dealer.log.merkle import CompactTree
from dealer.service.writer.live import LiveHand, load_hand, sealed
from dealer.service.writer.sources import Sources
from dealer.store.interface import KeptAnswer, RecordLine, Store, TableRow, one_entry
from dealer.store.vault import SealLost, Vault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service allows itself and its callers.

    Attributes:
        hands_in_play: at once, over all tables.
        pending: commands waiting to be carried out; one connection's at most as many as there is room left.
        streams: open on one connection at once.
        caller_streams: open at once on all connections of a caller.
        answer_seconds: for how long answers are kept after their hand closed; at least 24 hours in production.
        key_seconds: lifetime of a key that seals answers at rest.
    """

    hands_in_play: int = 20_000
    pending: int = 20_000
    streams: int = 1_000
    caller_streams: int = 10_000
    answer_seconds: int = 24 * 3600
    key_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Recorded:
    """A referee's hand as it follows from its record.

    Attributes:
        pieces: how many pieces its record has.
        hand: what the referee made of them; nobody here looks inside.
    """

    pieces: int
    hand: object = field(repr=False)


class Durable(Protocol):
    """What a unit changes: the state that is durable."""

    sources: Sources
    limits: Limits
    vault: Vault
    store: Store
    tree: CompactTree
    live: dict[bytes, LiveHand]
    recorded: dict[bytes, Recorded]

    def table(self, table: str) -> TableRow | None:
        """Returns a table."""


class Message(Protocol):
    """An answer's message: whatever can be encoded, always in the same way."""

    def SerializeToString(self, *, deterministic: bool) -> bytes:  # noqa: N802 - protobuf's name
        """Returns its bytes."""


@dataclass(frozen=True, slots=True)
class HandAnswer:
    """What a request is answered with, and the hand that it is about.

    Attributes:
        hand: its id, 16 bytes.
        message: the answer. The receipts that belong into it are filled in once the batch is signed.
    """

    hand: bytes
    message: Message = field(repr=False)

    def encode(self) -> bytes:
        """Returns the bytes that are sent, and kept for repeats."""
        return self.message.SerializeToString(deterministic=True)


class Unit:
    """What one command, or a whole batch, changes: an overlay on what is durable."""

    def __init__(self, durable: Durable, below: "Unit | None" = None) -> None:
        self.sources = durable.sources
        self.now: int = below.now if below else durable.sources.clock()
        self.hands: dict[bytes, LiveHand] = {}
        self.tables: dict[str, TableRow] = {}
        self.entries: list[bytes] = []
        self.seen: list[bytes] = []
        self.records: list[RecordLine] = []
        self.recorded: dict[bytes, Recorded] = {}
        self.receipts: list[tuple[object, str, int]] = []
        self.after: list[Callable[[], None]] = []
        self._durable, self._below = durable, below
        self.start: int = below.start + len(below.entries) if below else durable.tree.size

    def hand(self, hand: bytes) -> LiveHand:
        """Returns a hand as it stands now.

        Raises:
            Refused: there is none.
        """
        unit: Unit | None = self
        while unit is not None:
            if (found := unit.hands.get(hand)) is not None:
                return found
            unit = unit._below
        if (found := self._durable.live.get(hand)) is not None:
            return found
        row = self._durable.store.hand(hand)
        if row is None:
            raise Refused(Reason.HAND_NOT_FOUND, "there is no such hand")
        return load_hand(row, GAMES, self._durable.vault, self.entry)

    def table(self, table: str) -> TableRow | None:
        """Returns a table as it stands now; None where no hand was opened at it yet."""
        unit: Unit | None = self
        while unit is not None:
            if (found := unit.tables.get(table)) is not None:
                return found
            unit = unit._below
        return self._durable.table(table)

    def entry(self, index: int) -> bytes:
        """Returns a log entry, also one of this batch."""
        unit: Unit | None = self
        while unit is not None:
            if index >= unit.start:
                return unit.entries[index - unit.start]
            unit = unit._below
        return one_entry(self._durable.store, index)

    def is_seen(self, digest: bytes) -> bool:
        """Tells whether a seed of this digest was drawn before."""
        unit: Unit | None = self
        while unit is not None:
            if digest in unit.seen:
                return True
            unit = unit._below
        return self._durable.store.is_seen(digest)

    def put(self, hand: LiveHand) -> LiveHand:
        """Sets a hand as it stands from now on; secrets that are not sealed yet are."""
        if not hand.state.in_play:
            hand = replace(hand, secrets=None, sealed=None, deck=None, key=None)
        elif hand.sealed is None:
            hand = sealed(hand, self._durable.vault)
        self.hands[hand.state.hand] = hand
        return hand

    def append(self, entry: bytes) -> int:
        """Adds a log entry and returns its index."""
        self.entries.append(entry)
        return self.start + len(self.entries) - 1

    def receipt_into(self, part: object, field: str, index: int) -> None:
        """Has the receipt of an entry filled in once the batch is signed.

        Args:
            part: the answer's message, or a part of it.
            field: the name of its text field for the receipt.
            index: of the entry, which may be one of this batch.
        """
        setattr(part, field, "")  # what cannot be filled in fails here, for its own caller alone
        if index >= self.start + len(self.entries):
            raise AssertionError("a receipt is asked for an entry that is not there")
        self.receipts.append((part, field, index))

    def room_for_a_hand(self) -> bool:
        """Tells whether one more hand may be in play."""
        units = [unit for unit in (self, self._below) if unit is not None]
        live = self._durable.live
        opened = {key for unit in units for key, hand in unit.hands.items() if hand.state.in_play and key not in live}
        return len(live) + len(opened) < self._durable.limits.hands_in_play

    def record_of(self, hand: bytes, read: Callable[[Sequence[bytes]], object]) -> object | None:
        """Returns a referee's hand as it stands now; None if there is no record of it any more.

        Args:
            hand: its id.
            read: makes the hand of the pieces of its record, if it is not in memory.

        Raises:
            Refused: a key at rest of its record is gone.
            VaultError: such a key cannot be read at the moment.
        """
        unit: Unit | None = self
        while unit is not None:
            if (found := unit.recorded.get(hand)) is not None:
                return found.hand
            unit = unit._below
        if (found := self._durable.recorded.get(hand)) is None:
            pieces = _opened(lambda: self._durable.store.record(hand))
            if not pieces:
                return None
            found = self.recorded[hand] = Recorded(len(pieces), read(pieces))
        return found.hand

    def record(self, hand: bytes, piece: bytes, made: object) -> None:
        """Puts a piece behind a referee's record, and says what the hand is from now on."""
        unit: Unit | None = self
        before = self._durable.recorded.get(hand)
        while unit is not None:
            if (found := unit.recorded.get(hand)) is not None:
                before = found
                break
            unit = unit._below
        number = before.pieces if before else 0
        self.records.append(RecordLine(hand, number, piece))
        self.recorded[hand] = Recorded(number + 1, made)

    def absorb(self, above: "Unit") -> None:
        """Takes over what a command changed."""
        self.hands.update(above.hands)
        self.tables.update(above.tables)
        self.entries += above.entries
        self.seen += above.seen
        self.records += above.records
        self.recorded.update(above.recorded)
        self.receipts += above.receipts
        self.after += above.after

    @property
    def changed(self) -> bool:
        """Whether there is anything to make durable."""
        return bool(self.hands or self.tables or self.entries or self.records or self.seen)


def open_answer(kept: KeptAnswer) -> bytes:
    """Opens what was kept.

    Raises:
        Refused: its key at rest is gone.
        VaultError: its key cannot be read at the moment.
    """
    return _opened(kept.open)


def _opened(read: Callable[[], T]) -> T:
    try:
        return read()
    except SealLost:
        text = "this was carried out, and its answer cannot be read any more: its key at rest is gone"
        raise Refused(Reason.ANSWER_LOST, text) from None
