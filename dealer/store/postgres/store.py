"""The store on PostgreSQL: each batch is one statement, its first part the fence (MACHINES.md, sections 2 and 4)."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import psycopg

from dealer.core.seed import length_prefixed
from dealer.log.checkpoint import read_checkpoint
from dealer.store.interface import Batch, HandRow, KeptAnswer, Sealed, StoreError, TableRow
from dealer.store.postgres import schema
from dealer.store.postgres.arrays import Bools, Bytes, Ints, Texts
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import Lease, Row, answered, own_clock
from dealer.store.postgres.link import Link, store_errors
from dealer.store.vault import Purpose, SealLost

_ENTRIES_AT_ONCE = 512
_RAISE_SECONDS = 60
"""A key's `keep_until` is raised by so much more than it has to, and so seldom."""
_IDLE_SECONDS = 2
HAND = "hand, state, referee, offered, committed, closed, owner, key, secrets, mac"
_SET = ", size = %(size)s, note = %(note)s"

_ENTRIES = "INSERT INTO entries SELECT u.* FROM f, unnest(%(positions)s, %(entries)s) u"
_NODES = "INSERT INTO nodes SELECT u.* FROM f, unnest(%(levels)s, %(indexes)s, %(hashes)s) u"
_SEEN = "INSERT INTO seen SELECT u.* FROM f, unnest(%(seen)s) u"
_TABLES = """
INSERT INTO tables SELECT u.* FROM f, unnest(%(names)s, %(owners)s, %(numbers)s, %(table_hands)s) u
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, number = excluded.number, hand = excluded.hand"""
_PLAYING = """
INSERT INTO hands SELECT u.hand, u.state, u.referee, u.offered, u.committed, NULL, u.owner, u.key, u.secrets, u.mac,
      %(answer_key)s, f.now
    FROM f, unnest(%(hands)s, %(states)s, %(referee)s, %(offers)s, %(commits)s, %(hand_owners)s, %(seed_keys)s,
      %(secrets)s, %(macs)s) u (hand, state, referee, offered, committed, owner, key, secrets, mac)
    ON CONFLICT (hand) DO UPDATE SET state = excluded.state, committed = excluded.committed, key = excluded.key,
      secrets = excluded.secrets, mac = excluded.mac,
      asked = CASE WHEN hands.hand = ANY(%(asked)s) THEN excluded.asked ELSE hands.asked END"""
_OVER = """
INSERT INTO hands SELECT u.hand, NULL, u.referee, u.offered, u.committed, u.closed, u.owner, NULL, NULL, NULL,
      %(answer_key)s, f.now
    FROM f, unnest(%(over)s, %(over_referee)s, %(over_offers)s, %(over_commits)s, %(closes)s, %(over_owners)s)
      u (hand, referee, offered, committed, closed, owner)
    ON CONFLICT (hand) DO UPDATE SET state = NULL, committed = excluded.committed, closed = excluded.closed, key = NULL,
      secrets = NULL, mac = NULL"""
_ASKED = "UPDATE hands SET asked = f.now FROM f WHERE hand = ANY(%(only_asked)s)"
_ANSWERS = """
INSERT INTO answers SELECT u.caller, u.request, (f.now AT TIME ZONE 'UTC')::date, u.body, u.hand, %(answer_key)s,
      u.sealed
    FROM f, unnest(%(callers)s, %(requests)s, %(bodies)s, %(answer_hands)s, %(answers)s)
      u (caller, request, body, hand, sealed)"""
_RECORDS = """
INSERT INTO records SELECT u.hand, u.number, (f.now AT TIME ZONE 'UTC')::date, %(answer_key)s, u.sealed
    FROM f, unnest(%(record_hands)s, %(record_numbers)s, %(lines)s) u (hand, number, sealed)"""
_KEPT = """
UPDATE keys SET keep_until = greatest(keep_until, to_timestamp(%(keep_until)s)) FROM f WHERE id = ANY(%(kept_keys)s)"""
_FIND = """
SELECT q.caller, q.request, a.body, a.hand, a.key, a.sealed FROM unnest(%(callers)s, %(requests)s) q (caller, request)
  CROSS JOIN LATERAL (
    SELECT body, hand, key, sealed FROM answers a WHERE a.caller = q.caller AND a.request = q.request
     ORDER BY day DESC LIMIT 1
  ) a
 WHERE EXISTS (SELECT FROM keys WHERE id = a.key)"""
