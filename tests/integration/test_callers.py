"""Request ids, tables and answers belong to whoever asked."""

from pathlib import Path

import pytest

from dealer.errors import Reason, Refused
from dealer.service.rpc.dealer import DealerServicer
from dealer.service.rpc.limits import RoomLimits
from dealer.service.settings import Limits
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import rid


async def test_a_room_s_table_hands_and_answers_are_its_own(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (dealer, _):
        servicer = DealerServicer(dealer.engine, dealer._metrics, RoomLimits(Limits()))

        async def ask(caller: str, field: str, request: object) -> bytes:
            return await dealer.engine.submit(servicer.command(field, request, caller))

        opening = pb.OpenHandRequest(request_id=rid(), table="t", game=1, seats=[1, 2], reveal=t.REVEAL_PUBLIC)
        answer = await ask("room-a", "open_hand", opening)
        hand = pb.OpenHandResponse.FromString(answer).hand.hand_id
        assert await ask("room-a", "open_hand", opening) == answer
        with pytest.raises(Refused) as caught:  # the same id is not a repeat, but a request of its own
            await ask("room-b", "open_hand", opening)
        assert caught.value.reason is Reason.TABLE_OF_ANOTHER_ROOM
        assert caught.value.metadata == {}
        for field, request in (
            ("get_hand", pb.GetHandRequest(hand_id=hand)),
            ("deal_street", pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=t.STREET_THIRD)),
            ("void_hand", pb.VoidHandRequest(request_id=rid(), hand_id=hand, reason=t.VOID_REASON_OPERATOR)),
        ):
            with pytest.raises(Refused) as caught:
                await ask("room-b", field, request)
            assert caught.value.reason is Reason.HAND_NOT_FOUND
            assert caught.value.metadata == {}
        elsewhere = pb.OpenHandRequest(request_id=opening.request_id, table="u", game=1, seats=[1, 2], reveal=1)
        assert pb.OpenHandResponse.FromString(await ask("room-b", "open_hand", elsewhere)).hand.table == "u"
        assert len(dealer.engine.state.live) == 2
