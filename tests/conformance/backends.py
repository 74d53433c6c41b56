"""The stores as the suite has them: made, opened, and their clocks and keys moved on."""

import time
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.log.note import NoteSigner
from dealer.store.interface import HandRow, Sealed, Store
from dealer.store.postgres import schema
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import Lease, look
from dealer.store.postgres.link import Database, Replication
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import PostgresStore
from dealer.store.postgres.upkeep import Upkeep
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Vault

ORIGIN, NOTE = "store.invalid/x", "the empty log's note"
_HOUR = 3600.0


class Backend(Protocol):
    """One of the stores."""

    by_batch: bool

    def open(self) -> Store:
        """Opens the store anew, as the next start would."""

    def hand(self, key: bytes, close: int | None = None) -> HandRow:
        """A hand, sealed as this store's are."""

    def next_hour(self) -> None:
        """Has answers sealed under another key from now on."""

    def lose_keys(self) -> None:
        """Loses the keys that opened answers."""

    def close(self) -> None:
        """Lets go of everything."""


def _row(key: bytes, close: int | None, sealed: Sealed) -> HandRow:
    if close is not None:
        return HandRow(key, None, False, None, 0, close, None)
    return HandRow(key, "{}", False, None, 0, None, sealed)


class SqliteBackend:
    """The embedded store; what it keeps expires batch by batch."""

    by_batch = True

    def __init__(self, folder: Path) -> None:
        self.path, self.at_rest = folder / "store.sqlite3", folder / "at-rest"
        SqliteStore.create(self.path, ORIGIN, NOTE)
        self.at_rest.mkdir()
        self.vault = Vault(self.at_rest, 3600)

    def open(self) -> Store:
        return SqliteStore(self.path, self.vault)

    def hand(self, key: bytes, close: int | None = None) -> HandRow:
        return _row(key, close, Sealed(7, b"sealed"))

    def next_hour(self) -> None:
        """An hour's key goes with the last batch that it sealed, whichever it was."""

    def lose_keys(self) -> None:
        for file in self.at_rest.glob("answer-*"):
            file.unlink()
        self.vault = Vault(self.at_rest, 3600)

    def close(self) -> None:
        self.vault.close()


class PostgresBackend:
    """The store on PostgreSQL, each time under a new epoch; what it keeps expires key by key."""

    by_batch = False

    def __init__(self, folder: Path, url: str) -> None:
        self.database = Database(url, Replication.NONE)
        self.signer = NoteSigner(ORIGIN, Ed25519PrivateKey.generate())
        self.at_rest = folder / "at-rest"
        self.at_rest.mkdir()
        link = self.database.connect()
        schema.create(link, ORIGIN, NOTE)
        link.close()
        self.keyring = Keyring(self.at_rest, self.signer)
        self.stores: list[PostgresStore] = []

    def open(self) -> Store:
        link = self.database.connect()
        lease = Lease(self.database, "the suite")
        row = lease.take(link, look(link))
        assert row is not None
        store = PostgresStore(link, self.keyring, lease, row)
        registry = Registry(self.keyring, 1800)
        registry.register(link, row.generation)
        upkeep = Upkeep(store, registry, _HOUR, -2 * _HOUR - time.time())  # kept, in itself, until 1970 alone
        upkeep.begin()
        store.upkeep = upkeep
        self.stores.append(store)
        return store

    def hand(self, key: bytes, close: int | None = None) -> HandRow:
        assert self.keyring.seed is not None
        return _row(key, close, Sealed(self.keyring.seed.id, b"sealed"))

    def next_hour(self) -> None:
        upkeep = self.stores[-1].upkeep
        assert isinstance(upkeep, Upkeep)
        upkeep.answer_key_seconds = 0
        upkeep.tend()
        upkeep.answer_key_seconds = _HOUR

    def lose_keys(self) -> None:
        self.keyring = Keyring(self.at_rest, self.signer)
        self.keyring.pairs.join_anew()

    def close(self) -> None:
        for store in self.stores:
            store.close()
