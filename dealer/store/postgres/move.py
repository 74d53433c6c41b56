"""Moves a log from the embedded store into a database: `dealer migrate --to URL`.

The embedded store is only read. A run that was stopped half-way leaves a database that no dealer serves, and is made
again from the start; the last step but one is what makes it a log.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from dealer.core.codec import load_state
from dealer.games.plans import GAMES
from dealer.log.merkle import Node
from dealer.store.datadir import DataDir
from dealer.store.interface import RETIRED, Answer, Batch, HandRow, RecordLine, StoreError
from dealer.store.newest import require_newest
from dealer.store.postgres import schema
from dealer.store.postgres.arrays import Bytes
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import Lease, look
from dealer.store.postgres.link import Database, Link, Replication, store_errors
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import PostgresStore
from dealer.store.postgres.upkeep import Upkeep
from dealer.store.slots import sync_folder
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Purpose, SealLost, Vault

T = TypeVar("T")
_ROWS = 512
_KEY_SECONDS = 3600.0


def move(data: DataDir, url: str, answer_seconds: float, log: Callable[[str], None]) -> None:
    """Moves a log that no server has open; its folder becomes one of a dealer on the database.

    Args:
        data: the folder of the embedded store.
        url: of the database.
        answer_seconds: for how long answers are kept.
        log: is told in a few words what is done.

    Raises:
        CutcardError: the database holds another log, the embedded store is older than what was published or signed, or
            one of the two cannot be used; the embedded store is as it was.
    """
    with (
        closing(Vault(data.at_rest, _KEY_SECONDS)) as vault,
        closing(SqliteStore(data.database, vault)) as source,
        closing(Database(url, Replication.NONE).connect()) as link,
    ):
        require_newest(data, source)
        if not schema.is_there(link):
            schema.create(link, source.origin, source.checkpoint(), moving=True)
        if schema.is_moving(link, source.origin):
            schema.empty(link)
            _copy(data, Database(url, Replication.NONE), link, source, vault, answer_seconds, log)
        elif schema.origin_of(link) != source.origin or look(link).note != source.checkpoint():
            raise StoreError("there is another log in this database, or a later state of this one: nothing was moved")
        vault.destroy_unused(Purpose.SEED, ())
        vault.destroy_unused(Purpose.ANSWER, ())
    retired = data.root / "db-moved"
    data.database.parent.rename(retired)
    sync_folder(data.root)
    log(f"the log is in the database now; the old store is {retired}, and can go once all is well")


def _copy(
    data: DataDir,
    database: Database,
    link: Link,
    source: SqliteStore,
    vault: Vault,
    answer_seconds: float,
    log: Callable[[str], None],
) -> None:
    if source.mark(RETIRED) is not None:
        raise StoreError("this log has ended: it stays where it is, and is served there")
    keyring = Keyring(data.at_rest, data.signer())
    lease, registry = Lease(database, keyring.dealer.hex(), 60.0), Registry(keyring, _KEY_SECONDS)
    row = lease.take(link, look(link))
    if row is None:
        raise StoreError("another dealer has the lease of this database")
    registry.register(link, row.generation)
    target = PostgresStore(link, keyring, lease, row, moving=True)
    Upkeep(target, registry, _KEY_SECONDS, answer_seconds).begin()
    size = source.size()
    for entries in _chunks(source.entries(0, size)):
        target.commit(Batch(entries=entries))
    for nodes in _chunks(source.all_nodes()):
        target.commit(Batch(nodes=[Node(*node) for node in nodes]))
    log(f"{size} entries of the log")
    owners = dict[str, str]()
    for tables in _chunks(source.tables()):
        target.commit(Batch(tables={table.table: table for table in tables}))
        owners |= {table.table: table.owner for table in tables}
    count = 0
    for hands in _chunks(source.all_hands()):
        rows = [_sealed_anew(hand, owners, vault, keyring) for hand in hands]
        target.commit(Batch(hands={hand.hand: hand for hand in rows}))
        count += len(hands)
    log(f"{count} hands")
    for digests in _chunks(source.all_seen()):
        target.commit(Batch(seen=digests))
    log(f"{_copy_answers(source, target)} kept answers")
    target.commit(Batch(checkpoint=source.checkpoint()))
    if (witnessed := source.witnessed()) is not None:
        target.publish(witnessed, witnessed=True)
    target.publish(source.checkpoint())
    with target.fenced(", holder = ''"), store_errors():
        link.execute("DELETE FROM meta WHERE name = 'moving'")


def _sealed_anew(row: HandRow, owners: dict[str, str], vault: Vault, keyring: Keyring) -> HandRow:
    """Returns a hand sealed for the database; one whose key is gone comes without its secrets, and will be lost."""
    if row.close is not None or row.secrets is None:
        return row
    table = load_state(row.state or "", GAMES).table
    owner = owners.get(table, "")
    try:
        plain = vault.open(Purpose.SEED, row.secrets, vault.context(row.hand, table, owner))
    except SealLost:
        return replace(row, secrets=None, owner=owner)
    context = keyring.context(row.hand, table, owner)
    return replace(row, secrets=keyring.seal_hand(None, plain, context), owner=owner)


def _copy_answers(source: SqliteStore, target: PostgresStore) -> int:
    """Seals answers and records anew; those whose key is gone stay known as lost, so that none is carried out anew."""
    count = 0
    for kept in source.all_kept():
        answers = [each for each in kept if isinstance(each, Answer)]
        target.commit(Batch(answers=answers, records=[each for each in kept if isinstance(each, RecordLine)]))
        count += len(answers)
        if lost := [each.request for each in answers if not each.answer]:
            with target.fenced(), store_errors():
                target.link.execute("UPDATE answers SET sealed = '' WHERE request = ANY(%s)", (Bytes.of(lost),))
    return count


def _chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    rows = iter(rows)
    while chunk := list(islice(rows, _ROWS)):
        yield chunk
