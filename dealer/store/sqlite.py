"""The embedded store: one SQLite file, written ahead, synchronised at every commit."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dealer.store.interface import Batch, HandRow, KeptAnswer, Sealed, StoreError, TableRow
from dealer.store.kept import MEMBER_BYTES, Member, Packing, members_of, read_members, write_members
from dealer.store.needs import Change, Needs
from dealer.store.vault import Purpose, SealLost, Vault

FILE = "cutcard.sqlite3"
VERSION = 2
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE entries (position INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
CREATE TABLE nodes (
  level INTEGER NOT NULL, position INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint (only INTEGER PRIMARY KEY CHECK (only = 0), note TEXT NOT NULL) STRICT;
CREATE TABLE playing (
  id INTEGER PRIMARY KEY, hand BLOB NOT NULL UNIQUE, state TEXT NOT NULL, referee INTEGER NOT NULL, offered INTEGER,
  committed INTEGER, seed_key INTEGER, secrets BLOB
) STRICT;
CREATE TABLE over (
  hand BLOB PRIMARY KEY, referee INTEGER NOT NULL, offered INTEGER, committed INTEGER, closed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tables (name TEXT PRIMARY KEY, owner TEXT NOT NULL, number INTEGER NOT NULL, hand BLOB)
  STRICT, WITHOUT ROWID;
CREATE TABLE callers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE batches (id INTEGER PRIMARY KEY, answer_key INTEGER NOT NULL, expires INTEGER) STRICT;
CREATE INDEX batches_expiring ON batches (expires) WHERE expires IS NOT NULL;
CREATE INDEX batches_needed ON batches (id) WHERE expires IS NULL;
CREATE TABLE kept (batch INTEGER PRIMARY KEY, members BLOB NOT NULL, sealed BLOB NOT NULL) STRICT;
CREATE TABLE requests (
  request BLOB NOT NULL, caller INTEGER NOT NULL, batch INTEGER NOT NULL, slot INTEGER NOT NULL,
  PRIMARY KEY (request, caller)
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
  hand BLOB NOT NULL, number INTEGER NOT NULL, batch INTEGER NOT NULL, slot INTEGER NOT NULL,
  PRIMARY KEY (hand, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE seen (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
"""
_SPARE_PAGES = 1024
"""So many free pages of 4 KiB, or an eighth of the file, are kept for what comes; the others go back to the disk."""
_VACUUM_PAGES = 256
_PLAYING = "hand, state, referee, offered, committed, NULL, seed_key, secrets"
_FIND = """
SELECT name, request, requests.batch, slot, substr(members, slot * ?1 + 1, ?1), caller
FROM requests JOIN callers ON id = caller LEFT JOIN kept ON kept.batch = requests.batch WHERE request IN"""
_BLOBS_OPEN = 8
"""So many blobs stay open while a batch's repeats are looked up: those that come together are of a few batches."""
_OVER = "hand, NULL, referee, offered, committed, closed, NULL, NULL"


_AHEAD_KEPT = 16 * 1024 * 1024
_AHEAD_WAIT_MS = 100


