"""`dealer fsck`: holds a whole store against its log, its keys and its published files; it changes nothing.

The log is the truth: it is signed. What the rows say of hands and tables has to be what follows from its entries. A
log in a database is looked at by `dealer.store.postgres.fsck`, which has the same things held by what is here.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from dealer.core.entries import decode
from dealer.core.ids import hand_text
from dealer.errors import CutcardError
from dealer.log.checkpoint import Checkpoint, read_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.log.note import NoteVerifier
from dealer.log.published import wrong_files
from dealer.log.tiles import published_checkpoint
from dealer.store.datadir import DataDir
from dealer.store.interface import Answer, HandRow, LogStore, RecordLine, StoreError, TableRow, VaultError
from dealer.store.remembered import Remembered
from dealer.store.sqlite import SqliteStore, store_errors
from dealer.store.vault import Purpose, SealLost, Vault

BACKUP = "put the newest backup of the database back (docs/operations.md, Restoring a backup)"
_ANEW = "move the folder public/ aside: serve writes it anew from the log; then compare the two"
_PERMISSIONS = "look at the folder's permissions and its disk"
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be, and what to do about it."""

    what: str
    remedy: str


@dataclass(slots=True)
class _Hand:
    """A hand as the log has it."""

    table: str
    number: int
    offer: int | None = None
    commit: int | None = None
    close: int | None = None


@dataclass(slots=True)
class _Found:
    """What follows from the log: its tree at the sizes that somebody asks for, its hands and tables."""

    roots: dict[int, bytes] = field(default_factory=dict)
    hands: dict[bytes, _Hand] = field(default_factory=dict)
    tables: dict[str, tuple[int, bytes | None]] = field(default_factory=dict)


class Whole(LogStore, Protocol):
    """A store as it is looked at: every row, and what is kept, opened."""

    def tables(self) -> Iterable[TableRow]:
        """Returns every table."""

    def all_hands(self) -> Iterator[HandRow]:
        """Yields every hand."""

    def all_kept(self) -> Iterator[list[Answer | RecordLine]]:
        """Yields what is kept for repeats; of what has lost its key, answers without their bytes.

        Raises:
            StoreError: something of it is damaged.
            VaultError: a key at rest cannot be read.
        """

    def open_secrets(self, row: HandRow) -> None:
        """Opens the secrets of a hand in play, and keeps nothing of them.

        Raises:
            SealLost: their key at rest is gone.
            StoreError: they, or the row, are not as a dealer wrote them.
            VaultError: a key at rest cannot be read.
        """


class _Embedded(SqliteStore):
    """The embedded store, as it is looked at."""

    def __init__(self, path: Path, vault: Vault) -> None:
        super().__init__(path, vault, read_only=True)
        self._opener = vault

    def open_secrets(self, row: HandRow) -> None:
        """See `Whole.open_secrets`."""
        if row.secrets is None:
            raise SealLost("it has no secrets")
        self._opener.open(Purpose.SEED, row.secrets, row.hand)


def check(data: DataDir, told: Callable[[str], None]) -> list[Problem]:
    """Checks a data folder whose server does not run; is told in a few words what was checked.

    Raises:
        CutcardError: the folder is not whole, a server runs on it, or its database cannot be opened.
    """
    vault = Vault(data.at_rest, 3600)
    with closing(vault), closing(_Embedded(data.database, vault)) as store:
        return [*_file(data), *held(data, store, data.at_rest / "signed-last", told)]


def held(data: DataDir, store: Whole, signed_last: Path, told: Callable[[str], None]) -> list[Problem]:
    """Holds a store against its log, its keys and its published files; returns everything that is not as it should be.

    Args:
        data: the dealer's folder.
        store: of its log.
        signed_last: the file that remembers what was signed or seen last.
        told: is told in a few words what was checked.

    Raises:
        CutcardError: the store does not answer.
    """
    problems: list[Problem] = []
    verifier = NoteVerifier.parse(data.signer().verifier_key)
    tree = _signed(store, "the newest checkpoint", store.checkpoint(), verifier, problems)
    marked = _signed(store, "the checkpoint marked as published", store.published(), verifier, problems)
    cosigned = store.witnessed()
    if cosigned is not None:
        _signed(store, "the witnessed checkpoint", cosigned, verifier, problems)
    published = _published(data, store, verifier, problems)
    remembered = _remembered(signed_last, store, verifier, problems)
    trees = {"what is marked as published": marked, "public/": published, "what was signed last": remembered}
    sizes = {each.size for each in (tree, *trees.values()) if each is not None}
    found = _log(store, sizes, problems)
    told(f"the log: {store.size()} entries, {len(found.hands)} hands at {len(found.tables)} tables")
    problems += _trees(found, store.size(), tree, trees)
    shown = 0 if published is None else published.size
    if shown <= store.size():  # else the database is the older one, and knows nothing of the files
        problems += _files(data, store, shown)
    told(f"published: {shown} entries")
    problems += _tables(store, found)
    told(f"hands in play: {_hands(store, found, problems)}")
    told(f"kept answers: {_answers(store, problems)}")
    return problems


