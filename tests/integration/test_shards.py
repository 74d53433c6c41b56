"""A room of several logs: tables of others are refused, and growing and shrinking moves the tables that it must."""

import json
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from click.testing import CliRunner

from dealer.cli import main
from dealer.client import CallError, Shard, ShardedClient
from dealer.core.shards import shard_of
from dealer.store.datadir import DataDir
from dealer.store.postgres.admin import init
from tests.integration.running import Room, Running, error_info, refusal, run_tool, running
from tests.integration.table_room import TableRoom
from tests.postgres import Postgres

TABLES = [f"table-{number}" for number in range(12)]


def of(shard: str, *shards: str) -> list[str]:
    return [table for table in TABLES if shard_of(table, shards) == shard]


def serving(data: Path, shard: str, names: str, *options: str) -> Any:
    if not data.exists():
        assert run_tool("dealer", "init", "--data-dir", data, "--origin", f"{shard}.example/room").returncode == 0
    return running(data, "--shards", names, "--shard", shard, *options)


def asked(dealer: Running, names: str, shard: str, *options: object) -> "tuple[int, list[list[str]], str]":
    done = run_tool(
        "dealer", "shards", "--data-dir", dealer.data, "--shards", names, "--shard", shard, *map(str, options)
    )
    return done.returncode, [line.split("\t") for line in done.stdout.splitlines()], done.stderr


def play(room: Room, table: str) -> int:
    hand = room.open(table, seats=[1, 2])
    room.void(hand.hand_id)
    return hand.number


async def test_a_table_of_another_shard_is_refused_at_both_services_and_named(tmp_path: Path) -> None:
    (theirs, *_), (ours, *_) = of("a", "a", "b"), of("b", "a", "b")
    with serving(tmp_path / "b", "b", "a,b") as dealer:
        room = dealer.room()
        assert play(room, ours) == 1
        with pytest.raises(grpc.RpcError) as opened:
            room.open(theirs)
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            with pytest.raises(grpc.RpcError) as started:
                await TableRoom(channel).start(table=theirs)
        for caught in (opened.value, started.value):
            assert refusal(caught) == (grpc.StatusCode.FAILED_PRECONDITION, "OTHER_SHARD")
            assert error_info(caught).metadata == {"shard": "a"}


async def test_the_client_opens_each_table_where_it_belongs(tmp_path: Path) -> None:
    with serving(tmp_path / "a", "a", "a,b") as a, serving(tmp_path / "b", "b", "a,b") as b:
        shards = {name: Shard(each.address, each.verifier_key()) for name, each in (("b", b), ("a", a))}
        async with ShardedClient(shards, folder=tmp_path / "client") as client:
            for table in TABLES[:4]:
                hand = await client.open_hand(table, [1, 2])
                await hand.void("misdeal")
        old = ShardedClient({"a": shards["a"]})
        with pytest.raises(CallError) as caught:
            await old.open_hand(of("b", "a", "b")[0], [1, 2])
        assert (caught.value.reason, caught.value.metadata["shard"]) == ("OTHER_SHARD", "b")
        await old.aclose()
        for each, name in ((a, "a"), (b, "b")):
            assert {row[0] for row in asked(each, "a,b", name)[1]} == set(TABLES[:4]) & set(of(name, "a", "b"))


