"""Bad input of each kind: the code, the reason, and nothing changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import Room, error_info, refusal, rid, running

INVALID = grpc.StatusCode.INVALID_ARGUMENT
FAILED = grpc.StatusCode.FAILED_PRECONDITION
MISSING = grpc.StatusCode.NOT_FOUND


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory):
    with running(tmp_path_factory.mktemp("refusals") / "data") as dealer:
        yield dealer.room()


def invited(**change: Any) -> list[pb.Contributor]:
    return [pb.Contributor(**{"id": "seat-1", "commitment": bytes(32), **change})]


OPENINGS: list[tuple[str, dict[str, Any], grpc.StatusCode, str]] = [
    ("no table", {"table": ""}, INVALID, "INVALID_TABLE"),
    ("a table of 65 characters", {"table": "a" * 65}, INVALID, "INVALID_TABLE"),
    ("a table with a space", {"table": "a b"}, INVALID, "INVALID_TABLE"),
    ("a table with a newline", {"table": "a\n"}, INVALID, "INVALID_TABLE"),
    ("a table that is not ASCII", {"table": "tаble"}, INVALID, "INVALID_TABLE"),
    ("an unset game", {"game": 0}, INVALID, "INVALID_GAME"),
    ("an unknown game", {"game": 99}, INVALID, "INVALID_GAME"),
    ("an unknown deck", {"deck": "standard53"}, INVALID, "INVALID_DECK"),
    ("stud from a short deck", {"deck": "short36"}, INVALID, "INVALID_DECK"),
    ("no seats", {"seats": []}, INVALID, "INVALID_SEATS"),
    ("one seat in stud", {"seats": [1]}, INVALID, "INVALID_SEATS"),
    ("nine seats in stud", {"seats": range(1, 10)}, INVALID, "INVALID_SEATS"),
    ("24 seats", {"seats": range(1, 25), "game": t.GAME_FREE_DRAW}, INVALID, "INVALID_SEATS"),
    ("a seat twice", {"seats": [1, 2, 1]}, INVALID, "INVALID_SEATS"),
    ("seat 0", {"seats": [0, 1]}, INVALID, "INVALID_SEATS"),
    ("seat 256", {"seats": [1, 256]}, INVALID, "INVALID_SEATS"),
    ("an unset reveal", {"reveal": 0}, INVALID, "INVALID_REVEAL"),
    ("an unknown reveal", {"reveal": 7}, INVALID, "INVALID_REVEAL"),
    ("another number", {"number": 2}, FAILED, "WRONG_NUMBER"),
    ("a number beyond 2^53", {"number": 2**53}, INVALID, "INVALID_NUMBER"),
    ("a contributor without an id", {"contributors": invited(id="")}, INVALID, "INVALID_CONTRIBUTORS"),
    ("a reserved contributor", {"contributors": invited(id="operator.x")}, INVALID, "INVALID_CONTRIBUTORS"),
    ("a contributor twice", {"contributors": invited() * 2}, INVALID, "INVALID_CONTRIBUTORS"),
    ("a short commitment", {"contributors": invited(commitment=bytes(31))}, INVALID, "INVALID_CONTRIBUTORS"),
    (
        "65 contributors",
        {"contributors": [pb.Contributor(id=f"c{i}", commitment=bytes(32)) for i in range(65)]},
        INVALID,
        "INVALID_CONTRIBUTORS",
    ),
]


def log_size(room: Room) -> int:
    return int(room.log.GetCheckpoint(log_pb2.GetCheckpointRequest()).checkpoint.split("\n")[1])


@pytest.mark.parametrize(("fields", "code", "reason"), [o[1:] for o in OPENINGS], ids=[o[0] for o in OPENINGS])
def test_a_hand_is_not_opened_with(room: Room, fields: dict[str, Any], code: grpc.StatusCode, reason: str) -> None:
    before = log_size(room)
    with pytest.raises(grpc.RpcError) as caught:
        room.open(**{"table": "refused", **fields})
    assert refusal(caught.value) == (code, reason)
    assert log_size(room) == before


async def test_no_sealed_hand_without_an_escrow_key(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        with pytest.raises(grpc.RpcError) as caught:
            await room.open(reveal=t.REVEAL_SEALED)
        assert refusal(caught.value) == (FAILED, "NO_ESCROW_KEY")


def test_a_table_has_one_hand_in_play(room: Room) -> None:
    first = room.open("busy")
    with pytest.raises(grpc.RpcError) as caught:
        room.open("busy")
    assert refusal(caught.value) == (FAILED, "TABLE_BUSY")
    room.void(first.hand_id)
    assert room.open("busy", number=2).number == 2


def told(call: Callable[[], Any]) -> tuple[str, dict[str, str]]:
    """Reason and metadata of a refused call."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    info = error_info(caught.value)
    return info.reason, dict(info.metadata)


