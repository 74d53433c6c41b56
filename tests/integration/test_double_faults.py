"""Faults on demand: what a game's client meets, over gRPC and in the fixture."""

import time
from uuid import uuid4

import grpc
import pytest

from dealer.client import CallError, CheckError
from dealer.client.calls import Retry
from dealer.testing import StackedDealer, StackError
from dealer.v1 import (
    dealer_pb2,
    dealer_pb2_grpc,
    double_pb2,
    double_pb2_grpc,
    log_pb2,
    log_pb2_grpc,
    table_pb2,
    table_pb2_grpc,
    types_pb2,
)
from tests.integration.running import refusal

ONCE = Retry(attempts=1)


def test_a_dropped_answer_was_carried_out_and_the_same_request_gets_it(stacked_dealer: StackedDealer):
    client = stacked_dealer.client()
    hand = client.open_hand("t", [1, 2])
    stacked_dealer.inject_fault("DealStreet", drop=True)
    cards = hand.deal_street("third")  # the client asks again under the same id
    hand.void()
    assert tuple(card.name for card in cards) == hand.deck[:6]


def test_a_client_that_does_not_ask_again_sees_an_unavailable_dealer_without_a_reason(stacked_dealer: StackedDealer):
    client = stacked_dealer.client(retry=ONCE)
    stacked_dealer.inject_fault("OpenHand", drop=True)
    with pytest.raises(CallError) as error:
        client.open_hand("t", [1, 2])
    assert (error.value.code, error.value.reason) == (grpc.StatusCode.UNAVAILABLE, "")
    assert client.open_hand("t", [1, 2]).number == 1  # the hand was there


def test_a_refused_call_has_changed_nothing_and_faults_come_in_their_order(stacked_dealer: StackedDealer):
    client = stacked_dealer.client(retry=ONCE)
    stacked_dealer.inject_fault("OpenHand", reason="TOO_MANY_HANDS", times=2)
    stacked_dealer.inject_fault("OpenHand", reason="STORAGE")
    codes = []
    for _ in range(3):
        with pytest.raises(CallError) as error:
            client.open_hand("t", [1, 2])
        codes.append((error.value.reason, error.value.code))
    assert codes == [("TOO_MANY_HANDS", grpc.StatusCode.RESOURCE_EXHAUSTED)] * 2 + [
        ("STORAGE", grpc.StatusCode.UNAVAILABLE)
    ]
    assert client.open_hand("t", [1, 2]).number == 1
    assert client.refresh().size == 1


def test_a_late_answer_is_late_and_right(stacked_dealer: StackedDealer):
    hand = stacked_dealer.client().open_hand("t", [1, 2])
    stacked_dealer.inject_fault("DealStreet", delay=0.3)
    before = time.monotonic()
    assert len(hand.deal_street("third")) == 6
    assert time.monotonic() - before >= 0.3


@pytest.mark.parametrize(
    ("method", "game", "ask"),
    [
        ("DealStreet", "seven-card-stud", lambda hand: hand.deal_street("third")),
        ("DrawCards", "free-draw", lambda hand: hand.draw([(1, "down")])),
    ],
)
def test_a_changed_card_is_found_out_by_the_client(stacked_dealer: StackedDealer, method, game, ask, tmp_path):
    hand = stacked_dealer.client(folder=tmp_path).open_hand("t", [1, 2], game=game)
    stacked_dealer.inject_fault(method, change_card=True)
    with pytest.raises(CheckError, match="does not match its commitment") as error:
        ask(hand)
    assert error.value.check == "opening"


def test_a_stream_is_cut_and_taken_up_again(stacked_dealer: StackedDealer):
    client = stacked_dealer.client()
    hand = client.open_hand("t", [1, 2])
    hand.void()
    stacked_dealer.inject_fault("ListEntries", drop=True)
    assert client.resume(hand.hand_id).closed is not None
    with grpc.insecure_channel(stacked_dealer.address) as channel:
        stub = log_pb2_grpc.LogServiceStub(channel)
        stacked_dealer.inject_fault("ListEntries", reason="DRAINING")
        with pytest.raises(grpc.RpcError) as error:
            list(stub.ListEntries(log_pb2.ListEntriesRequest()))
        assert refusal(error.value) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert sum(len(part.entries) for part in stub.ListEntries(log_pb2.ListEntriesRequest())) == 2


