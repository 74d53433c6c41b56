"""The tables of a log's database, their version, and the days that answers are kept by (MACHINES.md, section 2)."""

from datetime import date, timedelta
from typing import Any

import structlog

from dealer.store.interface import StoreError
from dealer.store.postgres.link import Link, store_errors

_log = structlog.get_logger()
VERSION = 1
STEPS: dict[int, tuple[str, ...]] = {}
"""By version, the statements that make the next one of it."""
DAYS_AHEAD = 2
DAILY = ("answers", "records")
_TABLES = """
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE writer (
  one boolean PRIMARY KEY CHECK (one), epoch bigint NOT NULL, beat bigint NOT NULL, holder text NOT NULL,
  expires timestamptz NOT NULL, generation bigint NOT NULL, clean bigint NOT NULL, size bigint NOT NULL,
  note text NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE entries (position bigint PRIMARY KEY, entry bytea NOT NULL);
ALTER TABLE entries ALTER COLUMN entry SET STORAGE EXTERNAL;
CREATE TABLE nodes (level smallint, position bigint, hash bytea NOT NULL, PRIMARY KEY (level, position));
CREATE TABLE hands (
  hand bytea PRIMARY KEY, state text, referee boolean NOT NULL, offered bigint, committed bigint, closed bigint,
  owner text NOT NULL, key bigint, secrets bytea, mac bytea, answers_from bigint NOT NULL, asked timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX hands_in_play ON hands (hand) WHERE closed IS NULL;
CREATE TABLE tables (name text PRIMARY KEY, owner text NOT NULL, number bigint NOT NULL, hand bytea)
  WITH (fillfactor = 70);
CREATE TABLE seen (digest bytea PRIMARY KEY);
CREATE TABLE answers (
  caller text, request bytea, day date, body bytea NOT NULL, hand bytea NOT NULL, key bigint NOT NULL,
  sealed bytea NOT NULL, PRIMARY KEY (caller, request, day)
) PARTITION BY RANGE (day);
CREATE TABLE records (
  hand bytea, number integer, day date, key bigint NOT NULL, sealed bytea NOT NULL, PRIMARY KEY (hand, number, day)
) PARTITION BY RANGE (day);
CREATE TABLE keys (
  id bigint PRIMARY KEY, purpose text NOT NULL, generation bigint NOT NULL, note text NOT NULL,
  made timestamptz NOT NULL, keep_until timestamptz NOT NULL
);
CREATE TABLE wraps (
  key bigint, dealer bytea, generation bigint, bytes bytea NOT NULL, PRIMARY KEY (key, dealer, generation)
);
CREATE TABLE dealers (
  dealer bytea, generation bigint, note text NOT NULL, alive timestamptz NOT NULL, PRIMARY KEY (dealer, generation)
);
CREATE TABLE published (one boolean PRIMARY KEY CHECK (one), size bigint NOT NULL, note text NOT NULL);
"""


_NAMES = tuple(part.partition(" ")[0] for part in _TABLES.split("CREATE TABLE ")[1:])
_OWNERS = """
SELECT relname::text, pg_get_userbyid(relowner)::text FROM unnest(%s::text[]) n (name)
  JOIN pg_class ON pg_class.oid = to_regclass(n.name) ORDER BY 1"""
_META = """
SELECT count(*)::int FROM pg_attribute WHERE attrelid = to_regclass('meta') AND attname IN ('name', 'value')"""
_RIGHTS = """
SELECT current_user::text, has_schema_privilege(current_schema(), 'CREATE'),
  current_setting('is_superuser') = 'on'"""


def is_there(link: Link) -> bool:
    """Tells whether there is a log.

    Raises:
        StoreError: there are tables by those names that are no log's, or the database does not answer.
    """
    with store_errors():
        rows = link.execute(_OWNERS, (list(_NAMES),)).fetchall()
        (of_meta,) = _one(link, _META)
    if rows and of_meta != 2:
        there = ", ".join(name for name, *_ in rows)
        raise StoreError(f"there are tables of something else in this database ({there}): give the log one of its own")
    return bool(rows)


def check_owner(link: Link) -> None:
    """Checks that this role may do all that a dealer does, such as to make and to drop the days.

    Raises:
        StoreError: it may not.
    """
    with store_errors():
        rows = link.execute(_OWNERS, (list(_NAMES),)).fetchall()
        user, may_make, is_superuser = _one(link, _RIGHTS)
    for name, owner in rows:
        if owner != user:
            raise StoreError(
                f"the table {name} is the role {owner}'s, and this dealer logs in as {user}: all dealers log in as the "
                "role that made the log"
            )
    if not may_make:
        raise StoreError(f"the role {user} may make no table in this schema: GRANT CREATE ON SCHEMA … TO {user}")
    if is_superuser:
        _log.warning("this dealer logs in as a superuser: make a role of its own, which is none", role=user)


def is_moving(link: Link, origin: str) -> bool:
    """Tells whether a move of this log into the database was begun and has not ended."""
    with store_errors():
        meta = dict(link.execute("SELECT name, value FROM meta").fetchall())
    return meta.get("moving") == origin == meta.get("origin")


def empty(link: Link) -> None:
    """Empties the tables of a log whose move has not ended; the fence is not asked, for nobody serves it."""
    with store_errors(), link.transaction():
        link.execute("TRUNCATE entries, nodes, hands, tables, seen, answers, records, keys, wraps, dealers")
        link.execute("UPDATE writer SET size = 0, holder = '', generation = 1, clean = 1")
        link.execute("UPDATE published SET size = 0")


