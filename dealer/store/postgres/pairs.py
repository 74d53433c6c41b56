"""A dealer's own key pairs, one for each generation: their private halves lie in its folder, and nowhere else."""

import os
import threading
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dealer.store.interface import VaultError
from dealer.store.slots import sync_folder

_BYTES = 32
_ID = "dealer"
_ID_BYTES = 16


class Pairs:
    """The pairs in a folder, `pair-<generation>.key`, and beside them `dealer`, the id that they are registered under.

    A dealer whose pairs were all destroyed joins under a new id: of one id there is one key a generation.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Reads what is there; unless it is only to be read, a dealer that has no pair joins anew.

        Raises:
            VaultError: the folder cannot be read.
        """
        self._folder = folder
        self._lock = threading.Lock()
        self._private: dict[int, X25519PrivateKey] = {}
        try:
            for path in folder.glob("pair-*.key"):
                raw = path.read_bytes()
                if len(raw) == _BYTES and any(raw):
                    self._private[int(path.stem.split("-")[1])] = X25519PrivateKey.from_private_bytes(raw)
                elif not read_only:
                    path.unlink()  # half destroyed
            id_ = folder / _ID
            self.dealer = bytes.fromhex(id_.read_text("ascii")) if id_.exists() else b""
        except (OSError, ValueError) as error:
            raise VaultError(f"the pairs in {folder} cannot be read: {type(error).__name__}") from None
        if not read_only and (len(self.dealer) != _ID_BYTES or not self._private):
            self.join_anew()

    def join_anew(self) -> None:
        """Destroys every pair, and draws a new id.

        Raises:
            VaultError: that cannot be done.
        """
        self.destroy_below(None)
        self.dealer = os.urandom(_ID_BYTES)
        self._write(_ID, self.dealer.hex().encode("ascii"), replace=True)

    def public(self, generation: int) -> bytes:
        """Returns the public half of a generation's pair, which is made and synchronised before if need be.

        Raises:
            VaultError: it cannot be made.
        """
        with self._lock:
            if (private := self._private.get(generation)) is None:
                private = X25519PrivateKey.generate()
                self._write(_name(generation), private.private_bytes_raw())
                self._private[generation] = private
            return private.public_key().public_bytes_raw()

    def private(self, generation: int) -> X25519PrivateKey | None:
        """Returns the private half of a generation's pair; None if there is none."""
        return self._private.get(generation)

    def generations(self) -> list[int]:
        """Returns the generations that there is a pair for."""
        return sorted(self._private)

    def destroy_below(self, generation: int | None) -> None:
        """Overwrites and removes the private halves of every older generation; of all, for None.

        Raises:
            VaultError: one cannot be destroyed.
        """
        with self._lock:
            gone = [each for each in self._private if generation is None or each < generation]
            try:
                for each in gone:
                    path = self._folder / _name(each)
                    if path.exists():
                        with path.open("r+b") as file:
                            file.write(bytes(_BYTES))
                            file.flush()
                            os.fsync(file.fileno())
                        path.unlink()
                    del self._private[each]
                if gone:
                    sync_folder(self._folder)
            except OSError as error:
                raise VaultError(f"a pair that nothing needs cannot be destroyed: {error.strerror}") from None

    def _write(self, name: str, content: bytes, *, replace: bool = False) -> None:
        path = self._folder / (f"{name}.new" if replace else name)
        try:
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                path.replace(self._folder / name)
            sync_folder(self._folder)
        except OSError as error:
            raise VaultError(f"{path} cannot be written: {error.strerror}") from None


def _name(generation: int) -> str:
    return f"pair-{generation}.key"