def _file(data: DataDir) -> Iterator[Problem]:
    uri = f"{data.database.resolve().as_uri()}?mode=ro"
    with store_errors(), closing(sqlite3.connect(uri, uri=True)) as db:
        for (line,) in db.execute(f"PRAGMA integrity_check({_NAMED})"):
            if line != "ok":
                yield Problem(f"the database's file is damaged: {line}", BACKUP)


def _signed(store: Whole, name: str, note: str, verifier: NoteVerifier, problems: list[Problem]) -> Checkpoint | None:
    try:
        verifier.verify(note)
        tree = read_checkpoint(note)
    except CutcardError as error:
        problems.append(Problem(f"{name} is not signed by this log's key: {error}", BACKUP))
        return None
    if tree.origin != store.origin:
        problems.append(Problem(f"the database is the log {store.origin}, {name} {tree.origin}'s", BACKUP))
    return tree


def _published(data: DataDir, store: Whole, verifier: NoteVerifier, problems: list[Problem]) -> Checkpoint | None:
    try:
        published = published_checkpoint(data.public)
        if published is not None:
            verifier.verify((data.public / "checkpoint").read_text("utf-8"))
            if published.origin != store.origin:
                raise CutcardError(f"it is the log {published.origin}")
    except (CutcardError, OSError, ValueError) as error:
        problems.append(Problem(f"the published checkpoint is not this log's: {error}", _ANEW))
        return None
    if published is None and store.size():
        what = f"public/ shows no checkpoint, and the log has {store.size()} entries"
        remedy = "hold the log against a copy of what was published (docs/operations.md); serve writes public/ anew"
        problems.append(Problem(what, remedy))
    return published


def _remembered(path: Path, store: Whole, verifier: NoteVerifier, problems: list[Problem]) -> Checkpoint | None:
    """Reads what was signed last; without the file, as after the loss of a tmpfs, there is nothing to hold."""
    if not path.exists():
        return None
    try:
        remembered = Remembered(path)
        note = remembered.note
        if remembered.damaged and store.size():
            raise CutcardError("neither of its two records can be read")
        if note is None:
            return None
        verifier.verify(note)
        return read_checkpoint(note)
    except (CutcardError, ValueError, KeyError) as error:
        remedy = "hold the log against a published copy and what auditors keep, then move the file aside"
        problems.append(Problem(f"{path} does not tell what was signed last: {error}", remedy))
        return None


def _files(data: DataDir, store: Whole, shown: int) -> Iterator[Problem]:
    """Holds every published file against the log; names the first of those that are wrong."""
    wrong = wrong_files(data.public, shown, store.size(), store.node, store.entries)
    for what in islice(wrong, _NAMED):
        yield Problem(f"public/: {what}", _ANEW)
    if more := sum(1 for _ in wrong):
        yield Problem(f"public/: {more} more files are not as they should be", _ANEW)


def _log(store: Whole, sizes: set[int], problems: list[Problem]) -> _Found:
    """Reads every entry: builds the tree, holds its nodes against those that are kept, and follows the hands."""
    found, tree, wrong = _Found(), CompactRange(), 0
    if 0 in sizes:
        found.roots[0] = tree.root()
    for index, entry in enumerate(store.entries(0, store.size())):
        for node in tree.append(leaf_hash(entry)):
            try:
                kept: bytes | None = store.node(node.level, node.index)
            except CutcardError:
                kept = None
            wrong += kept != node.hash
        if index + 1 in sizes:
            found.roots[index + 1] = tree.root()
        try:
            _follow(found, index, decode(entry))
        except (ValueError, KeyError, TypeError):
            problems.append(Problem(f"entry {index} of the log is none of ours", BACKUP))
    if tree.size != store.size():
        problems.append(Problem(f"entries are missing: {tree.size} of {store.size()} are there", BACKUP))
    if wrong:
        problems.append(Problem(f"{wrong} of the tree's nodes are not those of the entries", BACKUP))
    return found


