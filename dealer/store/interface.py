"""What the service asks of a store: everything durable, in one transaction for each batch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dealer.errors import CutcardError
from dealer.log.merkle import Node


class StoreError(CutcardError):
    """The store is missing, half made, damaged, or does not answer."""


class LeaseLost(StoreError):
    """Another dealer writes now, or none does; nothing was changed. It is no fault of the storage."""


class LogConflict(StoreError):
    """The store holds another history than the one that this dealer has seen or signed: it went back, or forked."""


class VaultError(CutcardError):
    """The keys at rest cannot be read or written at the moment."""


RETIRED = "retired"
"""The mark of a log that has ended, and takes no entry any more: its last checkpoint."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Bytes encrypted at rest, and the id of the key that opens them."""

    key: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HandRow:
    """One hand.

    Attributes:
        hand: its id, 16 bytes.
        state: JSON without a secret while the hand is in play; None once it is over, as the log holds all of it.
        referee: whether the referee runs it.
        offer, commit, close: indexes of its log entries.
        secrets: there while the hand is in play, and never after.
        owner: the room that the table belongs to; "" where the store has no need of it.
    """

    hand: bytes
    state: str | None
    referee: bool
    offer: int | None
    commit: int | None
    close: int | None
    secrets: Sealed | None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One table: who opened it first, its last hand's number, and the hand in play."""

    table: str
    owner: str
    number: int
    hand: bytes | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a caller's request id, to be kept for repeats.

    Attributes:
        caller: whose request id it is.
        request: the id, 16 bytes.
        body: digest of method and field values, 32 bytes.
        hand: the hand that it is about, 16 bytes.
        answer: the bytes that were sent. They may hold cards: the store keeps them encrypted.
    """

    caller: str
    request: bytes
    body: bytes
    hand: bytes
    answer: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer as it is found again, still sealed.

    Attributes:
        caller, request, body, hand: as in `Answer`.
        open: returns the answer's bytes; raises `SealLost` if their key is gone and `VaultError` if it cannot be read
            at the moment.
    """

    caller: str
    request: bytes
    body: bytes
    hand: bytes
    open: Callable[[], bytes] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One piece of a referee's record of a hand, to be put behind those before it; kept as answers are.

    Attributes:
        hand: its id, 16 bytes.
        number: how many pieces came before.
        line: the piece. It may hold cards: the store keeps it encrypted.
    """

    hand: bytes
    number: int
    line: bytes = field(repr=False)


@dataclass(slots=True)
class Batch:
    """Everything that one append makes durable, together or not at all.

    Attributes:
        entries: log entries, the first at the log's size before the batch.
        nodes: complete subtrees newly made by them.
        checkpoint: signed note over the new tree; None if no entry came.
        hands, tables: rows that are new or replace the old.
        answers: answers to be kept until their hand is over and its time has passed.
        records: pieces of referees' records, kept as long.
        seen: digests of seeds drawn.
        asked: hands in which somebody is asked something new with this batch: their clocks begin.
        expires: when what is kept of hands that are over with this batch may be forgotten; Unix time in milliseconds.
        proof: text that takes the place of the last proof's. Nobody reads it: that it became durable proves that the
            store can still write.
    """

    entries: list[bytes] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    checkpoint: str | None = None
    hands: dict[bytes, HandRow] = field(default_factory=dict)
    tables: dict[str, TableRow] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    records: list[RecordLine] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)
    asked: set[bytes] = field(default_factory=set)
    expires: int = 0
    proof: str | None = None


class LogStore(Protocol):
    """The log, as whoever may read it does. Every method raises `StoreError` if the store does not answer."""

    origin: str

    def size(self) -> int:
        """Returns the number of log entries."""

    def checkpoint(self) -> str:
        """Returns the newest signed checkpoint; a log begins with that of the empty tree."""

    def node(self, level: int, index: int) -> bytes:
        """Returns the hash of a complete subtree."""

    def entries(self, start: int, end: int) -> Iterator[bytes]:
        """Yields the entries [start, end)."""

    def mark(self, name: str) -> str | None:
        """Returns a text about the log as a whole, such as `retired`; None: there is none."""

    def published(self) -> str:
        """Returns the signed checkpoint, with its cosignatures, that readers of static files may be shown."""

    def witnessed(self) -> str | None:
        """Returns the newest checkpoint for which the quorum of witnesses held, with its cosignatures; None: none."""

    def close(self) -> None:
        """Lets go of the store."""


class Store(LogStore, Protocol):
    """One dealer's durable state. Every method raises `StoreError` if the store does not answer.

    Attributes:
        uncertain: whether a failover may have lost what was shown last, and nobody can tell.
    """

    uncertain: bool

    def commit(self, batch: Batch) -> None:
        """Makes a batch durable. After an error it may be durable or not: the caller reads anew.

        Raises:
            LeaseLost: another dealer writes; nothing is durable.
        """

    def confirm(self) -> None:
        """Makes sure that nobody else has written since: what needs no commit may be answered.

        Raises:
            LeaseLost: another dealer writes.
        """

    def hand(self, hand: bytes) -> HandRow | None:
        """Returns a hand."""

    def hands_in_play(self) -> Iterable[HandRow]:
        """Returns every hand that is not closed."""

    def table(self, table: str) -> TableRow | None:
        """Returns a table."""

    def tables(self) -> Iterable[TableRow]:
        """Returns every table, in the order of their ids."""

    def tables_in_play(self) -> Iterable[TableRow]:
        """Returns every table that has a hand in play, in no order."""

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], KeptAnswer]:
        """Returns the answers kept for some of these callers' request ids, in one look-up."""

    def record(self, hand: bytes) -> list[bytes]:
        """Returns the pieces of a referee's record in order; none if nothing is kept.

        Raises:
            SealLost: a key of theirs is gone.
            VaultError: a key cannot be read at the moment.
        """

    def waited(self) -> dict[bytes, float]:
        """Returns for how many seconds hands in play have waited for what was asked last; none if that is not kept."""

    def publish(self, note: str, witnessed: bool = False) -> None:
        """Brings that checkpoint forward, to one of the log that is durable; it never goes back.

        Args:
            note: the signed checkpoint, with all cosignatures that are known of it.
            witnessed: whether the quorum of witnesses holds for it.
        """

    def tend(self) -> bool:
        """Does what is due of the keys at rest by the clock.

        Returns:
            Whether hands in play are to be sealed anew, all that are not under a current key; then `sealed_anew`.
        """

    def sealed_anew(self) -> None:
        """Notes that every hand in play is sealed under a current key, and destroys what opened the older ones."""

    def is_seen(self, digest: bytes) -> bool:
        """Tells whether a seed of this digest was drawn before."""

    def forget(self, now: int, most: int) -> bool:
        """Forgets some of what has expired, destroys keys that nothing needs any more, and gives space back.

        Args:
            now: Unix time in milliseconds.
            most: about so many answers are forgotten at once.

        Returns:
            Whether there is more to do at once.
        """


def one_entry(store: LogStore, index: int) -> bytes:
    """Returns one entry.

    Raises:
        StoreError: it is not there, or the store does not answer.
    """
    for entry in store.entries(index, index + 1):
        return entry
    raise StoreError(f"the log has no entry {index}")
