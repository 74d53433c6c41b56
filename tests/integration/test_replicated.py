"""What each replication mode may lose, on a real primary with a real standby: MACHINES.md, section 5."""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.store.datadir import DataDir
from dealer.store.interface import Batch, LeaseLost, LogConflict, StoreError
from dealer.store.postgres.admin import init
from dealer.store.postgres.contender import Contender, Terms
from dealer.store.postgres.link import Database, Replication
from dealer.store.postgres.store import PostgresStore
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS
from tests.integration.sharing import Shared, asked, end
from tests.postgres import Postgres, server

ORIGIN = "replicated.invalid/x"


@dataclass
class Room:
    """A primary, its standby, and a dealer's folder."""

    primary: Postgres
    standby: Postgres
    folder: Path
    name: str
    moved: list[str] = field(default_factory=list)

    def url(self) -> str:
        ports = f"{self.primary.port},{self.standby.port}"
        where = f"{self.primary.folder},{self.primary.folder}"
        return f"postgresql://dealer@/{self.name}?host={where}&port={ports}"

    @contextmanager
    def dealer(self, replication: str) -> Iterator[tuple[Contender, PostgresStore]]:
        """A dealer that writes; it ends as by a crash."""
        data = DataDir.at(self.folder)
        database = Database(self.url(), Replication(replication))
        contender = Contender(database, data.root, data.at_rest, data.signer(), Terms(lease_seconds=1))
        contender.on_moved = lambda: self.moved.append(replication)
        contender.check()
        contender.start()
        wait_for(lambda: contender.lease.epoch != 0)
        store = contender.open_store()
        try:
            yield contender, store
        finally:
            contender._stopping.set()
            assert contender._thread is not None
            contender._thread.join()
            store.close()
            contender.memory.close()

    def starts(self, replication: str) -> None:
        """Lets a dealer look at the database, as its start does."""
        data = DataDir.at(self.folder)
        database = Database(self.url(), Replication(replication))
        Contender(database, data.root, data.at_rest, data.signer(), Terms()).check()


def wait_for(happened: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.02)


def append(contender: Contender, store: PostgresStore, entry: bytes) -> None:
    tree = CompactRange.load(store.size(), store.node)
    nodes = tree.append(leaf_hash(entry))
    note = sign_checkpoint(Checkpoint(ORIGIN, tree.size, tree.root()), contender.keyring.vouching.signer)
    store.commit(Batch([entry], list(nodes), note))


@pytest.fixture
def room(tmp_path) -> Iterator[Room]:
    with server() as primary:
        url = primary.database()
        name = url.partition("@/")[2].partition("?")[0]
        init(DataDir.at(tmp_path / "dealer"), ORIGIN, url)
        standby = primary.standby()
        try:
            yield Room(primary, standby, tmp_path / "dealer", name)
        finally:
            standby.stop()


def refused(call: Callable[[], None]) -> bool:
    try:
        call()
    except StoreError:
        return True
    return False


def make_synchronous(room: Room) -> None:
    room.primary.sql("ALTER SYSTEM SET synchronous_standby_names = 's1'")
    room.primary.sql("SELECT pg_reload_conf()")


def caught_up(room: Room) -> None:
    def done() -> bool:
        with psycopg.connect(room.primary.url()) as link:
            row = link.execute("SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication").fetchone()
        return row is not None and bool(row[0])

    wait_for(done)


@pytest.mark.parametrize("how", ["cancel", pytest.param("terminate", marks=pytest.mark.soak)])
def test_a_wait_for_the_standby_that_is_cut_short_is_doubt(room, how):
    make_synchronous(room)
    with room.dealer("synchronous") as (contender, store):
        append(contender, store, b"one")
        epoch = store.epoch
        room.standby.stop()
        failed = list[StoreError]()

        def late() -> None:
            try:
                append(contender, store, b"two")
            except StoreError as error:
                failed.append(error)

        thread = threading.Thread(target=late)
        thread.start()
        waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%INSERT INTO entries%'"
        with psycopg.connect(room.primary.url(), autocommit=True) as link:
            wait_for(lambda: link.execute(waits).fetchone() is not None)
            (pid,) = link.execute(waits).fetchone() or (0,)
            link.execute(f"SELECT pg_{how}_backend({pid})".encode())
        thread.join(30)
        assert failed, "nobody is answered, though the entry can be seen"
        assert not isinstance(failed[0], LeaseLost)
        room.standby.start()
        store.close()
        again = contender.open_store()
        assert again.epoch > epoch, "doubt is answered with a new epoch"
        assert list(again.entries(0, 9)) in ([b"one"], [b"one", b"two"])
        append(contender, again, b"three")
        again.close()


