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
_SETTINGS = """
SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('synchronous_standby_names'),
  n.name, current_setting(n.name, true) FROM unnest(%s::text[]) n (name)
"""
_OF_SERVER: dict[str, tuple[tuple[str | None, ...], str]] = {
    "fsync": (("on",), "and a crash may lose what it has acknowledged"),
    "full_page_writes": (("on",), "and a crash may lose what it has acknowledged"),
    "server_encoding": (("UTF8", "SQL_ASCII"), "and a log's notes do not fit: createdb --encoding UTF8"),
}
"""What the server must be set to, and why."""
_CUT_SHORT = "and a commit that it cuts short may be seen and lost"
_OF_ROLE: dict[str, tuple[tuple[str | None, ...], str]] = {
    "synchronous_commit": (("on", "remote_apply"), "and commits may be lost"),
    "statement_timeout": (("0",), _CUT_SHORT),
    "transaction_timeout": (("0", None), _CUT_SHORT),
    "lock_timeout": (("0",), "and a standby cannot wait for a writer that hangs within a commit"),
    "idle_session_timeout": (("0",), "and the writer's connection ends between two hands"),
    "default_transaction_isolation": (("read committed",), "and a commit that waits for another fails"),
}
"""What the role must be set to, and why; None: the server is older than the setting."""


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
        with store_errors(), _can_write():
            link = Link.connect(
                _checked_url(self.url),
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=_CONNECT_SECONDS,
                target_session_attrs="read-write",
                application_name="cutcard",
                client_encoding="UTF8",
            )
            link.warnings = []
            arrays.register(link)
            link.add_notice_handler(lambda said: _hear(link, said))
        try:
            with store_errors():
                found = link.execute(_SETTINGS, ([*_OF_SERVER, *_OF_ROLE],)).fetchall()
            _check_settings(found, self.replication)
        except BaseException:
            link.close()
            raise
        return link


@contextmanager
def _can_write() -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        if "session is read-only" in str(error):
            raise StoreError(
                "the database, or this role's default_transaction_read_only, is read-only: name the primary in --store"
            ) from None
        raise


def _hear(link: Link, said: psycopg.errors.Diagnostic) -> None:
    if said.severity_nonlocalized == "WARNING":
        link.warnings.append(said.message_primary or "a warning")


def _check_settings(found: list[tuple[Any, ...]], replication: Replication) -> None:
    version, recovering, standbys = found[0][:3]
    settings = {name: value for *_, name, value in found}
    if version < _OLDEST:
        raise StoreError(f"the database is PostgreSQL {version // 10000}, and this needs 15 or newer")
    if recovering:
        raise StoreError("the database is a standby that cannot be written: name the primary in --store")
    for name, (good, why) in _OF_SERVER.items():
        if settings[name] not in good:
            raise StoreError(f"the database runs with {name} = {settings[name]}, {why}")
    for name, (good, why) in _OF_ROLE.items():
        if settings[name] not in good:
            raise StoreError(f"{name} is {settings[name]} for this role, {why}: ALTER ROLE … SET {name} = '{good[0]}'")
    if replication is Replication.SYNCHRONOUS and not standbys:
        raise StoreError(
            "--replication synchronous is declared, and synchronous_standby_names is empty: nobody confirms a commit"
        )


def _checked_url(url: str) -> str:
    """Returns the URL with `sslmode` verify-full, which another machine's database needs.

    What would have libpq take a part of a password for a host, a port or a name, and say it, is refused before.

    Raises:
        CutcardError: it is no URL of PostgreSQL, or asks for less. The message has nothing of it.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        parts = {}
    if not parts:
        raise CutcardError("--store is no URL of PostgreSQL: postgresql://ROLE@HOST/DATABASE")
    _, is_url, rest = url.partition("://")
    owner, at, place = rest.partition("?")[0].partition("@")
    if is_url and ("@" in place or (at and "/" in owner)):
        raise CutcardError("--store has an @ or a / in its role or password: write it as %40 or %2F there")
    if not all(port.isdecimal() and 0 < int(port) < 1 << 16 for port in str(parts.get("port") or 1).split(",")):
        raise CutcardError("--store has a port that is no number: a : or a / of a password is written as %3A or %2F")
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
