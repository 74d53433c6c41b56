"""Brings a store of an earlier version up to this one: into a new file beside it, which then takes its place.

The old file is only read, and stays as `cutcard-v1.sqlite3`: a run that was stopped half-way has changed nothing that
counts, and is simply made again.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from dealer.log.merkle import Node
from dealer.store.interface import Answer, Batch, HandRow, RecordLine, Sealed, StoreError, TableRow
from dealer.store.slots import sync_folder
from dealer.store.sqlite import VERSION, SqliteStore, store_errors, version_of
from dealer.store.vault import Purpose, SealLost, Vault

_ROWS = 512
_PRIMARY = 0xFF  # the part of SQLite's error codes that says the kind
_NO_KEY = 0
"""The id of no key: what is said to lie under it is lost."""
_REFEREE = "the referee"  # under this caller version 1 kept the referee's records, whole


def migrate(path: Path, vault: Vault, log: Callable[[str], None]) -> bool:
    """Brings the store at `path` up to this version; nobody else may have it open.

    Args:
        path: the store's file.
        vault: the dealer's keys at rest, which open the answers that are sealed anew.
        log: is told in a few words what is done.

    Returns:
        Whether there was anything to do.

    Raises:
        StoreError: it is missing, damaged, or of a version that is not known; it is as it was.
        VaultError: a key at rest cannot be read at the moment; likewise.
    """
    version = version_of(path)
    if version == VERSION:
        return False
    if version != 1:
        raise StoreError(f"{path} is a store of version {version}, which this dealer does not know: use a newer dealer")
    fresh, kept = path.with_name(f"{path.name}.new"), path.with_name("cutcard-v1.sqlite3")
    if kept.exists() and kept.samefile(path):  # a run was stopped just before the new file took its place
        kept.unlink()
    if kept.exists():
        raise StoreError(f"{kept} is there already, from a migration before: move it elsewhere first")
    for left in path.parent.glob(f"{fresh.name}*"):
        left.unlink()
    with (
        store_errors(),
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, isolation_level=None)) as old,
    ):
        _have_alone(old, path)
        _copy(old, fresh, vault, log)
    os.link(path, kept)
    fresh.replace(path)
    sync_folder(path.parent)
    log(f"the store is of version {VERSION} now; the old one is {kept}, and can go once all is well")
    return True


def _have_alone(old: sqlite3.Connection, path: Path) -> None:
    """Brings in what was written ahead, and lets nobody else in.

    Another program that had the old file open would go on with its write-ahead log under the new file's name, and that
    is the end of both.
    """
    old.execute("PRAGMA busy_timeout = 2000")
    try:
        old.execute("PRAGMA journal_mode = DELETE").fetchone()
        old.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & _PRIMARY not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise  # a full disk, say: no other program is to blame
        raise StoreError(
            f"another program, such as a sqlite3 shell, has {path} open: end that one, and migrate again ({error})"
        ) from None


def _copy(old: sqlite3.Connection, fresh: Path, vault: Vault, log: Callable[[str], None]) -> None:
    meta = dict(old.execute("SELECT name, value FROM meta"))
    (note,) = old.execute("SELECT note FROM checkpoint").fetchone()
    SqliteStore.create(fresh, meta["origin"], note)
    with closing(SqliteStore(fresh, vault)) as store:
        entries = old.execute("SELECT entry FROM entries ORDER BY position")
        for rows in _chunks(entries):
            store.commit(Batch(entries=[entry for (entry,) in rows]))
        for rows in _chunks(old.execute("SELECT level, position, hash FROM nodes")):
            store.commit(Batch(nodes=[Node(*row) for row in rows]))
        log(f"{store.size()} entries of the log")
        count = 0
        hands = "SELECT hand, state, referee, offered, committed, closed, seed_key, secrets FROM hands"
        for rows in _chunks(old.execute(hands)):
            store.commit(Batch(hands={row[0]: _hand(row) for row in rows}))
            count += len(rows)
        log(f"{count} hands")
        for rows in _chunks(old.execute("SELECT name, owner, number, hand FROM tables")):
            store.commit(Batch(tables={row[0]: TableRow(*row) for row in rows}))
        for rows in _chunks(old.execute("SELECT digest FROM seen")):
            store.commit(Batch(seen=[digest for (digest,) in rows]))
        lost = _copy_answers(old, store, vault, log)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.executemany("UPDATE batches SET answer_key = ? WHERE id = ?", [(_NO_KEY, batch) for batch in lost])
        _make_whole(new)


def _make_whole(new: sqlite3.Connection) -> None:
    """Brings everything that was written ahead into the file itself, which is about to get another name.

    The end of a connection tries that too, but in silence: on a full disk it leaves the write-ahead log behind, under
    the name that the file no longer has.
    """
    (mode,) = new.execute("PRAGMA journal_mode = DELETE").fetchone()
    if mode != "delete":
        raise StoreError("the new store's write-ahead log cannot be brought into its file: is the disk full?")


def _copy_answers(old: sqlite3.Connection, store: SqliteStore, vault: Vault, log: Callable[[str], None]) -> list[int]:
    """Seals the answers anew, those that expire about the same time together.

    Returns:
        The batches of those whose key is gone: they are kept as lost, so that no repeat of theirs is carried out anew.
    """
    query = (
        "SELECT caller, request, body, hand, answer_key, answer, expires FROM answers ORDER BY expires IS NULL, expires"
    )
    lost, count = list[int](), 0
    for rows in _chunks(old.execute(query)):
        expires = max((row[-1] for row in rows if row[-1] is not None), default=0)
        kept, gone = Batch(expires=expires), Batch(expires=expires)
        for caller, request, body, hand, key, data, _ in rows:
            batch = kept
            try:
                plain = vault.open(Purpose.ANSWER, Sealed(key, data), caller.encode() + request)
            except SealLost:
                batch, plain = gone, b""
            if caller == _REFEREE:
                batch.records.append(RecordLine(hand, 0, plain))
            else:
                batch.answers.append(Answer(caller, request, body, hand, plain))
        store.commit(kept)
        if gone.answers or gone.records:
            store.commit(gone)
            lost.append(store.newest_batch)
        count += len(rows)
    log(f"{count} kept answers")
    return lost


def _hand(row: tuple[Any, ...]) -> HandRow:
    hand, state, referee, offer, commit, close, key, data = row
    secrets = Sealed(key, data) if key is not None else None
    return HandRow(hand, None if close is not None else state, bool(referee), offer, commit, close, secrets)


def _chunks(rows: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(islice(rows, _ROWS)):
        yield chunk