def create(link: Link, origin: str, note: str, *, moving: bool = False) -> None:
    """Makes the tables of an empty log, with the signed checkpoint of the empty tree.

    Args:
        link: a connection.
        origin: the log's.
        note: the checkpoint.
        moving: whether a log is about to be moved there; until that has ended nobody serves it.

    Raises:
        StoreError: a log is there already, or the database does not answer; nothing was made.
    """
    with store_errors():
        if is_there(link):
            raise StoreError("there is a log in this database already: nothing was made")
        with link.transaction():
            for statement in _TABLES.split(";\n"):
                if statement.strip():
                    link.execute(statement.encode())
            link.execute("INSERT INTO meta VALUES ('version', %s), ('origin', %s)", (str(VERSION), origin))
            if moving:
                link.execute("INSERT INTO meta VALUES ('moving', %s)", (origin,))
            link.execute(
                "INSERT INTO writer VALUES (true, 0, 0, '', clock_timestamp(), 1, 1, 0, %s)",
                (note,),
            )
            link.execute("INSERT INTO published VALUES (true, 0, %s)", (note,))
            for statement in days_to_come(_today(link), ()):
                link.execute(statement.encode())


def origin_of(link: Link, *, moving: bool = False) -> str:
    """Returns the log's origin; of one that is being moved there, to who moves it alone.

    Raises:
        StoreError: there is no log, or one of another version.
    """
    origin, version = _origin_and_version(link, moving=moving)
    if version < VERSION:
        raise StoreError(
            f"the database is of version {version}: bring it up to version {VERSION} by `dealer migrate --store URL`"
        )
    return origin


def _origin_and_version(link: Link, *, moving: bool) -> tuple[str, int]:
    with store_errors():
        if not is_there(link):
            raise StoreError("there is no log in this database: make one by `dealer init --store URL`")
        meta = dict(link.execute("SELECT name, value FROM meta").fetchall())
    version = meta.get("version")
    if "moving" in meta and not moving:
        raise StoreError("a log is being moved into this database: run `dealer migrate --to` again until it ends")
    if version is None or not version.isdecimal() or "origin" not in meta:
        raise StoreError("the database does not say of which version its log is: it is no dealer's, or half made")
    if int(version) > VERSION:
        raise StoreError(f"the database is of version {version}, and this dealer reads {VERSION}: use a newer dealer")
    return meta["origin"], int(version)


def bring_up(link: Link, origin: str) -> bool:
    """Brings a log's tables up to this version, in one transaction: one that is stopped has changed nothing.

    Its first statement is a taking of the lease, for nobody: a dealer that comes back late writes no more.

    Returns:
        Whether there was anything to do.

    Raises:
        StoreError: a dealer serves the log, it is another's, or the database does not answer; nothing was changed.
    """
    found, version = _origin_and_version(link, moving=False)
    if found != origin:
        raise StoreError(f"the database is the log {found}, and this folder is of {origin}")
    if version == VERSION:
        return False
    with store_errors(), link.transaction():
        if not link.execute(_TAKE).rowcount:
            raise StoreError("a dealer serves this log: stop every dealer, then run this again")
        _, version = _origin_and_version(link, moving=False)  # nobody else changes it from here on
        for step in range(version, VERSION):
            for statement in STEPS[step]:
                link.execute(statement.encode())
        link.execute("UPDATE meta SET value = %s WHERE name = 'version'", (str(VERSION),))
    return True


_TAKE = """
UPDATE writer SET epoch = epoch + 1, beat = beat + 1, holder = ''
 WHERE one AND (holder = '' OR expires < clock_timestamp())"""


def days_there(link: Link) -> list[date]:
    """Returns the days that have a partition in every table kept by days."""
    with store_errors():
        names = {name for (name,) in link.execute(_PARTITIONS).fetchall()}
    days = {date.fromisoformat(name.partition("_")[2].replace("_", "-")) for name in names}
    return sorted(day for day in days if all(f"{table}_{day:%Y_%m_%d}" in names for table in DAILY))


_PARTITIONS = """
SELECT relname::text FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
 WHERE inhparent IN ('answers'::regclass, 'records'::regclass)
"""


def days_to_come(today: date, there: tuple[date, ...] | list[date]) -> list[str]:
    """Returns the statements that make the partitions of today and two days ahead, those that are missing."""
    days = [today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)]
    return [
        f"CREATE TABLE IF NOT EXISTS {table}_{day:%Y_%m_%d} PARTITION OF {table} "
        f"FOR VALUES FROM ('{day}') TO ('{day + timedelta(days=1)}')"
        for day in days
        if day not in there
        for table in DAILY
    ]


def day_gone(day: date) -> list[str]:
    """Returns the statements that drop a day as a whole."""
    return [f"DROP TABLE IF EXISTS {table}_{day:%Y_%m_%d}" for table in DAILY]


def _today(link: Link) -> date:
    (today,) = _one(link, "SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")
    assert isinstance(today, date)
    return today


def _one(link: Link, query: str) -> tuple[Any, ...]:
    row = link.execute(query.encode()).fetchone()
    if row is None:
        raise StoreError("the database answers without a row")
    return row
