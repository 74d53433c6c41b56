"""The embedded store's part that keeps answers and referees' records, each batch of them as one sealed blob."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from struct import iter_unpack, pack

from dealer.store.interface import Answer, Batch, KeptAnswer, RecordLine, Sealed, StoreError
from dealer.store.kept import MEMBER_BYTES, Member, Packing, members_of, read_members, write_members
from dealer.store.needs import Change, Needs
from dealer.store.places import Places, key_of
from dealer.store.vault import Purpose, SealLost, Vault

_BLOBS_OPEN = 8
"""So many blobs stay open while a batch's repeats are looked up: those that come together are of a few batches."""
_SWEEP_FROM = 8
"""Rows of requests whose answer has gone are swept out once they are one for so many answers that are kept."""
_SWEEP_ROWS = 4000


@dataclass(slots=True)
class Written:
    """What a batch has written of what is kept: known in memory once it is durable."""

    needs: Change
    members: Sequence[Member]
    part: int | None
    recorded: set[bytes]


class Keeping:
    """What is kept of batches. Its owner's thread alone uses it, and makes the transactions around what it writes."""

    def __init__(self, db: sqlite3.Connection, vault: Vault | None) -> None:
        """Works on the store's connection, with the keys at rest."""
        self._db, self._vault = db, vault
        self._packing = Packing()
        self.needs = Needs()
        self._places = Places({})
        self._dead = 0
        self._swept_to: bytes | None = None
        self._keys_to_look_at = True

    def load(self) -> None:
        """Reads which batches hands in play still need, and which requests wait to come into their table."""
        db = self._db
        meta = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('batch', 'dead')"))
        playing = {hand for (hand,) in db.execute("SELECT hand FROM playing")}
        (last,) = db.execute("SELECT max(id) FROM batches").fetchone()
        # A number never comes again, though all that is kept has gone: rows of requests outlive their batches.
        self.needs = Needs(max(last or 0, int(meta.get("batch", 0))), playing)
        self._dead = int(meta.get("dead", 0))
        for key, batches, answers in db.execute("SELECT answer_key, count(*), sum(answers) FROM batches GROUP BY 1"):
            self.needs.keys[key] = batches
            self.needs.answers += answers
        needed = "SELECT id, members FROM batches JOIN kept ON batch = id WHERE expires IS NULL"
        for id_, data in db.execute(needed):
            members = read_members(data)
            self.needs.add(id_, {member.hand for member in members} & playing)
            self.needs.recorded |= {member.hand for member in members if member.record} & playing
        self._places = Places(dict(db.execute("SELECT part, batch FROM merged")))
        first = min(self._places.merged.values())
        for id_, data in db.execute("SELECT batch, members FROM kept WHERE batch > ?", (first,)):
            self._places.add(id_, read_members(data))

    def write(self, batch: Batch) -> Written:
        """Keeps a batch's answers and records in one blob, and says of older ones when they expire."""
        db, members, id_ = self._db, list[Member](), self.needs.last + 1
        listed, sealed = b"", Sealed(0, b"")
        if batch.answers or batch.records:
            members = members_of(batch.answers, self._callers(batch), batch.records)
            pieces = [*(each.answer for each in batch.answers), *(each.line for each in batch.records)]
            listed, blob = write_members(members), self._packing.pack(pieces)
            sealed = self._opened_vault().seal_answer(time.monotonic(), blob, _context(id_, listed))
        change = self.needs.change(batch, members, sealed.key)
        part = None
        if members:
            expires = batch.expires if id_ in change.finished else None
            db.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", (id_, sealed.key, len(batch.answers), expires))
            db.execute("INSERT INTO kept VALUES (?, ?, ?)", (id_, listed, sealed.data))
            part = self._merge(len(batch.answers))
        older = [(batch.expires, each) for each in change.finished if each != change.id]
        db.executemany("UPDATE batches SET expires = ? WHERE id = ?", older)
        recorded = {each.hand for each in batch.records}
        self._write_recorded(change, recorded)
        return Written(change, members, part, recorded)

    def _merge(self, more: int) -> int | None:
        """Brings a range of the requests that wait into the table, if too many wait."""
        part = self._places.due(more)
        if part is not None:
            self._db.executemany("INSERT OR REPLACE INTO requests VALUES (?, ?, ?)", self._places.rows(part))
            self._db.execute("INSERT OR REPLACE INTO merged VALUES (?, ?)", (part, self.needs.last))
        return part

    def _write_recorded(self, change: Change, recorded: set[bytes]) -> None:
        """Writes in which batches the records of hands lie that are over with this one."""
        rows = []
        for hand in change.ended & (self.needs.recorded | recorded):
            batches = [*self.needs.of_hand.get(hand, ()), *([change.id] if change.id else [])]
            rows.append((hand, pack(f">{len(batches)}Q", *batches)))
        rows += [(hand, pack(">Q", change.id)) for hand in recorded - change.ended - change.begun - self.needs.playing]
        self._db.executemany(
            "INSERT INTO recorded VALUES (?, ?) "
            "ON CONFLICT (hand) DO UPDATE SET batches = CAST(batches || excluded.batches AS BLOB)",
            rows,
        )

    def take(self, written: Written) -> None:
        """Notes what has become durable."""
        change = written.needs
        if written.part is not None:
            self._places.moved(written.part, self.needs.last)
        self.needs.recorded |= written.recorded & (self.needs.playing | change.begun)
        self.needs.recorded -= change.ended
        self.needs.take(change)
        if change.id:
            self.needs.answers += sum(not member.record for member in written.members)
            self._places.add(change.id, written.members)

    def _callers(self, batch: Batch) -> dict[str, int]:
        """Returns the numbers by which callers are known here; a new one gets the next."""
        names = {each.caller for each in batch.answers}
        self._db.executemany("INSERT OR IGNORE INTO callers (name) VALUES (?)", [(name,) for name in names])
        return self._numbers(names)

    def _numbers(self, names: Iterable[str]) -> dict[str, int]:
        found = {}
        for name in names:
            row = self._db.execute("SELECT id FROM callers WHERE name = ?", (name,)).fetchone()
            if row is not None:
                found[name] = row[0]
        return found

    def find(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], KeptAnswer]:
        """See `Store.answers`."""
        numbers = self._numbers({caller for caller, _ in asked})
        keys = {key_of(request, numbers[name]): (name, request) for name, request in asked if name in numbers}
        places = {key: place for key in keys if (place := self._places.find(key)) is not None}
        others = [key for key in keys if key not in places]
        if others:
            query = f"SELECT key, batch, slot FROM requests WHERE key IN ({', '.join('?' * len(others))})"  # noqa: S608
            places |= {key: (batch, slot) for key, batch, slot in self._db.execute(query, others)}
        pieces, found = lru_cache(_BLOBS_OPEN)(self._pieces), {}
        for key, (batch, slot) in places.items():
            query = "SELECT substr(members, ?, ?) FROM kept WHERE batch = ?"
            row = self._db.execute(query, (slot * MEMBER_BYTES + 1, MEMBER_BYTES, batch)).fetchone()
            if row is not None:  # it has gone otherwise, and its request is not swept out yet
                member = _answer(row[0], key)
                kept = KeptAnswer(*keys[key], member.body, member.hand, partial(_piece, pieces, batch, slot))
                found[keys[key]] = kept
        return found

    def record(self, hand: bytes) -> list[bytes]:
        """See `Store.record`."""
        batches: Iterable[int] = self.needs.of_hand.get(hand, ())
        if hand not in self.needs.playing:
            row = self._db.execute("SELECT batches FROM recorded WHERE hand = ?", (hand,)).fetchone()
            batches = [id_ for (id_,) in iter_unpack(">Q", row[0])] if row else ()
        found = dict[int, bytes]()
        for batch in batches:
            (data,) = self._db.execute("SELECT members FROM kept WHERE batch = ?", (batch,)).fetchone() or (b"",)
            slots = [(slot, m.number) for slot, m in enumerate(read_members(data)) if m.record and m.hand == hand]
            pieces = self._pieces(batch) if slots else []
            found |= {number: pieces[slot] for slot, number in slots}
        if sorted(found) != list(range(len(found))):
            raise SealLost("a piece of a referee's record is missing")
        return [found[number] for number in sorted(found)]

    def everything(self) -> Iterator[list[Answer | RecordLine]]:
        """See `SqliteStore.all_kept`."""
        names = dict(self._db.execute("SELECT id, name FROM callers"))
        for batch, listed in self._db.execute("SELECT batch, members FROM kept ORDER BY batch"):
            members = read_members(listed)
            try:
                pieces = self._pieces(batch)
            except SealLost:
                members = [member for member in members if not member.record]
                pieces = [b""] * len(members)
            yield [
                RecordLine(member.hand, member.number, piece)
                if member.record
                else Answer(names[member.number], member.request, member.body, member.hand, piece)
                for member, piece in zip(members, pieces, strict=True)
            ]

    def _pieces(self, batch: int) -> list[bytes]:
        """Opens a batch's blob.

        Raises:
            SealLost: its key is gone, or it has been forgotten since it was found.
        """
        query = "SELECT answer_key, sealed, members FROM batches JOIN kept ON batch = id WHERE id = ?"
        row = self._db.execute(query, (batch,)).fetchone()
        if row is None:
            raise SealLost(f"batch {batch} of kept answers has been forgotten")
        key, data, members = row
        return self._packing.unpack(
            self._opened_vault().open(Purpose.ANSWER, Sealed(key, data), _context(batch, members))
        )

    def delete_due(self, now: int, most: int) -> dict[int, tuple[int, list[Member]]]:
        """Deletes batches whose time has come, about so many answers, and returns their keys and members."""
        due = "SELECT id, answer_key FROM batches WHERE expires <= ? ORDER BY expires LIMIT ?"
        gone, count = dict[int, tuple[int, list[Member]]](), 0
        for id_, key in self._db.execute(due, (now, most)).fetchall():
            if count < most:
                members = self._delete(id_)
                gone[id_] = key, members
                count += len(members)
        if gone:
            self._write_meta("batch", self.needs.last)
            self._write_meta("dead", self._dead + count)
        return gone

    def _delete(self, batch: int) -> list[Member]:
        db = self._db
        (data,) = db.execute("SELECT members FROM kept WHERE batch = ?", (batch,)).fetchone()
        members = read_members(data)
        # A record is kept as a whole: with its first piece that goes it is gone.
        hands = {member.hand for member in members if member.record}
        db.executemany("DELETE FROM recorded WHERE hand = ?", [(hand,) for hand in hands])
        db.execute("DELETE FROM kept WHERE batch = ?", (batch,))
        db.execute("DELETE FROM batches WHERE id = ?", (batch,))
        return members

    def forget(self, gone: Mapping[int, tuple[int, list[Member]]]) -> None:
        """Forgets what was deleted, and destroys keys that nothing needs any more.

        Raises:
            VaultError: a key cannot be destroyed now; it is tried again the next time.
        """
        for _, members in gone.values():
            self.needs.answers -= sum(not member.record for member in members)
            self._dead += self._places.drop(members)
        self._keys_to_look_at |= self.needs.drop({id_: key for id_, (key, _) in gone.items()})
        if self._keys_to_look_at:  # at the first time too: a crash may have come between a batch's end and its key's
            self._opened_vault().destroy_unused(Purpose.ANSWER, self.needs.keys)
            self._keys_to_look_at = False

    def sweep(self) -> bool:
        """Sweeps requests whose answer has gone out of their table, some at a time; says whether there are more."""
        if self._swept_to is None:
            if self._dead * _SWEEP_FROM <= self.needs.answers:
                return False
            self._swept_to = b""
        query = (
            "SELECT key, id FROM (SELECT key, batch FROM requests WHERE key > ? ORDER BY key LIMIT ?) "
            "LEFT JOIN batches ON id = batch"
        )
        rows = self._db.execute(query, (self._swept_to, _SWEEP_ROWS)).fetchall()
        self._db.executemany("DELETE FROM requests WHERE key = ?", [(key,) for key, id_ in rows if id_ is None])
        if len(rows) == _SWEEP_ROWS:
            self._swept_to = max(key for key, _ in rows)
            return True
        self._swept_to, self._dead = None, 0
        self._write_meta("dead", 0)
        return False

    def _write_meta(self, name: str, value: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, str(value)))

    def _opened_vault(self) -> Vault:
        if self._vault is None:
            raise StoreError("this store was opened without the keys at rest")
        return self._vault


def _context(batch: int, members: bytes) -> bytes:
    """Returns what a blob is sealed for: nobody's request finds another one's answer in it, whatever the rows say."""
    return b"batch" + batch.to_bytes(8, "big") + members


def _answer(data: bytes, key: bytes) -> Member:
    """Reads the member to which a request leads."""
    for member in read_members(data):
        if not member.record and key_of(member.request, member.number) == key:
            return member
    raise StoreError("the store holds a request without its answer")


def _piece(pieces: Callable[[int], list[bytes]], batch: int, slot: int) -> bytes:
    return pieces(batch)[slot]
