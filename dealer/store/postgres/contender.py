"""One of several dealers on a database: it looks, stands by, takes the lease and renews it, on a thread of its own.

It knows nothing of hands and answers: who writes opens the store by it, under an epoch of its own each time. So doubt
is answered with a new epoch and not with reading: an old transaction may still be on its way (MACHINES.md, section 5).
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from dealer.log.checkpoint import open_checkpoint
from dealer.log.errors import CheckpointError, NoteError
from dealer.log.merkle import CompactRange
from dealer.log.note import NoteSigner
from dealer.store.interface import LeaseLost, LogConflict, StoreError, VaultError
from dealer.store.postgres import schema
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import Lease, Row, Standstill, look, own_clock
from dealer.store.postgres.link import Database, Link
from dealer.store.postgres.memory import Memory, Place, place
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import PostgresReader, PostgresStore, read_node
from dealer.store.postgres.upkeep import Upkeep

_log = structlog.get_logger()
_RENEW_SECONDS = 0.5
_LOOK_SECONDS = 0.25
_WORK_SECONDS = 0.1
_ALIVE_SECONDS = 2.0
_KEEP_SECONDS = 1.0
_ASTRAY_SECONDS = 60.0
_STUCK_SECONDS = 30.0
"""A holder whose writer cannot commit for so long leaves the lease to another dealer that could go on."""
_ASIDE_SECONDS = 5.0
_UNREADY_LEASES = 30
"""A dealer that cannot open what is in play waits for so many leases for one that can, and goes on without it then."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a dealer takes part.

    Attributes:
        lease_seconds: how long the lease lasts.
        key_seconds: how long a generation of keys lasts.
        answer_key_seconds: for how long a key seals answers.
        answer_seconds: for how long answers are kept after their hand closed.
    """

    lease_seconds: float = 2.0
    key_seconds: float = 1800.0
    answer_key_seconds: float = 3600.0
    answer_seconds: float = 24 * 3600.0


class Contender:
    """Contends for the lease. Its callbacks are called on its own thread, and must not block.

    Attributes:
        keyring: the dealer's keys at rest.
        lease: what it holds.
        on_taken: called once it has taken the lease: the writer is to open the store.
        on_lost: called, with the reason, once it holds the lease no more.
        on_lapsed: called, again and again, with whether its lease has run out by its own clock and is not renewed yet.
        on_standby: called after each look that shows another dealer at work.
        on_conflict: called, with the reason, where the database has gone back.
        on_moved: called on the writer's thread, before it opens a database that has changed its place since it was
            looked at; it may take seconds, and raise `LogConflict`.
        works: tells whether the writer can commit, as far as it knows.
        may_have_lost: whether what was shown last may be lost with the database's last change of place.
    """

    def __init__(self, database: Database, folder: Path, at_rest: Path, signer: NoteSigner, terms: Terms) -> None:
        """Opens the dealer's folders; the database is not asked yet.

        Raises:
            VaultError: a folder cannot be read or written.
        """
        self._database, self._terms, self._signer = database, terms, signer
        self.keyring = Keyring(at_rest, signer)
        self.registry = Registry(self.keyring, terms.key_seconds)
        self.lease = Lease(database, self.keyring.dealer.hex(), terms.lease_seconds)
        self.memory = Memory(folder / "seen", database.replication)
        self.on_taken: Callable[[], None] = lambda: None
        self.on_lost: Callable[[str], None] = lambda why: None
        self.on_lapsed: Callable[[bool], None] = lambda lapsed: None
        self.on_standby: Callable[[], None] = lambda: None
        self.on_conflict: Callable[[str], None] = lambda why: None
        self.on_moved: Callable[[], None] = lambda: None
        self.works: Callable[[], bool] = lambda: True
        self.may_have_lost = False
        self._stuck_since: float | None = None
        self._aside_until = 0.0
        self._moved = False
        self._standstill = Standstill(terms.lease_seconds)
        self._fresh: Row | None = None  # taken, and no store was opened under it yet
        self._taking = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._link: Link | None = None
        self._looking = threading.Lock()
        self._looked_by: Link | None = None
        self._place = Place("", "")
        self._failing = False
        self._copied = self._astray = False
        self._conflict = False
        self._alive_at = self._kept_at = 0.0
        self._read_at = own_clock()
        self._expired_since: float | None = None
        self.ready = False
        self._seeds_from = own_clock()  # when the oldest seed key that is not destroyed was made
        self._unsettled_since: float | None = None

    def key_overdue_seconds(self) -> float:
        """Returns for how long a key has outlived its time: the oldest of seeds, or a pair of this dealer's own.

        The sealing anew after a change of generation is part of it, so some seconds are no fault. On any thread.
        """
        now, pairs_since = own_clock(), self._unsettled_since
        of_seeds = now - self._seeds_from - self._terms.key_seconds
        return max(0.0, of_seeds, 0.0 if pairs_since is None else now - pairs_since)

    @property
    def replication(self) -> str:
        """Returns how the database is replicated, as declared."""
        return self._database.replication

    def check(self) -> None:
        """Looks at the database once: the address, its settings, its log and its history.

        Raises:
            StoreError: it cannot be used.
        """
        link = self._connected()
        reader = PostgresReader(link)
        schema.check_owner(link)
        if reader.origin != self._signer.name:
            raise StoreError(f"the database is the log {reader.origin}, the signing key that of {self._signer.name}")
        self._verified(self._look(link))

    def start(self) -> None:
        """Begins to stand by, and to take the lease once it is free."""
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def open_store(self) -> PostgresStore:
        """Opens the writer's store under an epoch of its own. On the writer's thread.

        Raises:
            LeaseLost: another dealer has the lease.
            LogConflict: the database has gone back.
            StoreError: it does not answer, or its row is not this log's.
            VaultError: a pair cannot be made.
        """
        link = self._database.connect()
        try:
            with self._taking:
                row, self._fresh = self._fresh, None
                if row is None:
                    row = self._taken_anew(link)
            self._verified(row)
            if self._moved:
                self.on_moved()
                self._moved = False
            if CompactRange.load(row.size, partial(read_node, link)).root() != self._root(row):
                raise LogConflict("the database's nodes do not give the root that its newest checkpoint signs")
            store = PostgresStore(link, self.keyring, self.lease, row)
            self.registry.register(link, row.generation)
            upkeep = Upkeep(store, self.registry, self._terms.answer_key_seconds, self._terms.answer_seconds)
            upkeep.begin()
            store.upkeep = upkeep
            store.uncertain, store.on_certain = self.may_have_lost, self._be_certain
        except BaseException:
            link.close()
            raise
        return store

    def _be_certain(self) -> None:
        self.may_have_lost = False

    def _taken_anew(self, link: Link) -> Row:
        row = self._look(link)
        taken = self.lease.take(link, row) if self.lease.is_own(row) else None
        if taken is None:
            raise self.lease.lost(self.lease.epoch)
        self.memory.keep()
        return taken

    def give_up(self) -> None:
        """Holds and takes the lease no more: the database does not extend what this dealer knows. On any thread."""
        self._conflict = True
        self.lease.lost(self.lease.epoch)

    def open_reader(self) -> PostgresReader:
        """Opens the log for reading, whoever writes.

        Raises:
            StoreError: the database does not answer.
        """
        return PostgresReader(self._database.connect())

    def stop(self) -> None:
        """Gives the lease back, so that another dealer takes it at once, and lets go of the folders.

        The pairs are destroyed where another dealer that is alive has every wrap.
        """
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self._thread is None:
                return  # it has never stood by
            link = self._connected()
            row = look(link)
            if self.registry.another_has_all(link, row.generation):
                self.keyring.pairs.destroy_below(None)
                self.registry.leave(link)
            if self.lease.epoch:
                self.lease.give_back(link, self.lease.epoch)
                self._look(link)
        except (StoreError, VaultError) as error:
            _log.warning("the lease could not be given back: another dealer waits for its end", error=str(error))
        finally:
            self._drop_link()
            self.keyring.close()
            self.memory.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._conflict:
                    pass
                elif self.lease.epoch:
                    self._hold()
                else:
                    self._contend()
                self._failing = False
            except LeaseLost as error:
                if not self.lease.epoch:  # else the writer has taken it anew meanwhile
                    self.on_lost(str(error))
            except LogConflict as error:
                self._conflict = True
                _log.critical("the database has gone back, or is another log's", error=str(error))
                self.on_conflict(str(error))
            except (StoreError, VaultError) as error:
                self._drop_link()
                if not self._failing:
                    _log.error("the database cannot be looked at", error=str(error))
                self._failing = True
                self._outlive_the_database()
            except Exception as error:
                self._drop_link()
                _log.error("looking at the lease failed", error=type(error).__name__)
            self.on_lapsed(self.lease.epoch != 0 and not self.lease.lasts)
            self._stopping.wait(_WORK_SECONDS if self.lease.epoch else _LOOK_SECONDS)

    def _hold(self) -> None:
        """Renews the lease where nothing was committed for a while, and looks after the folder."""
        if self._is_stuck() and self._stands_aside():
            return
        epoch = self.lease.epoch
        if self.lease.idle_seconds >= _RENEW_SECONDS:
            link = self._connected()
            with self._taking:
                if self.lease.epoch == epoch:
                    self.lease.renew(link, epoch)
        if own_clock() - self._kept_at >= _KEEP_SECONDS:
            link = self._connected()
            self._settle(self._look(link), link)

    def _is_stuck(self) -> bool:
        """Tells whether the writer has not been able to commit for long, though this connection lives."""
        if self.works():
            self._stuck_since = None
            return False
        now = own_clock()
        self._stuck_since = now if self._stuck_since is None else self._stuck_since
        return now - self._stuck_since >= _STUCK_SECONDS

    def _stands_aside(self) -> bool:
        """Gives the lease back, if there is another dealer that can go on; it tries again after a while."""
        link = self._connected()
        if not self.registry.another_has_all(link, look(link).generation):
            return False
        with self._taking:
            self.lease.give_back(link, self.lease.epoch)
        self._stuck_since, self._aside_until = None, own_clock() + _ASIDE_SECONDS
        self.on_lost(f"it could not commit for {_STUCK_SECONDS:g} s, and leaves the lease to another dealer")
        return True

    def _contend(self) -> None:
        """Looks once, and takes the lease if it is free or stands still."""
        link = self._connected()
        row = self._look(link)
        self._settle(row, link)
        stale = self._standstill.stale(row)
        first = row.epoch == 0
        own = self.lease.is_own(row)
        self._note_copy(copied=row.holder == self.lease.me and not own and row.epoch > self.lease.taken)
        free = row.holder == "" or own or row.expired or stale is not None
        if not free or own_clock() < self._aside_until:
            self._expired_since = None
            self.on_standby()
            return
        if not (self._is_able(row, link) or first):
            self.on_standby()
            return
        with self._taking:
            if self._stopping.is_set():
                return
            taken = self.lease.take(link, row, stale)
            self._fresh = taken
        if taken is not None:
            self._look(link)
            self.memory.keep()
            _log.info("this dealer has taken the lease", epoch=taken.epoch)
            self.on_taken()

    def _is_able(self, row: Row, link: Link) -> bool:
        """Tells whether it can go on with what is in play, or nobody has come for long who can."""
        if self.lease.is_own(row):
            return True
        self._note_ready(self._has_all(link))
        if self.ready:
            return True
        now = own_clock()
        self._expired_since = now if self._expired_since is None else self._expired_since
        return now - self._expired_since >= _UNREADY_LEASES * self._terms.lease_seconds

    def _note_copy(self, *, copied: bool) -> None:
        if copied and not self._copied:
            _log.critical(
                "another dealer runs on a copy of this one's folder: end one of the two, and make it a folder of its "
                "own by `dealer join`",
                dealer=self.lease.me,
            )
        self._copied = copied

    def _note_clock(self, row: Row) -> None:
        """Has it said once where the clocks differ so much that others may soon refuse this dealer's registration."""
        ahead = time.time() - row.now.timestamp()
        if (astray := abs(ahead) > _ASTRAY_SECONDS) and not self._astray:
            _log.warning(
                "this machine's clock is not the database's: set both by NTP, or no dealer may wrap keys for this one",
                seconds_ahead=round(ahead),
            )
        self._astray = astray

    def _note_ready(self, ready: bool) -> None:
        if ready and not self.ready:
            _log.info("this dealer stands by: every key at rest is there")
        self.ready = ready

    def _has_all(self, link: Link) -> bool:
        return all(self.registry.learn(link).values())

    def _look(self, link: Link) -> Row:
        """Looks at the row, and holds it against what was seen: one look after the other, so that none is older."""
        with self._looking:
            row = look(link)
            self._note_clock(row)
            if link is not self._looked_by:
                self._place, self._looked_by = place(link), link  # a place changes with no connection open
            before = self.memory.place
            lost = self.memory.check(row, self._place, partial(read_node, link))
            self.may_have_lost = self.may_have_lost or lost
            self._moved = self._moved or (before != Place("", "") and before != self.memory.place)
            self._read_at = own_clock()
        return row

    def _settle(self, row: Row, link: Link) -> None:
        """Registers, opens what is wrapped for this dealer, and destroys pairs that nothing needs any more."""
        now = own_clock()
        if now - self._alive_at >= _ALIVE_SECONDS:
            self.registry.register(link, row.generation)
            self._seeds_from = own_clock() - self.registry.oldest_seed_seconds(link)
            self._alive_at = now
            if not self.lease.epoch:
                self._note_ready(self._has_all(link))
        if row.clean == row.generation:
            self._unsettled_since = now if self._unsettled_since is None else self._unsettled_since
            self.registry.settle(link, row.generation)
            self._unsettled_since = None
        if now - self._kept_at >= _KEEP_SECONDS:
            self.memory.keep()
            self._kept_at = now

    def _outlive_the_database(self) -> None:
        """Destroys every pair of a standby that has not read the row for two periods, and joins anew."""
        if self.lease.epoch or own_clock() - self._read_at < 2 * self._terms.key_seconds:
            return
        self.keyring.pairs.join_anew()
        self.keyring.forget_all_but(())
        self.registry.begin_anew()
        self.lease.me = self.keyring.dealer.hex()
        self._read_at = own_clock()

    def _verified(self, row: Row) -> None:
        try:
            checkpoint = open_checkpoint(row.note, self.keyring.vouching.verifier)
        except (NoteError, CheckpointError) as error:
            raise LogConflict(f"the database's newest checkpoint is not this log's: {error}") from None
        if checkpoint.origin != self._signer.name or checkpoint.size != row.size:
            raise LogConflict(f"the database says {row.size} entries, and its newest checkpoint {checkpoint.size}")

    def _root(self, row: Row) -> bytes:
        return open_checkpoint(row.note, self.keyring.vouching.verifier).root

    def _connected(self) -> Link:
        if self._link is None or self._link.closed:
            self._link = self._database.connect()
        return self._link

    def _drop_link(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
