"""What operators do wrong with a log's database: each is refused in a line that says what, and nothing is changed."""

import logging
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import structlog
from click.testing import CliRunner

from dealer.cli import main
from dealer.errors import CutcardError
from dealer.store.datadir import DataDir
from dealer.store.interface import Batch, LeaseLost, StoreError
from dealer.store.postgres import schema
from dealer.store.postgres.admin import bring_up, init, join
from dealer.store.postgres.contender import Contender, Terms
from dealer.store.postgres.link import Database, Replication
from tests.postgres import SETTABLE_CLOCK, Postgres

ORIGIN = "mistakes.invalid/x"
SECRET = "s3cret"


def contender(data: DataDir, url: str) -> Contender:
    terms = Terms(lease_seconds=1)
    return Contender(Database(url, Replication.NONE), data.root, data.at_rest, data.signer(), terms)


def starts(data: DataDir, url: str) -> None:
    """Does what a dealer does with its database at its start."""
    made = contender(data, url)
    try:
        made.check()
    finally:
        made.stop()


def wait_for(happened: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.02)


def name_of(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://dealer:{}@h/room",
        "postgresql://dealer:{}@[::1/room",
        "postgresql://dealer:{}%ZZ@h/room",
        "postgresql://dealer:{}@h/room?nonsense={}",
        "postgresql://dealer:a@{}@h/room",
        "postgresql://dealer:a/{}@h/room",
        "postgresql://dealer:1/{}@h/room",
        "postgresql://dealer:a?{}@h/room",
        "postgresql://dealer:{}/room",
        "postgresql://dealer:a:{}@127.0.0.1:1/room",
        "postgresql://dealer:{}@127.0.0.1:1/room",
        "postgresql://dealer:{}@h/room?sslmode=disable",
        "host=127.0.0.1 port=1 password={}",
        "host=127.0.0.1 pasword={}",
    ],
)
def test_no_part_of_a_password_is_said(tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture) -> None:
    given = url.replace("{}", SECRET)
    with caplog.at_level(logging.DEBUG), pytest.raises(CutcardError) as refused:
        init(DataDir.at(tmp_path / "a"), ORIGIN, given)
    ran = CliRunner().invoke(main, ["join", "--data-dir", "b", "--log-key", "k", "--store", given])
    for said in (str(refused.value), repr(refused.value), caplog.text, ran.output):
        assert SECRET not in said
    assert len(str(refused.value).splitlines()) == 1
    assert not (tmp_path / "a").exists()


def test_a_password_that_others_can_see_is_warned_of(tmp_path: Path) -> None:
    url = f"postgresql://dealer:{SECRET}@127.0.0.1:1/room"
    command = ["init", "--data-dir", str(tmp_path / "a"), "--origin", ORIGIN]
    typed = CliRunner().invoke(main, [*command, "--store", url])
    assert "everybody on this machine can read the password in --store" in typed.output
    kept = CliRunner(env={"CUTCARD_STORE": url}).invoke(main, command)
    without = CliRunner().invoke(main, [*command, "--store", url.replace(f":{SECRET}", "")])
    assert "Warning" not in kept.output + without.output


@pytest.mark.parametrize("tables", ["meta (id int)", "entries (id int)", "writer (one int)"])
def test_tables_of_something_else_are_said_to_be_that(postgres: Postgres, tmp_path: Path, tables: str) -> None:
    url, other = postgres.database(), postgres.database()
    data = DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    postgres.sql(f"CREATE TABLE {tables}", name_of(other))
    calls: list[Callable[[], None]] = [
        lambda: init(DataDir.at(tmp_path / "b"), ORIGIN, other),
        lambda: join(DataDir.at(tmp_path / "b"), data.key, other),
        lambda: starts(data, other),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="tables of something else in this database"):
            call()
    assert not (tmp_path / "b").exists()


