"""The embedded store's own ways: blobs that are opened once, what expires between two looks, and damage that shows."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dealer.store.interface import Answer, Batch, HandRow, RecordLine, Sealed, StoreError, VaultError
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Purpose, SealLost, Vault

HAND, OTHER = b"h" * 16, b"o" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SqliteStore.create(tmp_path / "store.sqlite3", "store.invalid/x", "note")
    (tmp_path / "at-rest").mkdir()
    return tmp_path / "store.sqlite3"


@pytest.fixture
def vault(path: Path) -> Vault:
    return Vault(path.parent / "at-rest", 3600)


@pytest.fixture
def store(path: Path, vault: Vault) -> SqliteStore:
    return SqliteStore(path, vault)


def answers(*numbers: int) -> list[Answer]:
    return [Answer("room", b"%016d" % n, b"b" * 32, HAND, b"answer %d" % n) for n in numbers]


def playing(hand: bytes) -> HandRow:
    return HandRow(hand, "{}", True, None, 0, None, Sealed(7, b"sealed"))


def over(hand: bytes) -> HandRow:
    return HandRow(hand, None, True, None, 0, 1, None)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


def test_repeats_that_come_together_open_each_blob_once(
    store: SqliteStore, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for first in (0, 100, 200):
        store.commit(Batch(answers=answers(*range(first, first + 100))))
    opened = []
    real = vault.open

    def counted(*arguments: Any) -> bytes:
        opened.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(vault, "open", counted)
    asked = [("room", b"%016d" % (first + n)) for n in range(100) for first in (0, 100, 200)]
    found = store.answers(asked)
    assert [found[key].open() for key in asked] == [b"answer %d" % int(request) for _, request in asked]
    assert len(opened) == 3


def test_an_answer_that_is_forgotten_after_it_was_found_is_lost_and_breaks_nothing(store: SqliteStore) -> None:
    store.commit(Batch(answers=answers(1), expires=1000))
    (found,) = store.answers([("room", b"%016d" % 1)]).values()
    assert store.forget(1000, 100)
    with pytest.raises(SealLost, match="forgotten"):
        found.open()


def test_a_record_of_which_a_piece_has_expired_is_gone(store: SqliteStore) -> None:
    store.commit(Batch(hands={HAND: playing(HAND)}, records=[RecordLine(HAND, 0, b"a")]))
    store.commit(
        Batch(
            hands={OTHER: playing(OTHER)},
            answers=[Answer("room", b"r" * 16, b"b" * 32, OTHER, b"")],
            records=[RecordLine(HAND, 1, b"b")],
        )
    )
    assert store.record(HAND) == [b"a", b"b"]
    store.commit(Batch(hands={HAND: over(HAND)}, expires=1000))
    assert store.forget(1000, 100)
    assert store.record(HAND) == []


def test_a_key_whose_destruction_failed_is_destroyed_later(
    store: SqliteStore, path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.commit(Batch(answers=answers(1), expires=1000))
    with monkeypatch.context() as broken:
        broken.setattr(vault, "destroy_unused", lambda *_: (_ for _ in ()).throw(VaultError("not now")))
        with pytest.raises(VaultError):
            store.forget(1000, 100)
    assert len(vault.ids(Purpose.ANSWER)) == 1
    store.forget(1000, 100)
    assert vault.ids(Purpose.ANSWER) == set()


def test_a_key_that_a_crash_left_is_destroyed_after_the_next_start(store: SqliteStore, path: Path) -> None:
    store.commit(Batch(answers=answers(1), expires=1000))
    store.close()
    for table in ("requests", "kept", "batches"):
        change(path, f"DELETE FROM {table}")
    vault = Vault(path.parent / "at-rest", 3600)
    assert len(vault.ids(Purpose.ANSWER)) == 1
    SqliteStore(path, vault).forget(1000, 100)
    assert vault.ids(Purpose.ANSWER) == set()


def test_an_answer_is_bound_to_its_request(store: SqliteStore, path: Path) -> None:
    store.commit(Batch(answers=answers(1, 2)))
    asked = [("room", b"%016d" % 1)]
    change(path, "UPDATE requests SET slot = 1 - slot")
    with pytest.raises(StoreError, match="without its answer"):
        store.answers(asked)
    change(path, "UPDATE kept SET members = CAST(substr(members, 70) || substr(members, 1, 69) AS BLOB)")
    (moved,) = store.answers(asked).values()
    with pytest.raises(SealLost):
        moved.open()


@pytest.mark.parametrize("damage", ["members = x'00'", "members = zeroblob(69)"])
def test_a_damaged_list_of_what_is_kept_is_said_so(store: SqliteStore, path: Path, damage: str) -> None:
    store.commit(Batch(answers=answers(1)))
    change(path, f"UPDATE kept SET {damage}")
    with pytest.raises(StoreError, match="the store holds a"):
        store.answers([("room", b"%016d" % 1)])


def test_a_damaged_blob_is_lost_and_no_other(store: SqliteStore, path: Path) -> None:
    store.commit(Batch(answers=answers(1)))
    store.commit(Batch(answers=answers(2)))
    change(path, "UPDATE kept SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE batch = 1")
    found = store.answers([("room", b"%016d" % n) for n in (1, 2)])
    with pytest.raises(SealLost):
        found["room", b"%016d" % 1].open()
    assert found["room", b"%016d" % 2].open() == b"answer 2"


def test_a_store_that_is_refused_is_let_go(path: Path) -> None:
    change(path, "UPDATE meta SET value = '1' WHERE name = 'version'")
    with pytest.raises(StoreError, match="dealer migrate"):
        SqliteStore(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",), "nobody else has it open"
