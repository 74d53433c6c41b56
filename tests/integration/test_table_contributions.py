"""Contributors at the referee's table: offered first, posted and dealt only after the lock, or given up."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.core.deck import derive_deck
from dealer.core.seed import Seed, entropy_digest
from dealer.log.acknowledgement import open_acknowledgement
from dealer.log.note import NoteVerifier
from dealer.log.receipt import Receipt
from dealer.service.settings import Settings
from dealer.v1 import dealer_pb2
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import Running, rid, running
from tests.integration.table_room import Started, TableRoom
from tests.integration.test_entropy import invited, refused, value

PRECONDITION, INVALID = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT
BROUGHT = {1: 1000, 2: 700, 3: 20}


def submit(stub: Any, hand: str, name: str, given: bytes | None = None) -> Any:
    value_ = value(name) if given is None else given
    return stub.SubmitTableEntropy(
        pb.SubmitTableEntropyRequest(request_id=rid(), hand_id=hand, contributor=name, value=value_)
    )


def lock(stub: Any, hand: str) -> Any:
    return stub.LockTableDeck(pb.LockTableDeckRequest(request_id=rid(), hand_id=hand))


def void(stub: Any, hand: str, reason: t.VoidReason.ValueType = t.VOID_REASON_MISDEAL) -> Any:
    return stub.VoidTableHand(pb.VoidTableHandRequest(request_id=rid(), hand_id=hand, reason=reason))


def stacks_of(hand: pb.TableHand) -> dict[int, int]:
    return {seat.seat: seat.stack for seat in hand.seats}


def kinds(events: list[pb.TableEvent]) -> list[str]:
    return [str(event.WhichOneof("event")) for event in events]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[TableRoom]:
    async with dealer_inside(tmp_path / "data") as (_, inside):
        yield TableRoom(inside.channel)


async def offered(room: TableRoom, *names: str, number: int = 1, **fields: Any) -> Started:
    return await room.start(BROUGHT, contributors=invited(*names, number=number), number=number, **fields)


async def test_an_offered_hand_posts_and_deals_nothing_before_the_lock(room: TableRoom) -> None:
    started = await offered(room, "x", "y")
    hand = started.hand
    assert hand.hand.state == t.HAND_STATE_OFFERED
    Receipt.parse(hand.hand.offer_receipt)
    entry = json.loads(hand.hand.offer_entry)
    assert [each["contributor"] for each in entry["contributors"]] == ["x", "y"]
    assert (hand.hand.receipt, hand.hand.commit_entry, hand.hand.deck_commitment) == ("", b"", b"")
    assert (stacks_of(hand), hand.to_act, list(hand.pots), hand.street) == (BROUGHT, 0, [], t.STREET_UNSPECIFIED)
    assert not any(seat.cards for seat in hand.seats)
    act = started.act_request(pb.ACTION_FOLD, seat=1)
    assert await refused(started.stub.Act(act)) == (PRECONDITION, "HAND_NOT_LOCKED")
    assert kinds(await first_events(started, 1)) == ["hand_offered"]

    locked = (await lock(started.stub, started.id)).table_hand
    assert locked.hand.state == t.HAND_STATE_COMMITTED
    Receipt.parse(locked.hand.receipt)
    assert (locked.street, locked.to_act > 0, stacks_of(locked)[3]) == (t.STREET_THIRD, True, 0)
    assert json.loads(locked.hand.commit_entry)["withheld"] == ["x", "y"]
    assert await refused(lock(started.stub, started.id)) == (PRECONDITION, "HAND_LOCKED")
    started.hand = locked
    over = await started.play_out()
    assert sum(stacks_of(over).values()) == sum(BROUGHT.values())
    seen = await started.seen(1)
    assert kinds(seen)[:2] == ["hand_offered", "hand_started"]
    assert seen[0].hand_offered.hand.state == t.HAND_STATE_OFFERED
    assert seen[0].hand_offered.hand.offer_entry == hand.hand.offer_entry
    assert seen[1].hand_started.hand.commit_entry == locked.hand.commit_entry


async def first_events(started: Started, count: int) -> list[pb.TableEvent]:
    stream: Any = started.watch(1)
    events = [(await stream.read()).event for _ in range(count)]
    stream.cancel()
    return events


async def test_no_contributor_and_no_dealer_chooses_the_deck(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (dealer, inside):
        room = TableRoom(inside.channel)
        started = await offered(room, "x", "y", "z")
        stub, hand = started.stub, started.id
        seed_commitment = started.hand.hand.seed_commitment
        assert await refused(submit(stub, hand, "x", value("y"))) == (INVALID, "INVALID_VALUE")
        assert await refused(submit(stub, hand, "stranger")) == (INVALID, "INVALID_CONTRIBUTORS")
        verifier = NoteVerifier.parse(dealer.engine.state.signer.verifier_key)
        for name in ("z", "x"):  # in any order
            answer = await submit(stub, hand, name)
            said = open_acknowledgement(answer.acknowledgement, verifier)
            assert (said.hand, said.contributor, said.value) == (hand, name, value(name))
        locked = (await lock(stub, hand)).table_hand
        assert await refused(submit(stub, hand, "y")) == (PRECONDITION, "HAND_LOCKED")
        commit = json.loads(locked.hand.commit_entry)
        assert [each["contributor"] for each in commit["contributions"]] == ["x", "z"]  # in the offer's
        assert (commit["withheld"], locked.hand.seed_commitment) == (["y"], seed_commitment)
        started.hand = locked
        over = await started.play_out()
        seed = Seed(bytes.fromhex(json.loads(over.close_entry)["seed"]))
        id_ = bytes.fromhex(hand.replace("-", ""))
        digest = entropy_digest(id_, [("x", value("x")), ("z", value("z"))])
        assert seed.commitment(id_) == seed_commitment
        assert derive_deck("standard52", id_, digest, seed).commitment == locked.hand.deck_commitment


async def test_the_deadline_locks_the_deck_and_starts_the_hand(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, contribution_seconds=0.3)
    async with dealer_inside(tmp_path / "data", settings=settings) as (_, inside):
        started = await offered(TableRoom(inside.channel), "x")
        events = await asyncio.wait_for(first_events(started, 2), 30)
        assert kinds(events) == ["hand_offered", "hand_started"]
        assert (await started.get()).street == t.STREET_THIRD


async def test_who_leaves_an_offered_hand_is_folded_when_its_turn_comes(room: TableRoom) -> None:
    started = await offered(room, "x")
    await started.leave(2)
    started.hand = (await lock(started.stub, started.id)).table_hand
    await started.play_out()
    acted = [event.seat_acted for event in await started.seen() if event.WhichOneof("event") == "seat_acted"]
    assert [each.cause for each in acted if each.seat == 2][-1:] == [pb.CAUSE_LEFT]


async def test_the_number_is_held_to(room: TableRoom) -> None:
    wrong = room.start(BROUGHT, contributors=invited("x", number=2), number=2)
    assert await refused(wrong) == (PRECONDITION, "WRONG_NUMBER")
    for bad, reason in (
        ({"number": 2**53}, "INVALID_NUMBER"),
        ({"contributors": [dealer_pb2.Contributor(id="x", commitment=b"short")]}, "INVALID_CONTRIBUTORS"),
    ):
        assert await refused(room.start(BROUGHT, **bad)) == (INVALID, reason)


async def offer_it(room: TableRoom) -> Started:
    return await offered(room, "x")


async def deal_it(room: TableRoom) -> Started:
    return await room.start(BROUGHT)


async def play_some(room: TableRoom) -> Started:
    started = await room.start(BROUGHT)
    for _ in range(4):
        await started.act()
    return started


@pytest.mark.parametrize("to", [offer_it, deal_it, play_some])
async def test_a_hand_that_is_given_up_gives_everybody_their_chips_back(
    room: TableRoom, to: Callable[[TableRoom], Any]
) -> None:
    started = await to(room)
    watching = asyncio.create_task(started.seen(1))
    void_hand = (await void(started.stub, started.id)).table_hand
    assert (void_hand.finished, void_hand.hand.state, void_hand.to_act) == (True, t.HAND_STATE_VOID, 0)
    assert stacks_of(void_hand) == BROUGHT
    given = (void_hand.payouts, void_hand.returned, void_hand.awards, void_hand.pots, void_hand.shown)
    assert [len(each) for each in given] == [0] * 5
    assert (void_hand.history_phh, all(seat.street_bet == 0 for seat in void_hand.seats)) == ("", True)
    close = json.loads(void_hand.close_entry)
    assert (close["outcome"], close["reason"], "history" in close) == ("void", "misdeal", False)
    Receipt.parse(void_hand.close_receipt)
    last = (await asyncio.wait_for(watching, 20))[-1]
    assert (last.hand_voided.reason, {s.seat: s.stack for s in last.hand_voided.stacks}) == (3, BROUGHT)
    assert last.hand_voided.close_entry == void_hand.close_entry
    assert last.hand_voided.hand.state == t.HAND_STATE_VOID
    assert (await started.get()).close_entry == void_hand.close_entry
    assert [event.sequence for event in await started.seen()] == list(range(1, last.sequence + 1))
    assert await refused(void(started.stub, started.id)) == (PRECONDITION, "HAND_CLOSED")
    late = started.act_request(pb.ACTION_FOLD, seat=1)
    assert await refused(started.stub.Act(late)) == (PRECONDITION, "HAND_CLOSED")
    assert await refused(void(started.stub, rid())) == (grpc.StatusCode.NOT_FOUND, "HAND_NOT_FOUND")
    following = await room.start(BROUGHT)
    assert following.hand.hand.number == 2


async def test_a_reason_must_be_set(room: TableRoom) -> None:
    started = await room.start(BROUGHT)
    unset = void(started.stub, started.id, t.VOID_REASON_UNSPECIFIED)
    assert await refused(unset) == (INVALID, "INVALID_VOID_REASON")
    assert (await started.get()).hand.state == t.HAND_STATE_COMMITTED


async def test_a_dealer_that_is_killed_after_every_step_goes_on_and_repeats_itself(tmp_path: Path) -> None:
    with running(tmp_path / "dealer") as dealer:
        said: list[tuple[str, Any, bytes]] = []
        request = TableRoom(grpc.aio.insecure_channel("unused")).request(
            BROUGHT, contributors=invited("x", "y"), number=1
        )
        start = await killed_after(dealer, said, "StartHand", request)
        hand = pb.StartHandResponse.FromString(start).table_hand.hand_id
        for name in ("x", "y"):
            given = pb.SubmitTableEntropyRequest(request_id=rid(), hand_id=hand, contributor=name, value=value(name))
            await killed_after(dealer, said, "SubmitTableEntropy", given)
        locked = await killed_after(
            dealer, said, "LockTableDeck", pb.LockTableDeckRequest(request_id=rid(), hand_id=hand)
        )
        assert not json.loads(pb.LockTableDeckResponse.FromString(locked).table_hand.hand.commit_entry)["withheld"]
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            started = Started(TableRoom(channel).stub, pb.TableHand(), tokens(start))
            started.hand = await get(started.stub, hand)
            await started.play_out()
        request.request_id, request.number = rid(), 2
        del request.contributors[:]
        request.contributors.extend(invited("x", number=2))
        second = pb.StartHandResponse.FromString(await killed_after(dealer, said, "StartHand", request)).table_hand
        given_up = pb.VoidTableHandRequest(request_id=rid(), hand_id=second.hand_id, reason=t.VOID_REASON_FAILURE)
        await killed_after(dealer, said, "VoidTableHand", given_up)
        async with grpc.aio.insecure_channel(dealer.address) as channel:
            for method, sent, answer in said:
                assert await raw(channel, method, sent) == answer, method
            void_hand = await get(TableRoom(channel).stub, second.hand_id)
            assert (void_hand.finished, stacks_of(void_hand)) == (True, BROUGHT)
        verdict = dealer.audit(tmp_path / "log", "--format", "json")
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr
        counted = json.loads(verdict.stdout)["hands"]
        assert (counted["completed"], counted["void"], counted["without_contributions"]) == (1, 1, 1)


def tokens(start: bytes) -> dict[int, bytes]:
    return {each.seat: each.token for each in pb.StartHandResponse.FromString(start).tokens}


async def get(stub: Any, hand: str) -> pb.TableHand:
    answer: pb.GetTableHandResponse = await stub.GetTableHand(pb.GetTableHandRequest(hand_id=hand))
    return answer.table_hand


async def raw(channel: grpc.aio.Channel, method: str, request: Any) -> bytes:
    call: Any = channel.unary_unary(f"/dealer.v1.TableService/{method}")
    answer: bytes = await call(request.SerializeToString())
    return answer


async def killed_after(dealer: Running, said: list[tuple[str, Any, bytes]], method: str, request: Any) -> bytes:
    """Makes a call, kills the dealer as soon as it has answered, and starts it again."""
    async with grpc.aio.insecure_channel(dealer.address) as channel:
        answer = await raw(channel, method, request)
    sent = type(request).FromString(request.SerializeToString())
    said.append((method, sent, answer))
    dealer.kill()
    dealer.start()
    return answer