def test_an_answer_without_a_card_does_not_use_the_fault_up(stacked_dealer: StackedDealer):
    with grpc.insecure_channel(stacked_dealer.address) as channel:
        dealer, double = dealer_pb2_grpc.DealerServiceStub(channel), double_pb2_grpc.TestDoubleServiceStub(channel)
        request = dealer_pb2.OpenHandRequest(
            request_id=f"{uuid4()}",
            table="t",
            game=types_pb2.GAME_FREE_DRAW,
            deck="standard52",
            seats=[1],
            reveal=types_pb2.REVEAL_PUBLIC,
        )
        hand = dealer.OpenHand(request).hand.hand_id
        fault = double_pb2.InjectFaultRequest(method="GetHand", times=1, change_card=double_pb2.ChangeCard())
        double.InjectFault(fault)
        get = dealer_pb2.GetHandRequest(hand_id=hand)
        assert not dealer.GetHand(get).cards
        draw = dealer_pb2.Draw(seat=1, face=types_pb2.FACE_UP)
        (card,) = dealer.DrawCards(
            dealer_pb2.DrawCardsRequest(request_id=f"{uuid4()}", hand_id=hand, draws=[draw])
        ).cards
        (wrong,) = dealer.GetHand(get).cards
        assert (wrong.card[0], wrong.salt, wrong.position) == (card.card[0], card.salt, card.position)
        assert wrong.card != card.card
        assert dealer.GetHand(get).cards[0] == card


def test_a_card_of_a_referee_s_stream_is_changed_and_the_first_message_that_has_one_is_meant(stacked_dealer):
    with grpc.insecure_channel(stacked_dealer.address) as channel:
        table = table_pb2_grpc.TableServiceStub(channel)
        request = table_pb2.StartHandRequest(
            request_id=f"{uuid4()}",
            table="t",
            game=types_pb2.GAME_SEVEN_CARD_STUD,
            stakes=table_pb2.Stakes(ante=5, bring_in=10, small_bet=20, big_bet=40),
            seats=[table_pb2.SeatStack(seat=seat, stack=1000) for seat in (1, 2)],
            reveal=types_pb2.REVEAL_PUBLIC,
            action_seconds=3600,
        )
        started = table.StartHand(request)
        watch = table_pb2.WatchHandRequest(
            hand_id=started.table_hand.hand_id, seat=1, token=next(t.token for t in started.tokens if t.seat == 1)
        )

        def dealt() -> list[types_pb2.Card]:
            stream = table.WatchHand(watch)
            street = next(each.event for each in stream if each.event.WhichOneof("event") == "street_dealt")
            stream.cancel()
            return list(street.street_dealt.cards)

        stacked_dealer.inject_fault("WatchHand", change_card=True)
        wrong, right = dealt(), dealt()
        assert [a == b for a, b in zip(wrong, right, strict=True)] == [False, *[True] * 5]
        stacked_dealer.inject_fault("WatchHand", drop=True)
        with pytest.raises(grpc.RpcError) as error:
            next(table.WatchHand(watch))
        assert refusal(error.value) == (grpc.StatusCode.UNAVAILABLE, "")
        assert dealt() == right


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"method": "Deal", "drop": True}, "'Deal' is no method: they are Act, "),
        ({"method": "Reset", "drop": True}, "'Reset' is no method"),
        ({"method": "OpenHand", "times": 0, "drop": True}, "at least one call"),
        ({"method": "OpenHand"}, "exactly one of"),
        ({"method": "OpenHand", "drop": True, "reason": "STORAGE"}, "exactly one of"),
        ({"method": "OpenHand", "reason": "BAD_LUCK"}, "'BAD_LUCK' is no reason: they are "),
        ({"method": "OpenHand", "delay": 0}, "from 1 to 600000"),
        ({"method": "OpenHand", "delay": 601}, "from 1 to 600000"),
        ({"method": "GetCheckpoint", "change_card": True}, "an answer of GetCheckpoint has no card"),
    ],
)
def test_a_fault_that_no_call_could_meet_is_refused_and_changes_nothing(stacked_dealer: StackedDealer, wrong, said):
    with pytest.raises(StackError, match=said):
        stacked_dealer.inject_fault(**wrong)
    assert stacked_dealer.client(retry=ONCE).open_hand("t", [1, 2]).number == 1


def test_no_fault_at_all_is_refused_over_grpc(stacked_dealer: StackedDealer):
    with grpc.insecure_channel(stacked_dealer.address) as channel, pytest.raises(grpc.RpcError) as error:
        double_pb2_grpc.TestDoubleServiceStub(channel).InjectFault(
            double_pb2.InjectFaultRequest(method="OpenHand", times=1)
        )
    assert refusal(error.value) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")