def written_ahead(path: Path) -> int:
    """Returns the bytes of a store's write-ahead log: what its file does not hold yet, and room for more."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"the store's write-ahead log cannot be looked at: {error.strerror}") from None


def write_back(path: Path) -> None:
    """Brings what was written ahead into a store's file, as far as its readers let it, and gives the room back.

    On a connection of its own, so that a writer goes on meanwhile. It is held up only while the last frames, which came
    in that time, are brought in, and for a tenth of a second at most while somebody reads.

    Raises:
        StoreError: the store does not answer.
    """
    uri = f"{path.resolve().as_uri()}?mode=rw"
    with told(), closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA busy_timeout = {_AHEAD_WAIT_MS}")
        _, frames, brought = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames == brought:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


class SqliteStore:
    """A store in one SQLite file. One instance belongs to one thread at a time."""

    def __init__(self, path: Path, vault: Vault | None = None, *, read_only: bool = False) -> None:
        """Opens a store that exists.

        Args:
            path: its file.
            vault: the keys at rest, under which answers and records are sealed; None for who reads neither.
            read_only: nothing is written.

        Raises:
            StoreError: it does not exist, is of another version, or cannot be read.
        """
        if not path.is_file():
            raise StoreError(f"there is no store at {path}")
        with told():
            self._db = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={'ro' if read_only else 'rw'}",
                uri=True,
                timeout=5,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=64,
            )
        self._vault = vault
        self._packing = Packing()
        self._needs = Needs()
        self._keys_to_look_at = True
        try:
            with told():
                meta = dict(self._db.execute("SELECT name, value FROM meta"))
            _check_version(path, meta.get("version"))
            self.origin: str = meta["origin"]
            if not read_only:
                self._prepare_to_write()
                self._load_needs()
        except BaseException:
            self._db.close()
            raise

    @classmethod
    def create(cls, path: Path, origin: str, checkpoint: str) -> None:
        """Makes an empty store with the signed checkpoint of the empty log; the file must not exist.

        Raises:
            StoreError: it exists, or cannot be written.
        """
        if path.exists():
            raise StoreError(f"{path} exists already")
        with told(), closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before anything is written: later it has no effect
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(f"BEGIN; {_SCHEMA}")
            rows = [("version", str(VERSION)), ("origin", origin)]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            db.execute("INSERT INTO checkpoint VALUES (0, ?)", (checkpoint,))
            db.execute("COMMIT")

    def _prepare_to_write(self) -> None:
        with told():
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA secure_delete = FAST")
            self._db.execute(f"PRAGMA journal_size_limit = {_AHEAD_KEPT}")

    def commit(self, batch: Batch) -> None:
        """See `Store.commit`."""
        with self._transaction():
            needs = self._write(batch)
        self._needs.take(needs)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Makes what is written in the block durable, together or not at all."""
        db = self._db
        with told():
            db.execute("BEGIN IMMEDIATE")
            try:
                yield
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _write(self, batch: Batch) -> "Change":
        db = self._db
        if batch.entries:
            size = self.size()
            db.executemany("INSERT INTO entries VALUES (?, ?)", enumerate(batch.entries, size))
        db.executemany("INSERT INTO nodes VALUES (?, ?, ?)", batch.nodes)
        if batch.checkpoint is not None:
            db.execute("INSERT OR REPLACE INTO checkpoint VALUES (0, ?)", (batch.checkpoint,))
        if batch.seen:
            db.executemany("INSERT INTO seen VALUES (?)", [(digest,) for digest in batch.seen])
        self._write_hands(batch.hands.values())
        db.executemany(
            "INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?)",
            [(row.table, row.owner, row.number, row.hand) for row in batch.tables.values()],
        )
        if batch.proof is not None:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('proof', ?)", (batch.proof,))
        return self._write_kept(batch)

    def _write_hands(self, rows: Iterable[HandRow]) -> None:
        playing = [
            (row.hand, row.state, row.referee, row.offer, row.commit, *_sealed(row))
            for row in rows
            if row.close is None
        ]
        over = [row for row in rows if row.close is not None]
        self._db.executemany(
            "INSERT INTO playing (hand, state, referee, offered, committed, seed_key, secrets) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hand) DO UPDATE SET state = excluded.state, "
            "committed = excluded.committed, seed_key = excluded.seed_key, secrets = excluded.secrets",
            playing,
        )
        self._db.executemany("DELETE FROM playing WHERE hand = ?", [(row.hand,) for row in over])
        self._db.executemany(
            "INSERT OR REPLACE INTO over VALUES (?, ?, ?, ?, ?)",
            [(row.hand, row.referee, row.offer, row.commit, row.close) for row in over],
        )

    def _write_kept(self, batch: Batch) -> "Change":
        """Keeps a batch's answers and records in one blob, and says of older ones when they expire."""
        db, members, key = self._db, list[Member](), 0
        if batch.answers or batch.records:
            members = members_of(batch.answers, self._callers(batch), batch.records)
            pieces = [*(each.answer for each in batch.answers), *(each.line for each in batch.records)]
            id_ = self._needs.last + 1
            listed = write_members(members)
            blob = self._packing.pack(pieces)
            sealed = self._opened_vault().seal_answer(time.monotonic(), blob, _context(id_, listed))
            key = sealed.key
        change = self._needs.change(batch, members, key)
        if members:
            expires = batch.expires if id_ in change.finished else None
            db.execute("INSERT INTO batches VALUES (?, ?, ?)", (id_, key, expires))
            db.execute("INSERT INTO kept VALUES (?, ?, ?)", (id_, listed, sealed.data))
            slots = list(enumerate(members))
            db.executemany(
                "INSERT INTO requests VALUES (?, ?, ?, ?)",
                [(m.request, m.number, id_, s) for s, m in slots if not m.record],
            )
            db.executemany(
                "INSERT INTO records VALUES (?, ?, ?, ?)", [(m.hand, m.number, id_, s) for s, m in slots if m.record]
            )
        older = [(batch.expires, id_) for id_ in change.finished if not (members and id_ == change.id)]
        db.executemany("UPDATE batches SET expires = ? WHERE id = ?", older)
        return change

    def _callers(self, batch: Batch) -> dict[str, int]:
        """The numbers by which callers are known here; a new one gets the next."""
        numbers = {}
        for name in {each.caller for each in batch.answers}:
            self._db.execute("INSERT OR IGNORE INTO callers (name) VALUES (?)", (name,))
            (numbers[name],) = self._db.execute("SELECT id FROM callers WHERE name = ?", (name,)).fetchone()
        return numbers

    def _opened_vault(self) -> Vault:
        if self._vault is None:
            raise StoreError("this store was opened without the keys at rest")
        return self._vault

    def _load_needs(self) -> None:
        """Reads which batches hands in play still need, and how many batches each answer key has sealed."""
        with told():
            playing = {hand for (hand,) in self._db.execute("SELECT hand FROM playing")}
            (last,) = self._db.execute("SELECT max(id) FROM batches").fetchone()
            self._needs = Needs(last or 0, playing)
            self._needs.keys.update(dict(self._db.execute("SELECT answer_key, count(*) FROM batches GROUP BY 1")))
            for id_, members in self._db.execute(
                "SELECT id, members FROM batches JOIN kept ON batch = id WHERE expires IS NULL"
            ):
                self._needs.add(id_, {member.hand for member in read_members(members)} & playing)

    @property
    def newest_batch(self) -> int:
        """The number of the newest batch of answers; 0 before the first."""
        return self._needs.last

    def size(self) -> int:
        """See `Store.size`."""
        with told():
            (last,) = self._db.execute("SELECT max(position) FROM entries").fetchone()
        return 0 if last is None else int(last) + 1

    def checkpoint(self) -> str:
        """See `Store.checkpoint`."""
        row = self._one("SELECT note FROM checkpoint")
        if row is None:
            raise StoreError("the store has no checkpoint")
        return str(row[0])

    def node(self, level: int, index: int) -> bytes:
        """See `Store.node`."""
        row = self._one("SELECT hash FROM nodes WHERE level = ? AND position = ?", level, index)
        if row is None:
            raise StoreError(f"the log has no node {index} at level {level}")
        return bytes(row[0])

    def entries(self, start: int, end: int) -> Iterator[bytes]:
        """See `Store.entries`."""
        with told():
            for (entry,) in self._db.execute(
                "SELECT entry FROM entries WHERE position >= ? AND position < ? ORDER BY position", (start, end)
            ):
                yield entry

    def hand(self, hand: bytes) -> HandRow | None:
        """See `Store.hand`."""
        row = self._one(f"SELECT {_PLAYING} FROM playing WHERE hand = ?", hand)  # noqa: S608 - a constant
        row = row or self._one(f"SELECT {_OVER} FROM over WHERE hand = ?", hand)  # noqa: S608
        return _hand(row) if row else None

    def hands_in_play(self) -> Iterable[HandRow]:
        """See `Store.hands_in_play`."""
        with told():
            rows = self._db.execute(f"SELECT {_PLAYING} FROM playing ORDER BY id").fetchall()  # noqa: S608
        return [_hand(row) for row in rows]

    def table(self, table: str) -> TableRow | None:
        """See `Store.table`."""
        row = self._one("SELECT name, owner, number, hand FROM tables WHERE name = ?", table)
        return TableRow(*row) if row else None

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], KeptAnswer]:
        """See `Store.answers`."""
        if not asked:
            return {}
        places = ", ".join("?" * len(asked))
        query = f"{_FIND} ({places})"
        wanted, pieces = set(asked), lru_cache(_BLOBS_OPEN)(self._pieces)
        with told():
            rows = self._db.execute(query, [MEMBER_BYTES, *(request for _, request in asked)]).fetchall()
        return {
            (name, request): _kept_answer(name, request, caller, member, partial(_piece, pieces, batch, slot))
            for name, request, batch, slot, member, caller in rows
            if (name, request) in wanted
        }

    def record(self, hand: bytes) -> list[bytes]:
        """See `Store.record`."""
        with told():
            rows = self._db.execute(
                "SELECT number, batch, slot FROM records WHERE hand = ? ORDER BY number", (hand,)
            ).fetchall()
        if [number for number, _, _ in rows] != list(range(len(rows))):
            return []  # pieces lie in several batches, and those that expired first have been forgotten
        pieces = lru_cache(1)(self._pieces)
        return [pieces(batch)[slot] for _, batch, slot in rows]

    def _pieces(self, batch: int) -> list[bytes]:
        """Opens a batch's blob.

        Raises:
            SealLost: its key is gone, or it has been forgotten since it was found.
        """
        row = self._one("SELECT answer_key, sealed, members FROM batches JOIN kept ON batch = id WHERE id = ?", batch)
        if row is None:
            raise SealLost(f"batch {batch} of kept answers has been forgotten")
        key, data, members = row
        blob = self._opened_vault().open(Purpose.ANSWER, Sealed(key, data), _context(batch, members))
        return self._packing.unpack(blob)

    def is_seen(self, digest: bytes) -> bool:
        """See `Store.is_seen`."""
        return self._one("SELECT 1 FROM seen WHERE digest = ?", digest) is not None

    def forget(self, now: int, most: int) -> bool:
        """See `Store.forget`."""
        gone = self._forget_batches(now, most)
        self._keys_to_look_at |= self._needs.drop(gone)
        if self._keys_to_look_at:  # at the first time too: a crash may have come between a batch's end and its key's
            self._opened_vault().destroy_unused(Purpose.ANSWER, self._needs.keys)
            self._keys_to_look_at = False
        return self._give_back() or bool(gone)

    def _forget_batches(self, now: int, most: int) -> dict[int, int]:
        """Deletes batches whose time has come, and returns which, with the keys that sealed them."""
        due = "SELECT id, answer_key FROM batches WHERE expires <= ? ORDER BY expires LIMIT ?"
        with told():
            rows = self._db.execute(due, (now, most)).fetchall()
        gone, count = dict[int, int](), 0
        if rows:
            with self._transaction():
                for id_, key in rows:
                    if count < most:
                        gone[id_] = key
                        count += self._delete(id_)
        return gone

    def _delete(self, batch: int) -> int:
        db = self._db
        (data,) = db.execute("SELECT members FROM kept WHERE batch = ?", (batch,)).fetchone()
        members = read_members(data)
        answers = [(member.request, member.number) for member in members if not member.record]
        records = [(member.hand, member.number) for member in members if member.record]
        db.executemany("DELETE FROM requests WHERE request = ? AND caller = ?", answers)
        db.executemany("DELETE FROM records WHERE hand = ? AND number = ?", records)
        db.execute("DELETE FROM kept WHERE batch = ?", (batch,))
        db.execute("DELETE FROM batches WHERE id = ?", (batch,))
        return len(members)

    def _give_back(self) -> bool:
        """Gives some free pages back to the disk, and says whether there are more."""
        with told():
            free, pages = self._pragma("freelist_count"), self._pragma("page_count")
            spare = free - max(_SPARE_PAGES, pages // 8)
            if spare <= 0:
                return False
            self._db.execute(f"PRAGMA incremental_vacuum({min(spare, _VACUUM_PAGES)})").fetchall()
            return spare > _VACUUM_PAGES and self._pragma("freelist_count") < free

    def _pragma(self, name: str) -> int:
        (value,) = self._db.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    def close(self) -> None:
        """See `Store.close`."""
        self._db.close()

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with told():
            row: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return row


def version_of(path: Path) -> int:
    """Returns the version of the store at `path`.

    Raises:
        StoreError: there is none, or it cannot be read.
    """
    if not path.is_file():
        raise StoreError(f"there is no store at {path}")
    with told(), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        row = db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    if row is None or not str(row[0]).isdecimal():
        raise StoreError(f"{path} does not say of which version it is")
    return int(row[0])


def _check_version(path: Path, version: str | None) -> None:
    if version == str(VERSION):
        return
    if version is not None and version.isdecimal() and int(version) < VERSION:
        raise StoreError(
            f"{path} is a store of version {version}: bring it up to version {VERSION} by `dealer migrate`"
        )
    raise StoreError(f"{path} is a store of version {version}, and this dealer reads {VERSION}: use a newer dealer")


def _context(batch: int, members: bytes) -> bytes:
    """What a blob is sealed for: nobody's request finds another one's answer in it, whatever the rows say."""
    return b"batch" + batch.to_bytes(8, "big") + members


def _kept_answer(
    name: str, request: bytes, caller: int, member: bytes | None, open_: Callable[[], bytes]
) -> KeptAnswer:
    for m in read_members(member or b""):
        if (m.record, m.request, m.number) == (False, request, caller):
            return KeptAnswer(name, request, m.body, m.hand, open_)
    raise StoreError("the store holds a request without its answer")


def _piece(pieces: Callable[[int], list[bytes]], batch: int, slot: int) -> bytes:
    return pieces(batch)[slot]


def _sealed(row: HandRow) -> tuple[int | None, bytes | None]:
    return (row.secrets.key, row.secrets.data) if row.secrets else (None, None)


def _hand(row: tuple[Any, ...]) -> HandRow:
    hand, state, referee, offer, commit, close, key, data = row
    secrets = Sealed(key, data) if key is not None else None
    return HandRow(hand, state, bool(referee), offer, commit, close, secrets)


@contextmanager
def told() -> Iterator[None]:
    """Raises `StoreError` for whatever the database says."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the store does not answer: {error}") from error
