"""Values that come twice in a log that grows: all seen so far lie in a table with an index, and need not be sorted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise

from audit.whole.repeats import Twice


def tables(name: str) -> str:
    """Returns the SQL that makes the tables of one kind of records."""
    return f"""
CREATE TABLE {name} (key BLOB PRIMARY KEY, at INTEGER NOT NULL, data BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE {name}_again (key BLOB NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
"""


class StoredRepeats:
    """Records of a key, an index and data; those whose key came before lie apart, so that finding them is quick."""

    def __init__(self, database: sqlite3.Connection, name: str) -> None:
        self._database = database
        self._add = f"INSERT OR IGNORE INTO {name} VALUES (?, ?, ?)"  # noqa: S608 - a name of ours
        self._again = f"INSERT INTO {name}_again VALUES (?, ?, ?)"  # noqa: S608
        self._found = (
            f"SELECT key, at, data FROM {name}_again UNION ALL "  # noqa: S608
            f"SELECT key, at, data FROM {name} WHERE key IN (SELECT key FROM {name}_again) ORDER BY key, at, data"
        )

    def add(self, key: bytes, index: int, data: bytes) -> None:
        """Adds one record."""
        record = (key, index, data)
        if not self._database.execute(self._add, record).rowcount:
            self._database.execute(self._again, record)

    def found(self) -> Iterator[Twice]:
        """Yields every record whose key came before, with the one right before it."""
        for (key, first, first_data), (other, second, second_data) in pairwise(self._database.execute(self._found)):
            if key == other:
                yield Twice(key, first, second, first_data, second_data)
