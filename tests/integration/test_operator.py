"""Finding hands again, OperatorService and its commands, hands that nobody touches (API.md; docs/access.md)."""

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from audit.report.code_digest import code_digest as digest_of
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import operator_pb2 as op
from dealer.v1 import operator_pb2_grpc, table_pb2, table_pb2_grpc, types_pb2
from tests.integration.access_room import SERVER, Certificates, behind_tls, channel_to
from tests.integration.inside import dealer_inside
from tests.integration.running import Room, error_info, refusal, rid, run_tool, running
from tests.integration.table_room import STAKES, TableRoom


def table_of(room: Room, name: str) -> pb.GetTableResponse:
    return room.stub.GetTable(pb.GetTableRequest(table=name))


async def test_a_room_finds_its_tables_and_hands_again(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        assert table_of(room, "t-1") == pb.GetTableResponse(next_number=1)
        first = room.open("t-1")
        room.deal(first.hand_id, types_pb2.STREET_THIRD)
        room.void(room.open("t-2").hand_id)
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = await TableRoom(channel).start(table="t-3")
        found = table_of(room, "t-1")
        assert (found.next_number, found.hand_id, found.number) == (2, first.hand_id, 1)
        assert (found.state, found.street, found.referee) == (
            types_pb2.HAND_STATE_COMMITTED,
            types_pb2.STREET_THIRD,
            False,
        )
        assert table_of(room, "t-2") == pb.GetTableResponse(next_number=2)
        assert (table_of(room, "t-3").hand_id, table_of(room, "t-3").referee) == (started.id, True)
        listed = room.stub.ListHands(pb.ListHandsRequest())
        assert [each.table for each in listed.hands] == ["t-1", "t-3"]
        assert (listed.hands[0].hand_id, listed.hands[0].room, listed.next_page_token) == (first.hand_id, "", "")
        dealer.kill()
        dealer.start()
        again = dealer.room().stub.ListHands(pb.ListHandsRequest())
        assert [each.hand_id for each in again.hands] == [first.hand_id, started.id]


def test_pages_go_by_the_hand_and_do_not_move(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        hands = [room.open(f"t-{number}").hand_id for number in range(7)]
        page = room.stub.ListHands(pb.ListHandsRequest(page_size=3))
        assert [each.hand_id for each in page.hands] == hands[:3]
        room.void(hands[2])  # the very hand that the token is of
        room.void(hands[0])
        room.open("t-new")
        rest = room.stub.ListHands(pb.ListHandsRequest(page_size=1000, page_token=page.next_page_token))
        assert [each.hand_id for each in rest.hands][:4] == hands[3:]
        assert (len(rest.hands), rest.next_page_token) == (5, "")
        for wrong in (pb.ListHandsRequest(page_size=1001), pb.ListHandsRequest(page_token="x")):
            with pytest.raises(grpc.RpcError) as caught:
                room.stub.ListHands(wrong)
            assert refusal(caught.value)[1] == "INVALID_RANGE"
        play = pb.PlayHandsRequest(
            requests=[
                pb.PlayRequest(correlation_id="a", get_table=pb.GetTableRequest(table="t-1")),
                pb.PlayRequest(correlation_id="b", list_hands=pb.ListHandsRequest(page_size=1)),
            ]
        )
        answers = {each.correlation_id: each for part in room.stub.PlayHands(iter([play])) for each in part.responses}
        assert answers["a"].get_table.hand_id == hands[1]
        assert [each.hand_id for each in answers["b"].list_hands.hands] == [hands[1]]


async def test_an_operator_voids_any_hand_and_the_public_log_says_no_more_than_that(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--log-format", "json") as dealer:
        room, hand = dealer.room(), dealer.room().open("t-1").hand_id
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = await TableRoom(channel).start(table="t-2")
            watch = started.watch()
            connect = ("--connect", dealer.address)
            shown = run_tool("dealer", "hands", *connect).stdout
            assert (hand in shown, started.id in shown, "2 in play" in shown) == (True, True, True)
            for each in (hand, started.id):
                done = run_tool("dealer", "void", each, "--note", "left alone: JONES", *connect)
                assert (done.returncode, done.stdout.startswith(f"hand {each} is void")) == (0, True)
            seen = [response.event async for response in watch]
            assert seen[-1].hand_voided.reason == types_pb2.VOID_REASON_OPERATOR
            assert (await started.get()).finished
        again = run_tool("dealer", "void", hand, "--note", "x", *connect)
        assert (again.returncode, "HAND_CLOSED" in again.stderr, len(again.stderr.splitlines())) == (1, True, 1)
        entries = b"".join(part for answer in room.log.ListEntries(_all()) for part in answer.entries)
        assert entries.count(b'"reason":"operator"') == 2
        assert b"JONES" not in entries
        told = [json.loads(line) for line in dealer.log_lines().splitlines() if "gave a hand up" in line]
        assert [(each["hand"], each["operator"], each["note"]) for each in told] == [
            (hand, "local", "left alone: JONES"),
            (started.id, "local", "left alone: JONES"),
        ]
        assert dealer.audit(tmp_path / "out").returncode == 0


def _all() -> Any:
    from dealer.v1 import log_pb2

    return log_pb2.ListEntriesRequest()


def test_a_repeat_of_the_operator_s_request_gives_the_same_bytes(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        hand = dealer.room().open("t").hand_id
        with channel_to(dealer.address, None) as channel:
            stub = operator_pb2_grpc.OperatorServiceStub(channel)
            request = op.VoidAnyHandRequest(request_id=rid(), hand_id=hand, note="x")
            assert stub.VoidAnyHand(request) == stub.VoidAnyHand(request)
            with pytest.raises(grpc.RpcError) as caught:
                stub.VoidAnyHand(op.VoidAnyHandRequest(request_id=rid(), hand_id=hand, note="y" * 501))
            assert refusal(caught.value)[1] == "INVALID_REQUEST"


def test_drain_takes_no_new_hand_and_lets_those_in_play_end(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        room, connect = dealer.room(), ("--connect", dealer.address)
        hand = room.open("t").hand_id
        assert "1 in play go on" in run_tool("dealer", "drain", *connect).stdout
        with pytest.raises(grpc.RpcError) as caught:
            room.open("u")
        assert refusal(caught.value) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        told = run_tool("dealer", "status", "--format", "json", *connect)
        assert json.loads(told.stdout)["draining"] is True
        health = health_pb2_grpc.HealthStub(room.channel)
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        request = table_pb2.StartHandRequest(request_id=rid(), table="v", game=1, stakes=STAKES, reveal=1)
        for seat in (1, 2):
            request.seats.add(seat=seat, stack=1000)
        with pytest.raises(grpc.RpcError) as caught:
            table_pb2_grpc.TableServiceStub(room.channel).StartHand(request)
        assert refusal(caught.value) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        room.play_out(hand)
        assert "new hands are taken" in run_tool("dealer", "resume", *connect).stdout
        assert room.open("u").number == 1


async def test_a_table_moves_only_to_what_can_be_a_room_s_name(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        await room.void((await room.open("t")).hand_id)
        stub = operator_pb2_grpc.OperatorServiceStub(room.channel)
        for name in (".", "..", "a/b", "a b", "x" * 65, "a\n"):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.MoveTable(op.MoveTableRequest(table="t", to=name))
            assert refusal(caught.value) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"), name
        for before, after in (("", "..."), ("...", "x" * 64)):
            await stub.MoveTable(op.MoveTableRequest(table="t", to=after, **{"from": before}))


async def test_health_says_so_before_a_drain_refuses_the_first_hand(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (dealer, room):
        health, shown = dealer.engine.health, list[tuple[bool, bool]]()
        show = dealer.show_health

        async def seen() -> None:
            shown.append((health.serving, health.admitting))
            await show()

        dealer.show_health = seen  # type: ignore[method-assign]
        stub = operator_pb2_grpc.OperatorServiceStub(room.channel)
        for _ in range(2):
            await stub.Drain(op.DrainRequest())
        with pytest.raises(grpc.aio.AioRpcError):
            await room.open("t")
        await stub.Resume(op.ResumeRequest())
        await room.open("t")
        assert shown == [(False, True), (True, True)], "a drain: not serving, and hands still taken; then a resume"


def test_status_tells_version_digest_log_and_use(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        for table in ("a", "b"):
            dealer.room().open(table)
        found = json.loads(run_tool("dealer", "status", "--format", "json", "--connect", dealer.address).stdout)
        assert (found["role"], found["hands_in_play"], found["log_size"]) == ("writer", "2", "2")
        assert found["rooms"] == [{"room": "local", "hands_in_play": "2", "tables": "2", "requests_waiting": "0"}]
        assert found["limits"] == {
            "hands_in_play": "20000",
            "tables": "100000",
            "requests_a_second": 20_000.0,
            "connections": "1000",
            "streams": "10000",
            "requests_waiting": "20000",
            "calls_waiting": "10000",
        }
        assert found["code_digest"] == digest_of("dealer")
        assert (found["entropy"], found["storage"], found["draining"]) == (True, True, False)
        assert "certificate_days" not in found
        text = run_tool("dealer", "status", "--connect", dealer.address).stdout
        assert "room local   2 of 20000 hands in play, 2 of 100000 tables, 0 of 20000 requests waiting" in text
        assert found["code_digest"] in text
        assert dealer.process is not None
        assert dealer.process.stdout is not None
        said = [dealer.process.stdout.readline() for _ in range(2)]  # the trial server's escrow key, and what it is
        assert any(found["code_digest"] in line for line in said), said
    nobody = run_tool("dealer", "status", "--connect", "127.0.0.1:1")
    assert (nobody.returncode, len(nobody.stderr.splitlines())) == (1, 1)


def test_a_room_that_moves_to_tls_keeps_its_tables_and_their_numbers(tmp_path: Path) -> None:
    made = Certificates(tmp_path / "certificates")
    made.ca()
    made.issue("server", *SERVER)
    made.issue("a", "--room", "room-a")
    made.issue("op", "--operator", "olga")
    tmp_path.chmod(0o700)
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        room.void(room.open("t").hand_id)
        in_play = room.open("u").hand_id
        dealer.stop()
    path = made.path
    with behind_tls(tmp_path / "data", made, "--listen", f"unix:{tmp_path}/s") as dealer:
        tls = ("--tls-ca", path("ca"), "--tls-cert", path("op"), "--tls-key", path("op", "key"))
        connect = ("--connect", f"localhost:{dealer.address.rpartition(':')[2]}", *tls)
        move = ("dealer", "move-table", "t", "--from", "local", "--to", "room-a", *connect)
        for _ in range(2):
            done = run_tool(*move)
            assert (done.returncode, done.stdout) == (0, "table t is room-a's: its next hand is number 2\n")
        busy = run_tool("dealer", "move-table", "u", "--from", "local", "--to", "room-a", *connect)
        assert (busy.returncode, "TABLE_BUSY" in busy.stderr) == (1, True)
        unknown = run_tool("dealer", "move-table", "x", "--from", "local", "--to", "room-a", *connect)
        assert (unknown.returncode, "TABLE_NOT_FOUND" in unknown.stderr) == (1, True)
        theirs = run_tool("dealer", "move-table", "t", "--from", "local", "--to", "room-b", *connect)
        assert (theirs.returncode, "TABLE_OF_ANOTHER_ROOM" in theirs.stderr) == (1, True)
        with channel_to(dealer.address, made.credentials("a")) as channel:
            from dealer.v1 import dealer_pb2_grpc

            request = pb.OpenHandRequest(request_id=rid(), table="t", game=1, seats=[1, 2], reveal=1)
            stub = dealer_pb2_grpc.DealerServiceStub(channel)
            first = stub.OpenHand(request).hand
            assert first.number == 2
            stub.VoidHand(pb.VoidHandRequest(request_id=rid(), hand_id=first.hand_id, reason=1))
        # The room takes another name: its new certificate has the table, and the old one no more.
        renamed = run_tool("dealer", "move-table", "t", "--from", "room-a", "--to", "room-z", *connect)
        assert (renamed.returncode, renamed.stdout) == (0, "table t is room-z's: its next hand is number 3\n")
        request.request_id = rid()
        with channel_to(dealer.address, made.credentials("a")) as channel, pytest.raises(grpc.RpcError) as caught:
            dealer_pb2_grpc.DealerServiceStub(channel).OpenHand(request)
        assert refusal(caught.value)[1] == "TABLE_OF_ANOTHER_ROOM"
        made.issue("z", "--room", "room-z")
        with channel_to(dealer.address, made.credentials("z")) as channel:
            assert dealer_pb2_grpc.DealerServiceStub(channel).OpenHand(request).hand.number == 3
        assert in_play in run_tool("dealer", "hands", "--connect", f"unix:{tmp_path}/s").stdout
        room_as_operator = ("--tls-ca", path("ca"), "--tls-cert", path("a"), "--tls-key", path("a", "key"))
        denied = run_tool("dealer", "hands", *connect[:2], *room_as_operator)
        assert (denied.returncode, "NOT_YOUR_ROLE" in denied.stderr) == (1, True)


async def test_hands_that_nobody_touches_are_void_and_a_referee_s_are_not(tmp_path: Path) -> None:
    now = [1_900_000_000_000]
    settings = Settings(hand_seconds=3600, grace_seconds=1)
    async with dealer_inside(tmp_path / "data", Sources(clock=lambda: now[0]), settings) as (dealer, room):
        left, touched = (await room.open("t")).hand_id, (await room.open("u")).hand_id
        await TableRoom(room.channel).start(table="v")
        housekeeping = dealer._housekeeping
        for street in range(1, 4):
            now[0] += 1_500_000
            await room.deal(touched, street)
            await housekeeping.tried(housekeeping._void_abandoned)
            tables = {live.state.table for live in dealer.engine.state.live.values()}
            assert tables == ({"t", "u", "v"} if street < 3 else {"u", "v"}), "voided after an hour, and not before"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await room.close(left)
        assert error_info(caught.value).metadata["state"] == "VOID"
