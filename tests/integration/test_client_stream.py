"""The client over one PlayHands stream: what waits goes out together, and no answer is lost with the stream."""

import asyncio
import signal
from contextlib import AsyncExitStack

import grpc
import pytest

from dealer.client import CallError, CheckError, Client, Retry, SyncClient
from tests.integration.lying_server import Unavailable, honest_dealer, lying_server
from tests.integration.running import running

STREETS = ("third", "fourth", "fifth", "sixth", "seventh")
QUICK = Retry(attempts=4, first_wait=0.001)


@pytest.fixture
async def stack():
    async with AsyncExitStack() as held:
        yield held


@pytest.fixture
async def server(stack, tmp_path):
    dealer = await stack.enter_async_context(honest_dealer(tmp_path / "data"))
    return await stack.enter_async_context(lying_server(dealer))


@pytest.fixture
async def client(stack, server):
    return await stack.enter_async_context(Client(server.address, server.signer.verifier_key, stream=True, retry=QUICK))


async def play_out(client, table, **options):
    hand = await client.open_hand(table, [1, 2, 3], **options)
    for street in STREETS:
        await hand.deal_street(street)
    await hand.close()
    return hand


async def test_what_many_hands_ask_for_at_once_goes_out_in_few_messages(server, client):
    hands = await asyncio.gather(*(play_out(client, f"t{number}") for number in range(20)))
    assert all(len(hand.deck) == 52 for hand in hands)
    assert server.messages[0] == ["OpenHand"] * 20
    assert sum(map(len, server.messages)) == 20 * 7
    assert "OpenHand" in server.calls
    assert (await client.refresh()).size == 40


async def test_every_checkpoint_is_proven_once_however_many_hands_it_is_of(server, client):
    notes = []

    def look(answer):
        receipt = answer.hand.receipt
        notes.append(receipt.partition("\n\n")[2])

    first = await client.open_hand("first", [1, 2])
    server.lie("OpenHand", look)
    await asyncio.gather(*(client.open_hand(f"t{number}", [1, 2]) for number in range(20)))
    seen = first.commit.note
    assert server.calls.count("GetConsistencyProof") == len({*notes} - {seen})


async def test_every_method_goes_over_the_stream(server, client):
    calls = server.calls
    hand = await client.open_hand("t", [1, 2, 3], contribute_as=["me"], invited={"silent": bytes(32)})
    await hand.lock()
    await hand.deal_street("third")
    await hand.show([0])
    await hand.fold(2)
    await hand.void()
    drawn = await client.open_hand("u", [1], game="free-draw", deck="short36")
    await drawn.draw([(1, "down"), (0, "up")])
    await drawn.close()
    streamed = [name for message in server.messages for name in message]
    assert streamed == [name for name in calls if name not in ("GetConsistencyProof", "GetCheckpoint")]
    assert set(streamed) == {
        *("OpenHand", "SubmitEntropy", "LockDeck", "DealStreet", "ShowCards", "FoldSeat", "VoidHand", "DrawCards"),
        *("CloseHand", "GetTable"),
    }


