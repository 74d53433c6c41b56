"""A request id gives one answer, byte for byte, however often and whenever it is asked again."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.running import Room, Running, refusal, rid, running


@pytest.fixture
def dealer(tmp_path: Path):
    with running(tmp_path / "data") as dealer:
        yield dealer


def raw(room: Room, method: str, request: bytes) -> bytes:
    return room.channel.unary_unary(f"/dealer.v1.DealerService/{method}")(request)


def log_size(room: Room) -> int:
    return int(room.log.GetCheckpoint(log_pb2.GetCheckpointRequest()).checkpoint.split("\n")[1])


def test_50_times_at_once_and_after_a_restart_is_one_hand(dealer: Running) -> None:
    request = pb.OpenHandRequest(
        request_id=rid(), table="t", game=t.GAME_SEVEN_CARD_STUD, seats=[3, 1, 2], reveal=t.REVEAL_PUBLIC
    )
    room = dealer.room()
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: raw(room, "OpenHand", request.SerializeToString()), range(50)))
    assert len(set(answers)) == 1
    assert log_size(room) == 1
    dealer.kill()
    room = dealer.start().room()
    request.request_id = request.request_id.upper()  # the same UUID
    assert raw(room, "OpenHand", request.SerializeToString()) == answers[0]
    assert log_size(room) == 1


def test_every_changing_call_repeats_its_answer_after_the_hand_has_closed(dealer: Running) -> None:
    room = dealer.room()
    hand = room.open().hand_id
    calls: list[tuple[str, bytes]] = [
        ("DealStreet", pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=t.STREET_THIRD).SerializeToString()),
        ("FoldSeat", pb.FoldSeatRequest(request_id=rid(), hand_id=hand, seat=4).SerializeToString()),
        ("ShowCards", pb.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=[8, 0]).SerializeToString()),
        ("VoidHand", pb.VoidHandRequest(request_id=rid(), hand_id=hand, reason=3).SerializeToString()),
    ]
    first = [raw(room, method, request) for method, request in calls]
    size = log_size(room)
    assert [raw(room, method, request) for method, request in calls] == first
    dealer.stop()
    room = dealer.start().room()
    assert [raw(room, method, request) for method, request in calls] == first
    assert log_size(room) == size


def test_the_same_id_with_another_body_or_method_is_refused(dealer: Running) -> None:
    room, request_id = dealer.room(), rid()
    hand = room.open("a", request_id=request_id).hand_id
    for other in (
        lambda: room.open("b", request_id=request_id),
        lambda: room.open("a", request_id=request_id, reveal=t.REVEAL_SEALED),
        lambda: room.stub.DealStreet(pb.DealStreetRequest(request_id=request_id, hand_id=hand, street=1)),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            other()
        assert refusal(caught.value) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    assert log_size(room) == 1


def test_bodies_are_compared_by_their_field_values(dealer: Running) -> None:
    room, request_id = dealer.room(), rid()
    plain = pb.OpenHandRequest(request_id=request_id, table="t", game=1, seats=[1, 2], reveal=1).SerializeToString()
    answer = raw(room, "OpenHand", plain)
    unknown_field = b"\xfa\x3f\x03abc"
    assert raw(room, "OpenHand", plain + unknown_field) == answer
    reordered = pb.OpenHandRequest(table="t", game=1, seats=[1, 2], reveal=1).SerializeToString()
    tail = pb.OpenHandRequest(request_id=request_id).SerializeToString()
    assert raw(room, "OpenHand", reordered + tail) == answer


def test_a_refusal_is_not_kept(dealer: Running) -> None:
    room, request_id = dealer.room(), rid()
    hand = room.open().hand_id
    fold = pb.FoldSeatRequest(request_id=request_id, hand_id=hand, seat=2)
    with pytest.raises(grpc.RpcError):
        room.stub.FoldSeat(fold)
    room.deal(hand, t.STREET_THIRD)
    assert 2 not in room.stub.FoldSeat(fold).hand.live_seats


def test_200_draws_at_once_give_distinct_cards_without_a_gap(dealer: Running) -> None:
    room = dealer.room()
    hand = room.open(game=t.GAME_FREE_DRAW, seats=[1, 2, 3]).hand_id

    def one(i: int) -> list[t.Card]:
        try:
            return list(room.draw(hand, (1 + i % 3, t.FACE_DOWN)).cards)
        except grpc.RpcError as error:
            assert refusal(error) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_ENOUGH_CARDS")
            return []

    with ThreadPoolExecutor(50) as pool:
        cards = [card for answer in pool.map(one, range(200)) for card in answer]
    assert sorted(card.position for card in cards) == list(range(52))
    assert len({card.card for card in cards}) == 52


def test_request_ids_must_be_uuids(dealer: Running) -> None:
    room = dealer.room()
    for wrong in ("", "x", uuid.uuid4().hex, "{" + rid() + "}", rid() + "0"):
        with pytest.raises(grpc.RpcError) as caught:
            room.open(request_id=wrong)
        assert refusal(caught.value) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST_ID")
