"""Offers end by themselves, also after a restart, and keep to what they offered."""

import asyncio
import json
from pathlib import Path

from dealer.core.seed import contribution_commitment
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import rid

VALUE = b"v" * 32


def invited() -> list[pb.Contributor]:
    return [
        pb.Contributor(id="seat-1", commitment=contribution_commitment("t", 1, "seat-1", VALUE)),
        pb.Contributor(id="seat-2", commitment=bytes(32)),
    ]


async def submit(room: AsyncRoom, hand: str) -> None:
    request = pb.SubmitEntropyRequest(request_id=rid(), hand_id=hand, contributor="seat-1", value=VALUE)
    await room.stub.SubmitEntropy(request)


async def state(room: AsyncRoom, hand: str) -> t.Hand:
    return (await room.stub.GetHand(pb.GetHandRequest(hand_id=hand))).hand


async def test_a_deadline_locks_an_offer_and_lists_who_stayed_silent(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, contribution_seconds=0.3)
    async with dealer_inside(tmp_path / "data", None, settings) as (_, room):
        hand = (await room.open(contributors=invited())).hand_id
        await submit(room, hand)
        assert (await state(room, hand)).state == t.HAND_STATE_OFFERED
        await asyncio.sleep(0.6)
        locked = await state(room, hand)
        assert locked.state == t.HAND_STATE_COMMITTED
        assert json.loads(locked.commit_entry)["withheld"] == ["seat-2"]


async def test_a_deadline_is_set_again_after_a_restart(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        hand = (await room.open(contributors=invited())).hand_id
        await submit(room, hand)
    async with dealer_inside(tmp_path / "data", None, Settings(contribution_seconds=0.1)) as (_, room):
        await asyncio.sleep(0.4)
        locked = await state(room, hand)
        assert locked.state == t.HAND_STATE_COMMITTED
        assert [c["contributor"] for c in json.loads(locked.commit_entry)["contributions"]] == ["seat-1"]


async def test_an_offer_keeps_its_escrow_key_though_the_dealer_comes_back_with_another(tmp_path: Path) -> None:
    first, second = (EscrowKey(bytes.fromhex(make_escrow_pair()[1])) for _ in range(2))
    async with dealer_inside(tmp_path / "data", Sources(escrow=first)) as (_, room):
        opened = await room.open(contributors=invited(), reveal=t.REVEAL_SEALED)
    async with dealer_inside(tmp_path / "data", Sources(escrow=second)) as (_, room):
        request = pb.LockDeckRequest(request_id=rid(), hand_id=opened.hand_id)
        locked = (await room.stub.LockDeck(request)).hand
        assert json.loads(locked.commit_entry)["escrow"] == json.loads(opened.offer_entry)["escrow"]


async def test_an_offer_that_is_given_up_is_committed_first(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (dealer, room):
        hand = (await room.open(contributors=invited())).hand_id
        await room.void(hand)
        schemas = [json.loads(entry)["schema"] for entry in dealer.engine.state.store.entries(0, 9)]
        assert schemas == ["cutcard/v1/offer", "cutcard/v1/commit", "cutcard/v1/close"]
        assert (await room.open()).number == 2