def test_two_logs_are_two_schemas_and_never_one(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.database()
    first, second = DataDir.at(tmp_path / "a"), DataDir.at(tmp_path / "b")
    init(first, ORIGIN, url)
    with pytest.raises(StoreError, match="a log in this database already"):
        init(second, "mistakes.invalid/y", url)
    postgres.sql("CREATE SCHEMA other AUTHORIZATION dealer", name_of(url))
    elsewhere = f"{url}&options=-csearch_path%3Dother"
    init(second, "mistakes.invalid/y", elsewhere)
    starts(first, url)
    starts(second, elsewhere)
    with pytest.raises(StoreError, match="the database is the log"):
        starts(first, elsewhere)


def test_a_role_that_could_not_go_on_for_days_does_not_start(postgres: Postgres, tmp_path: Path) -> None:
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    postgres.sql("DO $$BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN END$$")
    read = url.replace("dealer@", "reader@")
    postgres.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reader", name_of(url))
    for stranger in (read, url.replace("dealer@", "postgres@")):
        with pytest.raises(StoreError, match="all dealers log in as the role that made the log"):
            starts(data, stranger)
    postgres.sql("ALTER SCHEMA public OWNER TO postgres", name_of(url))
    with pytest.raises(StoreError, match="may make no table in this schema"):
        starts(data, url)


def test_a_copy_of_a_dealer_s_folder_is_found_and_the_lease_stays_with_one(postgres: Postgres, tmp_path: Path) -> None:
    """Copied instead of joined: two dealers of one id, each of which would be the holder."""
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    with structlog.testing.capture_logs() as said:
        first = contender(data, url)
        first.check()
        first.start()
        wait_for(lambda: first.lease.epoch == 1)
        first.open_store().close()
        shutil.copytree(data.root, tmp_path / "copy")
        second = contender(DataDir.at(tmp_path / "copy"), url)
        second.check()
        second.start()
        wait_for(lambda: any("a copy of this one's folder" in line["event"] for line in said))
        time.sleep(1)
        assert (first.lease.epoch, second.lease.epoch) == (0, 2), "by its start, and by no turn after that"
        second.stop()
        wait_for(lambda: first.lease.epoch > second.lease.epoch)
        first.stop()


def test_a_holder_that_cannot_write_leaves_the_lease_to_one_that_can(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder may be broken, while its other connection goes on to renew."""
    monkeypatch.setattr("dealer.store.postgres.contender._STUCK_SECONDS", 0.5)
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    join(DataDir.at(tmp_path / "b"), data.key, url)
    first, second = contender(data, url), contender(DataDir.at(tmp_path / "b"), url)
    reasons = list[str]()
    first.on_lost = reasons.append
    first.check()
    first.start()
    wait_for(lambda: first.lease.epoch == 1)
    store = first.open_store()
    first.works = lambda: False
    time.sleep(1)
    assert first.lease.epoch == 1, "there is nobody else"
    second.check()
    second.start()

    def taken() -> bool:
        with suppress(LeaseLost):
            store.tend()  # who has joined is wrapped for
        return second.lease.epoch == 2

    wait_for(taken)
    assert reasons == ["it could not commit for 0.5 s, and leaves the lease to another dealer"]
    with pytest.raises(LeaseLost):
        store.commit(Batch(seen=[bytes(32)]))
    store.close()
    first.stop()
    second.stop()


def test_a_lease_that_was_put_back_by_hand_is_a_conflict_and_no_epoch_is_given_twice(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    made, reasons = contender(data, url), list[str]()
    made.on_conflict = reasons.append
    made.check()
    made.start()
    wait_for(lambda: made.lease.epoch == 1)
    made.open_store().close()
    postgres.sql("UPDATE writer SET epoch = 0, beat = beat + 100, expires = '-infinity'", name_of(url))
    wait_for(lambda: bool(reasons))
    made.stop()
    assert "the lease has gone back from epoch 1 to 0" in reasons[0]
    with psycopg.connect(url) as link:
        assert link.execute("SELECT epoch FROM writer").fetchone() == (0,)


def test_a_clock_that_is_not_the_database_s_is_said_once(postgres: Postgres, tmp_path: Path) -> None:
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    postgres.sql(f"{SETTABLE_CLOCK} UPDATE clock SET shift = '-1 h'", name_of(url))
    with structlog.testing.capture_logs() as said:
        made = contender(data, url)
        made.check()
        made.start()
        wait_for(lambda: made.lease.epoch == 1)
        time.sleep(0.5)
        made.stop()
    told = [line["seconds_ahead"] for line in said if "clock" in line["event"]]
    assert len(told) == 1
    assert 3590 < told[0] < 3660


def test_the_schema_is_brought_up_in_one_piece_and_by_nobody_while_a_dealer_serves(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, ORIGIN, url)
    assert not bring_up(data, url)
    old = contender(data, url)
    old.check()
    old.start()
    wait_for(lambda: old.lease.epoch == 1)
    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setattr(schema, "STEPS", {1: ("ALTER TABLE tables ADD COLUMN more bigint", "SELECT nothing")})
    with pytest.raises(StoreError, match="a dealer serves this log"):
        bring_up(data, url)
    old.stop()
    with pytest.raises(StoreError, match='"nothing" does not exist'):
        bring_up(data, url)
    with pytest.raises(StoreError, match="by `dealer migrate --store URL`"):
        starts(data, url)
    monkeypatch.setattr(schema, "STEPS", {1: ("ALTER TABLE tables ADD COLUMN more bigint",)})
    assert bring_up(data, url)
    starts(data, url)
    with psycopg.connect(url) as link:
        assert link.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == ("2",)
        assert link.execute("SELECT epoch FROM writer").fetchone() == (2,), "a dealer that comes back late is shut out"
    monkeypatch.setattr(schema, "VERSION", 1)
    with pytest.raises(StoreError, match="use a newer dealer"):
        starts(data, url)
    ran = CliRunner().invoke(main, ["migrate", "--data-dir", str(data.root), "--store", url])
    assert (ran.exit_code, "use a newer dealer" in ran.output) == (1, True)
