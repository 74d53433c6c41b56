"""What every store keeps, whichever it is: batches whole, rows replaced, answers until they expire."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dealer.log.merkle import CompactRange, leaf_hash
from dealer.store.interface import Answer, Batch, RecordLine, Sealed, Store, StoreError, TableRow
from dealer.store.postgres import schema
from dealer.store.postgres.link import Database, Replication
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Purpose, SealLost
from tests.conformance.backends import Backend, PostgresBackend, SqliteBackend
from tests.postgres import Postgres

HAND, OTHER = b"h" * 16, b"o" * 16


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request, tmp_path: Path) -> Iterator[Backend]:
    """Each of the stores, made and empty."""
    made: Backend = (
        SqliteBackend(tmp_path) if request.param == "sqlite" else request.getfixturevalue("postgres_backend")
    )
    yield made
    made.close()


@pytest.fixture
def postgres_backend(postgres: Postgres, tmp_path: Path) -> PostgresBackend:
    return PostgresBackend(tmp_path, postgres.database())


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteBackend]:
    """The embedded store alone, for what it promises beyond the others."""
    made = SqliteBackend(tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(backend: Backend) -> Store:
    return backend.open()


def answer(request: bytes, of: bytes = HAND, text: bytes = b"answer", caller: str = "room") -> Answer:
    return Answer(caller, request.rjust(16, b"."), b"b" * 32, of, text)


def kept(store: Store, request: bytes, caller: str = "room") -> bytes | None:
    key = caller, request.rjust(16, b".")
    found = store.answers([key]).get(key)
    return None if found is None else found.open()


def appended(store: Store, entries: list[bytes], note: str) -> Batch:
    tree = CompactRange.load(store.size(), store.node)
    return Batch(entries, [node for entry in entries for node in tree.append(leaf_hash(entry))], note)


def test_every_table_in_the_order_of_ids(store: Store, backend: Backend) -> None:
    rows = {name: TableRow(name, "local", 3, HAND if name == "b" else None) for name in ("b", "a", "c-1")}
    store.commit(Batch(hands={HAND: backend.hand(HAND)}, tables=rows))
    store.commit(Batch(tables={"c-1": replace(rows["c-1"], number=4)}))
    assert list(store.tables()) == [rows["a"], rows["b"], replace(rows["c-1"], number=4)]


def test_a_new_store_is_the_empty_log(store: Store) -> None:
    assert (store.origin, store.size(), store.checkpoint()) == ("store.invalid/x", 0, "the empty log's note")
    assert list(store.entries(0, 10)) == []
    assert store.hand(b"h") is store.table("t") is kept(store, b"r") is None
    assert store.record(HAND) == []
    with pytest.raises(StoreError):
        store.node(0, 0)


def test_entries_nodes_and_checkpoint_come_together_and_last(store: Store, backend: Backend) -> None:
    entries = [b"%d" % i for i in range(21)]
    for start in range(0, 21, 7):
        store.commit(appended(store, entries[start : start + 7], f"note {start}"))
    store.close()
    again = backend.open()
    assert (again.size(), again.checkpoint()) == (21, "note 14")
    assert list(again.entries(5, 9)) == entries[5:9]
    tree = CompactRange()
    for entry in entries:
        for node in tree.append(leaf_hash(entry)):
            assert again.node(node.level, node.index) == node.hash
    assert CompactRange.load(21, again.node).root() == tree.root()


def test_a_batch_that_fails_leaves_nothing(store: Store) -> None:
    store.commit(Batch(seen=[b"d" * 32]))
    batch = appended(store, [b"entry"], "note")
    batch.seen = [b"d" * 32]
    batch.tables = {"t": TableRow("t", "room", 1, None)}
    with pytest.raises(StoreError):
        store.commit(batch)
    assert store.size() == 0
    assert store.table("t") is None
    store.commit(appended(store, [b"entry"], "note"))
    assert store.size() == 1


def test_rows_are_replaced(store: Store, backend: Backend) -> None:
    store.commit(Batch(hands={HAND: backend.hand(HAND)}, tables={"t": TableRow("t", "room", 1, HAND)}))
    assert list(store.hands_in_play()) == [backend.hand(HAND)]
    store.commit(Batch(hands={HAND: replace(backend.hand(HAND), state='{"further":1}', commit=2)}))
    assert (
        list(store.hands_in_play())
        == [replace(backend.hand(HAND), state='{"further":1}', commit=2)]
        == [store.hand(HAND)]
    )
    store.commit(Batch(hands={HAND: backend.hand(HAND, 3)}, tables={"t": TableRow("t", "room", 1, None)}))
    assert list(store.hands_in_play()) == []
    assert store.hand(HAND) == backend.hand(HAND, 3)
    assert store.table("t") == TableRow("t", "room", 1, None)


def test_answers_are_found_by_caller_and_request(store: Store, backend: Backend) -> None:
    store.commit(Batch(answers=[answer(b"1"), answer(b"1", text=b"theirs", caller="another room"), answer(b"2")]))
    for each in (store, backend.open()):
        assert kept(each, b"1") == b"answer"
        assert kept(each, b"1", "another room") == b"theirs"
        assert kept(each, b"2", "another room") is None
        keys = [("room", b"1".rjust(16, b".")), ("another room", b"2".rjust(16, b"."))]
        (found,) = each.answers(keys).values()
        assert (found.caller, found.request, found.body, found.hand) == (*keys[0], b"b" * 32, HAND)


EXPIRED = 1_000_000
"""Milliseconds since 1970; a store may keep a little longer."""
WHILE = 120_000


def test_answers_expire_when_what_they_were_kept_with_is_over(store: Store, backend: Backend) -> None:
    hands = {HAND: backend.hand(HAND), OTHER: backend.hand(OTHER)}
    store.commit(Batch(hands=hands, answers=[answer(b"1"), answer(b"2", OTHER)]))
    backend.next_hour()
    store.commit(Batch(hands={HAND: backend.hand(HAND, 2)}, answers=[answer(b"3")], expires=EXPIRED))
    backend.next_hour()
    assert not store.forget(EXPIRED - 1, 100)
    assert kept(store, b"3") == b"answer"
    store.forget(EXPIRED + WHILE, 100)
    assert (kept(store, b"3") is None) == backend.by_batch, "its hand is over and its time has passed"
    assert kept(store, b"1") == b"answer", "the other hand of its batch is in play"
    store.close()
    again = backend.open()
    again.commit(Batch(hands={OTHER: backend.hand(OTHER, 3)}, answers=[answer(b"4", OTHER)], expires=2 * EXPIRED))
    backend.next_hour()
    assert not again.forget(2 * EXPIRED - 1, 100)
    assert kept(again, b"1") == kept(again, b"2") == kept(again, b"4") == b"answer"
    while again.forget(2 * EXPIRED + WHILE, 1):
        pass
    assert kept(again, b"1") is kept(again, b"2") is kept(again, b"3") is kept(again, b"4") is None
    again.commit(Batch(answers=[answer(b"5")], expires=3 * EXPIRED))
    assert kept(again, b"5") == b"answer"


def test_an_answer_about_a_hand_that_is_over_is_kept_as_long_as_its_own_batch(store: Store, backend: Backend) -> None:
    over = {HAND: backend.hand(HAND, 2)}
    store.commit(Batch(answers=[answer(b"1")], hands=over, expires=EXPIRED))
    backend.next_hour()
    assert not store.forget(EXPIRED - 1, 100)
    assert kept(store, b"1") == b"answer"
    assert store.forget(EXPIRED + WHILE, 100)
    assert kept(store, b"1") is None


def test_a_record_grows_piece_by_piece_and_goes_with_its_hand(store: Store, backend: Backend) -> None:
    store.commit(Batch(hands={HAND: backend.hand(HAND)}, records=[RecordLine(HAND, 0, b"a")]))
    store.commit(Batch(records=[RecordLine(HAND, 1, b"b"), RecordLine(OTHER, 0, b"x"), RecordLine(HAND, 2, b"c")]))
    assert store.record(HAND) == backend.open().record(HAND) == [b"a", b"b", b"c"]
    store = backend.open()
    store.commit(Batch(hands={HAND: backend.hand(HAND, 2)}, expires=EXPIRED))
    backend.next_hour()
    while store.forget(EXPIRED + WHILE, 1):
        pass
    assert store.record(HAND) == []


def test_a_key_is_destroyed_with_the_last_batch_that_it_sealed(sqlite: SqliteBackend) -> None:
    store, vault = sqlite.open(), sqlite.vault
    store.commit(Batch(hands={HAND: sqlite.hand(HAND)}, answers=[answer(b"1")]))
    (key,) = vault.ids(Purpose.ANSWER)
    store.commit(Batch(hands={HAND: sqlite.hand(HAND, 1)}, answers=[answer(b"2")], expires=1000))
    store.forget(1000, 1)
    assert vault.ids(Purpose.ANSWER) == {key}
    store.forget(1000, 1)
    assert vault.ids(Purpose.ANSWER) == set()
    store.commit(Batch(answers=[answer(b"3")], expires=1000))
    assert kept(store, b"3") == b"answer"
    assert vault.ids(Purpose.ANSWER) - {key}


def test_an_answer_whose_key_is_gone_is_told_apart_from_one_that_never_was(store: Store, backend: Backend) -> None:
    store.commit(Batch(answers=[answer(b"1")], records=[RecordLine(HAND, 0, b"a")], expires=1000))
    backend.lose_keys()
    again = backend.open()
    with pytest.raises(SealLost):
        kept(again, b"1")
    with pytest.raises(SealLost):
        again.record(HAND)
    assert kept(again, b"2") is None


def test_space_is_given_back_by_and_by(sqlite: SqliteBackend) -> None:
    store, path, size = sqlite.open(), sqlite.path, 0
    for number in range(16):
        store.commit(Batch(answers=[answer(b"%d" % number, text=os.urandom(1 << 20))], expires=1000))
    store.close()
    store = sqlite.open()
    size = path.stat().st_size
    slices = 1
    while store.forget(1000, 1):
        slices += 1
    store.close()
    assert 16 < slices < 100, "in slices, but not page by page"
    assert path.stat().st_size < size / 2


def test_a_proof_is_a_commit_that_changes_nothing_else(store: Store, backend: Backend) -> None:
    store.commit(appended(store, [b"entry"], "note"))
    for proof in ("1", "2" * 65536, "", "3"):
        store.commit(Batch(proof=proof))
    again = backend.open()
    assert (again.origin, again.size(), again.checkpoint()) == ("store.invalid/x", 1, "note")


def test_what_was_opened_for_reading_alone_writes_nothing(sqlite: SqliteBackend) -> None:
    with pytest.raises(StoreError):
        SqliteStore(sqlite.path, read_only=True).commit(Batch(proof="4"))


def test_seeds_seen_are_remembered(store: Store, backend: Backend) -> None:
    store.commit(Batch(seen=[b"d" * 32]))
    assert store.is_seen(b"d" * 32)
    assert not store.is_seen(b"e" * 32)
    assert backend.open().is_seen(b"d" * 32)


def test_a_store_is_never_silently_made_anew(tmp_path: Path, sqlite: SqliteBackend) -> None:
    with pytest.raises(StoreError, match="no store"):
        SqliteStore(tmp_path / "missing.sqlite3")
    with pytest.raises(StoreError, match="exists"):
        SqliteStore.create(sqlite.path, "other.invalid/x", "note")
    garbage = tmp_path / "garbage.sqlite3"
    garbage.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError):
        SqliteStore(garbage)


def test_a_database_is_never_silently_made_anew(postgres: Postgres) -> None:
    link = Database(postgres.database(), Replication.NONE).connect()
    with pytest.raises(StoreError, match="no log in this database"):
        schema.origin_of(link)
    schema.create(link, "one.invalid/x", "note")
    with pytest.raises(StoreError, match="a log in this database already"):
        schema.create(link, "other.invalid/x", "note")
    link.execute("UPDATE meta SET value = '0' WHERE name = 'version'")
    with pytest.raises(StoreError, match="dealer migrate"):
        schema.origin_of(link)
    link.execute("UPDATE meta SET value = '2' WHERE name = 'version'")
    with pytest.raises(StoreError, match="newer dealer"):
        schema.origin_of(link)
    link.close()


def test_what_is_sealed_does_not_print(backend: Backend, store: Store) -> None:
    assert "sealed" not in repr(backend.hand(HAND))
    assert "secret" not in repr([Sealed(1, b"secret"), answer(b"1", text=b"secret"), RecordLine(HAND, 0, b"secret")])
