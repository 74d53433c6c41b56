"""A monitor's memory, one SQLite file: how far its audit has come, the checkpoints that it took as good, its alarms.

Seeds and hand ids of the whole log lie in tables of the same file, so that they and the course of the audit that they
belong to are always of one moment, wherever the monitor is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from audit.errors import InputError
from audit.monitor.pickled import packed, unpacked
from audit.monitor.repeats import StoredRepeats, tables
from audit.protocol import sha256
from audit.tlog.earlier import Earlier
from audit.tlog.earlier import read as read_earlier
from audit.tlog.keys import VerifierKey
from audit.whole.course import Course

FILE = "monitor.sqlite"
MOST_LEFT = 100
"""So many checkpoints that the log does not extend any more are held against it; a log that forks goes on forking."""
_VERSION = 2
_NAME = "the monitor's checkpoint {}"
_BUSY_SECONDS = 2.0
_RECORDS = ("seeds", "ids")
_SCHEMA = """
CREATE TABLE monitor (
  id INTEGER PRIMARY KEY CHECK (id = 1), key TEXT NOT NULL, began INTEGER NOT NULL,
  branch INTEGER NOT NULL DEFAULT 0, quorum INTEGER
) STRICT;
CREATE TABLE course (
  id INTEGER PRIMARY KEY CHECK (id = 1), basis TEXT NOT NULL, data BLOB NOT NULL, digest BLOB NOT NULL
) STRICT;
CREATE TABLE checkpoints (
  number INTEGER PRIMARY KEY AUTOINCREMENT, branch INTEGER NOT NULL, size INTEGER NOT NULL, root BLOB NOT NULL,
  note BLOB NOT NULL, seen INTEGER NOT NULL, is_left INTEGER NOT NULL DEFAULT 0, UNIQUE (branch, size, root)
) STRICT;
CREATE INDEX left_behind ON checkpoints (number) WHERE is_left;
CREATE TABLE standing (
  key TEXT PRIMARY KEY, alarm TEXT NOT NULL, is_proven INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE news (number INTEGER PRIMARY KEY AUTOINCREMENT, said TEXT NOT NULL) STRICT;
""" + "".join(map(tables, _RECORDS))


@contextlib.contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Says of values that cannot be ours that the file is damaged: SQLite notices some damage, not all of it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{folder}: the monitor's memory is damaged: {error}. Begin a new one elsewhere") from None


class Branch(NamedTuple):
    """What was seen of the log: the newest checkpoint of what it shows, and those that this does not extend."""

    newest: Earlier | None
    left: tuple[Earlier, ...]


class Standing(NamedTuple):
    """An alarm that stands, its members by name; `proven` if what it says was seen in a whole log."""

    alarm: dict[str, Any]
    proven: bool


@dataclass(frozen=True, slots=True)
class News:
    """An alarm's beginning or end that nobody was told yet, its members by name."""

    number: int
    said: dict[str, Any]


class Memory:
    """The memory in a folder, made where there is none; no two monitors have one at a time."""

    def __init__(self, folder: Path, key: VerifierKey, now: int) -> None:
        """Opens it.

        Args:
            folder: where it is; a new or empty one begins with nothing.
            key: the log's.
            now: POSIX seconds.

        Raises:
            InputError: it cannot be used, is another monitor's, or of another log.
        """
        self._key = key
        self._folder = folder
        try:
            _prepare(folder, key, now)
            self._database = sqlite3.connect(folder / FILE, isolation_level=None, timeout=_BUSY_SECONDS)
        except (OSError, sqlite3.Error) as error:
            raise InputError(_unusable(folder, error)) from None
        try:
            with _reading(folder):
                self._open(folder)
        except sqlite3.Error as error:
            self.close()
            raise InputError(_unusable(folder, error)) from None
        except InputError:
            self.close()
            raise

    def _open(self, folder: Path) -> None:
        execute = self._database.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
        with self.change():
            version = execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise InputError(f"{folder}: the monitor's memory is of version {version}, and this auditor's {_VERSION}")
        (mine,) = execute("SELECT key FROM monitor").fetchone()
        if mine != str(self._key):
            raise InputError(f"{folder} is the memory of a monitor of {mine}: give each log a folder of its own")

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """A transaction: what is done in it is durable when it is left, or has not happened."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    @contextlib.contextmanager
    def course(self, basis: str) -> Iterator[Course]:
        """The course as it was kept last, or a new one; what is not kept by `keep` has not happened.

        Args:
            basis: what its results depend on beside the log: what was found on another basis is found anew, and so is
                what was damaged on the disk.
        """
        row = self._database.execute("SELECT data, digest, basis FROM course").fetchone()
        is_whole = row is not None and sha256(row[0]) == row[1] and row[2] == basis
        if row is not None and not is_whole:
            self.begin_again()
        self._database.execute("BEGIN IMMEDIATE")
        seeds, ids = (StoredRepeats(self._database, name) for name in _RECORDS)
        course = unpacked(row[0], {"seeds": seeds, "ids": ids}) if is_whole else Course(seeds, ids)
        try:
            yield course
        finally:
            course.close()
            self._roll_back()

    def keep(self, course: Course, basis: str) -> None:
        """Keeps a course that `course` gave, as it is now."""
        course.lifecycle.forget_closed()
        data = packed(course)
        self._database.execute("INSERT OR REPLACE INTO course VALUES (1, ?, ?, ?)", (basis, data, sha256(data)))
        self._database.execute("COMMIT")
        self._database.execute("BEGIN IMMEDIATE")

    def begin_again(self) -> None:
        """Forgets the course; checkpoints and alarms stay, and the newest checkpoint is held against what comes."""
        newest = self.branch().newest
        with self.change():
            if newest is not None:
                self._leave(newest)
            for table in ("course", *_RECORDS, *(f"{name}_again" for name in _RECORDS)):
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours

    def branch(self) -> Branch:
        """Returns what was seen of the log."""
        select = "SELECT number, note FROM checkpoints WHERE {} ORDER BY {}"
        mine = select.format("branch = (SELECT branch FROM monitor)", "size DESC, number DESC LIMIT 1")
        left = select.format("is_left", f"number LIMIT {MOST_LEFT}")
        with _reading(self._folder):
            newest = self._database.execute(mine).fetchone()
            rows = self._database.execute(left).fetchall()
            found = None if newest is None else self._earlier(*newest)
            return Branch(found, tuple(self._earlier(*row) for row in rows))

    def _earlier(self, number: int, data: bytes) -> Earlier:
        return read_earlier(_NAME.format(number), data, self._key)

    def root_at(self, size: int) -> bytes | None:
        """Returns the root of a checkpoint of what the log shows, None where none of this size was seen."""
        select = "SELECT root FROM checkpoints WHERE branch = (SELECT branch FROM monitor) AND size = ?"
        row = self._database.execute(select, (size,)).fetchone()
        return None if row is None else row[0]

    def take(self, earlier: Earlier, seen: int, extended: dict[str, bool]) -> None:
        """Takes a checkpoint as good, within a change.

        Args:
            earlier: the checkpoint.
            seen: when, POSIX seconds.
            extended: of the names of checkpoints that `branch` gave, whether it extends them.
        """
        execute = self._database.execute
        newest = self.branch().newest
        if newest is not None and not extended[newest.name]:
            self._leave(newest)
        for name, does in extended.items():
            if does:
                execute("UPDATE checkpoints SET is_left = 0 WHERE number = ? AND is_left", (_number(name),))
        size, root = earlier.checkpoint.size, earlier.checkpoint.root
        execute(
            "INSERT INTO checkpoints (branch, size, root, note, seen) SELECT branch, ?, ?, ?, ? FROM monitor WHERE true"
            " ON CONFLICT DO UPDATE SET note = excluded.note WHERE length(excluded.note) >= length(checkpoints.note)",
            (size, root, earlier.text.encode("utf-8"), seen),
        )

    def _leave(self, newest: Earlier) -> None:
        """Begins another branch, to be held against the one that ends with this checkpoint."""
        self._database.execute("UPDATE checkpoints SET is_left = 1 WHERE number = ?", (_number(newest.name),))
        self._database.execute("UPDATE monitor SET branch = branch + 1")

    def quorum_since(self) -> int:
        """Returns the newest time of a quorum that was seen; before there was one, when the monitor began."""
        with _reading(self._folder):
            return int(self._database.execute("SELECT coalesce(quorum, began) FROM monitor").fetchone()[0])

    def saw_quorum(self, time: int) -> None:
        """Notes the time of a quorum, within a change."""
        self._database.execute("UPDATE monitor SET quorum = max(coalesce(quorum, 0), ?)", (time,))

    def standing(self) -> dict[str, Standing]:
        """Returns the alarms that stand, by their keys."""
        with _reading(self._folder):
            rows = self._database.execute("SELECT key, alarm, is_proven FROM standing ORDER BY key")
            return {key: Standing(json.loads(alarm), bool(is_proven)) for key, alarm, is_proven in rows}

    def begin(self, key: str, alarm: dict[str, Any], said: dict[str, Any]) -> None:
        """Begins an alarm, within a change; `said` is what there is to tell of it."""
        self._database.execute("INSERT INTO standing VALUES (?, ?, 0)", (key, json.dumps(alarm)))
        self._database.execute("INSERT INTO news (said) VALUES (?)", (json.dumps(said),))

    def prove(self, key: str) -> None:
        """Notes, within a change, that what an alarm says was seen in a whole log."""
        self._database.execute("UPDATE standing SET is_proven = 1 WHERE key = ?", (key,))

    def end(self, key: str, said: dict[str, Any]) -> None:
        """Ends an alarm, within a change."""
        self._database.execute("DELETE FROM standing WHERE key = ?", (key,))
        self._database.execute("INSERT INTO news (said) VALUES (?)", (json.dumps(said),))

    def news(self) -> list[News]:
        """Returns what nobody was told yet, in order."""
        with _reading(self._folder):
            rows = self._database.execute("SELECT number, said FROM news ORDER BY number")
            return [News(number, json.loads(said)) for number, said in rows]

    def told(self, number: int) -> None:
        """Notes that somebody was told."""
        self._database.execute("DELETE FROM news WHERE number = ?", (number,))


def _unusable(folder: Path, error: OSError | sqlite3.Error) -> str:
    return f"{folder}: the monitor's memory cannot be used: {getattr(error, 'strerror', None) or error}"


def _number(name: str) -> int:
    return int(name.removeprefix(_NAME.format("")))


def _prepare(folder: Path, key: VerifierKey, now: int) -> None:
    """Makes the memory where there is none; it takes its name last, whole and durable."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (folder / FILE).exists():
        return
    half = folder / f"{FILE}.new"
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(half.name))
    if others:
        raise InputError(f"{folder} holds {others[0]}, and no monitor's memory: give the monitor a folder of its own")
    for path in folder.iterdir():
        path.unlink()
    with contextlib.closing(sqlite3.connect(half, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")  # the file remembers it
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {_VERSION};")
        database.execute("INSERT INTO monitor (id, key, began) VALUES (1, ?, ?)", (str(key), now))
        database.execute("COMMIT")
    half.chmod(0o600)
    _sync(half)
    half.rename(folder / FILE)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
