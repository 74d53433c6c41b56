"""`dealer fsck --store`: a log in a database that is whole, and every kind of damage named with a remedy."""

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import grpc
import psycopg
import pytest

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.store.datadir import DataDir
from dealer.store.postgres.fsck import check_shared
from dealer.v1 import table_pb2, table_pb2_grpc
from tests.integration.running import STREETS, rid
from tests.integration.sharing import asked, sharing
from tests.integration.table_room import STAKES
from tests.integration.test_fsck import blank, files, forked, fsck


class InDatabase(NamedTuple):
    """A dealer's folder and its log's database, both as they were when all was well."""

    folder: Path
    url: str
    kept: Path

    def put_back(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)
        with psycopg.connect(self.url, autocommit=True) as link:
            for table in TABLES:
                link.execute(f"TRUNCATE {table}".encode())
                link.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}".encode())


TABLES = ("writer", "entries", "nodes", "hands", "tables", "answers", "records", "keys", "wraps", "published", "meta")


@pytest.fixture(scope="module")
def database(postgres, tmp_path_factory: pytest.TempPathFactory) -> InDatabase:
    """A log in a database with hands that are over, in play and a referee's."""
    folder = tmp_path_factory.mktemp("shared")
    with sharing(postgres, folder, 1) as (dealer,):
        room = dealer.room()
        asked(lambda: room.play_out(room.open("t-1").hand_id))
        room.deal(room.open("t-2").hand_id, STREETS[0])
        room.open("t-3")
        start_table(dealer.address)
        url = dealer.options[dealer.options.index("--store") + 1]
        assert dealer.stop() == 0
    with psycopg.connect(url, autocommit=True) as link:
        for table in TABLES:
            link.execute(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}".encode())
    kept = Path(shutil.copytree(dealer.data, folder / "kept"))
    return InDatabase(dealer.data, url, kept)


def start_table(address: str) -> None:
    request = table_pb2.StartHandRequest(request_id=rid(), table="t-4", game=1, stakes=STAKES, reveal=1)
    for seat in (1, 2):
        request.seats.add(seat=seat, stack=1000)
    with grpc.insecure_channel(address) as channel:
        table_pb2_grpc.TableServiceStub(channel).StartHand(request)