async def test_a_refusal_is_told_as_by_a_call_of_its_own_and_ends_nothing(client):
    hand, other = await client.open_hand("t", [1, 2]), await client.open_hand("u", [1, 2])
    refused, dealt = await asyncio.gather(hand.deal_street("fifth"), other.deal_street("third"), return_exceptions=True)
    assert isinstance(refused, CallError)
    assert (refused.code, refused.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STREET")
    assert (refused.metadata["table"], refused.refused) == ("t", True)
    assert len(dealt) == 6
    assert len(await hand.deal_street("third")) == 6


async def test_what_a_lost_stream_left_open_is_asked_again_under_the_same_id(server, client):
    """Every tenth answer breaks the stream, with all that is under way on it; nothing is carried out twice."""
    ids, count = {}, 0

    async def break_now_and_then(request, forward):
        nonlocal count
        count = mine = count + 1
        what = request.SerializeToString().replace(request.request_id.encode(), b"")
        ids.setdefault(what, set()).add(request.request_id)
        answer = await forward(request)
        if mine % 10 == 0:
            raise Unavailable
        return answer

    for method in ("OpenHand", "DealStreet", "CloseHand"):
        server.lies[method] = break_now_and_then
    hands = await asyncio.gather(*(play_out(client, f"t{number}", number=1) for number in range(5)))
    assert count > 5 * 7
    assert all(len(each) == 1 for each in ids.values())
    assert [hand.number for hand in hands] == [1] * 5
    assert (await client.refresh()).size == 10


async def test_a_dealer_that_drains_and_one_that_is_killed_are_waited_for(tmp_path):
    with running(tmp_path / "data") as dealer:
        key = dealer.verifier_key()
        async with Client(dealer.address, key, stream=True) as client:
            hands = [await client.open_hand(f"t{number}", [1, 2, 3]) for number in range(5)]
            for street, end in (("third", signal.SIGTERM), ("fourth", signal.SIGKILL)):
                under_way = [asyncio.ensure_future(hand.deal_street(street)) for hand in hands]
                await asyncio.sleep(0)
                dealer.process.send_signal(end)
                await asyncio.to_thread(dealer.process.wait, 30)
                dealer.options = ("--listen", dealer.address)
                await asyncio.to_thread(dealer.start)
                dealt = await asyncio.gather(*under_way)
                assert [len(cards) for cards in dealt] == [{"third": 9, "fourth": 3}[street]] * 5
            for hand in hands:
                await hand.void()
            assert (await client.refresh()).size == 10


async def test_a_dealer_that_stays_away_is_not_asked_for_ever(server, client):
    async def away(request, forward):
        raise Unavailable

    server.lies["OpenHand"] = away
    with pytest.raises(CallError, match="the connection is gone") as error:
        await client.open_hand("t", [1, 2])
    assert error.value.code is grpc.StatusCode.UNAVAILABLE
    assert server.calls.count("OpenHand") == QUICK.attempts


async def test_a_request_that_is_not_answered_in_time_fails_alone_and_is_settled_before_the_next(stack, server):
    client = await stack.enter_async_context(
        Client(server.address, server.signer.verifier_key, stream=True, retry=Retry(timeout=2.0))
    )
    hand, other = await client.open_hand("t", [1, 2]), await client.open_hand("u", [1, 2])
    released, ids = asyncio.Event(), []

    async def keep_back(request, forward):
        if request.hand_id == hand.hand_id:
            ids.append(request.request_id)
            answer = await forward(request)
            if len(ids) == 1:
                await released.wait()
            return answer
        return await forward(request)

    server.lies["DealStreet"] = keep_back
    slow = asyncio.ensure_future(hand.deal_street("third"))
    assert len(await other.deal_street("third")) == 6
    with pytest.raises(CallError) as late:
        await slow
    assert (late.value.code, late.value.refused) == (grpc.StatusCode.DEADLINE_EXCEEDED, False)
    released.set()  # the first answer comes now, and nobody waits for it
    await hand.void()
    assert len(hand.cards) == 6
    assert (len(ids), len(set(ids))) == (2, 1)
    await other.void()


async def test_a_call_that_is_given_up_leaves_the_others_alone(server, client):
    hand, other = await client.open_hand("t", [1, 2]), await client.open_hand("u", [1, 2])
    arrived = asyncio.Event()

    async def hang(request, forward):
        if request.hand_id == hand.hand_id and not arrived.is_set():
            arrived.set()
            await asyncio.Event().wait()
        return await forward(request)

    server.lies["DealStreet"] = hang
    given_up = asyncio.ensure_future(hand.deal_street("third"))
    await arrived.wait()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert len(await other.deal_street("third")) == 6
    assert len(await hand.deal_street("third")) == 6


async def test_a_stream_s_end_is_no_refusal_of_what_was_under_way_on_it(server, client):
    """A stream may be ended for what another request did; what was under way may have been carried out."""
    ids = []

    async def end(request, forward):
        ids.append(request.request_id)
        answer = await forward(request)
        if len(ids) == 1:
            server.end_with = (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS")
            raise Unavailable
        return answer

    server.lies["OpenHand"] = end
    with pytest.raises(CallError) as ended:
        await client.open_hand("t", [1, 2], number=1)
    assert (ended.value.code, ended.value.reason) == server.end_with
    assert not ended.value.refused
    assert (await client.open_hand("t", [1, 2], number=1)).number == 1
    assert len(set(ids)) == 1


async def test_a_stream_that_ends_because_the_room_asks_too_often_is_opened_again(server, client):
    ids = []

    async def end(request, forward):
        ids.append(request.request_id)
        if len(ids) == 1:
            server.end_with = (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_REQUESTS")
            raise Unavailable
        return await forward(request)

    server.lies["OpenHand"] = end
    assert (await client.open_hand("t", [1, 2], number=1)).number == 1
    assert (len(ids), len(set(ids))) == (2, 1)


async def no_message(request, forward):
    return b"\xff"


@pytest.mark.parametrize("lie", ["another answer", "no answer", "bytes"])
async def test_an_answer_of_another_kind_is_refused(server, client, lie):
    hand = await client.open_hand("t", [1, 2])
    if lie == "bytes":
        server.lies["DealStreet"] = no_message
    else:
        server.numbers["DealStreet"] = {"another answer": 9, "no answer": 60}[lie]
    detail = "the bytes that came back from DealStreet do not decode"
    with pytest.raises(CheckError, match=detail) as caught:
        await hand.deal_street("third")
    assert caught.value.check == "schema"


async def test_a_client_that_is_closed_leaves_no_call_waiting(server):
    arrived = asyncio.Event()

    async def hang(request, forward):
        arrived.set()
        await asyncio.Event().wait()

    server.lies["OpenHand"] = hang
    client = Client(server.address, server.signer.verifier_key, stream=True)
    opening = asyncio.ensure_future(client.open_hand("t", [1, 2]))
    await arrived.wait()
    await client.aclose()
    with pytest.raises(CallError, match="the client was closed"):
        await opening


def test_the_synchronous_client_plays_over_a_stream_too(stacked_dealer):
    with SyncClient(stacked_dealer.address, stacked_dealer.key, stream=True) as client:
        hand = client.open_hand("t", [1, 2], contribute_as=["me"])
        for street in STREETS:
            hand.deal_street(street)
        hand.close()
        assert len(hand.deck) == 52
