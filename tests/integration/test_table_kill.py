"""A referee that is killed at any moment goes on where it was."""

import asyncio
from pathlib import Path
from typing import Any

import grpc

from dealer.v1 import table_pb2 as pb
from tests.integration.running import running
from tests.integration.table_room import Started, TableRoom, check_or_call


def without_receipts(event: pb.TableEvent) -> pb.TableEvent:
    """An event without the proofs that are made anew whenever they are asked for."""
    event.hand_finished.close_receipt = ""
    event.hand_started.hand.receipt = ""
    return event


async def test_after_a_kill_the_hand_goes_on_where_it_was(tmp_path: Path) -> None:
    with running(tmp_path / "dealer") as dealer:
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = await TableRoom(channel).start(dict.fromkeys(range(1, 9), 1000))
            request = started.act_request(pb.ACTION_BRING_IN, 50)
            answer = await started.stub.Act(request)
            started.hand = answer.table_hand
        acts = 0
        while not started.hand.finished:
            dealer.kill()
            dealer.start()
            async with grpc.aio.insecure_channel(dealer.address) as channel:
                started.stub = TableRoom(channel).stub
                now = await started.get()
                assert same_hand(now, started.hand)
                assert await started.stub.Act(request) == answer  # a repeat, after a restart too
                for _ in range(9):
                    if not started.hand.finished:
                        await started.act(check_or_call)
                        acts += 1
        assert acts == 39
        verdict = dealer.audit(tmp_path / "log")
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr


def same_hand(one: pb.TableHand, other: pb.TableHand) -> bool:
    """Whether two views of a hand agree in everything but time and proofs."""
    copies = []
    for view in (one, other):
        copy = pb.TableHand()
        copy.CopyFrom(view)
        for name in ("milliseconds_left", "hand", "close_receipt"):
            copy.ClearField(name)
        copies.append(copy)
    return copies[0] == copies[1]


async def test_watchers_go_on_after_a_kill_from_the_event_they_have(tmp_path: Path) -> None:
    with running(tmp_path / "dealer") as dealer:
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = await TableRoom(channel).start()
            await started.act()
            before = await _first(started, 2, started.hand.sequence)
        dealer.kill()
        dealer.start()
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started.stub = TableRoom(channel).stub
            rest = asyncio.create_task(started.seen(2, after=len(before)))
            await started.play_out()
            whole = await started.seen(2)
            joined = [*before, *await rest]
    assert [without_receipts(e) for e in joined] == [without_receipts(e) for e in whole]


async def _first(started: Started, seat: int, count: int) -> list[pb.TableEvent]:
    stream: Any = started.watch(seat)
    events = []
    async for response in stream:
        events.append(response.event)
        if len(events) == count:
            break
    stream.cancel()
    return events


async def test_a_clock_runs_again_after_a_kill(tmp_path: Path) -> None:
    with running(tmp_path / "dealer") as dealer:
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = await TableRoom(channel).start({1: 500, 2: 500}, action_seconds=2)
        dealer.kill()
        dealer.start()
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started.stub = TableRoom(channel).stub
            events = await asyncio.wait_for(started.seen(), 15)
    causes = [event.seat_acted.cause for event in events if event.HasField("seat_acted")]
    assert causes == [pb.CAUSE_TIMEOUT, pb.CAUSE_TIMEOUT]


async def test_a_dealer_that_stops_sends_its_watchers_away(tmp_path: Path) -> None:
    with running(tmp_path / "dealer") as dealer:
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = await TableRoom(channel).start()
            watching = asyncio.create_task(_refusal_of(started))
            await asyncio.sleep(0.3)
            assert await asyncio.to_thread(dealer.stop) == 0
            assert await asyncio.wait_for(watching, 5) == grpc.StatusCode.UNAVAILABLE


async def _refusal_of(started: Started) -> grpc.StatusCode:
    try:
        await started.seen()
    except grpc.aio.AioRpcError as error:
        return error.code()
    raise AssertionError("the stream ended as if the hand were over")
