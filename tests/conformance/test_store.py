"""What every store keeps, whichever it is: batches whole, rows replaced, answers until they expire."""

from pathlib import Path

import pytest

from dealer.log.merkle import CompactTree, leaf_hash
from dealer.store.interface import AnswerRow, Batch, HandRow, Sealed, Store, StoreError, TableRow
from dealer.store.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite3"
    SqliteStore.create(path, "store.invalid/x", "the empty log's note")
    return path


@pytest.fixture
def store(path: Path) -> Store:
    return SqliteStore(path)


SEALED = Sealed(7, b"sealed")


def hand(key: bytes, close: int | None = None, secrets: Sealed | None = SEALED) -> HandRow:
    return HandRow(key, "{}", False, None, 0, close, secrets)


def answer(request: bytes, expires: int | None = None, of: bytes = b"h" * 16, key: int = 1) -> AnswerRow:
    return AnswerRow("room", request, b"b" * 32, of, Sealed(key, b"answer"), expires)


def appended(store: Store, entries: list[bytes], note: str) -> Batch:
    tree = CompactTree.load(store.size(), store.node)
    return Batch(entries, [node for entry in entries for node in tree.append(leaf_hash(entry))], note)


def test_a_new_store_is_the_empty_log(store: Store) -> None:
    assert (store.origin, store.size(), store.checkpoint()) == ("store.invalid/x", 0, "the empty log's note")
    assert list(store.entries(0, 10)) == []
    assert store.hand(b"h") is store.table("t") is store.answer("room", b"r") is None
    with pytest.raises(StoreError):
        store.node(0, 0)


def test_entries_nodes_and_checkpoint_come_together_and_last(store: Store, path: Path) -> None:
    entries = [b"%d" % i for i in range(21)]
    for start in range(0, 21, 7):
        store.commit(appended(store, entries[start : start + 7], f"note {start}"))
    store.close()
    again = SqliteStore(path)
    assert (again.size(), again.checkpoint()) == (21, "note 14")
    assert list(again.entries(5, 9)) == entries[5:9]
    tree = CompactTree()
    for entry in entries:
        for node in tree.append(leaf_hash(entry)):
            assert again.node(node.level, node.index) == node.hash
    assert CompactTree.load(21, again.node).root() == tree.root()


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


def test_rows_are_replaced(store: Store) -> None:
    store.commit(Batch(hands={b"h": hand(b"h")}, tables={"t": TableRow("t", "room", 1, b"h")}))
    assert [row.hand for row in store.hands_in_play()] == [b"h"]
    store.commit(Batch(hands={b"h": hand(b"h", 3, None)}, tables={"t": TableRow("t", "room", 1, None)}))
    assert list(store.hands_in_play()) == []
    assert store.hand(b"h") == hand(b"h", 3, None)
    assert store.table("t") == TableRow("t", "room", 1, None)


def test_answers_expire_with_their_hand(store: Store) -> None:
    rows = {("room", r): answer(r, key=key) for r, key in ((b"1", 1), (b"2", 2))}
    store.commit(Batch(answers={**rows, ("room", b"3"): answer(b"3", of=b"o" * 16, key=3)}))
    assert store.answer_keys() == {1, 2, 3}
    store.drop_answers(10**15)
    assert store.answer("room", b"1") == answer(b"1")
    store.commit(Batch(expiries={b"h" * 16: 1000}))
    store.drop_answers(999)
    assert store.answer("room", b"1") == answer(b"1", 1000)
    store.drop_answers(1000)
    assert store.answer("room", b"1") is store.answer("room", b"2") is None
    assert store.answer_keys() == {3}
    assert store.answer("another room", b"3") is None


def test_a_proof_is_a_commit_that_changes_nothing_else(store: Store, path: Path) -> None:
    store.commit(appended(store, [b"entry"], "note"))
    for proof in ("1", "2" * 65536, "", "3"):
        store.commit(Batch(proof=proof))
    again = SqliteStore(path)
    assert (again.origin, again.size(), again.checkpoint()) == ("store.invalid/x", 1, "note")
    with pytest.raises(StoreError):
        SqliteStore(path, read_only=True).commit(Batch(proof="4"))


def test_seeds_seen_are_remembered(store: Store, path: Path) -> None:
    store.commit(Batch(seen=[b"d" * 32]))
    assert store.is_seen(b"d" * 32)
    assert not store.is_seen(b"e" * 32)
    assert SqliteStore(path, read_only=True).is_seen(b"d" * 32)


def test_a_store_is_never_silently_made_anew(tmp_path: Path, path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        SqliteStore(tmp_path / "missing.sqlite3")
    with pytest.raises(StoreError, match="exists"):
        SqliteStore.create(path, "other.invalid/x", "note")
    garbage = tmp_path / "garbage.sqlite3"
    garbage.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError):
        SqliteStore(garbage)


def test_what_is_sealed_does_not_print(store: Store) -> None:
    assert "sealed" not in repr(hand(b"h"))
    assert "answer=" not in repr(Sealed(1, b"answer=secret"))