_RECORD = """
SELECT r.number, r.key, r.sealed, k.id IS NOT NULL FROM records r LEFT JOIN keys k ON k.id = r.key
 WHERE r.hand = %(hand)s ORDER BY r.number"""


class Upkeep(Protocol):
    """What is done by the clock with days and keys at rest."""

    def tend(self) -> None:
        """Does what is due."""

    def finish_change(self) -> None:
        """Ends a change of generation."""

    def forget(self, now: float) -> bool:
        """Forgets what has expired; says whether there is more."""


class PostgresReader:
    """What is read of a log's database, by any dealer: everything but what is sealed.

    Attributes:
        link: its connection.
    """

    def __init__(self, link: Link, *, moving: bool = False) -> None:
        """Reads by a connection, which is the reader's from now on.

        Raises:
            StoreError: there is no log of this version.
        """
        self.link = link
        self.origin = schema.origin_of(link, moving=moving)

    def size(self) -> int:
        """See `Store.size`."""
        return int(self._only("SELECT size FROM writer")[0])

    def checkpoint(self) -> str:
        """See `Store.checkpoint`."""
        return str(self._only("SELECT note FROM writer")[0])

    def node(self, level: int, index: int) -> bytes:
        """See `Store.node`."""
        return read_node(self.link, level, index)

    def entries(self, start: int, end: int) -> Iterator[bytes]:
        """See `Store.entries`."""
        query = "SELECT entry FROM entries WHERE position >= %(from)s AND position < %(to)s ORDER BY position"
        for first in range(start, end, _ENTRIES_AT_ONCE):
            rows = self._all(query, **{"from": first, "to": min(end, first + _ENTRIES_AT_ONCE)})
            yield from (bytes(entry) for (entry,) in rows)
            if len(rows) < min(end - first, _ENTRIES_AT_ONCE):
                return

    def table(self, table: str) -> TableRow | None:
        """See `Store.table`."""
        row = self._one("SELECT name, owner, number, hand FROM tables WHERE name = %(name)s", name=table)
        return TableRow(row[0], row[1], row[2], row[3]) if row else None

    def tables(self) -> Iterable[TableRow]:
        """See `Store.tables`."""
        rows = self._all('SELECT name, owner, number, hand FROM tables ORDER BY name COLLATE "C"')
        return [TableRow(name, owner, number, hand) for name, owner, number, hand in rows]

    def tables_in_play(self) -> Iterable[TableRow]:
        """See `Store.tables_in_play`."""
        rows = self._all("SELECT name, owner, number, hand FROM tables WHERE hand IS NOT NULL")
        return [TableRow(name, owner, number, hand) for name, owner, number, hand in rows]

    def is_seen(self, digest: bytes) -> bool:
        """See `Store.is_seen`."""
        return self._one("SELECT 1 FROM seen WHERE digest = %(digest)s", digest=digest) is not None

    def published(self) -> str:
        """See `Store.published`."""
        return str(self._only("SELECT note FROM published")[0])

    def witnessed(self) -> str | None:
        """See `Store.witnessed`."""
        return self.mark("witnessed")

    def mark(self, name: str) -> str | None:
        """See `Store.mark`."""
        row = self._one("SELECT value FROM meta WHERE name = %(name)s", name=name)
        return None if row is None else str(row[0])

    def close(self) -> None:
        """See `Store.close`."""
        self.link.close()

    def _all(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        with store_errors():
            return self.link.execute(query.encode(), values, binary=True).fetchall()

    def _one(self, query: str, **values: object) -> tuple[Any, ...] | None:
        with store_errors():
            return self.link.execute(query.encode(), values, binary=True).fetchone()

    def _only(self, query: str) -> tuple[Any, ...]:
        row = self._one(query)
        if row is None:
            raise StoreError("the database has lost its writer row: put the newest database back")
        return row


def read_node(link: Link, level: int, index: int) -> bytes:
    """Returns the hash of a complete subtree.

    Raises:
        StoreError: it is not there, or the database does not answer.
    """
    query = b"SELECT hash FROM nodes WHERE level = %s AND position = %s"
    with store_errors():
        row = link.execute(query, (level, index), binary=True).fetchone()
    if row is None:
        raise StoreError(f"the log has no node {index} at level {level}")
    return bytes(row[0])


class PostgresStore(PostgresReader):
    """The writer's store: what changes, changes under one epoch. It belongs to the writer's thread.

    Attributes:
        keyring: the dealer's keys at rest.
        lease: the dealer's.
        row: the writer's row, as the taking of this epoch found it, and as this store has changed it since.
    """

    def __init__(
        self,
        link: Link,
        keyring: Keyring,
        lease: Lease,
        row: Row,
        clock: Callable[[], float] = time.time,
        *,
        moving: bool = False,
    ) -> None:
        """Reads the database by new statements, after the taking of its epoch was answered.

        Raises:
            StoreError: it does not answer, or is of another version.
        """
        super().__init__(link, moving=moving)
        self.keyring, self.lease, self.row = keyring, lease, row
        self._clock = clock
        self._uncertain = False
        self.upkeep: Upkeep | None = None
        self.on_certain: Callable[[], None] = lambda: None
        rows = self._all("SELECT id, extract(epoch FROM made)::float8 FROM keys WHERE purpose = 'answer' ORDER BY made")
        self.answer_keys: dict[int, float] = dict(rows)
        self._raised: dict[int, float] = {}
        self.answers_from: dict[bytes, int] = dict(
            self._all("SELECT hand, answers_from FROM hands WHERE closed IS NULL")
        )

    @property
    def uncertain(self) -> bool:
        """See `Store.uncertain`."""
        return self._uncertain

    @uncertain.setter
    def uncertain(self, uncertain: bool) -> None:
        self._uncertain = uncertain
        if not uncertain:
            self.on_certain()

    @property
    def epoch(self) -> int:
        """Returns the epoch that this store writes under."""
        return self.row.epoch

    def commit(self, batch: Batch) -> None:
        """See `Store.commit`. Nothing of it is there if the lease was lost (`LeaseLost`)."""
        parts, values = self._parts(batch)
        change, also = "", ""
        size, note = self.row.size + len(batch.entries), self.row.note
        if batch.entries or batch.checkpoint is not None:
            note = note if batch.checkpoint is None else batch.checkpoint
            change, also = _SET, "AND size = %(old)s"
            values |= {"size": size, "note": note, "old": self.row.size}
        fence = self.lease.fence(change, also)
        more = "".join(f",\n  p{number} AS ({part})" for number, part in enumerate(parts))
        self._fenced_statement(f"WITH f AS ({fence}){more}\nSELECT beat, now FROM f", values)
        self._changed(size=size, note=note)
        for hand, row in batch.hands.items():
            if row.close is None:
                self.answers_from.setdefault(hand, self._answer_key())
            else:
                self.answers_from.pop(hand, None)

    def _fenced_statement(self, statement: str, values: Mapping[str, object]) -> None:
        asked = own_clock()
        with answered(self.link), store_errors():
            found = self.link.execute(
                statement.encode(), {**values, **self.lease.fenced(self.epoch)}, binary=True
            ).fetchone()
        if found is None:
            raise self.lease.lost(self.epoch)
        self.lease.confirmed(self.epoch, asked, found[1])

    @contextmanager
    def fenced(self, change: str = "", **values: object) -> Iterator[datetime]:
        """Makes what is done in the block one transaction, whose first statement is the fence; yields its time.

        Raises:
            LeaseLost: another dealer writes: the block was not run.
            StoreError: it is durable or not.
        """
        link, asked = self.link, own_clock()
        try:
            with answered(link), store_errors():
                link.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                fence = self.lease.fence(change).encode()
                found = link.execute(fence, {**values, **self.lease.fenced(self.epoch)}, binary=True).fetchone()
                if found is None:
                    link.execute("ROLLBACK")
                    raise self.lease.lost(self.epoch)
                link.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{_IDLE_SECONDS}s'".encode())
                yield found[1]
                link.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                if link.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    link.close()  # which ends the transaction too
            raise
        self.lease.confirmed(self.epoch, asked, found[1])

    def _changed(self, **values: object) -> None:
        self.row = replace(self.row, **values)  # type: ignore[arg-type]

    def confirm(self) -> None:
        """See `Store.confirm`."""
        if not self.lease.lasts:
            self.lease.renew(self.link, self.epoch)

    def _parts(self, batch: Batch) -> tuple[list[str], dict[str, object]]:
        """Returns the parts of a batch's statement after its fence, and their values."""
        parts, values = list[str](), dict[str, object]()
        if batch.entries:
            parts.append(_ENTRIES)
            first = self.row.size
            values["positions"] = Ints.of(range(first, first + len(batch.entries)))
            values["entries"] = Bytes.of(batch.entries)
        if batch.nodes:
            parts.append(_NODES)
            values["levels"] = Ints.of([node.level for node in batch.nodes])
            values["indexes"] = Ints.of([node.index for node in batch.nodes])
            values["hashes"] = Bytes.of([node.hash for node in batch.nodes])
        if batch.seen:
            parts.append(_SEEN)
            values["seen"] = Bytes.of(batch.seen)
        if batch.tables:
            parts.append(_TABLES)
            rows = list(batch.tables.values())
            values["names"] = Texts.of([row.table for row in rows])
            values["owners"] = Texts.of([row.owner for row in rows])
            values["numbers"] = Ints.of([row.number for row in rows])
            values["table_hands"] = Bytes.of([row.hand for row in rows])
        self._hand_parts(batch, parts, values)
        self._kept_parts(batch, parts, values)
        return parts, values

    def _hand_parts(self, batch: Batch, parts: list[str], values: dict[str, object]) -> None:
        playing = [row for row in batch.hands.values() if row.close is None]
        over = [row for row in batch.hands.values() if row.close is not None]
        values["answer_key"] = self._answer_key()
        if playing:
            parts.append(_PLAYING)
            values["hands"] = Bytes.of([row.hand for row in playing])
            values["states"] = Texts.of([row.state for row in playing])
            values["referee"] = Bools.of([row.referee for row in playing])
            values["offers"] = Ints.of([row.offer for row in playing])
            values["commits"] = Ints.of([row.commit for row in playing])
            values["hand_owners"] = Texts.of([row.owner for row in playing])
            values["seed_keys"] = Ints.of([row.secrets.key if row.secrets else None for row in playing])
            values["secrets"] = Bytes.of([row.secrets.data if row.secrets else None for row in playing])
            values["macs"] = Bytes.of([self._mac(row) for row in playing])
            values["asked"] = Bytes.of(list(batch.asked))
        if over:
            parts.append(_OVER)
            values["over"] = Bytes.of([row.hand for row in over])
            values["over_referee"] = Bools.of([row.referee for row in over])
            values["over_offers"] = Ints.of([row.offer for row in over])
            values["over_commits"] = Ints.of([row.commit for row in over])
            values["closes"] = Ints.of([row.close for row in over])
            values["over_owners"] = Texts.of([row.owner for row in over])
            self._keep_answers(over, batch, parts, values)
        if asked := [hand for hand in batch.asked if hand not in batch.hands]:
            parts.append(_ASKED)
            values["only_asked"] = Bytes.of(asked)

    def _mac(self, row: HandRow) -> bytes | None:
        if row.secrets is None:
            return None
        return self.keyring.mac(row.secrets.key, row.hand, row.owner, row.state or "")

    def _keep_answers(self, over: list[HandRow], batch: Batch, parts: list[str], values: dict[str, object]) -> None:
        """Has the keys of answers kept for as long as those of the hands that are over with this batch are."""
        firsts = [self.answers_from.get(row.hand, self._answer_key()) for row in over]
        since = min((self.answer_keys.get(first, 0.0) for first in firsts), default=0.0)
        until = batch.expires / 1000 + self.lease.now() - self._clock()  # on the database's clock
        keys = [key for key, made in self.answer_keys.items() if made >= since and self._raised.get(key, 0.0) < until]
        if keys:
            parts.append(_KEPT)
            values["keep_until"] = until + _RAISE_SECONDS
            values["kept_keys"] = Ints.of(keys)
            self._raised |= dict.fromkeys(keys, until + _RAISE_SECONDS)

    def _kept_parts(self, batch: Batch, parts: list[str], values: dict[str, object]) -> None:
        seal = self.keyring.seal_answer
        if batch.answers:
            parts.append(_ANSWERS)
            values["callers"] = Texts.of([each.caller for each in batch.answers])
            values["requests"] = Bytes.of([each.request for each in batch.answers])
            values["bodies"] = Bytes.of([each.body for each in batch.answers])
            values["answer_hands"] = Bytes.of([each.hand for each in batch.answers])
            values["answers"] = Bytes.of(
                [
                    seal(0, each.answer, answer_place(each.caller, each.request, each.body, each.hand)).data
                    for each in batch.answers
                ]
            )
        if batch.records:
            parts.append(_RECORDS)
            values["record_hands"] = Bytes.of([each.hand for each in batch.records])
            values["record_numbers"] = Ints.of([each.number for each in batch.records])
            values["lines"] = Bytes.of(
                [seal(0, each.line, record_place(each.hand, each.number)).data for each in batch.records]
            )

    def _answer_key(self) -> int:
        key = self.keyring.answer
        return 0 if key is None else key.id

    def hand(self, hand: bytes) -> HandRow | None:
        """See `Store.hand`."""
        row = self._one(f"SELECT {HAND} FROM hands WHERE hand = %(hand)s", hand=hand)  # noqa: S608 - a constant
        return self._hand(row) if row else None

    def hands_in_play(self) -> Iterable[HandRow]:
        """See `Store.hands_in_play`."""
        return [self._hand(row) for row in self._all(f"SELECT {HAND} FROM hands WHERE closed IS NULL")]  # noqa: S608

    def _hand(self, row: tuple[Any, ...]) -> HandRow:
        """Returns a row; without its secrets where it was not written by a dealer: it is never dealt from."""
        hand, state, referee, offer, commit, close, owner, key, data, mac = row
        secrets = Sealed(key, bytes(data)) if key is not None and data is not None else None
        found = HandRow(bytes(hand), state, referee, offer, commit, close, secrets, owner)
        if secrets is not None:
            try:
                genuine = mac is not None and bytes(mac) == self._mac(found)
            except SealLost:
                genuine = True  # its secrets do not open either
            if not genuine:
                return HandRow(bytes(hand), state, referee, offer, commit, close, None, owner)
        return found

    def publish(self, note: str, witnessed: bool = False) -> None:
        """See `Store.publish`."""
        size = read_checkpoint(note).size
        with self.fenced(), store_errors():
            self.link.execute("UPDATE published SET size = %s, note = %s WHERE one AND size <= %s", (size, note, size))
            if witnessed:
                self.link.execute(
                    "INSERT INTO meta VALUES ('witnessed', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (note,),
                )

    def tend(self) -> bool:
        """See `Store.tend`."""
        if self.upkeep is None:
            return False
        self.upkeep.tend()
        return self.row.clean != self.row.generation

    def sealed_anew(self) -> None:
        """See `Store.sealed_anew`."""
        if self.upkeep is not None:
            self.upkeep.finish_change()

    def forget(self, now: int, most: int) -> bool:
        """See `Store.forget`: what has expired goes with its key, an hour's answers at once."""
        return self.upkeep is not None and self.upkeep.forget(now / 1000)

    def waited(self) -> dict[bytes, float]:
        """See `Store.waited`."""
        query = "SELECT hand, extract(epoch FROM clock_timestamp() - asked)::float8 FROM hands WHERE closed IS NULL"
        return {bytes(hand): seconds for hand, seconds in self._all(query)}

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], KeptAnswer]:
        """See `Store.answers`."""
        if not asked:
            return {}
        callers, requests = Texts.of([caller for caller, _ in asked]), Bytes.of([request for _, request in asked])
        found = {}
        for caller, request, body, hand, key, sealed in self._all(_FIND, callers=callers, requests=requests):
            place = answer_place(caller, bytes(request), bytes(body), bytes(hand))
            opened = partial(self.keyring.open, Purpose.ANSWER, Sealed(key, bytes(sealed)), place)
            found[caller, bytes(request)] = KeptAnswer(caller, bytes(request), bytes(body), bytes(hand), opened)
        return found

    def record(self, hand: bytes) -> list[bytes]:
        """See `Store.record`."""
        rows = self._all(_RECORD, hand=hand)
        if not all(there for *_, there in rows):
            return []  # a record is kept as a whole: with its first piece that goes it is gone
        if [number for number, *_ in rows] != list(range(len(rows))):
            raise SealLost("a piece of a referee's record is missing")
        return [
            self.keyring.open(Purpose.ANSWER, Sealed(key, bytes(sealed)), record_place(hand, number))
            for number, key, sealed, _ in rows
        ]


def answer_place(caller: str, request: bytes, body: bytes, hand: bytes) -> bytes:
    """Returns what a kept answer is sealed for."""
    return b"answer" + length_prefixed(caller.encode()) + request + body + hand


def record_place(hand: bytes, number: int) -> bytes:
    """Returns what a piece of a referee's record is sealed for."""
    return b"record" + hand + number.to_bytes(4, "big")