def test_an_emptied_list_of_standbys_ends_every_commit(room):
    make_synchronous(room)
    with room.dealer("synchronous") as (contender, store):
        append(contender, store, b"one")
        room.primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
        room.primary.sql("SELECT pg_reload_conf()")
        wait_for(lambda: refused(lambda: append(contender, store, b"late")))
    with pytest.raises(StoreError, match="synchronous_standby_names is empty"):
        room.starts("synchronous")


def test_a_promotion_without_a_loss(room):
    make_synchronous(room)
    with room.dealer("synchronous") as (contender, store):
        append(contender, store, b"one")
    assert room.moved == []
    caught_up(room)
    room.primary.kill()
    room.standby.promote()
    room.standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
    with pytest.raises(LogConflict, match="--replication none is declared"):
        room.starts("none")
    with room.dealer("asynchronous") as (_, store):
        assert store.uncertain, "what was shown last may be lost, so every hand in play is void"
        assert list(store.entries(0, 9)) == [b"one"]
    assert room.moved == ["asynchronous"], "witnesses are asked before the new writer serves, once"


def test_a_promotion_that_has_lost_commits_signs_nothing_more(room):
    with room.dealer("asynchronous") as (contender, store):
        append(contender, store, b"one")
        caught_up(room)
        room.standby.stop()
        append(contender, store, b"two")
        contender._look(store.link)
    room.primary.kill()
    room.standby.start()
    room.standby.promote()
    for replication in Replication:
        if replication is not Replication.SYNCHRONOUS:
            with pytest.raises(LogConflict, match="gone back"):
                room.starts(replication)


def test_a_restored_copy_signs_nothing_more(room):
    with room.dealer("none") as (contender, store):
        append(contender, store, b"one")
    room.standby.stop()
    room.primary.stop()
    copy = room.primary.folder / "copy"
    shutil.copytree(room.primary.data, copy)
    room.primary.start()
    with room.dealer("none") as (contender, store):
        append(contender, store, b"two")
    room.primary.stop()
    shutil.rmtree(room.primary.data)
    copy.rename(room.primary.data)
    if os.geteuid() == 0:
        for path in (room.primary.data, *room.primary.data.rglob("*")):
            shutil.chown(path, "nobody")
    room.primary.start()
    with pytest.raises(LogConflict, match="gone back"):
        room.starts("none")


def test_a_conflict_found_while_loading_gives_the_lease_up(room):
    with room.dealer("none") as (contender, store):
        append(contender, store, b"one")
        store.close()
        room.primary.sql("UPDATE nodes SET hash = sha256(hash)", room.name)
        contender._fresh = None
        with pytest.raises(LogConflict):
            contender.open_store()
        contender.give_up()
        assert not contender.lease.epoch
        time.sleep(2.5)
        assert not contender.lease.epoch, "it does not come back by itself"


def test_with_asynchronous_replication_a_failover_voids_what_is_in_play(room):
    """Nobody can tell what was shown and is lost: a whole dealer, through a promotion."""
    options = ("--store", room.url(), "--replication", "asynchronous")
    dealer = Shared(room.folder, options).start()
    try:
        assert "may lose" in dealer.log_lines()
        hand = asked(lambda: dealer.room().open("t")).hand_id
        dealer.room().deal(hand, STREETS[0])
        offered = dealer.room().open("u", contributors=[pb.Contributor(id="alice", commitment=bytes(32))]).hand_id
        over = dealer.room().open("v").hand_id
        dealer.room().play_out(over)
        caught_up(room)
        room.primary.kill()
        room.standby.promote()
        following = asked(lambda: dealer.room().open("t"), 60)
        assert following.number == 2
        for each, state in ((hand, t.HAND_STATE_VOID), (offered, t.HAND_STATE_VOID), (over, t.HAND_STATE_CLOSED)):
            assert dealer.room().get(each).hand.state == state
        assert "every hand in play is void" in dealer.log_lines()
        dealer.kill()
        dealer.start()
        asked(lambda: dealer.room().deal(following.hand_id, STREETS[0]))  # said once: what came after goes on
        with psycopg.connect(room.standby.url(room.name)) as link:
            rows = link.execute("SELECT entry FROM entries ORDER BY position").fetchall()
        closes = [each for (entry,) in rows if (each := json.loads(bytes(entry)))["schema"] == "cutcard/v1/close"]
        assert sorted((each["outcome"], each.get("reason")) for each in closes) == [
            ("completed", None),
            ("void", "failure"),
            ("void", "failure"),
        ]
    finally:
        end([dealer])