def _follow(found: _Found, index: int, entry: dict[str, Any]) -> None:
    kind, hand = str(entry["schema"]).rpartition("/")[2], bytes.fromhex(str(entry["hand"]).replace("-", ""))
    if kind == "close":
        known = found.hands[hand]
        known.close = index
        found.tables[known.table] = known.number, None
        return
    known = found.hands.setdefault(hand, _Hand(entry["table"], entry["number"]))
    if kind == "offer":
        known.offer = index
    else:
        known.commit = index
    found.tables[known.table] = known.number, hand


def _trees(
    found: _Found, size: int, tree: Checkpoint | None, others: Mapping[str, Checkpoint | None]
) -> Iterator[Problem]:
    if tree is not None and (tree.size != size or found.roots.get(tree.size) != tree.root):
        yield Problem(f"the signed tree of {tree.size} entries is not that of the {size} entries here", BACKUP)
    for name, other in others.items():
        if other is None:
            continue
        if other.size > size:
            ahead = f"{name} has {other.size} entries, the database {size}: it is an older one"
            yield Problem(ahead, f"{BACKUP}; if there is none, this log has ended: `dealer init` another")
        elif found.roots.get(other.size) != other.root:
            yield Problem(
                f"{name} is another tree at {other.size} entries: a fork", "sign nothing; keep both for auditors"
            )


def _tables(store: Whole, found: _Found) -> Iterator[Problem]:
    rows = {row.table: row for row in store.tables()}
    for name, (number, hand) in sorted(found.tables.items()):
        row = rows.pop(name, None)
        if row is None:
            yield Problem(f"table {name} is in the log and not in the database", BACKUP)
        elif (row.number, row.hand) != (number, hand):
            yield Problem(
                f"table {name} is {_said(row)}; by the log it is {_said(TableRow(name, '', number, hand))}", BACKUP
            )
    for row in rows.values():
        if row.number or row.hand is not None:
            yield Problem(f"table {row.table} is {_said(row)}, and the log has no hand of it", BACKUP)


def _said(row: TableRow) -> str:
    return f"at number {row.number}, {'no hand' if row.hand is None else f'hand {hand_text(row.hand)}'} in play"


def _hands(store: Whole, found: _Found, problems: list[Problem]) -> int:
    left, wrong, lost = dict(found.hands), list[str](), 0
    for row in store.all_hands():
        known, name = left.pop(row.hand, None), f"hand {hand_text(row.hand)}"
        fault = _fault(row, known)
        if fault is None and row.close is None:
            try:
                store.open_secrets(row)
            except SealLost:
                lost += 1
            except VaultError as error:
                problems.append(Problem(f"a key at rest cannot be read: {error}", _PERMISSIONS))
            except StoreError as error:
                fault = f"is not as a dealer wrote it: {error}"
        if fault is not None:
            wrong.append(f"{name} {fault}")
    for hand, known in left.items():
        where = "open in the log and not in play here" if known.close is None else "over in the log, and not here"
        wrong.append(f"hand {hand_text(hand)} is {where}")
    problems += [Problem(what, BACKUP) for what in wrong[:_NAMED]]
    if more := len(wrong[_NAMED:]):
        problems.append(Problem(f"{more} more hands are not as they should be", BACKUP))
    if lost:
        remedy = "if the folder of keys at rest is only not mounted, mount it; else serve closes them as lost"
        problems.append(Problem(f"the keys at rest of {lost} hands in play are gone", remedy))
    return sum(known.close is None for known in found.hands.values())


def _fault(row: HandRow, known: _Hand | None) -> str | None:
    """Returns what is wrong with a row by the log, if anything is."""
    if known is None:
        return f"is {'in play' if row.close is None else 'over'} here, and the log does not have it"
    if known.close is not None and row.close is None:
        return "is closed in the log and in play here"
    if (row.offer, row.commit, row.close) != (known.offer, known.commit, known.close):
        return "has other entries in the database than in the log"
    return None


def _answers(store: Whole, problems: list[Problem]) -> int:
    """Opens everything that is kept for repeats; returns how many answers that is."""
    count = lost = 0
    try:
        for batch in store.all_kept():
            count += sum(isinstance(each, Answer) for each in batch)
            lost += sum(isinstance(each, Answer) and not each.answer for each in batch)
    except VaultError as error:
        problems.append(Problem(f"a key at rest cannot be read: {error}", _PERMISSIONS))
    except (CutcardError, KeyError) as error:
        problems.append(Problem(f"what is kept for repeats is damaged: {error}", BACKUP))
    if lost:
        remedy = "if the folder of keys at rest is only not mounted, mount it; else their repeats get ANSWER_LOST"
        problems.append(Problem(f"the keys at rest of {lost} kept answers are gone", remedy))
    return count
