"""What the service asks of a store: everything durable, in one transaction for each batch."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dealer.errors import CutcardError
from dealer.log.merkle import Node


class StoreError(CutcardError):
    """The store is missing, half made, damaged, or does not answer."""


class VaultError(CutcardError):
    """The keys at rest cannot be read or written at the moment."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Bytes encrypted at rest, and the id of the key that opens them."""

    key: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class HandRow:
    """One hand. `state` is JSON without a secret; `secrets` are there while the hand is in play, and never after."""

    hand: bytes
    state: str
    referee: bool
    offer: int | None
    commit: int | None
    close: int | None
    secrets: Sealed | None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One table: who opened it first, its last hand's number, and the hand in play."""

    table: str
    owner: str
    number: int
    hand: bytes | None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """The answer kept for a caller's request id.

    `body` is the digest of method and field values; `expires` is Unix time in milliseconds, None while the hand is
    in play.
    """

    caller: str
    request: bytes
    body: bytes
    hand: bytes
    answer: Sealed
    expires: int | None = None


@dataclass(slots=True)
class Batch:
    """Everything that one append makes durable, together or not at all.

    Attributes:
        entries: log entries, the first at the log's size before the batch.
        nodes: complete subtrees newly made by them.
        checkpoint: signed note over the new tree; None where no entry came.
        hands, tables, answers: rows that are new or replace the old.
        seen: digests of seeds drawn.
        expiries: for hands that closed, when their answers expire.
        proof: text that takes the place of the last proof's. Nobody reads it: that it became durable proves that the
            store can still write.
    """

    entries: list[bytes] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    checkpoint: str | None = None
    hands: dict[bytes, HandRow] = field(default_factory=dict)
    tables: dict[str, TableRow] = field(default_factory=dict)
    answers: dict[tuple[str, bytes], AnswerRow] = field(default_factory=dict)
    seen: list[bytes] = field(default_factory=list)
    expiries: dict[bytes, int] = field(default_factory=dict)
    proof: str | None = None


class Store(Protocol):
    """One dealer's durable state. Every method raises `StoreError` where the store does not answer."""

    origin: str

    def commit(self, batch: Batch) -> None:
        """Makes a batch durable. After an error it may be durable or not: the caller reads anew."""

    def size(self) -> int:
        """Returns the number of log entries."""

    def checkpoint(self) -> str:
        """Returns the newest signed checkpoint; a log begins with that of the empty tree."""

    def node(self, level: int, index: int) -> bytes:
        """Returns the hash of a complete subtree."""

    def entries(self, start: int, end: int) -> Iterator[bytes]:
        """Yields the entries [start, end)."""

    def hand(self, hand: bytes) -> HandRow | None:
        """Returns a hand."""

    def hands_in_play(self) -> Iterable[HandRow]:
        """Returns every hand that is not closed."""

    def table(self, table: str) -> TableRow | None:
        """Returns a table."""

    def answer(self, caller: str, request: bytes) -> AnswerRow | None:
        """Returns the answer kept for a request id."""

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], AnswerRow]:
        """Returns the answers kept for some of these callers' request ids, in one look-up."""

    def is_seen(self, digest: bytes) -> bool:
        """Tells whether a seed of this digest was drawn before."""

    def drop_answers(self, now: int) -> None:
        """Forgets the answers that expired by `now`."""

    def answer_keys(self) -> set[int]:
        """Returns the ids of keys that kept answers need."""

    def close(self) -> None:
        """Lets go of the store."""


def one_entry(store: Store, index: int) -> bytes:
    """Returns one entry.

    Raises:
        StoreError: it is not there, or the store does not answer.
    """
    for entry in store.entries(index, index + 1):
        return entry
    raise StoreError(f"the log has no entry {index}")
