"""Encryption at rest: keys in a folder of their own, changed by the clock and destroyed when nothing needs them."""

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dealer.errors import CutcardError
from dealer.store.interface import Sealed

KEY_BYTES = 32
_NONCE_BYTES = 12


class VaultError(CutcardError):
    """The keys at rest cannot be read or written at the moment."""


class SealLost(VaultError):
    """What was sealed can never be opened again: its key is gone, or is not the one that sealed it."""


class Purpose(StrEnum):
    """What a key is for: hands in play, or answers kept for repeats."""

    SEED = "seed"
    ANSWER = "answer"


class Vault:
    """The keys at rest of one dealer. One file a key, `<purpose>-<id>.key`, 32 raw bytes, readable by the owner only.

    The folder must not be part of any backup of the database: without its keys what was sealed is gone, as it should.
    """

    def __init__(self, folder: Path, lifetime: float) -> None:
        """Opens the folder.

        Args:
            folder: exists.
            lifetime: seconds for which a key seals; what it has sealed it goes on opening.

        Raises:
            VaultError: there is no such folder.
        """
        if not folder.is_dir():
            raise VaultError(f"there is no folder for keys at rest at {folder}")
        self._folder = folder
        self._identity = _identity(folder)
        self._lifetime = lifetime
        self._ciphers: dict[tuple[Purpose, int], ChaCha20Poly1305] = {}
        self._current: dict[Purpose, tuple[int, float]] = {}

    def seal(self, purpose: Purpose, now: float, data: bytes, context: bytes) -> Sealed:
        """Encrypts under the purpose's current key, made anew where that is older than its lifetime.

        Args:
            purpose: what for.
            now: seconds on the monotonic clock.
            data: plaintext.
            context: what the plaintext belongs to; needed to open it.
        """
        key, since = self._current.get(purpose, (0, now))
        if not key or now - since >= self._lifetime:
            key = self._make(purpose)
            self._current[purpose] = (key, now)
        nonce = os.urandom(_NONCE_BYTES)
        return Sealed(key, nonce + self._ciphers[purpose, key].encrypt(nonce, data, context))

    def open(self, purpose: Purpose, sealed: Sealed, context: bytes) -> bytes:
        """Decrypts.

        Raises:
            SealLost: the key is gone, or it is not the one that sealed this in this context.
            VaultError: the key cannot be read at the moment.
        """
        nonce, data = sealed.data[:_NONCE_BYTES], sealed.data[_NONCE_BYTES:]
        try:
            return self._cipher(purpose, sealed.key).decrypt(nonce, data, context)
        except InvalidTag:
            raise SealLost(f"the {purpose} key {sealed.key} at rest does not open what it sealed") from None

    def destroy_unused(self, purpose: Purpose, used: Iterable[int]) -> None:
        """Destroys every key of this purpose that is not in use; the next one is made when it is needed.

        Raises:
            VaultError: one cannot be destroyed.
        """
        keep = set(used)
        gone = [(key, path) for key, path in self._files(purpose) if key not in keep]
        try:
            for key, path in gone:
                self._ciphers.pop((purpose, key), None)
                if self._current.get(purpose, (0, 0.0))[0] == key:
                    del self._current[purpose]
                _overwrite(path)
                path.unlink()
            if gone:
                self._sync()
        except OSError as error:
            raise VaultError(f"a key at rest that nothing needs cannot be destroyed: {error.strerror}") from None

    def prove(self) -> None:
        """Makes a file as durable as a key is, and removes it.

        Raises:
            VaultError: it cannot be made, so no key could be.
        """
        path = self._folder / "proof"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
        except OSError as error:
            raise VaultError(f"the folder of the keys at rest cannot be written: {error.strerror}") from None

    def ids(self, purpose: Purpose) -> set[int]:
        """Returns the ids of the keys that there are."""
        return {key for key, _ in self._files(purpose)}

    def _make(self, purpose: Purpose) -> int:
        key = int.from_bytes(os.urandom(6), "big")  # never the id of a key that was destroyed
        secret = ChaCha20Poly1305.generate_key()
        try:
            descriptor = os.open(self._path(purpose, key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secret)
                file.flush()
                os.fsync(file.fileno())
            self._sync()
        except OSError as error:
            raise VaultError(f"no key at rest can be made: {error.strerror}") from None
        self._ciphers[purpose, key] = ChaCha20Poly1305(secret)
        return key

    def _cipher(self, purpose: Purpose, key: int) -> ChaCha20Poly1305:
        cipher = self._ciphers.get((purpose, key))
        if cipher is None:
            secret = self._read(purpose, key)
            if len(secret) != KEY_BYTES:
                raise SealLost(f"the {purpose} key {key} at rest has {len(secret)} bytes, not {KEY_BYTES}")
            cipher = self._ciphers[purpose, key] = ChaCha20Poly1305(secret)
        return cipher

    def _read(self, purpose: Purpose, key: int) -> bytes:
        try:
            return self._path(purpose, key).read_bytes()
        except FileNotFoundError:
            if _identity(self._folder) != self._identity:
                raise VaultError(f"{self._folder} is not the folder any more that it was at the start") from None
            raise SealLost(f"the {purpose} key {key} at rest is gone") from None
        except OSError as error:
            raise VaultError(f"the {purpose} key {key} at rest cannot be read: {error.strerror}") from None

    def _path(self, purpose: Purpose, key: int) -> Path:
        return self._folder / f"{purpose}-{key}.key"

    def _files(self, purpose: Purpose) -> list[tuple[int, Path]]:
        return [(int(path.stem.split("-")[1]), path) for path in self._folder.glob(f"{purpose}-*.key")]

    def _sync(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one at the same place, an empty mount point say; None where there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
