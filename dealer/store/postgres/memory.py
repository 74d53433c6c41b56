"""What a dealer has seen of the database, in `DATA/seen`: by it going back is noticed (MACHINES.md, section 5)."""

import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dealer.log.checkpoint import read_checkpoint
from dealer.log.merkle import CompactRange, NodeReader
from dealer.store.interface import LogConflict, StoreError
from dealer.store.postgres.lease import Row
from dealer.store.postgres.link import Link, Replication, store_errors
from dealer.store.remembered import Remembered

_WHERE = """
SELECT system_identifier::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()"""
_WHAT_TO_DO = "keep both; only a log of another origin helps (docs/several-dealers.md, When the database went back)"


@dataclass(frozen=True, slots=True)
class Place:
    """Which database it is, and on which timeline: both change with a promotion or a restored copy."""

    system: str
    timeline: str


def place(link: Link) -> Place:
    """Returns where a connection leads to.

    Raises:
        StoreError: the database does not answer.
    """
    with store_errors():
        row = link.execute(_WHERE).fetchone()
    if row is None:
        raise StoreError("the database answers without a row")
    return Place(*row)


@dataclass(frozen=True, slots=True)
class Seen:
    """The greatest beat that a dealer has seen, with what stood beside it."""

    beat: int
    epoch: int
    generation: int
    size: int
    note: str
    holder: str
    system: str
    timeline: str


class Memory:
    """What was seen. In memory from every look and commit; in the file once `keep` is called."""

    def __init__(self, path: Path, replication: Replication) -> None:
        """Reads the file, or makes it.

        Raises:
            VaultError: it cannot be read or made.
        """
        self._file = Remembered(path)
        self._replication = replication
        self._lock = threading.Lock()
        content: dict[str, Any] = dict(self._file.content)
        self.seen = Seen(**content) if content else None
        self._kept = self.seen

    @property
    def place(self) -> Place:
        """Returns where the database was at the last look."""
        return Place(self.seen.system, self.seen.timeline) if self.seen else Place("", "")

    def check(self, row: Row, where: Place, nodes: NodeReader) -> bool:
        """Holds a look at the row against what was seen, and takes it over.

        Args:
            row: the writer's row.
            where: which database it was read from.
            nodes: reads the tree's nodes from the same.

        Returns:
            Whether the database has changed its place since with asynchronous replication: what was shown last may be
            lost, and nobody can tell.

        Raises:
            LogConflict: the database has gone back, or is another history's.
            StoreError: it does not answer.
        """
        seen = self.seen
        if seen is None:
            self._take(row, where)
            return False
        if row.beat < seen.beat:
            raise LogConflict(f"the database has gone back from beat {seen.beat} to {row.beat}: {_WHAT_TO_DO}")
        if row.epoch < seen.epoch:
            raise LogConflict(f"the lease has gone back from epoch {seen.epoch} to {row.epoch}: {_WHAT_TO_DO}")
        if row.generation < seen.generation:
            raise LogConflict(f"the generation of keys has gone back to {row.generation}: {_WHAT_TO_DO}")
        if row.size < seen.size:
            raise LogConflict(f"the log has gone back from {seen.size} entries to {row.size}: {_WHAT_TO_DO}")
        grown = row.note != seen.note and seen.size > 0
        if grown and CompactRange.load(seen.size, nodes).root() != read_checkpoint(seen.note).root:
            raise LogConflict(f"the database holds other entries than the {seen.size} seen: {_WHAT_TO_DO}")
        moved = (where.system, where.timeline) != (seen.system, seen.timeline)
        if moved and self._replication is Replication.NONE and (row.beat, row.holder) != (seen.beat, seen.holder):
            raise LogConflict(
                "the database is another one, or has another timeline, and is not as an orderly stop left it, though "
                f"--replication none is declared: it may be an older copy; {_WHAT_TO_DO}"
            )
        self._take(row, where)
        return moved and self._replication is Replication.ASYNCHRONOUS

    def _take(self, row: Row, where: Place) -> None:
        with self._lock:
            if self.seen is None or row.beat >= self.seen.beat:
                self.seen = Seen(
                    row.beat, row.epoch, row.generation, row.size, row.note, row.holder, where.system, where.timeline
                )

    def keep(self) -> None:
        """Makes what was seen outlive the machine; while nothing new was seen it does nothing.

        Raises:
            VaultError: that cannot be done.
        """
        with self._lock:
            seen = self.seen
        if seen is not None and seen != self._kept:
            self._file.keep(seen.note, **{name: value for name, value in asdict(seen).items() if name != "note"})
            self._file.sync()
            self._kept = seen

    def close(self) -> None:
        """Keeps what was seen, and lets go of the file."""
        self.keep()
        self._file.close()
