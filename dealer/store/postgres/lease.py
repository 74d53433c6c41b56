"""The lease: who of several dealers may write, by one row of the database (MACHINES.md, sections 3 and 4).

Safety rests on the row's lock and on durable commits alone. Clocks decide when a standby tries, and until when the
holder may answer what needs no commit; never whether two may write.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import psycopg

from dealer.store.interface import LeaseLost, StoreError
from dealer.store.postgres.link import Database, Link, Replication, store_errors

_HELD_UP_SECONDS = 0.1
_MARGIN_SECONDS = 0.2
_STALE_LEASES = 2

_LOOK = """
SELECT epoch, beat, holder, expires < clock_timestamp(), generation, clean, size, note, clock_timestamp() FROM writer
"""
_TAKE = """
UPDATE writer SET epoch = epoch + 1, beat = beat + 1, holder = %(me)s,
    expires = clock_timestamp() + make_interval(secs => %(lease)s)
 WHERE one AND epoch = %(seen)s AND (holder IN ('', %(me)s) OR expires < clock_timestamp() OR beat = %(stale)s)
   AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
RETURNING epoch, beat, generation, clean, size, note, clock_timestamp()
"""
_FENCE = """
UPDATE writer SET beat = beat + 1, expires = clock_timestamp() + make_interval(secs => %(lease)s){set}
 WHERE one AND epoch = %(epoch)s AND holder = %(me)s AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
   {also}
RETURNING beat, clock_timestamp() AS now
"""
_CONFIRMED = "AND current_setting('synchronous_standby_names') <> ''"
_STOP = "UPDATE writer SET beat = beat + 1, holder = '' WHERE one AND epoch = %(epoch)s AND holder = %(me)s"
_END_HOLDERS = "SELECT pg_terminate_backend(pid, 1000) FROM unnest(pg_blocking_pids(%s)) pid"


@dataclass(frozen=True, slots=True)
class Row:
    """The writer's row, as it was looked at.

    Attributes:
        epoch, beat: as stored; both only ever grow.
        holder: id of the dealer that writes; "" after an orderly stop.
        expired: whether its lease has run out, by the database's clock.
        generation, clean: of keys at rest.
        size, note: the log's newest signed checkpoint.
        now: the database's time.
    """

    epoch: int
    beat: int
    holder: str
    expired: bool
    generation: int
    clean: int
    size: int
    note: str
    now: datetime


def own_clock() -> float:
    """Returns seconds on a clock that counts suspended time, and is never set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def look(link: Link) -> Row:
    """Reads the writer's row, which may hold what is not replicated yet: nothing of it is shown to anybody.

    Raises:
        StoreError: the database does not answer.
    """
    with store_errors():
        row = link.execute(_LOOK, binary=True).fetchone()
    if row is None:
        raise StoreError("the database has lost its writer row: put the newest database back")
    return Row(*row)


class Standstill:
    """How long a beat has stood still, by the looker's own clock: a database clock that was set back delays nobody."""

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = own_clock) -> None:
        """Has seen no beat yet."""
        self._lease, self._clock = lease_seconds, clock
        self._beat: int | None = None
        self._since = 0.0

    def stale(self, row: Row) -> int | None:
        """Returns the row's beat if it has stood still for two leases; else None."""
        now = self._clock()
        if row.beat != self._beat:
            self._beat, self._since = row.beat, now
        return row.beat if now - self._since >= _STALE_LEASES * self._lease else None


