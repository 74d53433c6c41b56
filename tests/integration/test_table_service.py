"""TableService: whole hands over gRPC, tokens, repeats, refusals, clocks, and the log behind them."""

import asyncio
import hashlib
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from dealer.core.deck import derive_deck
from dealer.service.writer.sources import Sources
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.v1 import dealer_pb2 as dpb
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import error_info, refusal, rid
from tests.integration.table_room import Started, TableRoom, at_random, check_or_call

EIGHT = dict.fromkeys(range(1, 9), 5000)


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[TableRoom]:
    sources = Sources(escrow=EscrowKey(bytes.fromhex(make_escrow_pair()[1])))
    async with dealer_inside(tmp_path / "dealer", sources) as (_, dealer_room):
        yield TableRoom(dealer_room.channel)


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as error:
        await call
    return refusal(error.value)


async def watch_refused(stream: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as error:
        async for _ in stream:
            pass
    return refusal(error.value)


def commitment(hand: t.Hand, card: t.Card) -> bytes:
    data = b"cutcard/v1/card\0" + bytes.fromhex(hand.hand_id.replace("-", ""))
    return hashlib.sha256(data + card.position.to_bytes(2, "big") + card.card.encode() + card.salt).digest()


def cards_of(events: list[pb.TableEvent]) -> list[t.Card]:
    return [card for event in events for card in [*event.street_dealt.cards, *event.hand_shown.cards]]


async def test_a_hand_begins_with_the_antes_the_bring_in_and_a_prompt(room: TableRoom) -> None:
    started = await room.start({4: 1000, 2: 800, 7: 600})
    hand = started.hand
    assert (hand.street, hand.finished, list(hand.board)) == (t.STREET_THIRD, False, [])
    assert [seat.seat for seat in hand.seats] == [4, 2, 7]
    assert [seat.stack for seat in hand.seats] == [975, 775, 575]
    assert all(seat.cards[:2] == ["??", "??"] and len(seat.cards) == 3 for seat in hand.seats)
    assert hand.to_act == hand.bring_in_seat
    assert [(o.action, o.amount) for o in hand.options] == [(pb.ACTION_BRING_IN, 50), (pb.ACTION_COMPLETE, 100)]
    assert [(pot.amount, list(pot.eligible)) for pot in hand.pots] == [(75, [4, 2, 7])]
    assert set(started.tokens) == {4, 2, 7}
    assert all(len(token) == 32 for token in started.tokens.values())
    assert 0 < hand.milliseconds_left <= 30_000
    assert (hand.stakes.chip, hand.stakes.open_pair_double) == (1, True)
    assert hand.hand.state == t.HAND_STATE_COMMITTED
    assert hand.hand.receipt


async def test_eight_seats_play_to_the_board_card_and_the_log_holds_the_history(room: TableRoom) -> None:
    started = await room.start(EIGHT)
    over = await started.play_out()
    assert over.finished
    assert len(over.board) == 1
    assert sum(seat.stack for seat in over.seats) == 8 * 5000
    close = json.loads(over.close_entry)
    assert close["history"] == hashlib.sha256(over.history_phh.encode("ascii")).hexdigest()
    assert close["outcome"] == "completed"
    assert over.close_receipt.startswith("c2sp.org/tlog-proof@v1\n")
    assert f"Hand {over.hand_id}\n" in over.history_text
    shown = {seat.seat for seat in over.seats if "??" not in seat.cards}
    assert shown == set(over.shown)
    assert over.awards[0].winners[0].seat in shown
    assert len(over.awards[0].winners[0].cards) == 5


async def test_the_events_of_the_log_are_those_of_the_table(room: TableRoom) -> None:
    started = await room.start()
    await started.act()
    first, folds = started.hand.to_act, [o for o in started.hand.options if o.action == pb.ACTION_FOLD]
    await started.act(lambda options: folds[0])
    over = await started.play_out()
    events = json.loads(over.close_entry)["events"]
    assert [event.get("deal") for event in events if "deal" in event] == [
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
    ]
    assert events[1] == {"fold": first}
    shows = [event["show"] for event in events if "show" in event]
    assert len(shows) == len(over.shown)
    assert all(len(show) == 3 for show in shows)


async def test_each_card_that_a_seat_is_given_is_the_committed_one(room: TableRoom) -> None:
    started = await room.start()
    await started.play_out()
    for eyes in (0, 1, 2, 3):
        events = await started.seen(eyes)
        hand = events[0].hand_started.hand
        for card in cards_of(events):
            if card.card:
                expected = hand.card_commitments[32 * card.position : 32 * card.position + 32]
                assert commitment(hand, card) == expected


@pytest.mark.parametrize("game", [t.GAME_SEVEN_CARD_STUD, t.GAME_SEVEN_CARD_STUD_HI_LO])
@pytest.mark.parametrize("reveal", [t.REVEAL_PUBLIC, t.REVEAL_SEALED])
async def test_a_watcher_never_receives_another_seats_down_card_before_the_rules_show_it(
    room: TableRoom, game: int, reveal: int
) -> None:
    started = await room.start(dict.fromkeys(range(1, 6), 2000), game=game, reveal=reveal)
    views: dict[int, list[pb.TableEvent]] = {}
    while True:
        for eyes in (0, 3):
            stream, views[eyes] = started.watch(eyes), []
            async for response in stream:  # from the start at every prompt: as after any reconnect
                views[eyes].append(response.event)
                if response.event.sequence == started.hand.sequence:
                    stream.cancel()
                    break
        for eyes, events in views.items():
            for event in events:
                for card in event.street_dealt.cards:
                    visible = card.face == t.FACE_UP or card.seat == eyes
                    assert bool(card.card) == bool(card.salt) == visible
                assert event.WhichOneof("event") != "hand_shown" or started.hand.finished
        if started.hand.finished:
            return
        await started.act()


async def test_a_watcher_goes_on_from_any_sequence_number(room: TableRoom) -> None:
    started = await room.start()
    await started.play_out(at_random(random.Random(5)))
    whole = await started.seen(2)
    assert [event.sequence for event in whole] == list(range(1, len(whole) + 1))
    for after in range(len(whole) + 1):
        assert await started.seen(2, after) == whole[after:]


async def test_live_watchers_see_what_late_ones_do(room: TableRoom) -> None:

    started = await room.start()
    live = {eyes: asyncio.create_task(started.seen(eyes)) for eyes in (0, 1, 3)}
    await asyncio.sleep(0.05)
    await started.play_out()
    for eyes, task in live.items():
        early, late = await asyncio.wait_for(task, 10), await started.seen(eyes)
        for event in (early[-1], late[-1]):
            event.hand_finished.ClearField("close_receipt")  # receipts are made when they are asked for
        for event in (early[0], late[0]):
            event.hand_started.ClearField("hand")
        assert early == late


async def test_a_seat_is_watched_and_played_with_its_own_token_alone(room: TableRoom) -> None:
    started = await room.start()
    seat = started.hand.to_act
    other = next(s for s in started.tokens if s != seat)
    action, amount = pb.ACTION_BRING_IN, 50
    wrong = (grpc.StatusCode.PERMISSION_DENIED, "WRONG_TOKEN")
    for token in (b"", b"\0" * 32, started.tokens[other], started.tokens[seat] + b"\0", started.tokens[seat][:31]):
        assert await refused(started.stub.Act(started.act_request(action, amount, token=token))) == wrong
        assert await watch_refused(started.watch(seat, token=token)) == wrong
        leaving = pb.LeaveHandRequest(request_id=rid(), hand_id=started.id, seat=seat, token=token)
        assert await refused(started.stub.LeaveHand(leaving)) == wrong
    # A seat taken by somebody else gets nothing of a hand that it is not in, and nothing with the last hand's token.
    await started.play_out()
    again = await room.start()
    assert again.tokens[seat] != started.tokens[seat]
    assert await watch_refused(again.watch(seat, token=started.tokens[seat])) == wrong


async def test_the_same_request_gives_the_same_answer_byte_for_byte(room: TableRoom) -> None:
    request = room.request()
    first, second = await room.stub.StartHand(request), await room.stub.StartHand(request)
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
    started = Started(room.stub, first.table_hand, {token.seat: token.token for token in first.tokens})
    act = started.act_request(pb.ACTION_BRING_IN, 50)
    done = await room.stub.Act(act)
    started.hand = done.table_hand
    await started.play_out()
    assert await room.stub.Act(act) == done
    assert await room.stub.StartHand(request) == first
    act.amount = 100
    assert await refused(room.stub.Act(act)) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")


async def test_a_refusal_says_which_hand_and_table_it_is_about(room: TableRoom) -> None:
    started = await room.start()
    of_hand = {"hand_id": started.id, "table": "t", "number": "1", "state": "COMMITTED"}
    other = next(s for s in started.tokens if s != started.hand.to_act)
    with pytest.raises(grpc.RpcError) as acted:
        await started.stub.Act(started.act_request(pb.ACTION_CALL, 50, seat=other))
    with pytest.raises(grpc.RpcError) as watched:
        _ = [event async for event in started.stub.WatchHand(pb.WatchHandRequest(hand_id=started.id, seat=other))]
    with pytest.raises(grpc.RpcError) as begun:
        await room.start()
    for caught, reason, metadata in (
        (acted, "OUT_OF_TURN", of_hand),
        (watched, "WRONG_TOKEN", of_hand),
        (begun, "TABLE_BUSY", of_hand | {"next_number": "2"}),
    ):
        info = error_info(caught.value)
        assert (info.reason, dict(info.metadata)) == (reason, metadata)


async def test_a_refused_action_changes_nothing(room: TableRoom) -> None:
    started = await room.start()
    before = await started.get()
    seat = started.hand.to_act
    other = next(s for s in started.tokens if s != seat)
    precondition = grpc.StatusCode.FAILED_PRECONDITION
    for request, expected in [
        (started.act_request(pb.ACTION_CALL, 50, seat=other), (precondition, "OUT_OF_TURN")),
        (started.act_request(pb.ACTION_FOLD), (precondition, "ACTION_NOT_ALLOWED")),
        (started.act_request(pb.ACTION_CHECK), (precondition, "ACTION_NOT_ALLOWED")),
        (started.act_request(pb.ACTION_BRING_IN, 51), (precondition, "ACTION_NOT_ALLOWED")),
        (started.act_request(pb.ACTION_COMPLETE, -100), (precondition, "ACTION_NOT_ALLOWED")),
        (started.act_request(pb.ACTION_UNSPECIFIED), (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ACTION")),
        (started.act_request(99), (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ACTION")),
        (started.act_request(pb.ACTION_BRING_IN, 50, seat=0), (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_SEAT")),
        (started.act_request(pb.ACTION_BRING_IN, 50, seat=9), (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_SEAT")),
        (
            started.act_request(pb.ACTION_BRING_IN, 50, request_id="1"),
            (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST_ID"),
        ),
    ]:
        assert await refused(started.stub.Act(request)) == expected
    after = await started.get()
    before.ClearField("milliseconds_left")
    after.ClearField("milliseconds_left")
    assert after == before
    over = await started.play_out()
    late = started.act_request(pb.ACTION_CHECK, seat=seat)
    assert await refused(started.stub.Act(late)) == (precondition, "HAND_CLOSED")
    assert (await started.get()).awards == over.awards


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"table": "two words"}, "INVALID_TABLE"),
        ({"game": t.GAME_UNSPECIFIED}, "INVALID_GAME"),
        ({"game": t.GAME_FREE_DRAW}, "INVALID_GAME"),
        ({"reveal": t.REVEAL_UNSPECIFIED}, "INVALID_REVEAL"),
        ({"stakes": None}, "INVALID_STAKES"),
        ({"stakes": pb.Stakes(ante=-1, bring_in=1, small_bet=2, big_bet=2)}, "INVALID_STAKES"),
        ({"stakes": pb.Stakes(bring_in=2, small_bet=2, big_bet=4)}, "INVALID_STAKES"),
        ({"stakes": pb.Stakes(bring_in=1, small_bet=4, big_bet=2)}, "INVALID_STAKES"),
        ({"stakes": pb.Stakes(bring_in=1, small_bet=2, big_bet=4, chip=0)}, "INVALID_STAKES"),
        ({"stacks": {1: 100}}, "INVALID_SEATS"),
        ({"stacks": dict.fromkeys(range(1, 10), 100)}, "INVALID_SEATS"),
        ({"stacks": {1: 100, 256: 100}}, "INVALID_SEATS"),
        ({"stacks": {0: 100, 1: 100}}, "INVALID_SEATS"),
        ({"seats": [pb.SeatStack(seat=1, stack=5), pb.SeatStack(seat=1, stack=5)]}, "INVALID_SEATS"),
        ({"stacks": {1: 100, 2: 0}}, "INVALID_STACK"),
        ({"stacks": {1: 100, 2: -5}}, "INVALID_STACK"),
        ({"stacks": {1: 100, 2: 2**53}}, "INVALID_STACK"),
        ({"request_id": ""}, "INVALID_REQUEST_ID"),
    ],
)
async def test_a_hand_is_started_with_what_the_rules_allow(
    room: TableRoom, fields: dict[str, Any], reason: str
) -> None:
    request = room.request(fields.pop("stacks", None), **fields)
    assert await refused(room.stub.StartHand(request)) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
    await room.start()  # the table is still free


async def test_a_table_has_one_hand_in_play(room: TableRoom) -> None:
    await room.start()
    assert await refused(room.start()) == (grpc.StatusCode.FAILED_PRECONDITION, "TABLE_BUSY")


async def test_a_hand_that_the_referee_does_not_run_is_not_found(room: TableRoom) -> None:
    by_hand = await AsyncRoom(room.channel).open("by-hand")
    missing = (grpc.StatusCode.NOT_FOUND, "HAND_NOT_FOUND")
    for hand in (by_hand.hand_id, rid()):
        assert await refused(room.stub.GetTableHand(pb.GetTableHandRequest(hand_id=hand))) == missing
        assert await watch_refused(room.stub.WatchHand(pb.WatchHandRequest(hand_id=hand))) == missing


async def test_the_dealer_service_refuses_a_referees_hand(room: TableRoom) -> None:
    started = await room.start()
    dealer = AsyncRoom(room.channel).stub
    requests: list[tuple[Any, Message]] = [
        (dealer.DealStreet, dpb.DealStreetRequest(request_id=rid(), hand_id=started.id, street=t.STREET_FOURTH)),
        (dealer.FoldSeat, dpb.FoldSeatRequest(request_id=rid(), hand_id=started.id, seat=1)),
        (dealer.ShowCards, dpb.ShowCardsRequest(request_id=rid(), hand_id=started.id, positions=[0])),
        (dealer.CloseHand, dpb.CloseHandRequest(request_id=rid(), hand_id=started.id)),
        (dealer.VoidHand, dpb.VoidHandRequest(request_id=rid(), hand_id=started.id, reason=t.VOID_REASON_OPERATOR)),
        (dealer.LockDeck, dpb.LockDeckRequest(request_id=rid(), hand_id=started.id)),
        (dealer.GetHand, dpb.GetHandRequest(hand_id=started.id)),
    ]
    for call, request in requests:
        assert await refused(call(request)) == (grpc.StatusCode.PERMISSION_DENIED, "REFEREE_HAND")
    await started.play_out()
    assert await refused(dealer.GetHand(dpb.GetHandRequest(hand_id=started.id))) == (
        grpc.StatusCode.PERMISSION_DENIED,
        "REFEREE_HAND",
    )


async def test_seats_that_run_out_of_time_are_acted_for(room: TableRoom) -> None:
    started = await room.start({1: 1000, 2: 1000}, action_seconds=1)
    events = await started.seen()  # nobody acts: the bring-in is posted, the other seat folds
    acted = [event.seat_acted for event in events if event.WhichOneof("event") == "seat_acted"]
    assert [(act.action, act.cause) for act in acted] == [
        (pb.ACTION_BRING_IN, pb.CAUSE_TIMEOUT),
        (pb.ACTION_FOLD, pb.CAUSE_TIMEOUT),
    ]
    over = await started.get()
    assert over.finished
    assert "time ran out" in over.history_phh


async def test_a_seat_that_acts_in_time_stops_its_clock(room: TableRoom) -> None:

    started = await room.start({1: 1000, 2: 1000}, action_seconds=1)
    await asyncio.sleep(0.6)
    await started.act()
    await asyncio.sleep(0.6)
    hand = await started.get()
    assert hand.to_act == started.hand.to_act
    assert 0 < hand.milliseconds_left < 600


async def test_a_seat_that_leaves_is_folded_when_its_turn_comes(room: TableRoom) -> None:
    started = await room.start()
    seat = started.hand.to_act
    hand = await started.leave(seat)  # its bring-in is posted first
    left = next(s for s in hand.seats if s.seat == seat)
    assert (left.state, left.street_bet, left.left) == (pb.SEAT_STATE_FOLDED, 50, True)
    events = [event.seat_acted async for event in _until(started, hand.sequence) if event.HasField("seat_acted")]
    assert [(act.action, act.cause) for act in events] == [
        (pb.ACTION_BRING_IN, pb.CAUSE_LEFT),
        (pb.ACTION_FOLD, pb.CAUSE_LEFT),
    ]
    over = await started.play_out(check_or_call)
    assert sum(s.stack for s in over.seats) == 3000


async def _until(started: Started, sequence: int) -> AsyncIterator[pb.TableEvent]:
    async for response in started.watch():
        yield response.event
        if response.event.sequence == sequence:
            return


async def test_a_hand_whose_antes_put_everybody_all_in_is_over_at_once(room: TableRoom) -> None:
    started = await room.start({1: 25, 2: 10, 3: 25})
    assert started.hand.finished
    assert sorted(started.hand.shown) == [1, 2, 3]
    assert sum(seat.stack for seat in started.hand.seats) == 60


async def test_after_a_sealed_hand_only_what_the_table_saw_is_open_to_the_rail(room: TableRoom) -> None:
    started = await room.start(reveal=t.REVEAL_SEALED)
    await started.act()
    await started.act(lambda options: options[-1])
    over = await started.play_out()
    close = json.loads(over.close_entry)
    assert "seed" not in close
    opened = {card for _, card, _ in close["openings"]}
    seen = {card for seat in over.seats for card in seat.cards if card != "??"} | set(over.board)
    assert opened == seen


def test_derive_deck_is_not_what_the_referee_reads() -> None:
    """The referee has no back door to the deck: its package names neither deck nor seed."""
    import dealer.table

    folder = Path(dealer.table.__file__).parent
    for path in folder.glob("*.py"):
        text = path.read_text()
        assert derive_deck.__name__ not in text
        assert "dealer.core.deck" not in text
        assert "dealer.core.seed" not in text
