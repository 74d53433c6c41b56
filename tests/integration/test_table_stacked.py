"""Hands on stacked decks through the service: who acts, what is allowed, pots and winners, as the rules have it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.double.server import Double, double_settings
from dealer.v1 import double_pb2, double_pb2_grpc
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.driving import Table
from tests.integration.running import refusal
from tests.integration.table_room import Started, TableRoom

NAMES = {
    pb.ACTION_BRING_IN: "bring-in",
    pb.ACTION_COMPLETE: "complete",
    pb.ACTION_CHECK: "check",
    pb.ACTION_BET: "bet",
    pb.ACTION_CALL: "call",
    pb.ACTION_RAISE: "raise",
    pb.ACTION_FOLD: "fold",
}


class StackedRoom(TableRoom):
    """A room on a double: it says which cards each seat gets."""

    async def stack(self, hands: Mapping[int, str]) -> None:
        rows = [cards.split() for cards in hands.values()]
        deck = [row[at] for at in range(7) for row in rows]
        request = double_pb2.StackDeckRequest(table="t", deck=" ".join(deck))
        await double_pb2_grpc.TestDoubleServiceStub(self.channel).StackDeck(request)  # type: ignore[misc]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[StackedRoom]:
    double = Double(tmp_path / "double", double_settings("127.0.0.1:0"))
    await double.start()
    async with grpc.aio.insecure_channel(double.address) as channel:
        yield StackedRoom(channel)
    await double.stop()


def prompt(hand: pb.TableHand) -> str:
    if hand.finished:
        return "over"
    options = [f"{NAMES[o.action]} {o.amount}" if o.amount else NAMES[o.action] for o in hand.options]
    return f"{hand.to_act}: {', '.join(options)}"


async def play(started: Started, *moves: str) -> None:
    for move in (part.strip() for text in moves for part in text.split(",")):
        seat, action, *amount = move.split()
        assert started.hand.to_act == int(seat), f"{move}: {prompt(started.hand)}"
        (option,) = [
            o for o in started.hand.options if NAMES[o.action] == action and (not amount or o.amount == int(amount[0]))
        ]
        await started.act(lambda options, option=option: option)  # type: ignore[misc]


HI_LO = {
    1: "2c 7s 3c 4h 5d Ks Kh",  # 7-5-4-3-2 for low
    4: "Ad Ac Kd Kc Qs Jd 9c",  # aces and kings
    6: "2d 7c 3d 4s 5h Qc Td",  # 7-5-4-3-2 for low
}


async def test_a_quartered_low_with_odd_chips(room: StackedRoom) -> None:
    await room.stack(HI_LO)
    started = await room.start(dict.fromkeys(HI_LO, 1000), game=t.GAME_SEVEN_CARD_STUD_HI_LO)
    assert prompt(started.hand) == "1: bring-in 50, complete 100"
    await play(started, "1 bring-in, 4 call, 6 call")
    assert prompt(started.hand) == "4: check, bet 100, bet 200, fold"
    over = await started.play_out()
    assert [(p.seat, p.amount) for p in over.payouts] == [(1, 56), (4, 113), (6, 56)]
    halves = [(a.half, a.amount, [(w.seat, w.share) for w in a.winners]) for a in over.awards]
    assert halves == [(pb.HALF_HIGH, 113, [(4, 113)]), (pb.HALF_LOW, 112, [(1, 56), (6, 56)])]
    assert over.awards[1].winners[0].name == "low, seven five four three two"
    assert list(over.awards[0].winners[0].cards) == ["Ad", "Ac", "Kd", "Kc", "Qs"]


SIDE = {
    1: "Ac As 3c 5h 6s 8d 9h",  # aces
    4: "Kc Kd 9d Jc 8c 7h 2d",  # kings
    6: "Qs Qd Ts 4d 4h 5d Th",  # queens and tens
}


async def test_side_pots_and_an_uncalled_bet(room: StackedRoom) -> None:
    await room.stack(SIDE)
    started = await room.start({1: 60, 4: 130, 6: 410})
    assert prompt(started.hand) == "1: bring-in 35"
    await play(started, "1 bring-in")
    assert prompt(started.hand) == "4: complete 100, call 50, fold"
    await play(started, "4 complete")
    assert prompt(started.hand) == "6: call 100, raise 200, fold"
    await play(started, "6 raise")
    assert prompt(started.hand) == "4: call 105, fold"
    await play(started, "4 call")
    over = started.hand
    assert over.finished
    assert [(pot.amount, list(pot.eligible)) for pot in over.pots] == [(180, [1, 4, 6]), (140, [4, 6])]
    assert [(r.seat, r.amount) for r in over.returned] == [(6, 95)]
    assert [(p.seat, p.amount) for p in over.payouts] == [(6, 320)]
    assert list(over.shown) == [6, 1, 4]
    assert over.awards[0].winners[0].name == "two pair, queens and tens, five kicker"
    assert [" ".join(seat.cards) for seat in over.seats] == list(SIDE.values())


async def test_an_open_pair_on_fourth_street(room: StackedRoom) -> None:
    hands = SIDE | {6: "Qs Qd Ts Td 4h 5d 2h"}
    for on, expected in ((True, "6: check, bet 100, bet 200, fold"), (False, "6: check, bet 100, fold")):
        await room.stack(hands)
        stakes = pb.Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200, open_pair_double=on)
        started = await room.start(dict.fromkeys(hands, 1000), stakes=stakes)
        await play(started, "1 bring-in, 4 call, 6 call")
        assert prompt(started.hand) == expected
        await play(started, "6 bet 100")
        await started.play_out()


async def test_the_service_says_what_the_pure_referee_says(room: StackedRoom) -> None:
    pure = Table(SIDE, {1: 900, 4: 700, 6: 450}, hi_lo=True)
    await room.stack(SIDE)
    started = await room.start({1: 900, 4: 700, 6: 450}, game=t.GAME_SEVEN_CARD_STUD_HI_LO)
    moves = "1 complete, 4 raise, 6 call, 1 call; 4 check, 6 bet, 1 raise, 4 call, 6 call; 6 bet 25, 1 bet 200, 4 call"
    for move in moves.replace(";", ",").split(","):
        assert prompt(started.hand) == pure.prompt
        assert [seat.stack for seat in started.hand.seats] == list(pure.state.stacks.values())
        pure.play(move)
        await play(started, move)
    while not started.hand.finished:
        assert prompt(started.hand) == pure.prompt
        passive = next(o for o in pure.prompt.split(": ")[1].split(", ") if o.split()[0] in ("check", "call"))
        pure.play(f"{pure.asked} {passive}")
        await play(started, f"{started.hand.to_act} {passive}")
    assert pure.prompt == "over"
    assert {p.seat: p.amount for p in started.hand.payouts} == pure.payouts
    assert {tuple(p.eligible): p.amount for p in started.hand.pots} == pure.pots
    assert list(started.hand.shown) == pure.shown


async def test_a_hand_that_the_double_gives_up_is_over(room: StackedRoom) -> None:
    started = await room.start()
    await double_pb2_grpc.TestDoubleServiceStub(room.channel).Reset(double_pb2.ResetRequest())  # type: ignore[misc]
    call: Any = started.stub.Act(started.act_request(pb.ACTION_BRING_IN, 50))
    with pytest.raises(grpc.RpcError) as error:
        await call
    assert refusal(error.value) == (grpc.StatusCode.FAILED_PRECONDITION, "HAND_CLOSED")


async def test_watchers_of_a_hand_that_is_given_up_see_its_end(room: StackedRoom) -> None:
    started = await room.start()
    watched = asyncio.create_task(started.seen())
    await double_pb2_grpc.TestDoubleServiceStub(room.channel).Reset(double_pb2.ResetRequest())  # type: ignore[misc]
    assert (await asyncio.wait_for(watched, 20))[-1].WhichOneof("event") == "hand_voided"
