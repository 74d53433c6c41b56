"""Pending changes of one command or batch, layered over the durable state."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from dealer.core.entries import decode
from dealer.errors import Reason, Refused
from dealer.games.plans import GAMES
from dealer.service.writer.live import LiveHand, load_hand, sealed
from dealer.service.writer.state import Recorded, State
from dealer.store.interface import KeptAnswer, RecordLine, TableRow, one_entry
from dealer.store.vault import SealLost

T = TypeVar("T")


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
    """Pending changes of one command or batch, layered over the durable state. It belongs to the writer's thread.

    Attributes:
        sources: entropy, time and ids.
        now: the batch's time, Unix milliseconds.
        hands, tables, recorded: what has changed; `hand`, `table` and `record_of` look below it as well.
        start: index of the first entry that this unit appends.
        entries: appended log entries.
        seen: digests of seeds drawn.
        records: new pieces of referees' records.
        asked: hands in which somebody is asked something new.
        receipts: what is to be filled in once the batch is signed.
        after: follow-ups on the writer's thread, once the batch is durable.
        on_loop: calls that the loop makes, once the batch is durable and before its callers are answered.
    """

    def __init__(self, state: State, below: "Unit | None" = None) -> None:
        """Layers changes over the durable state, or over those of the batch `below`."""
        self.sources = state.sources
        self.entries: list[bytes] = []
        self.seen: set[bytes] = set()
        self.records: list[RecordLine] = []
        self.asked: set[bytes] = set()
        self.receipts: list[tuple[object, str, int]] = []
        self.after: list[Callable[[], None]] = []
        self.on_loop: list[Callable[[], None]] = []
        self._state, self._below = state, below
        self._opened = 0
        self._news: Counter[tuple[str, str]] = Counter()
        self.hands: dict[bytes, LiveHand] = {}
        self.tables: dict[str, TableRow] = {}
        self.recorded: dict[bytes, Recorded] = {}
        self.now: int = state.sources.clock() if below is None else below.now
        self.start: int = state.tree.size if below is None else below.start + len(below.entries)

    def hand(self, hand: bytes) -> LiveHand:
        """Returns a hand as it stands now.

        Raises:
            Refused: there is none.
        """
        if (found := self._known(hand)) is not None:
            return found
        row = self._state.store.hand(hand)
        if row is None or row.close is None:  # one in play is known: this row was put back from outside
            raise Refused(Reason.HAND_NOT_FOUND, "there is no such hand")
        return load_hand(row, GAMES, self._state.vault, self.entry)

    def _known(self, hand: bytes) -> LiveHand | None:
        """Returns a hand that is in play, or has changed here or below."""
        found = self.hands.get(hand)
        if found is None:
            found = self._state.live.get(hand) if self._below is None else self._below._known(hand)
        return found

    def in_play(self) -> dict[bytes, LiveHand]:
        """Returns the hands in play by their ids, in no order."""
        found = dict(self._state.live) if self._below is None else self._below.in_play()
        for id_, hand in self.hands.items():
            found.pop(id_, None)
            if hand.state.in_play:
                found[id_] = hand
        return found

    def touched(self, hand: bytes) -> int:
        """Returns when a hand in play was changed last, or read back; Unix milliseconds."""
        return self._state.touched.get(hand, self.now)

    def own_hand(self, hand: bytes, caller: str) -> LiveHand:
        """Returns a hand of a caller's own table.

        One of another's takes the same steps as one that never was, so that neither words nor time tell them apart.

        Raises:
            Refused: there is none of the caller's.
        """
        live = self._known(hand)
        if live is not None and self._owner(live.state.table) == caller:
            return live
        row = self._state.store.hand(hand)
        newest = self.start - 1
        index = newest if row is None else row.commit if row.commit is not None else row.offer
        owner = None
        if index is not None and index >= 0:
            owner = self._owner(str(decode(self.entry(index)).get("table", "")))
        if row is None or owner != caller:
            raise Refused(Reason.HAND_NOT_FOUND, "there is no such hand")
        return self.hand(hand)

    def _owner(self, table: str) -> str | None:
        found = self.table(table)
        return None if found is None else found.owner

    def table(self, table: str) -> TableRow | None:
        """Returns a table as it stands now; None if no hand was opened at it yet."""
        found = self.tables.get(table)
        if found is None:
            found = self._state.table(table) if self._below is None else self._below.table(table)
        return found

    def entry(self, index: int) -> bytes:
        """Returns a log entry, also one of this batch."""
        if index >= self.start:
            return self.entries[index - self.start]
        if self._below is not None:
            return self._below.entry(index)
        return one_entry(self._state.store, index)

    def is_seen(self, digest: bytes) -> bool:
        """Tells whether a seed of this digest was drawn before."""
        if digest in self.seen:
            return True
        return self._below.is_seen(digest) if self._below is not None else self._state.store.is_seen(digest)

    def put(self, hand: LiveHand) -> LiveHand:
        """Sets a hand as it stands from now on; secrets that are not sealed yet are."""
        id_ = hand.state.hand
        if not hand.state.in_play:
            hand = hand.but(secrets=None, sealed=None, deck=None, seat_secrets={}, key=None)
            self._opened -= id_ not in self._state.live
        else:
            if hand.sealed is None:
                hand = sealed(hand, self._state.vault, self.owner_of(hand.state.table))
            self._opened += self._known(id_) is None
        self.hands[id_] = hand
        return hand

    def owner_of(self, table: str) -> str:
        """Returns the room that a table with a hand belongs to."""
        found = self.table(table)
        return "" if found is None else found.owner

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

    @property
    def admitting(self) -> bool:
        """Whether hands may be opened."""
        return self._state.health.admitting

    @property
    def retired(self) -> bool:
        """Whether the log has ended."""
        return self._state.health.retired

    @property
    def contradicted(self) -> bool:
        """Whether witnesses hold another history of the log."""
        return self._state.health.contradicted

    def room_for_a_hand(self, caller: str) -> bool:
        """Tells whether one more hand may be in play, and of this caller; those that this batch closes still count."""
        opened = self._opened + (self._below._opened if self._below else 0)
        limits, own = self._state.limits, self._state.hands_of[caller] + self._new("hand", caller)
        return len(self._state.live) + opened < limits.hands_in_play and own < limits.room_hands

    def room_for_a_table(self, caller: str) -> bool:
        """Tells whether a caller may have one more table."""
        return self.tables_of(caller) < self._state.limits.room_tables

    def tables_of(self, owner: str) -> int:
        """Returns how many tables a room has, with those that are new here."""
        return self._state.tables_of(owner) + self._new("table", owner)

    def count_opened(self, caller: str, *, table: bool) -> None:
        """Counts a hand that was opened for a caller, and whether its table is new."""
        self._news["hand", caller] += 1
        if table:
            self._news["table", caller] += 1
            self.after.append(lambda: self._state.count_table(caller))

    def recount_tables(self) -> None:
        """Has the tables of each room counted anew: one has changed hands."""
        self.after.append(self._state.forget_tables)

    def _new(self, what: str, caller: str) -> int:
        return self._news[what, caller] + (self._below._news[what, caller] if self._below else 0)

    def record_of(self, hand: bytes, read: Callable[[Sequence[bytes]], object]) -> object | None:
        """Returns a referee's hand as it stands now; None if there is no record of it any more.

        Args:
            hand: its id.
            read: makes the hand of the pieces of its record, if it is not in memory.

        Raises:
            Refused: a key at rest of its record is gone.
            VaultError: such a key cannot be read at the moment.
        """
        if (found := self._recorded(hand)) is None:
            pieces = _opened(lambda: self._state.store.record(hand))
            if not pieces:
                return None
            found = self.recorded[hand] = Recorded(len(pieces), read(pieces))
        return found.hand

    def known_record(self, hand: bytes) -> object | None:
        """Returns a referee's hand as it stands now, if it is in memory."""
        found = self._recorded(hand)
        return None if found is None else found.hand

    def record(self, hand: bytes, piece: bytes, made: object) -> None:
        """Puts a piece behind a referee's record, and says what the hand is from now on."""
        before = self._recorded(hand)
        number = before.pieces if before else 0
        self.records.append(RecordLine(hand, number, piece))
        self.recorded[hand] = Recorded(number + 1, made)

    def _recorded(self, hand: bytes) -> Recorded | None:
        """Returns a referee's hand that is in memory."""
        found = self.recorded.get(hand)
        if found is None:
            found = self._state.recorded.get(hand) if self._below is None else self._below._recorded(hand)
        return found

    def absorb(self, above: "Unit") -> None:
        """Adds what a command changed."""
        self.hands.update(above.hands)
        self.tables.update(above.tables)
        self.recorded.update(above.recorded)
        self.entries += above.entries
        self.seen |= above.seen
        self.records += above.records
        self.asked |= above.asked
        self.receipts += above.receipts
        self.after += above.after
        self.on_loop += above.on_loop
        self._opened += above._opened
        self._news.update(above._news)

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
