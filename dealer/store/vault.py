"""Encryption at rest: keys in a folder of their own, one for each hand in play and one an hour for answers.

A key is destroyed when nothing needs it any more.
"""

import os
import tempfile
from collections.abc import Callable, Container, Iterable
from enum import StrEnum
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dealer.core.seed import Entropy
from dealer.store.interface import Sealed, VaultError
from dealer.store.slots import Slots, drawn, identity, sync_folder

KEY_BYTES = 32
_ID_BYTES = 6
_NONCE_BYTES = 12


class SealLost(VaultError):
    """What was sealed can never be opened again: its key is gone, or is not the one that sealed it."""


class Purpose(StrEnum):
    """What a key is for: hands in play, or answers kept for repeats."""

    SEED = "seed"
    ANSWER = "answer"


class Vault:
    """The keys at rest of one dealer, readable by the owner only.

    Hands in play have a slot each in the file `seeds`. Answers are sealed under keys that change by the clock, one file
    a key, `answer-<id>.key`, 32 raw bytes. A file `seed-<id>.key` was left by a dealer that had such keys for hands
    too: it goes on opening what it sealed, and seals nothing.

    The folder must not be part of any backup of the database: without its keys what was sealed is gone, as it should.
    """

    def __init__(
        self, folder: Path, lifetime: float, entropy: Entropy = os.urandom, slots: Slots | None = None
    ) -> None:
        """Opens the folder.

        Args:
            folder: exists.
            lifetime: seconds for which an answer key seals; what it has sealed it goes on opening.
            entropy: gives keys, nonces and ids of keys; on any thread.
            slots: the keys of hands in play, where they are not to be made here.

        Raises:
            VaultError: there is no such folder.
        """
        if not folder.is_dir():
            raise VaultError(f"there is no folder for keys at rest at {folder}")
        self.folder = folder
        self._identity = identity(folder)
        self._entropy = entropy
        self.slots = slots or Slots(folder / "seeds", entropy=entropy)
        self._lifetime = lifetime
        self._ciphers: dict[tuple[Purpose, int], ChaCha20Poly1305] = {}
        self._current: tuple[int, float] | None = None

    def context(self, hand: bytes, table: str, owner: str) -> bytes:
        """Returns what a hand's secrets are sealed for: its key is its own, and so is its row."""
        return hand

    def is_current(self, key: int | None) -> bool:
        """Tells whether what a key seals need not be sealed anew: it is destroyed when its hand closes."""
        return True

    def watch(self, on_failure: Callable[[VaultError], None]) -> None:
        """Has somebody told when keys cannot be made or destroyed in the background."""
        self.slots.on_failure = on_failure

    def sweep(self, used: Container[int]) -> None:
        """Destroys keys that were taken by a hand which never came to be."""
        self.slots.give_back_all_but(used)

    def seal_hand(self, key: int | None, data: bytes, context: bytes) -> Sealed:
        """Encrypts a hand's secrets under its own key.

        Args:
            key: the hand's, if it has one in a slot; it takes one otherwise.
            data: plaintext.
            context: what the plaintext belongs to; needed to open it.

        Raises:
            VaultError: no key is ready.
        """
        taken = key if key is not None and self.slots.secret(key) is not None else self.slots.take()
        return self._sealed(self._cipher(Purpose.SEED, taken), taken, data, context)

    def seal_answer(self, now: float, data: bytes, context: bytes) -> Sealed:
        """Encrypts an answer under the current key, made anew if that is older than its lifetime.

        Args:
            now: seconds on the monotonic clock.
            data: plaintext.
            context: what the plaintext belongs to; needed to open it.
        """
        key, since = self._current or (0, now)
        if not key or now - since >= self._lifetime:
            key = self._make()
            self._current = (key, now)
        return self._sealed(self._cipher(Purpose.ANSWER, key), key, data, context)

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

    def give_back(self, keys: Iterable[int], used: Iterable[int]) -> None:
        """Destroys keys of hands that are over: those in slots within a second, those in files at once.

        Args:
            keys: those to destroy.
            used: those that hands in play need.

        Raises:
            VaultError: a file cannot be destroyed.
        """
        if self.slots.give_back(keys):
            self._destroy_files(Purpose.SEED, used)

    def destroy_unused(self, purpose: Purpose, used: Iterable[int]) -> None:
        """Destroys every key of this purpose that is not in use, nor ready for the next hand.

        Raises:
            VaultError: one cannot be destroyed.
        """
        if purpose is Purpose.SEED:
            self.slots.keep_only(frozenset(used))
        self._destroy_files(purpose, used)

    def _destroy_files(self, purpose: Purpose, used: Iterable[int]) -> None:
        keep = set(used)
        gone = [(key, path) for key, path in self._files(purpose) if key not in keep]
        try:
            for key, path in gone:
                self._ciphers.pop((purpose, key), None)
                if purpose is Purpose.ANSWER and self._current and self._current[0] == key:
                    self._current = None
                _overwrite(path)
                path.unlink()
            if gone:
                sync_folder(self.folder)
        except OSError as error:
            raise VaultError(f"a key at rest that nothing needs cannot be destroyed: {error.strerror}") from None

    def prove(self) -> None:
        """Makes a file as durable as a key is; it has no name and goes at once.

        Raises:
            VaultError: it cannot be made, so no key could be.
        """
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                file.write(bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise VaultError(f"the folder of the keys at rest cannot be written: {error.strerror}") from None

    def ids(self, purpose: Purpose) -> set[int]:
        """Returns the ids of the keys that there are."""
        return {key for key, _ in self._files(purpose)}

    def close(self) -> None:
        """Destroys what is still to be destroyed, and lets go of the folder."""
        self.slots.close()

    def _make(self) -> int:
        key = int.from_bytes(drawn(self._entropy, _ID_BYTES), "big")  # never the id of a key that was destroyed
        secret = drawn(self._entropy, KEY_BYTES)
        try:
            descriptor = os.open(self._path(Purpose.ANSWER, key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secret)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self.folder)
        except OSError as error:
            raise VaultError(f"no key at rest can be made: {error.strerror}") from None
        self._ciphers[Purpose.ANSWER, key] = ChaCha20Poly1305(secret)
        return key

    def _sealed(self, cipher: ChaCha20Poly1305, key: int, data: bytes, context: bytes) -> Sealed:
        nonce = drawn(self._entropy, _NONCE_BYTES)
        return Sealed(key, nonce + cipher.encrypt(nonce, data, context))

    def _cipher(self, purpose: Purpose, key: int) -> ChaCha20Poly1305:
        if purpose is Purpose.SEED and (slot := self.slots.secret(key)) is not None:
            return ChaCha20Poly1305(slot)
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
            if identity(self.folder) != self._identity:
                raise VaultError(f"{self.folder} is not the folder any more that it was at the start") from None
            raise SealLost(f"the {purpose} key {key} at rest is gone") from None
        except OSError as error:
            raise VaultError(f"the {purpose} key {key} at rest cannot be read: {error.strerror}") from None

    def _path(self, purpose: Purpose, key: int) -> Path:
        return self.folder / f"{purpose}-{key}.key"

    def _files(self, purpose: Purpose) -> list[tuple[int, Path]]:
        return [(int(path.stem.split("-")[1]), path) for path in self.folder.glob(f"{purpose}-*.key")]


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
