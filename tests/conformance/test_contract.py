"""One contract for the real server and the test double, each a process of its own: it holds for both."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from dealer.client import SyncClient
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2, table_pb2, table_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.integration.running import BIN, STREETS, Room, refusal, rid, run_tool, running

INVALID, NOT_FOUND, PRECONDITION = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
)


@dataclass(frozen=True)
class Server:
    """One of the two."""

    name: str
    address: str
    key: str
    family: str


@contextmanager
def double(*options: str) -> Iterator[tuple[str, str]]:
    """Runs `dealer double`, and gives address and key as it prints them."""
    command = [str(BIN / "dealer"), "double", "--listen", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address, key = (process.stdout.readline().strip() for _ in range(2))
        yield address.removeprefix("listening on "), key.removeprefix("verifier key ")
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def escrow(tmp_path_factory) -> tuple[str, str]:
    folder: Path = tmp_path_factory.mktemp("auditor")
    assert run_tool("dealer", "escrow-keygen", folder / "auditor").returncode == 0
    return "--escrow-public-key", str(folder / "auditor.pub")


@pytest.fixture(scope="session")
def double_server(escrow) -> Iterator[Server]:
    with double(*escrow) as (address, key):
        yield Server("double", address, key, "cutcard-test/v1")


@pytest.fixture(scope="session")
def real_server(escrow, tmp_path_factory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("contract") / "data", *escrow) as dealer:
        yield Server("real", dealer.address, dealer.verifier_key(), "cutcard/v1")


@pytest.fixture(params=["double", "real"])
def server(request) -> Server:
    """Either of the two; they run as long as the session, whatever order the tests come in."""
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
def room(server) -> Iterator[Room]:
    room = Room(server.address)
    yield room
    room.channel.close()


@pytest.fixture
def table() -> str:
    """A table that no other test plays at."""
    return rid()


def test_a_hand_of_stud_from_open_to_close(room, server, table):
    hand = room.open(table, seats=[2, 5, 9])
    assert UUID(hand.hand_id).version == 7
    assert (hand.table, hand.number, hand.deck, list(hand.seats)) == (table, 1, "standard52", [2, 5, 9])
    assert (hand.state, hand.cards_left, len(hand.card_commitments)) == (t.HAND_STATE_COMMITTED, 52, 52 * 32)
    assert json.loads(hand.commit_entry)["schema"] == f"{server.family}/commit"
    third = room.deal(hand.hand_id, t.STREET_THIRD)
    assert [(c.position, c.seat) for c in third.cards] == list(enumerate([2, 5, 9] * 3))
    assert third.opener.reason == t.OPENER_REASON_LOWEST_CARD
    room.fold(hand.hand_id, 5)
    for street in STREETS[1:]:
        answer = room.deal(hand.hand_id, street)
        assert [c.seat for c in answer.cards] == [2, 9]
    closed = room.close(hand.hand_id)
    assert closed.hand.state == t.HAND_STATE_CLOSED
    entry = json.loads(closed.entry)
    assert entry["schema"] == f"{server.family}/close"
    assert len(bytes.fromhex(entry["seed"])) == 64
    assert ("deck" in entry) == (server.name == "double")


def test_the_client_takes_both(server, table):
    with SyncClient(server.address, server.key) as client:
        for options in ({}, {"contribute_as": ["a", "b"]}, {"reveal": "sealed"}):
            hand = client.open_hand(table, range(1, 9), **options)
            for street in ("third", "fourth", "fifth", "sixth", "seventh"):
                hand.deal_street(street)
            hand.show([0])
            hand.close()
        assert hand.number == 3


def test_a_sealed_hand_s_close_gives_the_opened_cards_only(room, table):
    hand = room.open(table, reveal=t.REVEAL_SEALED)
    dealt = room.deal(hand.hand_id, t.STREET_THIRD).cards
    room.void(hand.hand_id)
    assert [c.position for c in room.get(hand.hand_id).cards] == [c.position for c in dealt if c.face == t.FACE_UP]


def test_the_same_request_gives_the_same_bytes_and_changes_nothing_more(room, table):
    request = pb.OpenHandRequest(
        request_id=rid(), table=table, game=t.GAME_FREE_DRAW, seats=[1], reveal=t.REVEAL_PUBLIC
    )
    with ThreadPoolExecutor(8) as pool:
        answers = {a.SerializeToString() for a in pool.map(lambda _: room.stub.OpenHand(request), range(16))}
    assert len(answers) == 1
    request.seats.append(2)
    with pytest.raises(grpc.RpcError) as error:
        room.stub.OpenHand(request)
    assert refusal(error.value) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")


OPEN = {"game": t.GAME_SEVEN_CARD_STUD, "seats": [1, 2], "reveal": t.REVEAL_PUBLIC}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"request_id": "x"}, "INVALID_REQUEST_ID"),
        ({"table": ""}, "INVALID_TABLE"),
        ({"table": "a table"}, "INVALID_TABLE"),
        ({"game": 0}, "INVALID_GAME"),
        ({"game": 9}, "INVALID_GAME"),
        ({"deck": "short36"}, "INVALID_DECK"),
        ({"deck": "tarot"}, "INVALID_DECK"),
        ({"seats": [1]}, "INVALID_SEATS"),
        ({"seats": [1, 1]}, "INVALID_SEATS"),
        ({"seats": [0, 1]}, "INVALID_SEATS"),
        ({"seats": [1, 256]}, "INVALID_SEATS"),
        ({"seats": range(1, 10)}, "INVALID_SEATS"),
        ({"reveal": 0}, "INVALID_REVEAL"),
        ({"number": 2**53}, "INVALID_NUMBER"),
        ({"contributors": [pb.Contributor(id="a", commitment=b"short")]}, "INVALID_CONTRIBUTORS"),
        ({"contributors": [pb.Contributor(id="operator.a", commitment=bytes(32))]}, "INVALID_CONTRIBUTORS"),
        ({"contributors": [pb.Contributor(id="a", commitment=bytes(32))] * 2}, "INVALID_CONTRIBUTORS"),
    ],
)
def test_an_opening_of_the_wrong_form_is_refused(room, table, change, reason):
    request = pb.OpenHandRequest(**{"request_id": rid(), "table": table, **OPEN, **change})
    with pytest.raises(grpc.RpcError) as error:
        room.stub.OpenHand(request)
    assert refusal(error.value) == (INVALID, reason)
    assert room.open(table).number == 1


def test_what_does_not_fit_the_hand_is_refused(room, table):
    hand = room.open(table, seats=[1, 2, 3]).hand_id
    for call, expected in (
        (lambda: room.open(table), (PRECONDITION, "TABLE_BUSY")),
        (lambda: room.fold(hand, 1), (PRECONDITION, "WRONG_STREET")),
        (lambda: room.deal(hand, t.STREET_FOURTH), (PRECONDITION, "WRONG_STREET")),
        (lambda: room.deal(hand, t.STREET_UNSPECIFIED), (INVALID, "INVALID_STREET")),
        (lambda: room.draw(hand, (1, t.FACE_UP)), (PRECONDITION, "WRONG_GAME")),
        (lambda: room.close(hand), (PRECONDITION, "HAND_NOT_FINISHED")),
        (lambda: room.show(hand, 0), (PRECONDITION, "NOT_A_DOWN_CARD")),
        (lambda: room.show(hand, 52), (INVALID, "INVALID_POSITIONS")),
        (lambda: room.void(hand, t.VOID_REASON_UNSPECIFIED), (INVALID, "INVALID_VOID_REASON")),
        (lambda: room.get(rid()), (NOT_FOUND, "HAND_NOT_FOUND")),
        (lambda: room.get("x"), (INVALID, "INVALID_HAND_ID")),
    ):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert refusal(error.value) == expected
    room.deal(hand, t.STREET_THIRD)
    room.fold(hand, 1)
    room.fold(hand, 3)
    for call in (lambda: room.fold(hand, 2), lambda: room.deal(hand, t.STREET_FOURTH)):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert refusal(error.value) == (PRECONDITION, "ONE_SEAT_LEFT")
    room.close(hand)
    with pytest.raises(grpc.RpcError) as error:
        room.void(hand)
    assert refusal(error.value) == (PRECONDITION, "HAND_CLOSED")


def test_many_hands_on_one_stream(room, table):
    def requests() -> Iterator[pb.PlayHandsRequest]:
        opens = [
            pb.PlayRequest(
                correlation_id=str(i),
                open_hand=pb.OpenHandRequest(request_id=rid(), table=f"{table[:30]}.{i}", **OPEN),
            )
            for i in range(10)
        ]
        wrong = pb.PlayRequest(correlation_id="wrong", get_hand=pb.GetHandRequest(hand_id=rid()))
        yield pb.PlayHandsRequest(requests=[*opens, wrong])

    answers = {a.correlation_id: a for message in room.stub.PlayHands(requests()) for a in message.responses}
    assert answers.keys() == {*map(str, range(10)), "wrong"}
    assert answers["wrong"].error.code == NOT_FOUND.value[0]
    assert all(answers[str(i)].open_hand.hand.number == 1 for i in range(10))


def test_the_log_is_open_and_proves_itself(room, server, table):
    index = room.open(table).commit_index
    checkpoint = room.log.GetCheckpoint(log_pb2.GetCheckpointRequest()).checkpoint
    size = int(checkpoint.split("\n")[1])
    assert checkpoint.split("\n")[0] == server.key.split("+")[0]
    receipt = room.log.GetReceipt(log_pb2.GetReceiptRequest(index=index))
    assert receipt.receipt.startswith(f"c2sp.org/tlog-proof@v1\nindex {index}\n")
    proof = room.log.GetConsistencyProof(log_pb2.GetConsistencyProofRequest(**{"from": 1}, to=size))
    assert proof.to == size
    listed = [
        e for part in room.log.ListEntries(log_pb2.ListEntriesRequest(**{"from": index}, limit=1)) for e in part.entries
    ]
    assert listed == [receipt.entry]
    with pytest.raises(grpc.RpcError) as error:
        room.log.GetReceipt(log_pb2.GetReceiptRequest(index=10**9))
    assert refusal(error.value) == (NOT_FOUND, "ENTRY_NOT_FOUND")


def test_the_referee_plays_at_both(room, table):
    stub = table_pb2_grpc.TableServiceStub(room.channel)
    seats = [table_pb2.SeatStack(seat=seat, stack=1000) for seat in (1, 2)]
    stakes = table_pb2.Stakes(ante=5, bring_in=10, small_bet=20, big_bet=40)
    started = stub.StartHand(
        table_pb2.StartHandRequest(
            request_id=rid(),
            table=table,
            game=t.GAME_SEVEN_CARD_STUD,
            stakes=stakes,
            seats=seats,
            reveal=t.REVEAL_PUBLIC,
            action_seconds=30,
        )
    )
    assert started.table_hand.to_act in (1, 2)
    with pytest.raises(grpc.RpcError) as error:
        room.get(started.table_hand.hand_id)
    assert refusal(error.value) == (grpc.StatusCode.PERMISSION_DENIED, "REFEREE_HAND")


def test_health_is_serving_for_every_service(room):
    stub = health_pb2_grpc.HealthStub(room.channel)
    for service in ("", "dealer.v1.DealerService", "dealer.v1.LogService", "dealer.v1.TableService"):
        assert (
            stub.Check(health_pb2.HealthCheckRequest(service=service)).status == health_pb2.HealthCheckResponse.SERVING
        )


def test_reflection_lists_what_is_served_and_the_double_s_own_service_only_at_the_double(room, server):
    stub = reflection_pb2_grpc.ServerReflectionStub(room.channel)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    (answer,) = stub.ServerReflectionInfo(iter([asked]))
    services = {service.name for service in answer.list_services_response.service}
    assert services >= {
        "dealer.v1.DealerService",
        "dealer.v1.LogService",
        "dealer.v1.TableService",
        "grpc.health.v1.Health",
    }
    assert ("dealer.v1.TestDoubleService" in services) == (server.name == "double")
    for name in services & {"dealer.v1.DealerService", "dealer.v1.TestDoubleService"}:
        asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=name)
        (answer,) = stub.ServerReflectionInfo(iter([asked]))
        assert answer.WhichOneof("message_response") == "file_descriptor_response"


def test_an_auditor_is_told_which_is_which(server, room, table):
    room.open(table)
    judged = run_tool("audit", "verify", f"grpc://{server.address}", "--key", server.key, "--format", "json")
    verdict = json.loads(judged.stdout)["verdict"]
    if server.name == "double":
        assert (judged.returncode, verdict) == (4, "test-record")
    else:
        assert verdict in ("valid", "incomplete")
