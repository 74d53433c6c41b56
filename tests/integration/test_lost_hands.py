"""Hands whose key at rest is gone: closed as lost in one batch, their tables go on, and nothing is carried out anew."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.service.settings import Settings
from dealer.store.datadir import DataDir
from dealer.store.interface import VaultError
from dealer.store.vault import Vault
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2, log_pb2_grpc, table_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import error_info, refusal, rid, run_tool
from tests.integration.table_room import TableRoom

FAILED = grpc.StatusCode.FAILED_PRECONDITION
LOST = (FAILED, "HAND_LOST")


def lose_keys(data: Path, purpose: str) -> None:
    for path in (data / "at-rest").glob(f"{purpose}*"):
        path.unlink()


async def refused(call: Any) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as error:
        await call
    return error.value


async def entries(room: AsyncRoom) -> list[dict[str, Any]]:
    stub: Any = log_pb2_grpc.LogServiceStub(room.channel)
    parts = [part async for part in stub.ListEntries(log_pb2.ListEntriesRequest())]
    return [json.loads(entry) for part in parts for entry in part.entries]


def of(hand: str, kind: str, **fields: Any) -> tuple[str, Any]:
    """A call that would change a hand, by its method's name."""
    return kind, getattr(pb, f"{kind}Request")(request_id=rid(), hand_id=hand, **fields)


async def test_lost_hands_are_closed_together_and_their_tables_go_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with dealer_inside(data) as (_, room):
        done = await room.open("done")
        await room.play_out(done.hand_id)
        dealt, fresh = await room.open("dealt"), await room.open("fresh", game=t.GAME_FREE_DRAW)
        offered = await room.open("offered", contributors=[pb.Contributor(id="alice", commitment=bytes(32))])
        await room.deal(dealt.hand_id, t.STREET_THIRD)
        before = await entries(room)
    lose_keys(data, "seed")
    async with dealer_inside(data) as (dealer, room):
        assert not dealer.engine.state.live
        log = await entries(room)
        assert log[: len(before)] == before
        closes = {close["hand"]: close for close in log[len(before) :]}
        assert set(closes) == {dealt.hand_id, fresh.hand_id, offered.hand_id}
        assert len({close["time"] for close in closes.values()}) == 1
        for close in closes.values():
            index = {"offer"} if close["hand"] == offered.hand_id else {"commit"}
            assert set(close) == {"schema", "hand", "outcome", "events", "time"} | index
            assert (close["schema"], close["outcome"]) == ("cutcard/v1/close", "lost")
        assert closes[dealt.hand_id]["commit"] == dealt.commit_index
        assert closes[offered.hand_id]["offer"] == offered.offer_index
        assert [event["deal"] for event in closes[dealt.hand_id]["events"]] == ["third"]
        assert closes[fresh.hand_id]["events"] == closes[offered.hand_id]["events"] == []

        for kind, request in (
            of(dealt.hand_id, "DealStreet", street=t.STREET_FOURTH),
            of(fresh.hand_id, "DrawCards", draws=[pb.Draw(seat=1, face=t.FACE_UP)]),
            of(dealt.hand_id, "FoldSeat", seat=1),
            of(dealt.hand_id, "ShowCards", positions=[0]),
            of(dealt.hand_id, "CloseHand"),
            of(dealt.hand_id, "VoidHand", reason=t.VOID_REASON_FAILURE),
            of(offered.hand_id, "VoidHand", reason=t.VOID_REASON_FAILURE),
            of(offered.hand_id, "SubmitEntropy", contributor="alice", value=bytes(32)),
            of(offered.hand_id, "LockDeck"),
        ):
            error = await refused(getattr(room.stub, kind)(request))
            assert refusal(error) == LOST, kind
            said = dict(error_info(error).metadata)
            assert (said["hand_id"], said["number"], said["state"]) == (request.hand_id, "1", "LOST")
        for hand in (dealt, offered):
            looked_up = await room.stub.GetHand(pb.GetHandRequest(hand_id=hand.hand_id))
            assert (looked_up.hand.state, list(looked_up.cards)) == (t.HAND_STATE_LOST, [])
            assert looked_up.hand.receipt or looked_up.hand.offer_receipt
        for table in ("dealt", "fresh", "offered"):
            following = await room.open(table)
            assert following.number == 2
            await room.play_out(following.hand_id)
    audited = run_tool("audit", "verify", data / "public", "--key", DataDir.at(data).signer().verifier_key)
    assert audited.returncode == 3, audited.stdout + audited.stderr
    for hand in (dealt, fresh, offered):
        assert hand.hand_id in audited.stdout


