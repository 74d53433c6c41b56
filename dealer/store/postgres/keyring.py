"""Keys at rest of several dealers: data keys, each wrapped for every dealer's own pair (MACHINES.md, section 8)."""

import hashlib
import hmac
import os
import tempfile
import threading
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from dealer.core.seed import length_prefixed, tag
from dealer.log.note import NoteSigner
from dealer.store.interface import Sealed, VaultError
from dealer.store.postgres.pairs import Pairs
from dealer.store.postgres.vouching import Registration, Vouching
from dealer.store.vault import KEY_BYTES, Purpose, SealLost

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Wrap:
    """A data key sealed to one dealer's pair: rows of `wraps`."""

    key: int
    dealer: bytes
    generation: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class DataKey:
    """A data key as the log's key vouches for it: a row of `keys`, and the key itself."""

    id: int
    purpose: Purpose
    generation: int
    note: str
    secret: bytes = field(repr=False)


class Keyring:
    """What a dealer can open, and what it seals under. Any thread may open; the writer's alone seals.

    It stands where the embedded store has its `Vault`; what that destroys by overwriting goes here with its generation.

    Attributes:
        folder: the dealer's keys at rest.
        pairs: the dealer's own.
        vouching: the log's key.
        seed, answer: the keys that seal now; None before the lease was taken.
    """

    def __init__(self, folder: Path, signer: NoteSigner, *, read_only: bool = False) -> None:
        """Reads the folder, and with `read_only` leaves it as it is.

        Raises:
            VaultError: it is missing or cannot be read.
        """
        if not folder.is_dir():
            raise VaultError(f"there is no folder for keys at rest at {folder}")
        self.folder = folder
        self.pairs = Pairs(folder, read_only=read_only)
        self.vouching = Vouching.by(signer)
        self.seed: DataKey | None = None
        self.answer: DataKey | None = None
        self._keys: dict[int, DataKey] = {}
        self._lock = threading.Lock()

    @property
    def dealer(self) -> bytes:
        """Returns this dealer's id, 16 bytes."""
        return self.pairs.dealer

    def context(self, hand: bytes, table: str, owner: str) -> bytes:
        """Returns what a hand's secrets are sealed for."""
        return hand + length_prefixed(table.encode()) + length_prefixed(owner.encode())

    def seal_hand(self, key: int | None, data: bytes, context: bytes) -> Sealed:
        """Encrypts a hand's secrets under the current generation's key.

        Raises:
            VaultError: there is none.
        """
        if self.seed is None:
            raise VaultError("no key for seeds is there: this dealer has not taken the lease")
        return _sealed(self.seed, data, tag("seed-row") + context)

    def is_current(self, key: int | None) -> bool:
        """Tells whether what a key seals need not be sealed anew."""
        return self.seed is not None and key == self.seed.id

    def seal_answer(self, now: float, data: bytes, context: bytes) -> Sealed:
        """Encrypts an answer under the current hour's key.

        Raises:
            VaultError: there is none.
        """
        if self.answer is None:
            raise VaultError("no key for answers is there: this dealer has not taken the lease")
        return _sealed(self.answer, data, tag("answer-row") + context)

    def open(self, purpose: Purpose, sealed: Sealed, context: bytes) -> bytes:
        """Decrypts.

        Raises:
            SealLost: this dealer has not the key, or it has not sealed this in this context.
        """
        key = self._keys.get(sealed.key)
        if key is None or key.purpose is not purpose:
            raise SealLost(f"the {purpose} key {sealed.key:016x} at rest is gone")
        head = tag("seed-row" if purpose is Purpose.SEED else "answer-row")
        try:
            return ChaCha20Poly1305(key.secret).decrypt(
                sealed.data[:_NONCE_BYTES], sealed.data[_NONCE_BYTES:], head + context
            )
        except (InvalidTag, ValueError):
            raise SealLost(f"the {purpose} key {sealed.key:016x} at rest does not open what it sealed") from None

    def mac(self, key: int, hand: bytes, owner: str, state: str) -> bytes:
        """Returns what shows that a hand's row was written by a dealer.

        Raises:
            SealLost: this dealer has not the key that seals the hand's secrets.
        """
        found = self._keys.get(key)
        if found is None or found.purpose is not Purpose.SEED:
            raise SealLost(f"the seed key {key:016x} at rest is gone")
        derived = hmac.digest(found.secret, tag("hand-row-key"), hashlib.sha256)
        return hmac.digest(derived, tag("hand-row") + hand + length_prefixed(owner.encode()) + state.encode(), "sha256")

    def make(self, purpose: Purpose, generation: int) -> DataKey:
        """Draws a data key and has the log's key vouch for it; it seals once it is chosen."""
        secret = os.urandom(KEY_BYTES)
        id_ = int.from_bytes(os.urandom(8), "big") >> 1  # the database has a sign
        made = DataKey(id_, purpose, generation, self.vouching.key(id_, purpose, generation, secret), secret)
        with self._lock:
            self._keys[id_] = made
        return made

    def wrap(self, key: DataKey, to: Registration) -> Wrap:
        """Wraps a data key for a dealer's pair."""
        info = self._info(key.id, key.purpose, to.dealer, to.generation)
        data = _SUITE.encrypt(key.secret, X25519PublicKey.from_public_bytes(to.public), info)
        return Wrap(key.id, to.dealer, to.generation, data)

    def learn(self, wrap: Wrap, purpose: str, generation: int, note: str) -> bool:
        """Opens a data key that was wrapped for this dealer; says whether it has it now.

        Args:
            wrap: as stored.
            purpose: of the key, as stored; likewise the others.
            generation: in which the key was made.
            note: which vouches for it.
        """
        private = self.pairs.private(wrap.generation)
        if wrap.key in self._keys:
            return True
        if private is None or wrap.dealer != self.dealer or purpose not in list(Purpose):
            return False
        try:
            secret = _SUITE.decrypt(wrap.data, private, self._info(wrap.key, purpose, wrap.dealer, wrap.generation))
            self.vouching.check_key(note, wrap.key, purpose, generation, secret)
        except (InvalidTag, ValueError):
            return False  # not sealed for this dealer, or planted
        with self._lock:
            self._keys[wrap.key] = DataKey(wrap.key, Purpose(purpose), generation, note, secret)
        return True

    def key(self, id_: int) -> DataKey | None:
        """Returns a data key that this dealer has."""
        return self._keys.get(id_)

    def forget_all_but(self, keys: Container[int]) -> None:
        """Forgets every data key but these."""
        with self._lock:
            for each in [each for each in self._keys if each not in keys]:
                del self._keys[each]

    def forget_old(self, generation: int, wrapped: Container[int]) -> None:
        """Forgets the data keys of older generations that are not wrapped for a newer pair of this dealer."""
        with self._lock:
            for each in [key.id for key in self._keys.values() if key.generation < generation]:
                if each not in wrapped:
                    del self._keys[each]

    def _info(self, key: int, purpose: str, dealer: bytes, generation: int) -> bytes:
        return b"".join(
            (
                tag("wrap"),
                length_prefixed(self.vouching.origin.encode()),
                dealer,
                generation.to_bytes(8, "big"),
                key.to_bytes(8, "big"),
                length_prefixed(purpose.encode()),
            )
        )

    def watch(self, on_failure: Callable[[VaultError], None]) -> None:
        """Has nothing that fails by itself."""

    def give_back(self, keys: Iterable[int], used: Iterable[int]) -> None:
        """Destroys nothing at once: a generation goes as a whole."""

    def destroy_unused(self, purpose: Purpose, used: Iterable[int]) -> None:
        """Destroys nothing at once: a generation goes as a whole."""

    def sweep(self, used: Container[int]) -> None:
        """Destroys nothing at once: a generation goes as a whole."""

    def prove(self) -> None:
        """Makes a file as durable as a pair is; it has no name and goes at once.

        Raises:
            VaultError: it cannot be made, so no pair could be.
        """
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                file.write(bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise VaultError(f"the folder of the keys at rest cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Forgets every data key."""
        self.seed = self.answer = None
        self.forget_all_but(())


def _sealed(key: DataKey, data: bytes, context: bytes) -> Sealed:
    nonce = os.urandom(_NONCE_BYTES)
    return Sealed(key.id, nonce + ChaCha20Poly1305(key.secret).encrypt(nonce, data, context))
