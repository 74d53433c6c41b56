"""The embedded store: one SQLite file, written ahead, synchronised at every commit."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dealer.store.interface import AnswerRow, Batch, HandRow, Sealed, StoreError, TableRow

FILE = "cutcard.sqlite3"
_VERSION = 1
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE entries (position INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
CREATE TABLE nodes (
  level INTEGER NOT NULL, position INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint (only INTEGER PRIMARY KEY CHECK (only = 0), note TEXT NOT NULL) STRICT;
CREATE TABLE hands (
  hand BLOB PRIMARY KEY, state TEXT NOT NULL, referee INTEGER NOT NULL, offered INTEGER, committed INTEGER,
  closed INTEGER, seed_key INTEGER, secrets BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX hands_in_play ON hands (hand) WHERE closed IS NULL;
CREATE TABLE tables (name TEXT PRIMARY KEY, owner TEXT NOT NULL, number INTEGER NOT NULL, hand BLOB)
  STRICT, WITHOUT ROWID;
CREATE TABLE answers (
  caller TEXT NOT NULL, request BLOB NOT NULL, body BLOB NOT NULL, hand BLOB NOT NULL, answer_key INTEGER NOT NULL,
  answer BLOB NOT NULL, expires INTEGER, PRIMARY KEY (caller, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_of_hand ON answers (hand);
CREATE INDEX answers_expiring ON answers (expires) WHERE expires IS NOT NULL;
CREATE INDEX answers_by_key ON answers (answer_key);
CREATE TABLE seen (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
"""
_HAND = "hand, state, referee, offered, committed, closed, seed_key, secrets"


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
    with _told(), closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA busy_timeout = {_AHEAD_WAIT_MS}")
        _, frames, brought = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames == brought:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


class SqliteStore:
    """A store in one SQLite file. One instance belongs to one thread at a time."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Opens a store that exists.

        Raises:
            StoreError: it does not exist, is of another version, or cannot be read.
        """
        if not path.is_file():
            raise StoreError(f"there is no store at {path}")
        with _told():
            self._db = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={'ro' if read_only else 'rw'}",
                uri=True,
                timeout=5,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=64,
            )
            if not read_only:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")
                self._db.execute("PRAGMA secure_delete = ON")
                self._db.execute(f"PRAGMA journal_size_limit = {_AHEAD_KEPT}")
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
        if meta.get("version") != str(_VERSION):
            raise StoreError(f"{path} is a store of version {meta.get('version')}; this dealer reads {_VERSION}")
        self.origin: str = meta["origin"]

    @classmethod
    def create(cls, path: Path, origin: str, checkpoint: str) -> None:
        """Makes an empty store with the signed checkpoint of the empty log; the file must not exist.

        Raises:
            StoreError: it exists, or cannot be written.
        """
        if path.exists():
            raise StoreError(f"{path} exists already")
        with _told():
            db = sqlite3.connect(path, isolation_level=None)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            rows = [("version", str(_VERSION)), ("origin", origin)]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            db.execute("INSERT INTO checkpoint VALUES (0, ?)", (checkpoint,))
            db.close()

    def commit(self, batch: Batch) -> None:
        """See `Store.commit`."""
        db = self._db
        with _told():
            db.execute("BEGIN IMMEDIATE")
            try:
                self._write(batch)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _write(self, batch: Batch) -> None:
        db = self._db
        if batch.entries:
            size = self.size()
            db.executemany("INSERT INTO entries VALUES (?, ?)", enumerate(batch.entries, size))
            db.executemany("INSERT INTO nodes VALUES (?, ?, ?)", batch.nodes)
            db.execute("INSERT OR REPLACE INTO checkpoint VALUES (0, ?)", (batch.checkpoint,))
        if batch.seen:
            db.executemany("INSERT INTO seen VALUES (?)", [(digest,) for digest in batch.seen])
        db.executemany(
            "INSERT OR REPLACE INTO hands VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    row.hand,
                    row.state,
                    row.referee,
                    row.offer,
                    row.commit,
                    row.close,
                    row.secrets.key if row.secrets else None,
                    row.secrets.data if row.secrets else None,
                )
                for row in batch.hands.values()
            ],
        )
        db.executemany(
            "INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?)",
            [(row.table, row.owner, row.number, row.hand) for row in batch.tables.values()],
        )
        db.executemany(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (row.caller, row.request, row.body, row.hand, row.answer.key, row.answer.data, row.expires)
                for row in batch.answers.values()
            ],
        )
        db.executemany(
            "UPDATE answers SET expires = ? WHERE hand = ?", [(at, hand) for hand, at in batch.expiries.items()]
        )
        if batch.proof is not None:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('proof', ?)", (batch.proof,))

    def size(self) -> int:
        """See `Store.size`."""
        with _told():
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
        with _told():
            for (entry,) in self._db.execute(
                "SELECT entry FROM entries WHERE position >= ? AND position < ? ORDER BY position", (start, end)
            ):
                yield entry

    def hand(self, hand: bytes) -> HandRow | None:
        """See `Store.hand`."""
        row = self._one(f"SELECT {_HAND} FROM hands WHERE hand = ?", hand)  # noqa: S608 - a constant
        return _hand(row) if row else None

    def hands_in_play(self) -> Iterable[HandRow]:
        """See `Store.hands_in_play`."""
        with _told():
            rows = self._db.execute(f"SELECT {_HAND} FROM hands WHERE closed IS NULL").fetchall()  # noqa: S608
        return [_hand(row) for row in rows]

    def table(self, table: str) -> TableRow | None:
        """See `Store.table`."""
        row = self._one("SELECT name, owner, number, hand FROM tables WHERE name = ?", table)
        return TableRow(*row) if row else None

    def answer(self, caller: str, request: bytes) -> AnswerRow | None:
        """See `Store.answer`."""
        return self.answers([(caller, request)]).get((caller, request))

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], AnswerRow]:
        """See `Store.answers`."""
        if not asked:
            return {}
        query = (
            f"WITH asked (caller, request) AS (VALUES {', '.join(['(?, ?)'] * len(asked))}) "  # noqa: S608 - places alone
            "SELECT caller, request, body, hand, answer_key, answer, expires "
            "FROM asked CROSS JOIN answers USING (caller, request)"  # in this order: a look-up for each, and no scan
        )
        with _told():
            rows = self._db.execute(query, [value for key in asked for value in key]).fetchall()
        return {
            (caller, request): AnswerRow(caller, request, body, hand, Sealed(key, data), expires)
            for caller, request, body, hand, key, data, expires in rows
        }

    def is_seen(self, digest: bytes) -> bool:
        """See `Store.is_seen`."""
        return self._one("SELECT 1 FROM seen WHERE digest = ?", digest) is not None

    def drop_answers(self, now: int) -> None:
        """See `Store.drop_answers`."""
        with _told():
            self._db.execute("DELETE FROM answers WHERE expires <= ?", (now,))

    def answer_keys(self) -> set[int]:
        """See `Store.answer_keys`."""
        with _told():
            return {key for (key,) in self._db.execute("SELECT DISTINCT answer_key FROM answers")}

    def close(self) -> None:
        """See `Store.close`."""
        self._db.close()

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with _told():
            row: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return row


def _hand(row: tuple[Any, ...]) -> HandRow:
    hand, state, referee, offer, commit, close, key, data = row
    secrets = Sealed(key, data) if key is not None else None
    return HandRow(hand, state, bool(referee), offer, commit, close, secrets)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the store does not answer: {error}") from error