async def test_what_the_double_loses_is_a_test_record_without_a_deck(tmp_path: Path) -> None:
    from dealer.core.entries import TEST
    from dealer.service.writer.sources import Sources

    data, cards = tmp_path / "data", None
    sources = Sources(family=TEST, stacked=lambda state: cards)
    async with dealer_inside(data, sources) as (_, room):
        await room.open()
    lose_keys(data, "seed")
    async with dealer_inside(data, sources) as (_, room):
        close = (await entries(room))[-1]
    assert (close["schema"], close["outcome"], "deck" in close) == ("cutcard-test/v1/close", "lost", False)


async def test_an_answer_whose_key_is_gone_is_refused_and_never_made_anew(tmp_path: Path) -> None:
    data = tmp_path / "data"
    request = pb.OpenHandRequest(
        request_id=rid(), table="t", game=t.GAME_SEVEN_CARD_STUD, seats=[1, 2], reveal=t.REVEAL_PUBLIC
    )
    async with dealer_inside(data) as (_, room):
        opened = (await room.stub.OpenHand(request)).hand
        close = pb.CloseHandRequest(request_id=rid(), hand_id=opened.hand_id)
        for street in range(1, 6):
            await room.deal(opened.hand_id, street)
        await room.stub.CloseHand(close)
        size = len(await entries(room))
    lose_keys(data, "answer")
    async with dealer_inside(data) as (_, room):
        for call, asked in ((room.stub.OpenHand, request), (room.stub.CloseHand, close)):
            error = await refused(call(asked))
            assert refusal(error) == (FAILED, "ANSWER_LOST")
            metadata = {"hand_id": opened.hand_id, "table": "t", "number": "1", "state": "CLOSED"}
            assert dict(error_info(error).metadata) == metadata
        assert len(await entries(room)) == size
        request.seats.append(3)
        assert refusal(await refused(room.stub.OpenHand(request)))[1] == "REQUEST_ID_REUSED"
        assert (await room.open("t")).number == 2


async def test_a_referees_hand_is_lost_like_any_other(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with dealer_inside(data) as (_, room):
        started = await TableRoom(room.channel).start()
        act = started.act_request(table_pb2.ACTION_BRING_IN, 50)
    lose_keys(data, "seed")
    async with dealer_inside(data) as (_, room):
        assert (await entries(room))[-1]["outcome"] == "lost"
        started.stub = TableRoom(room.channel).stub
        assert refusal(await refused(started.get())) == LOST
        assert refusal(await refused(started.leave(1))) == LOST
        assert refusal(await refused(started.stub.Act(act))) == LOST
        for seat in (0, 1):
            assert refusal(await refused(started.seen(seat))) == LOST
        assert (await TableRoom(room.channel).start()).hand.hand.number == 2


async def test_a_referees_hand_whose_record_alone_is_gone_is_void_for_its_seed_can_be_shown(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with dealer_inside(data) as (_, room):
        started = await TableRoom(room.channel).start()
    lose_keys(data, "answer")
    async with dealer_inside(data) as (_, room):
        close = (await entries(room))[-1]
        assert (close["outcome"], close["reason"], "seed" in close) == ("void", "failure", True)
        started.stub = TableRoom(room.channel).stub
        assert refusal(await refused(started.get())) == (FAILED, "ANSWER_LOST")
        assert (await TableRoom(room.channel).start()).hand.hand.number == 2


async def test_a_loss_that_is_found_while_running_sends_the_watchers_away(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with dealer_inside(data) as (dealer, room):
        started, offered = await TableRoom(room.channel).start(), await room.open("offered")
        rail = started.watch()
        await rail.read()

        async def to_the_end() -> None:
            while await rail.read() is not grpc.aio.EOF:
                pass

        lose_keys(data, "seed")
        dealer.engine.state.vault = Vault(data / "at-rest", 3600)  # as of a process that has read no key yet
        dealer.engine.health.storage = False
        assert refusal(await refused(room.deal(offered.hand_id, t.STREET_THIRD))) == LOST
        assert refusal(await refused(asyncio.wait_for(to_the_end(), 20))) == LOST
        assert dealer.engine.health.serving
        assert (await room.open("offered")).number == 2


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: (path.unlink(), path.mkdir()), id="not a file"),
        pytest.param(lambda path: (path.unlink(), path.symlink_to(path.name)), id="a loop of links"),
    ],
)
async def test_a_key_that_cannot_be_read_at_the_moment_is_not_lost(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    data = tmp_path / "data"
    async with dealer_inside(data) as (_, room):
        hand = await room.open()
        before = len(await entries(room))
    key = data / "at-rest" / "seeds"
    secret = key.read_bytes()
    spoil(key)
    with pytest.raises(VaultError, match="cannot be read"):
        async with dealer_inside(data, settings=Settings(grace_seconds=1)):
            pass
    key.rmdir() if key.is_dir() and not key.is_symlink() else key.unlink()
    key.write_bytes(secret)
    async with dealer_inside(data) as (_, room):
        assert len(await entries(room)) == before
        await room.play_out(hand.hand_id)