def test_a_refusal_says_which_hand_and_table_it_is_about(room: Room) -> None:
    assert told(lambda: room.open("told", number=2)) == ("WRONG_NUMBER", {"table": "told", "next_number": "1"})
    room.void(room.open("told").hand_id)
    hand = room.open("told").hand_id
    of_hand = {"hand_id": hand, "table": "told", "number": "2", "state": "COMMITTED"}
    assert told(lambda: room.open("told")) == ("TABLE_BUSY", {**of_hand, "next_number": "3"})
    assert told(lambda: room.deal(hand, t.STREET_FIFTH)) == ("WRONG_STREET", of_hand)
    assert told(lambda: room.fold(hand, 99)) == ("INVALID_SEAT", of_hand)
    room.void(hand)
    assert told(lambda: room.close(hand)) == ("HAND_CLOSED", {**of_hand, "state": "VOID"})
    assert told(lambda: room.open("told", number=9)) == ("WRONG_NUMBER", {"table": "told", "next_number": "3"})
    assert told(lambda: room.get(rid())) == ("HAND_NOT_FOUND", {})
    offered = room.open("told", contributors=invited()).hand_id
    reason, metadata = told(lambda: room.deal(offered, t.STREET_THIRD))
    assert (reason, metadata["state"]) == ("HAND_NOT_LOCKED", "OFFERED")


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("OpenHand", b"\x12\x02\xff\xfe"),  # a table that is not UTF-8
        ("FoldSeat", b"\x12\x02\xff\xfe"),
        ("GetHand", b"\x0a\x01\xff"),
        ("OpenHand", b"\x0a\xff"),  # cut off
        ("ShowCards", b"\xff\xff\xff"),
    ],
)
def test_bytes_that_are_no_request(room: Room, method: str, data: bytes) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        room.channel.unary_unary(f"/dealer.v1.DealerService/{method}")(data)
    assert refusal(caught.value) == (INVALID, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "hand_id", ["", "x", "01a22a20-c7d7-708a-90f9-bae10a8424b9 ", "01a22a20c7d7708a90f9bae10a8424b9"]
)
def test_hand_ids_must_be_uuids(room: Room, hand_id: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        room.get(hand_id)
    assert refusal(caught.value) == (INVALID, "INVALID_HAND_ID")


def test_a_hand_that_there_is_not(room: Room) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: room.get(rid()),
        lambda: room.deal(rid(), t.STREET_THIRD),
        lambda: room.fold(rid(), 1),
        lambda: room.show(rid(), 0),
        lambda: room.close(rid()),
        lambda: room.void(rid()),
        lambda: room.draw(rid(), (1, t.FACE_UP)),
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert refusal(caught.value) == (MISSING, "HAND_NOT_FOUND")


Step = Callable[[Room, str], Any]
DRAW = t.GAME_FREE_DRAW
STEPS: list[tuple[str, dict[str, Any], list[Step], Step, grpc.StatusCode, str]] = [
    ("an unset street", {}, [], lambda r, h: r.deal(h, 0), INVALID, "INVALID_STREET"),
    ("an unknown street", {}, [], lambda r, h: r.deal(h, 9), INVALID, "INVALID_STREET"),
    ("fourth before third", {}, [], lambda r, h: r.deal(h, 2), FAILED, "WRONG_STREET"),
    ("third twice", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.deal(h, 1), FAILED, "WRONG_STREET"),
    ("a street of free-draw", {"game": DRAW}, [], lambda r, h: r.deal(h, 1), FAILED, "WRONG_GAME"),
    ("a draw in stud", {}, [], lambda r, h: r.draw(h, (1, 1)), FAILED, "WRONG_GAME"),
    ("no draw", {"game": DRAW}, [], lambda r, h: r.draw(h), INVALID, "INVALID_DRAWS"),
    ("an unset face", {"game": DRAW}, [], lambda r, h: r.draw(h, (1, 0)), INVALID, "INVALID_DRAWS"),
    ("a seat not in", {"game": DRAW}, [], lambda r, h: r.draw(h, (99, 1)), INVALID, "INVALID_SEAT"),
    ("a board card down", {"game": DRAW}, [], lambda r, h: r.draw(h, (0, 1)), INVALID, "INVALID_DRAWS"),
    ("53 cards", {"game": DRAW}, [], lambda r, h: r.draw(h, *[(1, 1)] * 53), FAILED, "NOT_ENOUGH_CARDS"),
    ("1,025 cards", {"game": DRAW}, [], lambda r, h: r.draw(h, *[(1, 1)] * 1025), INVALID, "INVALID_DRAWS"),
    (
        "a draw for a folded seat",
        {"game": DRAW},
        [lambda r, h: r.fold(h, 1)],
        lambda r, h: r.draw(h, (1, 2)),
        FAILED,
        "SEAT_FOLDED",
    ),
    ("a fold before third", {}, [], lambda r, h: r.fold(h, 1), FAILED, "WRONG_STREET"),
    ("an unset seat", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.fold(h, 0), INVALID, "INVALID_SEAT"),
    ("a seat that is not there", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.fold(h, 9), INVALID, "INVALID_SEAT"),
    (
        "a second fold",
        {},
        [lambda r, h: r.deal(h, 1), lambda r, h: r.fold(h, 3)],
        lambda r, h: r.fold(h, 3),
        FAILED,
        "SEAT_FOLDED",
    ),
    (
        "the last seat's fold",
        {"seats": [1, 2]},
        [lambda r, h: r.deal(h, 1), lambda r, h: r.fold(h, 2)],
        lambda r, h: r.fold(h, 1),
        FAILED,
        "ONE_SEAT_LEFT",
    ),
    (
        "a street for one seat",
        {"seats": [1, 2]},
        [lambda r, h: r.deal(h, 1), lambda r, h: r.fold(h, 2)],
        lambda r, h: r.deal(h, 2),
        FAILED,
        "ONE_SEAT_LEFT",
    ),
    ("no position", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.show(h), INVALID, "INVALID_POSITIONS"),
    ("position 52", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.show(h, 52), INVALID, "INVALID_POSITIONS"),
    ("a position twice", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.show(h, 1, 1), INVALID, "INVALID_POSITIONS"),
    ("an undealt card", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.show(h, 51), FAILED, "NOT_A_DOWN_CARD"),
    ("an up card", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.show(h, 16), FAILED, "NOT_A_DOWN_CARD"),
    (
        "a card shown before",
        {},
        [lambda r, h: r.deal(h, 1), lambda r, h: r.show(h, 0)],
        lambda r, h: r.show(h, 0),
        FAILED,
        "NOT_A_DOWN_CARD",
    ),
    (
        "a folded seat's card",
        {},
        [lambda r, h: r.deal(h, 1), lambda r, h: r.fold(h, 1)],
        lambda r, h: r.show(h, 0),
        FAILED,
        "SEAT_FOLDED",
    ),
    ("a close too early", {}, [lambda r, h: r.deal(h, 1)], lambda r, h: r.close(h), FAILED, "HAND_NOT_FINISHED"),
    ("an unset reason", {}, [], lambda r, h: r.void(h, 0), INVALID, "INVALID_VOID_REASON"),
    ("a void of a void hand", {}, [lambda r, h: r.void(h)], lambda r, h: r.void(h), FAILED, "HAND_CLOSED"),
    ("a street of a void hand", {}, [lambda r, h: r.void(h)], lambda r, h: r.deal(h, 1), FAILED, "HAND_CLOSED"),
    (
        "a street of a hand on offer",
        {"contributors": invited()},
        [],
        lambda r, h: r.deal(h, 1),
        FAILED,
        "HAND_NOT_LOCKED",
    ),
    ("a close of a hand on offer", {"contributors": invited()}, [], lambda r, h: r.close(h), FAILED, "HAND_NOT_LOCKED"),
    (
        "a second lock",
        {},
        [],
        lambda r, h: r.stub.LockDeck(pb.LockDeckRequest(request_id=rid(), hand_id=h)),
        FAILED,
        "HAND_LOCKED",
    ),
]


@pytest.mark.parametrize(
    ("fields", "before", "step", "code", "reason"), [s[1:] for s in STEPS], ids=[s[0] for s in STEPS]
)
def test_a_hand_refuses_and_does_not_change(
    room: Room, fields: dict[str, Any], before: list[Step], step: Step, code: grpc.StatusCode, reason: str
) -> None:
    hand = room.open(f"steps-{rid()}", **fields).hand_id
    for each in before:
        each(room, hand)
    was, size = room.get(hand), log_size(room)
    with pytest.raises(grpc.RpcError) as caught:
        step(room, hand)
    assert refusal(caught.value) == (code, reason)
    now = room.get(hand)
    assert (now.cards, now.hand.live_seats, now.hand.street) == (was.cards, was.hand.live_seats, was.hand.street)
    assert log_size(room) == size


def test_an_unset_seat_is_never_the_board(room: Room) -> None:
    hand = room.open("unset", game=DRAW).hand_id
    with pytest.raises(grpc.RpcError) as caught:
        room.stub.DrawCards(pb.DrawCardsRequest(request_id=rid(), hand_id=hand, draws=[pb.Draw(face=t.FACE_UP)]))
    assert refusal(caught.value) == (INVALID, "INVALID_DRAWS")
    assert room.draw(hand, (0, t.FACE_UP)).cards[0].seat == 0


def test_the_log_is_read_within_its_bounds(room: Room) -> None:
    size = log_size(room)
    for call, code, reason in (
        (lambda: room.log.GetReceipt(log_pb2.GetReceiptRequest(index=size)), MISSING, "ENTRY_NOT_FOUND"),
        (
            lambda: list(room.log.ListEntries(log_pb2.ListEntriesRequest(**{"from": size + 1}))),
            MISSING,
            "ENTRY_NOT_FOUND",
        ),
        (
            lambda: room.log.GetConsistencyProof(log_pb2.GetConsistencyProofRequest(**{"from": 2, "to": 1})),
            INVALID,
            "INVALID_RANGE",
        ),
        (
            lambda: room.log.GetConsistencyProof(log_pb2.GetConsistencyProofRequest(**{"from": 0, "to": size + 1})),
            MISSING,
            "ENTRY_NOT_FOUND",
        ),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert refusal(caught.value) == (code, reason)


def test_a_stream_answers_an_error_and_goes_on(room: Room) -> None:
    def requests():
        opening = pb.OpenHandRequest(request_id=rid(), table="stream", game=1, seats=[1, 2], reveal=1)
        wrong = pb.OpenHandRequest(request_id=rid(), table="", game=1, seats=[1, 2], reveal=1)
        yield pb.PlayHandsRequest(requests=[pb.PlayRequest(correlation_id="wrong", open_hand=wrong)])
        yield pb.PlayHandsRequest(
            requests=[
                pb.PlayRequest(correlation_id="right", open_hand=opening),
                pb.PlayRequest(correlation_id="empty"),
                pb.PlayRequest(open_hand=opening),
                pb.PlayRequest(correlation_id="x" * 65, open_hand=opening),
            ]
        )

    answers = {a.correlation_id: a for m in room.stub.PlayHands(requests()) for a in m.responses}
    assert answers["right"].open_hand.hand.number == 1
    for refused in ("wrong", "empty", "", "x" * 65):
        assert answers[refused].error.code == INVALID.value[0]
