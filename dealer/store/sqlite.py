"""The embedded store: one SQLite file, written ahead, synchronised at every commit."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dealer.log.checkpoint import read_checkpoint
from dealer.store.interface import Answer, Batch, HandRow, KeptAnswer, RecordLine, Sealed, StoreError, TableRow
from dealer.store.keeping import Keeping, Written
from dealer.store.vault import Vault

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
CREATE TABLE batches (id INTEGER PRIMARY KEY, answer_key INTEGER NOT NULL, answers INTEGER NOT NULL, expires INTEGER)
  STRICT;
CREATE INDEX batches_expiring ON batches (expires) WHERE expires IS NOT NULL;
CREATE INDEX batches_needed ON batches (id) WHERE expires IS NULL;
CREATE TABLE kept (batch INTEGER PRIMARY KEY, members BLOB NOT NULL, sealed BLOB NOT NULL) STRICT;
CREATE TABLE requests (key BLOB PRIMARY KEY, batch INTEGER NOT NULL, slot INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE merged (part INTEGER PRIMARY KEY, batch INTEGER NOT NULL) STRICT;
CREATE TABLE recorded (hand BLOB PRIMARY KEY, batches BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE seen (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
"""
_SPARE_PAGES = 256
"""So many free pages of 4 KiB, or a sixteenth of the file, are kept for what comes; the others go back to the disk."""
_VACUUM_PAGES = 256
_PLAYING = "hand, state, referee, offered, committed, NULL, seed_key, secrets"
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
    with store_errors(), closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA busy_timeout = {_AHEAD_WAIT_MS}")
        _, frames, brought = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames == brought:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


Connect = Callable[[Path, bool], sqlite3.Connection]
"""Opens a database that exists, for reading alone if asked to; what goes wrong with it is a `sqlite3.Error`."""


def connect(path: Path, read_only: bool) -> sqlite3.Connection:
    """Opens a database by the standard module."""
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        timeout=5,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )


class SqliteStore:
    """A store in one SQLite file. One instance belongs to one thread at a time."""

    uncertain = False

    def __init__(
        self,
        path: Path,
        vault: Vault | None = None,
        *,
        read_only: bool = False,
        writes_marks: bool = False,
        connect: Connect = connect,
    ) -> None:
        """Opens a store that exists.

        Args:
            path: its file.
            vault: the keys at rest, under which answers and records are sealed; None for who reads neither.
            read_only: nothing is written.
            writes_marks: nothing is written but marks.
            connect: opens the database.

        Raises:
            StoreError: it does not exist, is of another version, or cannot be read.
        """
        if not path.is_file():
            raise StoreError(f"there is no store at {path}")
        with store_errors():
            self._db = connect(path, read_only)
        self._kept = Keeping(self._db, vault)
        try:
            with store_errors():
                meta = dict(self._db.execute("SELECT name, value FROM meta"))
            _check_version(path, meta.get("version"))
            self.origin: str = meta["origin"]
            if not read_only:
                self._prepare_to_write()
                if not writes_marks:
                    with store_errors():
                        self._kept.load()
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
        with store_errors(), closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before anything is written: later it has no effect
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(f"BEGIN; {_SCHEMA}")
            rows = [("version", str(VERSION)), ("origin", origin)]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            db.execute("INSERT INTO checkpoint VALUES (0, ?)", (checkpoint,))
            db.execute("COMMIT")

    def _prepare_to_write(self) -> None:
        with store_errors():
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA secure_delete = FAST")
            self._db.execute(f"PRAGMA journal_size_limit = {_AHEAD_KEPT}")

    def commit(self, batch: Batch) -> None:
        """See `Store.commit`."""
        with self._transaction():
            change = self._write(batch)
        self._kept.take(change)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Makes what is written in the block durable, together or not at all."""
        db = self._db
        with store_errors():
            db.execute("BEGIN IMMEDIATE")
            try:
                yield
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _write(self, batch: Batch) -> Written:
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
        return self._kept.write(batch)

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

    @property
    def newest_batch(self) -> int:
        """Returns the number of the newest batch of answers; 0 before the first."""
        return self._kept.needs.last

    def size(self) -> int:
        """See `Store.size`."""
        with store_errors():
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
        with store_errors():
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
        with store_errors():
            rows = self._db.execute(f"SELECT {_PLAYING} FROM playing ORDER BY id").fetchall()  # noqa: S608
        return [_hand(row) for row in rows]

    def table(self, table: str) -> TableRow | None:
        """See `Store.table`."""
        row = self._one("SELECT name, owner, number, hand FROM tables WHERE name = ?", table)
        return TableRow(*row) if row else None

    def tables(self) -> Iterable[TableRow]:
        """See `Store.tables`."""
        with store_errors():
            rows = self._db.execute("SELECT name, owner, number, hand FROM tables ORDER BY name").fetchall()
        return [TableRow(*row) for row in rows]

    def tables_in_play(self) -> Iterable[TableRow]:
        """See `Store.tables_in_play`."""
        with store_errors():
            rows = self._db.execute("SELECT name, owner, number, hand FROM tables WHERE hand IS NOT NULL").fetchall()
        return [TableRow(*row) for row in rows]

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], KeptAnswer]:
        """See `Store.answers`."""
        with store_errors():
            return self._kept.find(asked)

    def record(self, hand: bytes) -> list[bytes]:
        """See `Store.record`."""
        with store_errors():
            return self._kept.record(hand)

    def confirm(self) -> None:
        """See `Store.confirm`: nobody else can have this file."""

    def waited(self) -> dict[bytes, float]:
        """See `Store.waited`: clocks do not outlive the process."""
        return {}

    def published(self) -> str:
        """See `Store.published`; where nothing was ever published apart from the log's growth, the newest."""
        return self.mark("published") or self.checkpoint()

    def witnessed(self) -> str | None:
        """See `Store.witnessed`."""
        return self.mark("witnessed")

    def publish(self, note: str, witnessed: bool = False) -> None:
        """See `Store.publish`."""
        before = self.mark("published")
        if before is not None and read_checkpoint(before).size > read_checkpoint(note).size:
            return
        self.set_mark("published", note)
        if witnessed:
            self.set_mark("witnessed", note)

    def set_mark(self, name: str, text: str) -> None:
        """Keeps one text about the log as a whole, in the place of the one before."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))

    def mark(self, name: str) -> str | None:
        """See `Store.mark`."""
        row = self._one("SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else str(row[0])

    def tend(self) -> bool:
        """See `Store.tend`: each hand has a key of its own, destroyed when it closes."""
        return False

    def sealed_anew(self) -> None:
        """See `Store.sealed_anew`."""

    def is_seen(self, digest: bytes) -> bool:
        """See `Store.is_seen`."""
        return self._one("SELECT 1 FROM seen WHERE digest = ?", digest) is not None

    def all_nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """Yields level, index and hash of every complete subtree."""
        with store_errors():
            yield from self._db.execute("SELECT level, position, hash FROM nodes")

    def all_hands(self) -> Iterator[HandRow]:
        """Yields every hand."""
        with store_errors():
            for query in (f"SELECT {_PLAYING} FROM playing", f"SELECT {_OVER} FROM over"):  # noqa: S608
                yield from map(_hand, self._db.execute(query))

    def all_seen(self) -> Iterator[bytes]:
        """Yields the digest of every seed drawn."""
        with store_errors():
            for (digest,) in self._db.execute("SELECT digest FROM seen"):
                yield digest

    def all_kept(self) -> Iterator[list[Answer | RecordLine]]:
        """Yields what is kept of each batch, opened; of one whose key is gone, answers without their bytes."""
        with store_errors():
            yield from self._kept.everything()

    def forget(self, now: int, most: int) -> bool:
        """See `Store.forget`."""
        with self._transaction():
            gone = self._kept.delete_due(now, most)
        self._kept.forget(gone)
        if gone:
            return True
        with self._transaction():
            swept = self._kept.sweep()
        return self._give_back() or swept

    def _give_back(self) -> bool:
        """Gives some free pages back to the disk, and says whether there are more."""
        with store_errors():
            free, pages = self._pragma("freelist_count"), self._pragma("page_count")
            spare = free - max(_SPARE_PAGES, pages // 16)
            if spare <= 0:
                return False
            # As a script: `execute` takes one step of a statement without columns, and that is one page.
            self._db.executescript(f"PRAGMA incremental_vacuum({min(spare, _VACUUM_PAGES)})")
            return spare > _VACUUM_PAGES and self._pragma("freelist_count") < free

    def _pragma(self, name: str) -> int:
        (value,) = self._db.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    def close(self) -> None:
        """See `Store.close`."""
        self._db.close()

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with store_errors():
            row: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return row


def version_of(path: Path) -> int:
    """Returns the version of the store at `path`.

    Raises:
        StoreError: there is none, or it cannot be read.
    """
    if not path.is_file():
        raise StoreError(f"there is no store at {path}")
    with store_errors(), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
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


def _sealed(row: HandRow) -> tuple[int | None, bytes | None]:
    return (row.secrets.key, row.secrets.data) if row.secrets else (None, None)


def _hand(row: tuple[Any, ...]) -> HandRow:
    hand, state, referee, offer, commit, close, key, data = row
    secrets = Sealed(key, data) if key is not None else None
    return HandRow(hand, state, bool(referee), offer, commit, close, secrets)


_PRIMARY_CODE = 0xFF
_NO_TABLE = "no such table"


@contextmanager
def store_errors() -> Iterator[None]:
    """Raises `StoreError` for whatever the database says."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None) or 0
        if code & _PRIMARY_CODE in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or str(error).startswith(_NO_TABLE):
            raise StoreError(
                f"the store is damaged, or no dealer's: {error}. Keep its file, and put the newest backup in its place "
                "(docs/operations.md, Restoring a backup)"
            ) from error
        raise StoreError(f"the store does not answer: {error}") from error
