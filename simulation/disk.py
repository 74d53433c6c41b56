"""A disk in memory under the real SQLite: it fails, is full, tears, and loses what was not synchronised."""

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

import apsw

SECTOR = 512
_NAMES = count()


class _File:
    """One file: what a process sees of it, and what a machine that loses power would find."""

    def __init__(self, content: bytes = b"") -> None:
        self.seen = bytearray(content)
        self.durable = bytes(content)
        self.written: list[tuple[int, bytes]] = []


class Disk:
    """All files of a world's database.

    Attributes:
        fault: is asked before each call, by its name (`read`, `write`, `sync`, `truncate`, `open`, `delete`); what it
            returns is raised.
        process: goes up with each kill: what a dead process still writes goes nowhere.
    """

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self.fault: Callable[[str], Exception | None] = Disk.no_fault
        self.process = 0
        self.vfs = _Vfs(self, f"simulated-{next(_NAMES)}")

    @staticmethod
    def no_fault(call: str) -> Exception | None:
        """Lets every call succeed."""
        return None

    def put(self, path: Path, content: bytes) -> None:
        """Puts a file there, durably, in place of what was there of that name."""
        for name in (str(path), f"{path}-wal", f"{path}-journal"):
            self._files.pop(name, None)
        self._files[str(path)] = _File(content)

    def copy(self) -> dict[str, bytes]:
        """Returns what a process sees of every file."""
        return {name: bytes(file.seen) for name, file in self._files.items()}

    def restore(self, copied: dict[str, bytes]) -> None:
        """Puts files back as they were."""
        self._files = {name: _File(content) for name, content in copied.items()}

    def kill(self) -> None:
        """Ends the process that has files open; what it wrote stays."""
        self.process += 1

    def lose_power(self, rng: random.Random) -> None:
        """Ends the machine: of what was not synchronised any part may be there, the last write torn."""
        self.kill()
        for file in self._files.values():
            content = bytearray(file.durable)
            kept = [write for write in file.written if rng.random() < 0.5]
            for at, data in kept[:-1]:
                _write(content, data, at)
            if kept:
                at, data = kept[-1]
                _write(content, data[: SECTOR * rng.randint(0, len(data) // SECTOR)], at)
            file.seen, file.durable, file.written = content, bytes(content), []

    def connect(self, path: Path, read_only: bool) -> sqlite3.Connection:
        """Opens a database here, as `dealer.store.sqlite.connect` does on a real disk."""
        return cast(sqlite3.Connection, _Connection(path, self))


class _Handle:
    """A file as a process has it open."""

    def __init__(self, disk: Disk, file: _File) -> None:
        self._disk, self._file, self._process = disk, file, disk.process

    @property
    def _dead(self) -> bool:
        return self._process != self._disk.process

    def _before(self, call: str) -> None:
        if (error := self._disk.fault(call)) is not None:
            raise error

    def xRead(self, amount: int, offset: int) -> bytes:
        self._before("read")
        return bytes(self._file.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._dead:
            return
        self._before("write")
        _write(self._file.seen, data, offset)
        self._file.written.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        if self._dead:
            return
        self._before("truncate")
        del self._file.seen[size:]

    def xSync(self, flags: int) -> None:
        if self._dead:
            return
        self._before("sync")
        self._file.durable, self._file.written = bytes(self._file.seen), []

    def xFileSize(self) -> int:
        return len(self._file.seen)

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xSectorSize(self) -> int:
        return SECTOR

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xClose(self) -> None:
        pass


class _Vfs(apsw.VFS):
    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self.name = name
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        disk, path = self._disk, name.filename() if isinstance(name, apsw.URIFilename) else name
        flags[1] = flags[0]
        if path is None:
            return _Handle(disk, _File())
        if (error := disk.fault("open")) is not None:
            raise error
        return _Handle(disk, disk._files.setdefault(path, _File()))

    def xDelete(self, name: str, sync: bool) -> None:
        if (error := self._disk.fault("delete")) is not None:
            raise error
        self._disk._files.pop(name, None)

    def xAccess(self, name: str, flags: int) -> bool:
        return name in self._disk._files

    def xFullPathname(self, name: str) -> str:
        return name

    def xRandomness(self, length: int) -> bytes:
        return bytes(length)

    def xSleep(self, microseconds: int) -> int:
        return microseconds

    def xCurrentTime(self) -> float:
        return 2451545.0


class _Connection:
    """The standard module's face on apsw's connection, as far as the store uses it.

    Without shared memory, which a file layer in Python has not: the write-ahead log's index lies in this process.
    """

    def __init__(self, path: Path, disk: Disk) -> None:
        with _Translated():
            self._db = apsw.Connection(str(path), vfs=disk.vfs.name, flags=apsw.SQLITE_OPEN_READWRITE)
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    def execute(self, query: str, values: Sequence[object] = ()) -> "_Cursor":
        with _Translated():
            return _Cursor(self._db.execute(query, values))

    def executemany(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        with _Translated():
            for _ in self._db.executemany(query, rows):
                pass

    def executescript(self, script: str) -> None:
        with _Translated():
            for _ in self._db.execute(script):
                pass

    def close(self) -> None:
        with _Translated():
            self._db.close(True)


class _Cursor:
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def fetchone(self) -> Any:
        with _Translated():
            return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        with _Translated():
            return list(self._cursor.fetchall())

    def __iter__(self) -> Iterator[Any]:
        with _Translated():
            yield from self._cursor


class _Translated:
    """Raises what apsw raises as the standard module would."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, apsw.ConstraintError):
            raise sqlite3.IntegrityError(str(error)) from error
        if isinstance(error, apsw.Error):
            raise sqlite3.OperationalError(str(error)) from error


def _write(content: bytearray, data: bytes, at: int) -> None:
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data