class Lease:
    """One dealer's right to write. Its numbers are replaced whole, so any thread may read them.

    Attributes:
        me: the dealer's id in hex.
        seconds: how long the lease lasts.
        epoch: the one that it holds; 0: none.
        taken: the last one that it knows to have taken; 0: none.
        database_time: the database's time at the last answer, and the own clock then.
    """

    def __init__(self, database: Database, me: str, seconds: float = 2.0) -> None:
        """Holds nothing yet."""
        self._database, self.me, self.seconds = database, me, seconds
        self.epoch = 0
        self.database_time: tuple[float, float] = (time.time(), own_clock())
        self._until = 0.0
        self._asked = 0.0
        self._lock = threading.Lock()
        self.taken = 0
        self._unsure = False  # whether the answer to a taking has not come
        also = _CONFIRMED if database.replication is Replication.SYNCHRONOUS else ""
        self._also = also

    def fence(self, change: str = "", also: str = "") -> str:
        """Returns the first statement of whatever changes anything, with the parameters of `fenced`.

        Args:
            change: more columns of the row that it sets, each after a comma.
            also: a further condition.
        """
        return _FENCE.format(set=change, also=f"{also} {self._also}")

    def fenced(self, epoch: int) -> dict[str, Any]:
        """Returns the fence's parameters, for one who writes under `epoch`."""
        return {"lease": self.seconds, "epoch": epoch, "me": self.me}

    def is_own(self, row: Row) -> bool:
        """Tells whether this dealer is the holder: a process before this one on its folder, or this one.

        One that has taken the lease knows every epoch of its own, unless an answer has not come: another under its id
        is one of somebody who runs on a copy of its folder.
        """
        return row.holder == self.me and (self.taken in (0, row.epoch) or self._unsure)

    def take(self, link: Link, row: Row, stale: int | None = None) -> Row | None:
        """Takes the lease, as a transaction of its own; who holds the row in a stopped transaction is sent away.

        Args:
            link: whose patience is not to be less than it takes.
            row: as it was looked at.
            stale: its beat, if that has stood still for two leases.

        Returns:
            The row as it is now; None if another was quicker, or the holder's lease lasts.

        Raises:
            StoreError: the database does not answer; the lease may have been taken.
        """
        asked = own_clock()
        ending = _Ending(self._database, link.info.backend_pid)
        link.on_tick = ending.end_holders
        self._unsure = True
        try:
            with answered(link), store_errors():
                found = link.execute(
                    _TAKE, {"me": self.me, "lease": self.seconds, "seen": row.epoch, "stale": stale}, binary=True
                ).fetchone()
        finally:
            link.on_tick = None
            ending.close()
        self._unsure = False
        if found is None:
            return None
        epoch, beat, generation, clean, size, note, now = found
        taken = replace(
            row, epoch=epoch, beat=beat, holder=self.me, expired=False, generation=generation, clean=clean, size=size,
            note=note, now=now,
        )  # fmt: skip
        with self._lock:
            self.epoch, self._until = epoch, 0.0
            self.taken = epoch
        self.confirmed(epoch, asked, now)
        return taken

    def renew(self, link: Link, epoch: int) -> int:
        """Renews the lease by a commit that changes nothing else, and returns the new beat.

        Raises:
            LeaseLost: another dealer has it.
            StoreError: the database does not answer.
        """
        asked = own_clock()
        with answered(link), store_errors():
            found = link.execute(self.fence().encode(), self.fenced(epoch), binary=True).fetchone()
        if found is None:
            raise self.lost(epoch)
        self.confirmed(epoch, asked, found[1])
        return int(found[0])

    def give_back(self, link: Link, epoch: int) -> None:
        """Lets the lease go at an orderly stop, so that another dealer takes it at once.

        Raises:
            StoreError: the database does not answer: the others wait until it has run out.
        """
        with self._lock:
            self.epoch = 0 if self.epoch == epoch else self.epoch
        with answered(link), store_errors():
            link.execute(_STOP, self.fenced(epoch))

    def confirmed(self, epoch: int, asked: float, now: datetime) -> None:
        """Notes that a commit under `epoch` was answered: sent at `asked` on the own clock, carried out at `now`."""
        with self._lock:
            if self.epoch == epoch:
                self._until = max(self._until, asked + self.seconds - _MARGIN_SECONDS)
                self._asked = max(self._asked, asked)
                self.database_time = (now.timestamp(), own_clock())

    def lost(self, epoch: int) -> LeaseLost:
        """Notes that `epoch` writes no more, and returns the error that says so."""
        with self._lock:
            if self.epoch == epoch:
                self.epoch, self._until = 0, 0.0
        return LeaseLost(f"epoch {epoch} has ended: another dealer has taken the lease, or a setting forbids commits")

    @property
    def lasts(self) -> bool:
        """Whether what needs no commit may be answered: the lease lasts, by the own clock alone."""
        return self.epoch != 0 and own_clock() < self._until

    @property
    def idle_seconds(self) -> float:
        """Returns for how long nothing was committed."""
        return own_clock() - self._asked

    def now(self) -> float:
        """Returns the database's time, Unix seconds: the last that it said, and what the own clock counted since."""
        said, at = self.database_time
        return said + own_clock() - at


@contextmanager
def answered(link: Link) -> Iterator[None]:
    """Raises `StoreError` unless what is committed in the block was answered idle, without error and warning.

    A wait for a synchronous standby that is cancelled ends with a warning, and the commit is visible and may be lost.
    """
    link.warnings.clear()
    yield
    if link.warnings or link.closed or link.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        said = link.warnings[0] if link.warnings else "the connection is not idle"
        link.close()
        raise StoreError(f"a commit is in doubt: {said}")


class _Ending:
    """Ends sessions that hold the writer's row while a taking waits for it.

    No time-out of PostgreSQL ends a session that waits for its client in the middle of a COPY.
    """

    def __init__(self, database: Database, backend: int) -> None:
        self._database, self._backend = database, backend
        self._since = time.monotonic()
        self._link: Link | None = None

    def end_holders(self) -> None:
        if time.monotonic() - self._since < _HELD_UP_SECONDS:
            return
        with suppress(StoreError, psycopg.Error):
            if self._link is None or self._link.closed:
                self._link = self._database.connect()
            self._link.execute(_END_HOLDERS, (self._backend,))

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
