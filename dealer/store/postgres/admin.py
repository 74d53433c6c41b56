"""What an operator does to a log in a database: make it, add a dealer's folder, take one out."""

from pathlib import Path

from dealer.log.checkpoint import open_checkpoint
from dealer.log.errors import CheckpointError, NoteError
from dealer.log.note import NoteSigner, NoteVerifier
from dealer.store.datadir import DataDir, DataDirError, read_log_key
from dealer.store.interface import StoreError
from dealer.store.postgres import schema
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import look
from dealer.store.postgres.link import Database, Replication
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import PostgresReader


def init(data: DataDir, origin: str, url: str) -> None:
    """Makes a log's tables in a database, and the folder of its first dealer.

    Raises:
        CutcardError: the database cannot be used, or holds a log already; or the folder is not empty.
    """
    link = Database(url, Replication.NONE).connect()
    try:
        data.init(origin, lambda origin, note: schema.create(link, origin, note))
    finally:
        link.close()


def join(data: DataDir, log_key: Path, url: str) -> None:
    """Makes a further folder for a log in a database; the log's key is the operator's to bring.

    Raises:
        CutcardError: the database cannot be used, its log is signed by another key, or the folder is not empty.
    """
    origin, key = read_log_key(log_key)
    verifier = NoteVerifier.parse(NoteSigner(origin, key).verifier_key)
    link = Database(url, Replication.NONE).connect()
    try:
        found = schema.origin_of(link)
        if found != origin:
            raise DataDirError(f"the database is the log {found}, and {log_key} is the key of {origin}")
        try:
            open_checkpoint(look(link).note, verifier)
        except (NoteError, CheckpointError):
            raise DataDirError(f"{log_key} is not the key that signs the log {origin} in this database") from None
    finally:
        link.close()
    data.join(origin, key)


def open_reader(data: DataDir, url: str) -> PostgresReader:
    """Opens the log of a folder in its database, for reading.

    Raises:
        CutcardError: the database cannot be used, or is another log's.
    """
    reader = PostgresReader(Database(url, Replication.NONE).connect())
    if reader.origin != (own := data.signer().name):
        reader.close()
        raise StoreError(f"the database is the log {reader.origin}, and this folder is of {own}")
    return reader


def bring_up(data: DataDir, url: str) -> bool:
    """Brings the tables of a log's database up to this version; no dealer serves it meanwhile.

    Returns:
        Whether there was anything to do.

    Raises:
        CutcardError: the database cannot be used, is another log's, or a dealer serves it; nothing was changed.
    """
    link = Database(url, Replication.NONE).connect()
    try:
        schema.check_owner(link)
        return schema.bring_up(link, data.signer().name)
    finally:
        link.close()


def leave(data: DataDir, url: str) -> None:
    """Takes a folder's dealer out of the database, and destroys its pairs.

    Raises:
        CutcardError: the database cannot be used, or nobody else could go on with the hands in play.
    """
    keyring = Keyring(data.at_rest, data.signer())
    registry = Registry(keyring, 0.0)
    link = Database(url, Replication.NONE).connect()
    try:
        schema.origin_of(link)
        if look(link).holder == keyring.dealer.hex():
            raise StoreError("this dealer was the last to write: start it, and stop it in order once another stands by")
        registry.leave(link)
        keyring.pairs.destroy_below(None)
    finally:
        link.close()
