"""What a dealer has signed last, kept apart from its database: so that an older one in its place is noticed.

Two records of 4 KiB take turns in the file, so that one is whole whatever happens to a write. To keep something is one
write without synchronising, which outlives the process; `sync` makes it outlive the machine.
"""

import errno
import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any

from dealer.log.checkpoint import read_checkpoint
from dealer.log.merkle import CompactRange, NodeReader
from dealer.store.interface import LogConflict, VaultError
from dealer.store.slots import identity, sync_folder

_WHAT_TO_DO = (
    "Put the newest database back; if there is none, this log has ended: start another with `dealer init` "
    "(docs/operations.md, Restoring a backup)"
)
_RECORD_BYTES = 4096
_DIGEST_BYTES = 32
_HEAD_BYTES = _DIGEST_BYTES + 8 + 2


class Remembered:
    """The file of what was signed last. Notes are kept by one thread; any may synchronise.

    Attributes:
        blank: whether the file was made and nothing was kept yet, as by a dealer that has refused to start.
    """

    def __init__(self, path: Path) -> None:
        """Reads the file, or makes it.

        Raises:
            VaultError: it cannot be read or made.
        """
        self._path = path
        self._lock = threading.Lock()
        self._count, self._content = 0, b""
        self._unsynced = False
        try:
            self._descriptor = self._opened()
            records = [os.pread(self._descriptor, _RECORD_BYTES, at) for at in (0, _RECORD_BYTES)]
        except OSError as error:
            raise VaultError(f"{path} cannot be read or made: {error.strerror}") from None
        self.blank = all(record == bytes(_RECORD_BYTES) for record in records)
        for record in records:
            self._take(record)

    def _opened(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.pwrite(descriptor, bytes(2 * _RECORD_BYTES), 0)
        os.fsync(descriptor)
        sync_folder(self._path.parent)
        return descriptor

    def _take(self, record: bytes) -> None:
        digest, rest = record[:_DIGEST_BYTES], record[_DIGEST_BYTES:]
        count, length = int.from_bytes(rest[:8], "big"), int.from_bytes(rest[8:10], "big")
        content = rest[10 : 10 + length]
        if count > self._count and digest == hashlib.sha256(rest[: 10 + length]).digest():
            self._count, self._content = count, content

    @property
    def damaged(self) -> bool:
        """Whether something was kept, and neither record can be read: no crash does that."""
        return not (self.blank or self._content)

    @property
    def note(self) -> str | None:
        """Returns the signed checkpoint kept last; None if none was."""
        return self.content["note"] if self._content else None

    @property
    def content(self) -> dict[str, Any]:
        """Returns what was kept last, with the note; empty if nothing was."""
        content: dict[str, Any] = json.loads(self._content) if self._content else {}
        return content

    def keep(self, note: str, **more: object) -> None:
        """Keeps a signed checkpoint, before anybody is shown it, and what else stands beside it.

        Raises:
            VaultError: it cannot be written.
        """
        content = json.dumps({"note": note, **more}).encode("ascii")
        if len(content) > _RECORD_BYTES - _HEAD_BYTES:
            raise VaultError(f"a checkpoint of {len(note)} characters is too long for {self._path}")
        with self._lock:
            try:
                self._write(self._count + 1, content)
            except OSError as error:
                raise VaultError(f"{self._path} cannot be written: {error.strerror}") from None
            self._count, self._content, self._unsynced = self._count + 1, content, True

    def _write(self, count: int, content: bytes) -> None:
        rest = count.to_bytes(8, "big") + len(content).to_bytes(2, "big") + content
        record = hashlib.sha256(rest).digest() + rest
        if os.pwrite(self._descriptor, record, count % 2 * _RECORD_BYTES) != len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Makes what was kept outlive the machine; a file that has gone from its folder is made again.

        Raises:
            VaultError: that cannot be done.
        """
        with self._lock:
            if not self._unsynced:
                return
            try:
                found = os.fstat(self._descriptor)
                if identity(self._path) != (found.st_dev, found.st_ino):
                    os.close(self._descriptor)
                    self._descriptor = self._opened()
                    self._write(self._count, self._content)
                descriptor = os.dup(self._descriptor)
                self._unsynced = False
            except OSError as error:
                raise VaultError(f"{self._path} cannot be written: {error.strerror}") from None
        try:
            os.fdatasync(descriptor)  # without the lock: the writer goes on meanwhile
        except OSError as error:
            self._unsynced = True
            raise VaultError(f"{self._path} cannot be synchronised: {error.strerror}") from None
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Synchronises, and lets go of the file.

        Raises:
            VaultError: it could not be synchronised.
        """
        try:
            self.sync()
        finally:
            os.close(self._descriptor)


def require_extends(note: str | None, size: int, read_node: NodeReader) -> None:
    """Refuses a tree that does not extend what was signed last: an older database would sign a second history.

    Args:
        note: what was signed last; None: nothing that is known.
        size: of the tree.
        read_node: reads its complete subtrees.

    Raises:
        LogConflict: it does not.
    """
    if note is None:
        return
    signed = read_checkpoint(note)
    if signed.size > size:
        raise LogConflict(
            f"the database holds {size} entries, and this log has signed {signed.size}: it is an older one, and to go "
            f"on from it would be a second history. {_WHAT_TO_DO}"
        )
    if CompactRange.load(signed.size, read_node).root() != signed.root:
        raise LogConflict(
            f"the database holds other entries than the {signed.size} that this log has signed. {_WHAT_TO_DO}"
        )
