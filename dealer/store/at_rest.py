"""What the writer asks of the keys at rest, whichever store they belong to."""

from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Protocol

from dealer.store.interface import Sealed, VaultError
from dealer.store.vault import Purpose


class AtRest(Protocol):
    """The keys at rest: the embedded store's `Vault`, or the `Keyring` of several dealers."""

    @property
    def folder(self) -> Path:
        """Returns the folder that no backup has."""

    def context(self, hand: bytes, table: str, owner: str) -> bytes:
        """Returns what a hand's secrets are sealed for."""

    def seal_hand(self, key: int | None, data: bytes, context: bytes) -> Sealed:
        """Encrypts a hand's secrets, under the key that it has or takes."""

    def is_current(self, key: int | None) -> bool:
        """Tells whether what a key seals need not be sealed anew."""

    def open(self, purpose: Purpose, sealed: Sealed, context: bytes) -> bytes:
        """Decrypts.

        Raises:
            SealLost: the key is gone, or it is not the one that sealed this in this context.
            VaultError: the key cannot be read at the moment.
        """

    def watch(self, on_failure: Callable[[VaultError], None]) -> None:
        """Has somebody told when keys cannot be made or destroyed in the background."""

    def give_back(self, keys: Iterable[int], used: Iterable[int]) -> None:
        """Destroys keys of hands that are over; `used` are those that hands in play need."""

    def destroy_unused(self, purpose: Purpose, used: Iterable[int]) -> None:
        """Destroys every key of this purpose that is not in use."""

    def sweep(self, used: Container[int]) -> None:
        """Destroys keys that were taken by a hand which never came to be."""

    def prove(self) -> None:
        """Makes a file as durable as a key is.

        Raises:
            VaultError: that cannot be done.
        """

    def close(self) -> None:
        """Lets go of the folder."""