IN_DATABASE: dict[str, tuple[str, str]] = {
    "an entry changed": ("UPDATE entries SET entry = '{}' WHERE position = 0", "the signed tree of"),
    "an entry gone": ("DELETE FROM entries WHERE position = 1", "entries are missing"),
    "a node changed": (
        "UPDATE nodes SET hash = '\\x00' WHERE level = 0",
        "nodes are not those",
    ),
    "a note of somebody else's": (
        "UPDATE writer SET note = replace(note, 'shared', 'shares')",
        "not signed by this log's",
    ),
    "published of somebody else's": (
        "UPDATE published SET note = replace(note, 'shared', 'shares')",
        "the checkpoint marked as published is not signed",
    ),
    "a table's number": ("UPDATE tables SET number = 9 WHERE name = 't-1'", "by the log it is"),
    "a table gone": ("DELETE FROM tables WHERE name = 't-1'", "not in the database"),
    "a table too many": ("INSERT INTO tables VALUES ('t-9', 'local', 1, NULL)", "no hand of it"),
    "a hand in play gone": ("DELETE FROM hands WHERE closed IS NULL", "not in play here"),
    "a hand that is over gone": ("DELETE FROM hands WHERE closed IS NOT NULL", "over in the log, and not here"),
    "a hand with other entries": ("UPDATE hands SET closed = 0 WHERE closed IS NOT NULL", "other entries"),
    "a hand put back into play": ("UPDATE hands SET closed = NULL", "is closed in the log and in play here"),
    "a hand that never was": (
        "INSERT INTO hands SELECT decode(repeat('00', 16), 'hex'), state, referee, offered, committed, closed, owner, "
        "key, secrets, mac, answers_from, asked FROM hands LIMIT 1",
        "here, and the log does not have it",
    ),
    "a hand's state changed": ("UPDATE hands SET state = '{}' WHERE closed IS NULL", "its row was changed"),
    "a hand's seed changed": (
        "UPDATE hands SET secrets = overlay(secrets placing 'xx' from 20) WHERE closed IS NULL",
        "its secrets were changed",
    ),
    "a hand's secrets gone": (
        "UPDATE hands SET secrets = NULL, key = NULL",
        "keys at rest of 3 hands in play are gone",
    ),
    "keys not wrapped for this dealer": ("DELETE FROM wraps", "kept answers are gone"),
    "a key that nobody vouches for": ("UPDATE keys SET note = 'x' WHERE purpose = 'seed'", "hands in play are gone"),
    "a kept answer changed": (
        "UPDATE answers SET sealed = overlay(sealed placing 'xx' from 20)",
        "what is kept for repeats is damaged",
    ),
    "a referee's record changed": (
        "UPDATE records SET sealed = overlay(sealed placing 'xx' from 20)",
        "what is kept for repeats is damaged",
    ),
    "a database of before": ("UPDATE writer SET beat = 1", "the database has gone back"),
    "a log that lost its end": (
        "UPDATE writer SET size = 0, note = (SELECT value FROM meta WHERE name = 'empty')",
        "what was signed last has",
    ),
    "no writer's row": ("DELETE FROM writer", "has lost its writer row"),
    "a later version": ("UPDATE meta SET value = '77' WHERE name = 'version'", "use a newer dealer"),
    "another log": ("UPDATE meta SET value = 'other.invalid/x' WHERE name = 'origin'", "the database is the log"),
}
UNREAD = ("no writer's row", "a later version", "another log")
IN_FOLDER: dict[str, tuple[Callable[[Path], object], str]] = {
    "keys at rest gone": (lambda data: [path.unlink() for path in files(data / "at-rest")], "hands in play are gone"),
    "public forked": (lambda data: (data / "public" / "checkpoint").write_text(forked(data)), "a fork"),
    "public gone": (lambda data: shutil.rmtree(data / "public"), "shows no checkpoint"),
    "a tile zeroed": (lambda data: blank(*files(data / "public" / "tile" / "0")), "is not what the log says"),
    "what was seen is unreadable": (lambda data: (data / "seen").write_bytes(b"\xff" * 8192), "neither of its two"),
}


def test_a_database_that_is_whole_is_well_and_stays_as_it_is(database: InDatabase) -> None:
    code, said = fsck(database.folder, "--store", database.url)
    assert (code, "all is well" in said, "hands in play: 3" in said) == (0, True, True), said
    same = subprocess.run(["diff", "-r", database.kept, database.folder], capture_output=True, text=True)
    assert same.stdout == ""
    assert fsck(database.folder)[0] == 4, "its log is in a database, and that was not said"


def test_the_command_says_what_is_wrong_with_a_database(database: InDatabase) -> None:
    try:
        with psycopg.connect(database.url, autocommit=True) as link:
            link.execute("DELETE FROM tables")
        code, said = fsck(database.folder, "--store", database.url)
        assert (code, "not in the database" in said, "do: " in said) == (1, True, True), said
    finally:
        database.put_back()


@pytest.mark.parametrize("what", [*IN_DATABASE, *IN_FOLDER])
def test_each_kind_of_damage_of_a_database_is_named(database: InDatabase, what: str) -> None:
    try:
        if what in IN_DATABASE:
            statement, named = IN_DATABASE[what]
            with psycopg.connect(database.url, autocommit=True) as link:
                if what == "a log that lost its end":
                    origin, signer = DataDir.at(database.folder).signer().name, DataDir.at(database.folder).signer()
                    empty = sign_checkpoint(Checkpoint(origin, 0, hashlib.sha256().digest()), signer)
                    link.execute("INSERT INTO meta VALUES ('empty', %s)", (empty,))
                assert link.execute(statement.encode()).rowcount
        else:
            damage, named = IN_FOLDER[what]
            damage(database.folder)
        if what in UNREAD:
            code, said = fsck(database.folder, "--store", database.url)
            assert (code, named in said) == (4, True), said
        else:
            problems = check_shared(DataDir.at(database.folder), database.url, lambda _: None)
            assert any(named in each.what and each.remedy for each in problems), problems
    finally:
        database.put_back()
