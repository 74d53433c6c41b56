"""A room that has lost its memory asks for its tables and its hands in play."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import error_info
from tests.integration.table_room import TableRoom


async def test_a_table_tells_its_next_number_and_its_hand(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        fresh = await get_table(room, "t")
        assert fresh == pb.GetTableResponse(next_number=1)
        hand = await room.open("t", contributors=[pb.Contributor(id="c", commitment=bytes(32))])
        offered = pb.GetTableResponse(next_number=2, hand_id=hand.hand_id, number=1, state=t.HAND_STATE_OFFERED)
        assert await get_table(room, "t") == offered
        await room.stub.LockDeck(pb.LockDeckRequest(request_id=hand.hand_id, hand_id=hand.hand_id))
        await room.deal(hand.hand_id, t.STREET_THIRD)
        dealt = await get_table(room, "t")
        assert (dealt.state, dealt.street, dealt.referee) == (t.HAND_STATE_COMMITTED, t.STREET_THIRD, False)
        await room.void(hand.hand_id)
        assert await get_table(room, "t") == pb.GetTableResponse(next_number=2)
        started = await TableRoom(room.channel).start(table="t")
        refereed = await get_table(room, "t")
        assert (refereed.hand_id, refereed.number, refereed.referee) == (started.id, 2, True)


async def test_refusals_of_a_busy_table_name_its_hand(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        hand = await room.open("t")
        about = {"hand_id": hand.hand_id, "table": "t", "number": "1", "state": "COMMITTED"}
        for call in (lambda: room.open("t"), lambda: TableRoom(room.channel).start(table="t")):
            with pytest.raises(grpc.aio.AioRpcError) as busy:
                await call()
            assert error_info(busy.value).reason == "TABLE_BUSY"
            assert dict(error_info(busy.value).metadata) == about | {"next_number": "2"}
        await room.void(hand.hand_id)
        with pytest.raises(grpc.aio.AioRpcError) as wrong:
            await room.open("t", number=7)
        assert error_info(wrong.value).reason == "WRONG_NUMBER"
        assert dict(error_info(wrong.value).metadata) == {"table": "t", "next_number": "2"}
        with pytest.raises(grpc.aio.AioRpcError) as over:
            await room.deal(hand.hand_id, t.STREET_THIRD)
        assert dict(error_info(over.value).metadata) == about | {"state": "VOID"}


async def test_pages_hold_every_hand_that_stays_exactly_once_whatever_changes_meanwhile(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        opened = [(await room.open(f"t{number}")).hand_id for number in range(7)]
        await TableRoom(room.channel).start(table="refereed")
        first = await list_hands(room, page_size=3)
        assert [each.hand_id for each in first.hands] == opened[:3]
        await room.void(opened[2])  # the very hand that the token names
        await room.deal(opened[0], t.STREET_THIRD)  # and one that changes
        await room.void(opened[5])
        later = (await room.open("later")).hand_id
        rest: list[t.HandInPlay] = []
        token = first.next_page_token
        while token:
            page = await list_hands(room, page_size=2, page_token=token)
            rest += page.hands
            token = page.next_page_token
        found = [each.hand_id for each in rest]
        assert found[:3] == [opened[3], opened[4], opened[6]]
        assert [each.referee for each in rest] == [False, False, False, True, False]
        assert found[4:] == [later]
        everything = await list_hands(room)
        assert (len(everything.hands), everything.next_page_token) == (7, "")


@pytest.mark.parametrize("wrong", [{"page_size": 1001}, {"page_token": "x"}])
async def test_a_page_that_cannot_be_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await list_hands(room, **wrong)
        assert error_info(refused.value).reason == "INVALID_RANGE"


async def test_hands_tell_how_old_they_are_and_how_long_nobody_touched_them(tmp_path: Path) -> None:
    now = 1_700_000_000_000
    sources = Sources(clock=lambda: now)
    settings = Settings(grace_seconds=1)
    async with dealer_inside(tmp_path / "data", sources, settings) as (_, room):
        hand = (await room.open("t")).hand_id
        table = await TableRoom(room.channel).start(table="refereed")
        now += 90_500
        await room.deal(hand, t.STREET_THIRD)
        await table.act()
        now += 9_600
        one, two = (await list_hands(room)).hands
        assert (one.opened_seconds, one.idle_seconds, one.street) == (100, 9, t.STREET_THIRD)
        assert (two.opened_seconds, two.idle_seconds) == (100, 9)
        await room.stub.GetHand(pb.GetHandRequest(hand_id=hand))
        await table.get()
        now += 400
        assert [each.idle_seconds for each in (await list_hands(room)).hands] == [10, 10]  # a look is no touch


async def test_both_look_ups_work_on_a_stream(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        hand = (await room.open("t")).hand_id
        stream = room.stub.PlayHands()
        asked = [
            pb.PlayRequest(correlation_id="1", get_table=pb.GetTableRequest(table="t")),
            pb.PlayRequest(correlation_id="2", list_hands=pb.ListHandsRequest()),
        ]
        await stream.write(pb.PlayHandsRequest(requests=asked))
        await stream.done_writing()
        answers = {each.correlation_id: each async for part in stream for each in part.responses}
        assert answers["1"].get_table.hand_id == hand
        assert [each.hand_id for each in answers["2"].list_hands.hands] == [hand]


async def get_table(room: AsyncRoom, table: str) -> Any:
    return await room.stub.GetTable(pb.GetTableRequest(table=table))


async def list_hands(room: AsyncRoom, **fields: Any) -> Any:
    return await room.stub.ListHands(pb.ListHandsRequest(**fields))
