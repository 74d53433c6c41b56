"""A connection that waits for so long and no longer, hears every warning, and is refused where commits may be lost."""

import ipaddress
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.waiting import Ready, Wait

from dealer.errors import CutcardError
from dealer.store.interface import StoreError
from dealer.store.postgres import arrays

PATIENCE_SECONDS = 5.0
_CONNECT_SECONDS = 3
_TICK_SECONDS = 0.1
_OLDEST = 150000
_DURABLE = ("on", "remote_apply")
_SETTINGS = """
SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'), current_setting('fsync'),
  current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('synchronous_standby_names'),
  current_setting('statement_timeout'), coalesce(current_setting('transaction_timeout', true), '0')
"""


class Replication(StrEnum):
    """What a failover of the database may lose, as the operator declares it (MACHINES.md, section 5)."""

    NONE = "none"
    SYNCHRONOUS = "synchronous"
    ASYNCHRONOUS = "asynchronous"


class Link(psycopg.Connection[tuple[Any, ...]]):
    """A connection of one thread. What it is asked is answered within its patience, or the connection ends.

    Attributes:
        patience: seconds.
        on_tick: called each tenth of a second for which an answer does not come.
        on_wait: called before each wait, with whether a part of what is to be sent is not sent yet: there the tests
            stop a dealer.
        warnings: what the server has warned of.
    """

    patience: float = PATIENCE_SECONDS
    on_tick: Callable[[], None] | None = None
    on_wait: Callable[[bool], None] | None = None
    warnings: list[str]

    def wait(self, gen: Any, interval: float = _TICK_SECONDS, timeout: float | None = None) -> Any:
        """Runs what waits for the server. The server's own time-outs would cut a commit short; this one does not."""
        until = time.monotonic() + (self.patience if timeout is None else timeout)
        try:
            wanted = next(gen)
            with selectors.DefaultSelector() as selector:
                socket = self.pgconn.socket
                selector.register(socket, wanted)
                while True:
                    if self.on_wait is not None:
                        self.on_wait(bool(wanted & Wait.W))
                    selector.modify(socket, wanted)
                    ready = Ready.NONE
                    for _, events in selector.select(_TICK_SECONDS):
                        ready = Ready(events)
                    if ready:
                        wanted = gen.send(ready)
                        continue
                    if time.monotonic() >= until:
                        raise psycopg.OperationalError(f"the server has not answered for {self.patience:g} s")
                    if self.on_tick is not None:
                        self.on_tick()
        except StopIteration as end:
            return end.value
        except BaseException as error:
            if not isinstance(error, psycopg.Error) or self.pgconn.transaction_status == _ACTIVE:
                self.pgconn.finish()  # what it was about may happen or not: nothing more is heard of it
            raise


_ACTIVE = psycopg.pq.TransactionStatus.ACTIVE


@dataclass(frozen=True, slots=True)
class Database:
    """Where the log's database is, and how it is replicated.

    Attributes:
        url: as libpq reads it. It may hold a password: it is neither printed nor told.
        replication: as declared.
    """

    url: str
    replication: Replication

    def __repr__(self) -> str:
        return f"Database({self.replication})"

    def __post_init__(self) -> None:
        _checked_url(self.url)

    def connect(self) -> Link:
        """Connects to the primary.

        Raises:
            StoreError: it cannot be reached, is too old, or is set so that commits may be lost (MACHINES.md,
                section 2).
        """
        with store_errors():
            link = Link.connect(
                _checked_url(self.url),
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=_CONNECT_SECONDS,
                target_session_attrs="read-write",
                application_name="cutcard",
            )
            link.warnings = []
            arrays.register(link)
            link.add_notice_handler(lambda said: _hear(link, said))
        try:
            with store_errors():
                found = link.execute(_SETTINGS).fetchone()
            _check_settings(found or (), self.replication)
        except BaseException:
            link.close()
            raise
        return link


def _hear(link: Link, said: psycopg.errors.Diagnostic) -> None:
    if said.severity_nonlocalized == "WARNING":
        link.warnings.append(said.message_primary or "a warning")


def _check_settings(found: tuple[Any, ...], replication: Replication) -> None:
    version, durable, fsync, pages, recovering, standbys, statement, transaction = found
    if version < _OLDEST:
        raise StoreError(f"the database is PostgreSQL {version // 10000}, and this needs 15 or newer")
    if recovering:
        raise StoreError("the database is a standby that cannot be written: name the primary in --store")
    for name, value in (("fsync", fsync), ("full_page_writes", pages)):
        if value != "on":
            raise StoreError(f"the database runs with {name} = {value}, and a crash may lose what it has acknowledged")
    if durable not in _DURABLE:
        raise StoreError(
            f"synchronous_commit is {durable} for this role, and commits may be lost: ALTER ROLE … SET "
            "synchronous_commit = on"
        )
    for name, value in (("statement_timeout", statement), ("transaction_timeout", transaction)):
        if value != "0":
            raise StoreError(
                f"{name} is {value} for this role, and a commit that it cuts short may be seen and lost: ALTER ROLE … "
                f"SET {name} = 0"
            )
    if replication is Replication.SYNCHRONOUS and not standbys:
        raise StoreError(
            "--replication synchronous is declared, and synchronous_standby_names is empty: nobody confirms a commit"
        )


def _checked_url(url: str) -> str:
    """Returns the URL with `sslmode` verify-full, which another machine's database needs.

    Raises:
        CutcardError: it is no URL of PostgreSQL, or asks for less.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        raise CutcardError("--store is no URL of PostgreSQL: postgresql://ROLE@HOST/DATABASE") from None
    hosts = str(parts.get("host") or "").split(",")
    if all(map(_is_here, hosts)):
        return url
    if (mode := parts.get("sslmode")) not in (None, "verify-full"):
        raise CutcardError(
            f"--store asks for sslmode={mode}, and a database on another machine needs verify-full: whoever is between "
            "would read and write it"
        )
    return make_conninfo(url, sslmode="verify-full")


def _is_here(host: str) -> bool:
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def store_errors() -> Iterator[None]:
    """Raises `StoreError` for whatever the driver says; never with values, which may be sealed rows."""
    try:
        yield
    except psycopg.Error as error:
        said = error.diag.message_primary or str(error).strip().partition("\n")[0] or type(error).__name__
        raise StoreError(f"the store does not answer: {said}") from None
