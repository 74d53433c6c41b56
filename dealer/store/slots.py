"""Keys of hands in play: a file of slots, drawn and synchronised ahead, from which each hand takes one of its own.

A slot has 64 bytes, so that none lies across two sectors: the key's id, the key, and a digest of both, by which a slot
that was half written is known. To take a key costs no write. When its hand has closed, the slot is overwritten in place
with a fresh key, which is ready once it is synchronised: one write destroys the old key and draws the new one.
"""

import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable
from itertools import groupby
from pathlib import Path

from dealer.core.seed import Entropy, EntropyError, draw
from dealer.store.interface import VaultError

SLOT_BYTES = 64
_ID_BYTES = 8
_KEY_BYTES = 32
_READY = 4096
_GATHER_SECONDS = 0.2
_AGAIN_SECONDS = 1.0
_WAIT_SECONDS = 5.0


class Slots:
    """The file of slots. Its keys are taken and given back by one thread, and made ready by another."""

    def __init__(
        self, path: Path, ready: int = _READY, entropy: Entropy = os.urandom, *, threaded: bool = True
    ) -> None:
        """Reads what is there; nothing is ready before `keep_only`.

        Args:
            path: the file; it is made if it is missing.
            ready: how many keys lie ready when nothing happens.
            entropy: gives keys and their ids; on any thread.
            threaded: False: there is no second thread, and whoever runs this calls `renew`.

        Raises:
            VaultError: it cannot be read.
        """
        self.on_failure: Callable[[VaultError], None] = lambda error: None
        self._path, self._target, self._entropy = path, ready, entropy
        self._folder = identity(path.parent)
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._keys: dict[int, tuple[int, bytes]] = {}
        self._ready: deque[int] = deque()
        self._spent: set[int] = set()
        self._size = 0
        self._descriptor: int | None = None
        self._failure: VaultError | None = None
        self._closing = False
        self._threaded = threaded
        self._thread: threading.Thread | None = None
        self._read()

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise VaultError(f"{self._path} cannot be read: {error.strerror}") from None
        self._size = -(-len(content) // SLOT_BYTES)
        for slot in range(self._size):
            record = content[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES]
            key, secret = int.from_bytes(record[:_ID_BYTES], "big"), record[_ID_BYTES : _ID_BYTES + _KEY_BYTES]
            if record == _record(key, secret) and key not in self._keys:
                self._keys[key] = slot, secret
            else:
                self._spent.add(slot)

    def secret(self, key: int) -> bytes | None:
        """Returns a key, 32 bytes; None if no slot holds it."""
        found = self._keys.get(key)
        return None if found is None else found[1]

    def keep_only(self, used: Container[int]) -> None:
        """Overwrites every key but those in use and those that lie ready, and has keys made ready from now on.

        Raises:
            VaultError: that cannot be done.
        """
        self.give_back_all_but(used)
        self._renew()
        if self._threaded and self._thread is None:
            self._thread = threading.Thread(target=self._work, name="key slots", daemon=True)
            self._thread.start()

    def take(self) -> int:
        """Returns the id of a key that nobody has.

        Raises:
            VaultError: none is ready, or a key that nothing needs cannot be overwritten.
        """
        with self._changed:
            if len(self._ready) <= self._target // 2:
                self._changed.notify_all()
                waiting = 0 if self._ready or not self._threaded else _WAIT_SECONDS
                self._changed.wait_for(lambda: self._ready or self._failure, waiting)
            if self._failure is not None:
                raise VaultError(str(self._failure))
            if not self._ready:
                raise VaultError(f"no key at rest is ready in {self._path}: its disk is too slow")
            return self._ready.popleft()

    def give_back(self, keys: Iterable[int]) -> list[int]:
        """Has keys overwritten that nothing needs any more, within a second.

        Returns:
            Those that no slot holds.
        """
        with self._changed:
            others = self._spend(keys)
            self._changed.notify_all()
            return others

    def give_back_all_but(self, used: Container[int]) -> None:
        """Has every key overwritten but those in use and those that lie ready."""
        with self._changed:
            ready = set(self._ready)
            self._spend([key for key in self._keys if key not in ready and key not in used])
            self._changed.notify_all()

    def renew(self) -> None:
        """Overwrites what is still to be overwritten, and makes keys ready; tells `on_failure` if it cannot."""
        try:
            self._renew()
        except Exception as error:
            known = isinstance(error, VaultError)
            self._failure = VaultError(str(error) if known else type(error).__name__)
            self.on_failure(self._failure)

    def close(self) -> None:
        """Overwrites what is still to be overwritten, and lets go of the file."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        elif self._spent and not self._threaded:
            self.renew()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _spend(self, keys: Iterable[int]) -> list[int]:
        others = []
        for key in keys:
            if (found := self._keys.pop(key, None)) is None:
                others.append(key)
            else:
                self._spent.add(found[0])
        return others

    def _work(self) -> None:
        while not self._closing or self._spent:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._spent or self._is_low())
                self._changed.wait_for(lambda: self._closing or self._is_low(), _GATHER_SECONDS)
            self.renew()
            if self._failure is not None:
                with self._changed:
                    self._changed.notify_all()
                    if self._changed.wait_for(lambda: self._closing, _AGAIN_SECONDS):
                        return

    def _is_low(self) -> bool:
        return len(self._ready) <= self._target // 2

    def _renew(self) -> None:
        """Writes fresh keys into the slots that are spent, and into new ones if too few would be ready."""
        with self._writing:
            with self._changed:
                more = max(0, self._target - len(self._ready) - len(self._spent))
                slots = [*sorted(self._spent), *range(self._size, self._size + more)]
            try:
                made = dict(zip(slots, self._drawn(len(slots)), strict=True))
                descriptor = self._file()
                for _, run in groupby(enumerate(slots), lambda at: at[1] - at[0]):
                    part = [slot for _, slot in run]
                    _write(descriptor, b"".join(_record(*made[slot]) for slot in part), part[0] * SLOT_BYTES)
                os.fdatasync(descriptor)
            except OSError as error:
                raise VaultError(f"{self._path} cannot be written: {error.strerror}") from None
            with self._changed:
                self._failure = None
                self._size += more
                self._spent.difference_update(slots)
                for slot, (key, secret) in made.items():
                    self._keys[key] = slot, secret
                    self._ready.append(key)
                self._changed.notify_all()

    def _drawn(self, count: int) -> list[tuple[int, bytes]]:
        """Draws ids and keys, all in one call: between calls a busy interpreter would let other threads go first."""
        length = _ID_BYTES + _KEY_BYTES
        data = drawn(self._entropy, count * length)
        parts = [data[at : at + length] for at in range(0, len(data), length)]
        return [
            (int.from_bytes(part[:_ID_BYTES], "big") >> 1, part[_ID_BYTES:]) for part in parts
        ]  # the store has a sign

    def _file(self) -> int:
        """Returns the file's descriptor. One that has gone from its folder is made again from what is in memory."""
        if self._descriptor is not None:
            ours = os.fstat(self._descriptor)
            if identity(self._path) == (ours.st_dev, ours.st_ino):
                return self._descriptor
            os.close(self._descriptor)
            self._descriptor = None
        elif identity(self._path) is not None:
            self._descriptor = os.open(self._path, os.O_RDWR)
            return self._descriptor
        if identity(self._path.parent) != self._folder:
            raise VaultError(f"{self._path.parent} is not the folder any more that it was at the start")
        self._descriptor = self._make()
        return self._descriptor

    def _make(self) -> int:
        with self._changed:
            records = [bytes(SLOT_BYTES)] * self._size
            for key, (slot, secret) in self._keys.items():
                records[slot] = _record(key, secret)
        new = self._path.with_name(self._path.name + ".new")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _write(descriptor, b"".join(records), 0)
            os.fsync(descriptor)
            new.replace(self._path)
            sync_folder(self._path.parent)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


def drawn(entropy: Entropy, length: int) -> bytes:
    """Draws so many bytes.

    Raises:
        VaultError: the source of random bytes failed.
    """
    try:
        return draw(entropy, length)
    except EntropyError as error:
        raise VaultError(f"no key at rest can be drawn: {error}") from None


def _record(key: int, secret: bytes) -> bytes:
    content = key.to_bytes(_ID_BYTES, "big") + secret
    return content + hashlib.sha256(content).digest()[: SLOT_BYTES - len(content)]


def _write(descriptor: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def identity(path: Path) -> tuple[int, int] | None:
    """Tells a file or folder from another one at the same place, an empty mount point say; None if there is none.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