def test_growing_and_shrinking(tmp_path: Path) -> None:
    moving = of("c", "a", "b", "c")
    assert {shard_of(table, ("a", "b")) for table in moving} == {"a", "b"}
    owners = {name: tmp_path / f"{name}.owners" for name in ("a", "b")}
    # First every old shard gets the new list; a hand in play at a moved table ends where it is.
    with serving(tmp_path / "a", "a", "a,b") as a, serving(tmp_path / "b", "b", "a,b") as b:
        for table in TABLES:
            play({"a": a, "b": b}[shard_of(table, ("a", "b"))].room(), table)
        last = next(table for table in moving if shard_of(table, ("a", "b")) == "a")
        in_play = a.room().open(last, seats=[1, 2])
    with serving(tmp_path / "a", "a", "a,b,c") as a, serving(tmp_path / "b", "b", "a,b,c") as b:
        code, rows, said = asked(a, "a,b,c", "a", "--moved", "--out", owners["a"])
        assert (code, {row[0]: row[3] for row in rows}[last]) == (1, "hand 2 in play")
        assert "has to wait" in said
        a.room().void(in_play.hand_id)
        for dealer, name in ((a, "a"), (b, "b")):
            code, rows, _ = asked(dealer, "a,b,c", name, "--moved", "--out", owners[name])
            assert code == 0
            assert {row[0] for row in rows} == {table for table in moving if shard_of(table, ("a", "b")) == name}
            assert {row[1] for row in rows} == {"c"}
        # Then the new shard starts, with the owners; a moved table begins with number 1, and nobody else can take it.
        given = json.loads(owners["a"].read_text())
        given["owners"] |= json.loads(owners["b"].read_text())["owners"] | {moving[0]: "another-room"}
        (tmp_path / "all.owners").write_text(json.dumps(given))
        options = ("--table-owners", str(tmp_path / "all.owners"))
        with serving(tmp_path / "c", "c", "a,b,c", *options) as c:
            assert {row[0] for row in asked(c, "a,b,c", "c")[1]} == set(moving)
            with pytest.raises(grpc.RpcError) as caught:
                c.room().open(moving[0], seats=[1, 2])
            assert refusal(caught.value) == (grpc.StatusCode.PERMISSION_DENIED, "TABLE_OF_ANOTHER_ROOM")
            assert [play(c.room(), table) for table in moving[1:]] == [1] * (len(moving) - 1)
            with pytest.raises(grpc.RpcError) as caught:
                a.room().open(last, seats=[1, 2])
            assert refusal(caught.value)[1] == "OTHER_SHARD"
        # Shrinking: only the tables of the shard that goes move, and go on where they were before.
        with serving(tmp_path / "c", "c", "a,b,c") as c:
            code, rows, _ = asked(c, "a,b", "c", "--moved", "--out", tmp_path / "c.owners")
            assert (code, {row[0] for row in rows}) == (0, set(moving))
    with serving(tmp_path / "a", "a", "a,b", "--table-owners", str(tmp_path / "c.owners")) as a:
        assert play(a.room(), last) == 3


def test_the_tables_of_a_log_in_a_database_are_listed_as_well(postgres: Postgres, tmp_path: Path) -> None:
    url, data, owners = postgres.database(), DataDir.at(tmp_path / "a"), tmp_path / "owners"
    init(data, "a.example/room", url)
    with psycopg.connect(url) as link:
        for table in TABLES:
            link.execute("INSERT INTO tables VALUES (%s, 'red', 2, NULL)", (table,))
    command = ["shards", "--data-dir", str(data.root), "--shards", "a,b", "--shard", "a", "--moved"]
    done = CliRunner().invoke(main, [*command, "--out", str(owners), "--store", url])
    assert done.exit_code == 0, done.output
    assert [line.split("\t")[0] for line in done.output.splitlines()] == sorted(of("b", "a", "b"))
    assert set(json.loads(owners.read_text())["owners"]) == set(of("b", "a", "b"))
    with psycopg.connect(url) as link:
        link.execute("UPDATE tables SET hand = '\\x00' WHERE name = %s", (of("b", "a", "b")[0],))
    busy = CliRunner().invoke(main, [*command, "--store", url])
    assert "the new shard has to wait" in busy.output
    DataDir.at(tmp_path / "x").init("x.example/room")
    (tmp_path / "x" / "db").rename(tmp_path / "gone")
    other = CliRunner().invoke(main, [*command[:2], str(tmp_path / "x"), *command[3:], "--store", url])
    assert "the database is the log a.example/room" in other.output


@pytest.mark.parametrize(
    "options",
    [("--shards", "a,b"), ("--shard", "a"), ("--shards", "a,a", "--shard", "a"), ("--shards", "a b", "--shard", "a"),
     ("--shards", "a,b", "--shard", "c"), ("--shards", "", "--shard", "a")],
)  # fmt: skip
def test_lists_of_shards_that_are_none_are_wrong_usage(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_tool("dealer", "serve", "--data-dir", tmp_path / "x", "--dev", *options)
    assert done.returncode == 2
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": "x"}', '{"format": "cutcard-table-owners/v1", "owners": {"a b": "c"}}']
)
def test_a_file_of_owners_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "owners").write_text(text)
    done = run_tool("dealer", "serve", "--data-dir", tmp_path / "x", "--dev", "--table-owners", tmp_path / "owners")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "owners" in done.stderr
