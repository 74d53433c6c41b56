"""The tables of a log's database, their version, and the days that answers are kept by (MACHINES.md, section 2)."""

from datetime import date, timedelta
from typing import Any

from dealer.store.interface import StoreError
from dealer.store.postgres.link import Link, store_errors

VERSION = 1
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


def is_there(link: Link) -> bool:
    """Tells whether there is a log, whole or not."""
    with store_errors():
        return bool(_one(link, "SELECT to_regclass('meta') IS NOT NULL OR to_regclass('writer') IS NOT NULL")[0])


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
    with store_errors():
        (there,) = _one(link, "SELECT to_regclass('meta') IS NOT NULL")
        if not there:
            raise StoreError("there is no log in this database: make one by `dealer init --store URL`")
        meta = dict(link.execute("SELECT name, value FROM meta").fetchall())
    version = meta.get("version")
    if "moving" in meta and not moving:
        raise StoreError("a log is being moved into this database: run `dealer migrate --to` again until it ends")
    if version == str(VERSION):
        return str(meta["origin"])
    if version is None or not version.isdecimal():
        raise StoreError("the database does not say of which version its log is: it is no dealer's, or half made")
    if int(version) < VERSION:
        raise StoreError(f"the database is of version {version}: bring it up to version {VERSION} by `dealer migrate`")
    raise StoreError(f"the database is of version {version}, and this dealer reads {VERSION}: use a newer dealer")


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
