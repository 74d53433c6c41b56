"""A witness's memory, one SQLite file: its key, its logs with the greatest tree seen of each, and what contradicts.

The key lies in the same file as what it has signed, so that neither can be had without the other: a key with an empty
memory would sign a fork.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import CheckError, InputError
from audit.tlog.cosignature import WitnessKey
from audit.tlog.keys import VerifierKey
from audit.tlog.merkle import EMPTY_ROOT

FILE = "witness.sqlite"
KEPT_DOUBTFUL = 100
"""How many refused checkpoints that prove nothing are kept of each log (WITNESS.md section 6)."""
_VERSION = 1
_BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE witness (
  id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, private_key BLOB NOT NULL
) STRICT;
CREATE TABLE logs (
  origin TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, key TEXT NOT NULL, listed INTEGER NOT NULL,
  size INTEGER NOT NULL, root BLOB NOT NULL, time INTEGER NOT NULL, checkpoint TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE conflicts (
  number INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, proves INTEGER NOT NULL, time INTEGER NOT NULL,
  why TEXT NOT NULL, refused TEXT NOT NULL, held TEXT NOT NULL, UNIQUE (origin, refused, proves)
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Held:
    """What the witness holds of a log.

    Attributes:
        origin: the log's.
        size: of the greatest tree seen, 0 where none was.
        root: its root.
        time: of the last cosignature, POSIX seconds, 0 where there is none.
        checkpoint: the signed note with the log's line and the witness's, empty where there is none.
    """

    origin: str
    size: int
    root: bytes
    time: int
    checkpoint: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """A checkpoint signed by its log that was refused.

    Attributes:
        origin: the log's.
        proves: it proves a fork by itself, beside `held`: two roots of one size.
        time: when it was refused, POSIX seconds.
        why: what was wrong.
        refused: the signed note.
        held: the signed note that was held then, empty where there was none.
    """

    origin: str
    proves: bool
    time: int
    why: str
    refused: str
    held: str


@dataclass(frozen=True, slots=True)
class ListedLog:
    """A log with its verifier key; one that was taken off the list is remembered all the same."""

    key: str
    listed: bool
    held: Held


def origin_hash(origin: str) -> str:
    """Returns the SHA-256 of an origin in hex, by which its checkpoint is served."""
    return hashlib.sha256(origin.encode("utf-8")).hexdigest()


def create(folder: Path, name: str) -> WitnessKey:
    """Makes a witness with a new key in a new or empty folder.

    The file takes its name last, whole and durable: what was begun and broken off is never taken for a witness.

    Raises:
        InputError: the folder holds something, or cannot be written.
    """
    private = Ed25519PrivateKey.generate()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty: a witness starts in a folder of its own, and is never made anew")
        half = folder / f"{FILE}.new"
        os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.closing(sqlite3.connect(half, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")  # the file remembers it
            database.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {_VERSION};")
            database.execute("INSERT INTO witness VALUES (1, ?, ?)", (name, private.private_bytes_raw()))
            database.execute("COMMIT")
        _sync(half)
        half.rename(folder / FILE)
        _sync(folder)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{folder}: no witness can be made there: {_reason(error)}") from None
    return WitnessKey.of(name, private.public_key().public_bytes_raw())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError | sqlite3.Error) -> str:
    return str(getattr(error, "strerror", None) or error)


@lru_cache(maxsize=65_536)
def _parsed(text: str) -> VerifierKey:
    return VerifierKey.parse(text)


class Store:
    """The memory of one witness, opened. Changes are made in `change`, by one thread at a time; reads by any."""

    def __init__(self, folder: Path) -> None:
        """Opens a witness's folder.

        Raises:
            InputError: there is no whole witness. It is never made anew: its key may have signed what nobody remembers.
        """
        path = folder / FILE
        if not path.is_file():
            half = (folder / f"{FILE}.new").exists()
            what = "was never finished" if half else "is not there"
            raise InputError(f"the witness in {folder} {what}: `audit witness init` starts a new one elsewhere")
        try:
            self._writer = _connect(path)
            self._reader = _connect(path)
            (version,) = self._reader.execute("PRAGMA user_version").fetchone()
            if version != _VERSION:
                raise InputError(f"{path} is of version {version}, and this program reads version {_VERSION}")
            (check,) = self._reader.execute("PRAGMA quick_check(1)").fetchone()
            if check != "ok":
                raise InputError(f"{path} is damaged: {check}. A witness that may have forgotten starts a new key")
            name, private = self._reader.execute("SELECT name, private_key FROM witness").fetchone()
        except (sqlite3.Error, TypeError) as error:
            raise InputError(f"{path} is no witness's file: {error}") from None
        self._private = Ed25519PrivateKey.from_private_bytes(private)
        self.key = WitnessKey.of(name, self._private.public_key().public_bytes_raw())
        self._reading = threading.Lock()
        self._changing = threading.Lock()

    def close(self) -> None:
        """Lets go of the file."""
        with self._reading, self._changing:
            self._reader.close()
            self._writer.close()

    def sign(self, message: bytes) -> bytes:
        """Returns the witness's signature of a message."""
        return self._private.sign(message)

    def log_key(self, origin: str) -> VerifierKey | None:
        """Returns the key of a listed log, None for any other origin."""
        with self._reading:
            row = self._reader.execute("SELECT key FROM logs WHERE origin = ? AND listed", (origin,)).fetchone()
        return None if row is None else _parsed(row[0])

    def checkpoint(self, digest: str) -> str | None:
        """Returns the checkpoint held of the log with this origin hash, None where there is none."""
        with self._reading:
            row = self._reader.execute("SELECT checkpoint FROM logs WHERE hash = ?", (digest,)).fetchone()
        return row[0] or None if row is not None else None

    def logs(self) -> list[ListedLog]:
        """Returns all logs, by origin."""
        select = "SELECT key, listed, origin, size, root, time, checkpoint FROM logs ORDER BY origin"
        with self._reading:
            rows = self._reader.execute(select).fetchall()
        return [ListedLog(key, bool(listed), Held(*held)) for key, listed, *held in rows]

    def conflicts(self) -> list[Conflict]:
        """Returns what was refused though its log signed it, oldest first."""
        select = "SELECT origin, proves, time, why, refused, held FROM conflicts ORDER BY number"
        with self._reading:
            rows = self._reader.execute(select).fetchall()
        return [Conflict(origin, bool(proves), *rest) for origin, proves, *rest in rows]

    @contextmanager
    def change(self) -> Iterator[Change]:
        """A transaction: what is done in it is durable when it is left, or has not happened.

        Raises:
            sqlite3.Error: it has not happened.
        """
        with self._changing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield Change(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def add_logs(self, keys: Iterable[VerifierKey]) -> int:
        """Lists logs; one that was removed is listed again, with what is remembered of it.

        Returns:
            How many were not listed before.

        Raises:
            CheckError: an origin has another key already, which is never replaced, or a key is the witness's own; then
                none is added.
        """
        added = 0
        with self.change() as change:
            for key in keys:
                if key.public == self.key.public:
                    raise CheckError(f"{key.name}: this is the witness's own key, which signs for no log")
                added += change.list_log(key)
        return added

    def remove_log(self, origin: str) -> bool:
        """Takes a log off the list and keeps what is remembered of it; whether it was listed."""
        with self.change() as change:
            return change.unlist(origin)


class Change:
    """What may be done within one transaction."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def held(self, origin: str) -> Held | None:
        """Returns what is held of a listed log, None for any other origin."""
        select = "SELECT origin, size, root, time, checkpoint FROM logs WHERE origin = ? AND listed"
        row = self._database.execute(select, (origin,)).fetchone()
        return None if row is None else Held(*row)

    def keep(self, held: Held) -> None:
        """Remembers a tree as the greatest of its log."""
        values = (held.size, held.root, held.time, held.checkpoint, held.origin)
        self._database.execute("UPDATE logs SET size = ?, root = ?, time = ?, checkpoint = ? WHERE origin = ?", values)

    def has_conflict(self, origin: str, proves: bool, refused: str) -> bool:
        """Returns whether a refused checkpoint is kept already."""
        select = "SELECT 1 FROM conflicts WHERE origin = ? AND proves = ? AND refused = ?"
        return self._database.execute(select, (origin, proves, refused)).fetchone() is not None

    def keep_conflict(self, conflict: Conflict) -> None:
        """Keeps a refused checkpoint; of those that prove nothing the newest of each log."""
        self._database.execute(
            "INSERT INTO conflicts (origin, proves, time, why, refused, held) VALUES (?, ?, ?, ?, ?, ?)",
            (conflict.origin, conflict.proves, conflict.time, conflict.why, conflict.refused, conflict.held),
        )
        self._database.execute(
            "DELETE FROM conflicts WHERE origin = ? AND NOT proves AND number NOT IN"
            " (SELECT number FROM conflicts WHERE origin = ? AND NOT proves ORDER BY number DESC LIMIT ?)",
            (conflict.origin, conflict.origin, KEPT_DOUBTFUL),
        )

    def list_log(self, key: VerifierKey) -> bool:
        """Lists a log; whether it was not listed before.

        Raises:
            CheckError: its origin has another key.
        """
        row = self._database.execute("SELECT key, listed FROM logs WHERE origin = ?", (key.name,)).fetchone()
        if row is None:
            values = (key.name, origin_hash(key.name), str(key), EMPTY_ROOT)
            self._database.execute("INSERT INTO logs VALUES (?, ?, ?, 1, 0, ?, 0, '')", values)
            return True
        if row[0] != str(key):
            raise CheckError(
                f"{key.name} has the key {row[0]}, and a log has one key for good: another key, another origin"
            )
        self._database.execute("UPDATE logs SET listed = 1 WHERE origin = ?", (key.name,))
        return not row[1]

    def unlist(self, origin: str) -> bool:
        """Takes a log off the list; whether it was on it."""
        return bool(
            self._database.execute("UPDATE logs SET listed = 0 WHERE origin = ? AND listed", (origin,)).rowcount
        )


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=_BUSY_SECONDS,
        check_same_thread=False,
    )
    database.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
    return database
