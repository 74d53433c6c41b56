"""The embedded store's own ways: blobs that are opened once, what expires between two looks, and damage that shows."""

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dealer.store import keeping, places
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


def test_an_answer_is_bound_to_its_request(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAITING", 0)
    store.commit(Batch(answers=answers(1, 2)))
    for number in range(10, 10 + places.PARTS):
        store.commit(Batch(answers=answers(number)))
    asked = [("room", b"%016d" % 1)]
    change(path, "UPDATE requests SET slot = 1 - slot WHERE batch = 1")
    with pytest.raises(StoreError, match="without its answer"):
        store.answers(asked)
    change(
        path, "UPDATE kept SET members = CAST(substr(members, 70) || substr(members, 1, 69) AS BLOB) WHERE batch = 1"
    )
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


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_between_every_answer_that_is_kept_is_found(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Batches, closes, ends, starts and crashes in any order, beside a model that only remembers."""
    monkeypatch.setattr(places, "WAITING", 50)
    monkeypatch.setattr(keeping, "_SWEEP_ROWS", 40)
    rng = random.Random(seed)
    vault = Vault(path.parent / "at-rest", 3600)
    store = SqliteStore(path, vault)
    kept: dict[tuple[str, bytes], tuple[bytes, int]] = {}
    records: dict[bytes, list[bytes]] = {}
    batches: list[tuple[set[bytes], list[tuple[str, bytes]], int | None]] = []
    in_play: list[bytes] = []
    for now in range(130):
        batch = Batch(expires=now + 40)
        opened = [rng.randbytes(16) for _ in range(rng.choice((0, 1, 2)))]
        ended = [in_play.pop(rng.randrange(len(in_play))) for _ in range(rng.choice((0, 1, 2))) if in_play]
        batch.hands = {**{h: playing(h) for h in opened}, **{h: over(h) for h in ended}}
        in_play += opened
        about = [*in_play, *ended]
        for _ in range(rng.choice((0, 1, 5, 20)) if about else 0):
            name, hand = rng.choice(("room", "other")), rng.choice(about)
            request, text = rng.randbytes(16), rng.randbytes(rng.choice((0, 9, 3000)))
            batch.answers.append(Answer(name, request, b"b" * 32, hand, text))
            kept[name, request] = text, len(batches)
        for hand in opened + [h for h in about if h in records and rng.random() < 0.3]:
            pieces = records.setdefault(hand, [])
            batch.records.append(RecordLine(hand, len(pieces), b"%d" % now))
            pieces.append(b"%d" % now)
        store.commit(batch)
        for at, (hands, asked, expires) in enumerate(batches):
            if expires is None and not hands & set(in_play):
                batches[at] = hands, asked, now + 40
        hands = {a.hand for a in batch.answers} | {r.hand for r in batch.records}
        batches.append(
            (hands, [(a.caller, a.request) for a in batch.answers], None if hands & set(in_play) else now + 40)
        )
        if rng.random() < 0.1:
            while store.forget(now, 10):
                pass
            gone = {at for at, (_, _, expires) in enumerate(batches) if expires is not None and expires <= now}
            kept = {key: value for key, value in kept.items() if value[1] not in gone}
            lost = {hand for at in gone for hand in batches[at][0]}
            records = {hand: pieces for hand, pieces in records.items() if hand not in lost}
        if rng.random() < 0.1:
            if rng.random() < 0.5:
                store.close()
            else:  # as the files lie after a kill
                copy = tmp_path / f"crash-{now}"
                shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("crash-*"))
                path = copy / path.name
                vault = Vault(copy / "at-rest", 3600)
            store = SqliteStore(path, vault)
        if rng.random() < 0.2:
            found = store.answers(list(kept))
            assert {key: each.open() for key, each in found.items()} == {key: text for key, (text, _) in kept.items()}
            assert {hand: store.record(hand) for hand in records} == records
    store.commit(Batch(hands={h: over(h) for h in in_play}, expires=130))
    while store.forget(10_000, 10):
        pass
    with closing(sqlite3.connect(path)) as db:
        for table in ("batches", "kept", "requests", "recorded"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_a_batch_never_has_the_number_of_one_that_has_gone(store: SqliteStore, path: Path, vault: Vault) -> None:
    store.commit(Batch(answers=answers(1)))
    store.commit(Batch(answers=answers(2)))
    assert store.forget(0, 100)
    store.close()
    again = SqliteStore(path, vault)
    again.commit(Batch(answers=answers(3)))
    assert again.newest_batch == 3


def test_requests_come_into_their_table_many_a_page(path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAITING", 4096)
    store = SqliteStore(path, vault)
    for _ in range(64):
        store.commit(Batch(answers=[Answer("room", os.urandom(16), b"b" * 32, HAND, b"") for _ in range(128)]))
    with closing(sqlite3.connect(path)) as db:
        rows, parts = db.execute("SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM merged)").fetchone()
    assert rows > 16 * parts > 0, "each time a range of ids was brought in, it was many rows"
