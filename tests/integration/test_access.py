"""Connections, identities and roles (docs/access.md): real certificates, a real dealer behind TLS, every cell."""

import asyncio
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from grpc_health.v1 import health_pb2, health_pb2_grpc

from dealer.certs import certs
from dealer.client import CallError, Client, Retry, Seat, SeatKey, Stakes, tls_credentials
from dealer.operate import status as status_command
from dealer.service.settings import Settings, Tls
from dealer.v1 import (
    dealer_pb2,
    dealer_pb2_grpc,
    log_pb2,
    log_pb2_grpc,
    operator_pb2,
    operator_pb2_grpc,
    table_pb2,
    table_pb2_grpc,
    types_pb2,
)
from tests.integration.access_room import (
    DOMAIN,
    SERVER,
    Certificates,
    TlsDealer,
    behind_tls,
    channel_to,
    openssl,
    status,
)
from tests.integration.inside import dealer_inside
from tests.integration.running import BIN, Running, rid, run_tool, running
from tests.integration.sealed_seats import SealedSeat
from tests.integration.table_room import STAKES

URI = x509.UniformResourceIdentifier
ID = f"spiffe://{DOMAIN}/cutcard/room/room-a"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(tmp_path_factory.mktemp("certificates") / "c")
    made.ca()
    made.issue("server", *SERVER)
    made.issue("a", "--room", "room-a")
    made.issue("b", "--room", "room-b")
    made.issue("op", "--operator", "olga")
    return made


@dataclass
class Room:
    """A caller's stubs, and calls in its name."""

    channel: grpc.Channel

    def __post_init__(self) -> None:
        self.dealer = dealer_pb2_grpc.DealerServiceStub(self.channel)
        self.table = table_pb2_grpc.TableServiceStub(self.channel)
        self.log = log_pb2_grpc.LogServiceStub(self.channel)
        self.operator = operator_pb2_grpc.OperatorServiceStub(self.channel)

    def open(self, table: str, **more: Any) -> types_pb2.Hand:
        usual = {"request_id": rid(), "game": 1, "seats": [1, 2], "reveal": types_pb2.REVEAL_PUBLIC}
        return self.dealer.OpenHand(dealer_pb2.OpenHandRequest(table=table, **{**usual, **more})).hand

    def start(self, table: str, **fields: Any) -> table_pb2.StartHandResponse:
        seats = [table_pb2.SeatStack(seat=seat, stack=1000) for seat in (1, 2)]
        usual = {"request_id": rid(), "game": 1, "stakes": STAKES, "reveal": types_pb2.REVEAL_PUBLIC}
        return self.table.StartHand(table_pb2.StartHandRequest(table=table, seats=seats, **usual, **fields))


@dataclass
class Setting:
    """A dealer behind TLS with a hand of room-a at each service, and everybody's connections."""

    dealer: TlsDealer
    certificates: Certificates
    rooms: dict[str, Room]
    hand: str
    started: table_pb2.StartHandResponse
    metrics: int


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp("dealer")
    folder.chmod(0o700)
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port = tried.getsockname()[1]
    options = ("--listen", f"unix:{folder}/s", "--metrics-listen", f"127.0.0.1:{port}", "--log-format", "json")
    with behind_tls(folder / "data", certificates, *options) as dealer:
        address = dealer.address
        with (
            channel_to(address, certificates.credentials("a")) as a,
            channel_to(address, certificates.credentials("b")) as b,
            channel_to(address, certificates.credentials("op")) as op,
            channel_to(dealer.public, certificates.credentials(None)) as public,
            channel_to(dealer.unix, None) as local,
        ):
            named = (("a", a), ("b", b), ("operator", op), ("public", public), ("local", local))
            rooms = {name: Room(channel) for name, channel in named}
            hand = rooms["a"].open("a-1").hand_id
            yield Setting(dealer, certificates, rooms, hand, rooms["a"].start("a-2", action_seconds=300), port)


def calls_of(
    room: Room, hand: str, started: table_pb2.StartHandResponse, table: str, void: Any
) -> dict[str, Callable[[], Any]]:
    """Every call of every service, for a hand that is not changed by it.

    Args:
        room: who calls.
        hand, started: DealerService's hand and the referee's, of room-a.
        table: a name for tables that are new.
        void: for what reason they would be void.
    """
    waiting = next(each for each in started.tokens if each.seat != started.table_hand.to_act)
    token, table_hand = waiting.token, started.table_hand.hand_id
    d, t, o, request = dealer_pb2, table_pb2, operator_pb2, rid()

    def watch(seat: int, token: bytes = b"") -> Any:
        stream = room.table.WatchHand(t.WatchHandRequest(hand_id=table_hand, seat=seat, token=token))
        first = next(stream)
        stream.cancel()
        return first

    def play() -> Any:
        one = d.PlayRequest(correlation_id="1", get_hand=d.GetHandRequest(hand_id=hand))
        return next(room.dealer.PlayHands(iter([d.PlayHandsRequest(requests=[one])])))

    wrong_turn = t.ActRequest(
        request_id=rid(), hand_id=table_hand, seat=waiting.seat, token=token, action=t.ACTION_RAISE, amount=1
    )
    return {
        "OpenHand": lambda: room.open(table),
        "SubmitEntropy": lambda: room.dealer.SubmitEntropy(
            d.SubmitEntropyRequest(request_id=request, hand_id=hand, contributor="x", value=bytes(32))
        ),
        "LockDeck": lambda: room.dealer.LockDeck(d.LockDeckRequest(request_id=rid(), hand_id=hand)),
        "DealStreet": lambda: room.dealer.DealStreet(d.DealStreetRequest(request_id=rid(), hand_id=hand, street=2)),
        "DrawCards": lambda: room.dealer.DrawCards(
            d.DrawCardsRequest(request_id=rid(), hand_id=hand, draws=[d.Draw(seat=1, face=1)])
        ),
        "FoldSeat": lambda: room.dealer.FoldSeat(d.FoldSeatRequest(request_id=rid(), hand_id=hand, seat=1)),
        "ShowCards": lambda: room.dealer.ShowCards(d.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=[0])),
        "CloseHand": lambda: room.dealer.CloseHand(d.CloseHandRequest(request_id=rid(), hand_id=hand)),
        "VoidHand": lambda: room.dealer.VoidHand(d.VoidHandRequest(request_id=rid(), hand_id=hand, reason=void)),
        "GetHand": lambda: room.dealer.GetHand(d.GetHandRequest(hand_id=hand)),
        "GetTable": lambda: room.dealer.GetTable(d.GetTableRequest(table="a-1")),
        "ListHands": lambda: room.dealer.ListHands(d.ListHandsRequest()),
        "PlayHands": play,
        "StartHand": lambda: room.start(f"{table}-t"),
        "SubmitTableEntropy": lambda: room.table.SubmitTableEntropy(
            t.SubmitTableEntropyRequest(request_id=rid(), hand_id=table_hand, contributor="x", value=bytes(32))
        ),
        "LockTableDeck": lambda: room.table.LockTableDeck(t.LockTableDeckRequest(request_id=rid(), hand_id=table_hand)),
        "VoidTableHand": lambda: room.table.VoidTableHand(
            t.VoidTableHandRequest(request_id=rid(), hand_id=table_hand, reason=void)
        ),
        "Act": lambda: room.table.Act(wrong_turn),
        "LeaveHand": lambda: room.table.LeaveHand(
            t.LeaveHandRequest(request_id=rid(), hand_id=table_hand, seat=9, token=token)
        ),
        "WatchHand": lambda: watch(waiting.seat, token),
        "WatchHand (rail)": lambda: watch(0),
        "GetTableHand": lambda: room.table.GetTableHand(t.GetTableHandRequest(hand_id=table_hand)),
        "GetCheckpoint": lambda: room.log.GetCheckpoint(log_pb2.GetCheckpointRequest()),
        "GetReceipt": lambda: room.log.GetReceipt(log_pb2.GetReceiptRequest(index=0)),
        "GetConsistencyProof": lambda: room.log.GetConsistencyProof(log_pb2.GetConsistencyProofRequest()),
        "ListEntries": lambda: next(room.log.ListEntries(log_pb2.ListEntriesRequest())),
        "Check": lambda: health_pb2_grpc.HealthStub(room.channel).Check(health_pb2.HealthCheckRequest()),
        "ListAllHands": lambda: room.operator.ListAllHands(o.ListAllHandsRequest()),
        "VoidAnyHand": lambda: room.operator.VoidAnyHand(
            o.VoidAnyHandRequest(request_id=rid(), hand_id=str(uuid.uuid4()), note="a hand that never was")
        ),
        "MoveTable": lambda: room.operator.MoveTable(o.MoveTableRequest(table="a-1", to="room-b")),
        "GetStatus": lambda: room.operator.GetStatus(o.GetStatusRequest()),
        "Drain": lambda: room.operator.Drain(o.DrainRequest()),
        "Resume": lambda: room.operator.Resume(o.ResumeRequest()),
    }


DEALER = [
    "OpenHand",
    "SubmitEntropy",
    "LockDeck",
    "DealStreet",
    "DrawCards",
    "FoldSeat",
    "ShowCards",
    "CloseHand",
    "VoidHand",
    "GetHand",
    "GetTable",
    "ListHands",
    "PlayHands",
]
TABLE = ["SubmitTableEntropy", "LockTableDeck", "VoidTableHand"]
EVERYBODY = ["GetCheckpoint", "GetReceipt", "GetConsistencyProof", "ListEntries", "Check"]
OPERATOR = {
    "ListAllHands": ("OK", ""),
    "VoidAnyHand": ("NOT_FOUND", "HAND_NOT_FOUND"),
    "MoveTable": ("PERMISSION_DENIED", "TABLE_OF_ANOTHER_ROOM"),  # `from` does not have it
    "GetStatus": ("OK", ""),
    "Drain": ("OK", ""),
    "Resume": ("OK", ""),
}
"""What an operator's calls get, and a local caller's."""
DENIED = ("PERMISSION_DENIED", "NOT_YOUR_ROLE")
UNSERVED = ("UNIMPLEMENTED", "")
NOT_FOUND = ("NOT_FOUND", "HAND_NOT_FOUND")


OWN = {
    "SubmitEntropy": ("FAILED_PRECONDITION", "HAND_LOCKED"),
    "LockDeck": ("FAILED_PRECONDITION", "HAND_LOCKED"),
    "DealStreet": ("FAILED_PRECONDITION", "WRONG_STREET"),
    "DrawCards": ("FAILED_PRECONDITION", "WRONG_GAME"),
    "FoldSeat": ("FAILED_PRECONDITION", "WRONG_STREET"),
    "ShowCards": ("FAILED_PRECONDITION", "NOT_A_DOWN_CARD"),
    "CloseHand": ("FAILED_PRECONDITION", "HAND_NOT_FINISHED"),
    "VoidHand": ("INVALID_ARGUMENT", "INVALID_VOID_REASON"),
    "SubmitTableEntropy": ("FAILED_PRECONDITION", "HAND_LOCKED"),
    "LockTableDeck": ("FAILED_PRECONDITION", "HAND_LOCKED"),
    "VoidTableHand": ("INVALID_ARGUMENT", "INVALID_VOID_REASON"),
    "Act": ("FAILED_PRECONDITION", "OUT_OF_TURN"),
    "LeaveHand": ("INVALID_ARGUMENT", "INVALID_SEAT"),
}
"""What a room's own call gets that would change its hand, and does not; the others are answered."""
ANYBODY_S = ("OpenHand", "ListHands", "PlayHands", "StartHand")
"""What each room, and a local caller, has of its own."""
BY_TOKEN = {"Act": OWN["Act"], "LeaveHand": OWN["LeaveHand"], "WatchHand": ("OK", "")}


def expected(name: str, call: str) -> tuple[str, str]:
    """What a caller gets from a call about room-a's hands, by the table of docs/access.md, section 3."""
    if call in EVERYBODY:
        return "OK", ""
    if call in OPERATOR:
        return OPERATOR[call] if name in ("operator", "local") else UNSERVED if name == "public" else DENIED
    if name == "operator":
        return DENIED
    if name == "public":
        if call in (*DEALER, *TABLE, "StartHand"):
            return UNSERVED
        if call in ("GetTableHand", "WatchHand (rail)"):
            return DENIED
        # A right token acts; a seat that is not there is a wrong one.
        return ("PERMISSION_DENIED", "WRONG_TOKEN") if call == "LeaveHand" else BY_TOKEN[call]
    if name == "a":
        return OWN.get(call, ("OK", ""))
    if call in ANYBODY_S:
        return "OK", ""
    if call == "GetTable":
        return "PERMISSION_DENIED", "TABLE_OF_ANOTHER_ROOM"
    if name == "local" and call in BY_TOKEN:
        return BY_TOKEN[call]
    return NOT_FOUND


def test_every_cell_of_the_table(setting: Setting, record_property: Callable[[str, object], None]) -> None:
    cells = refusals = 0
    for name, room in setting.rooms.items():
        for call, make in calls_of(room, setting.hand, setting.started, f"new-{name}", 0 if name == "a" else 1).items():
            found = status(make)
            assert found == expected(name, call), (name, call, found)
            cells += 1
            refusals += found[0] != "OK"
    record_property("cells", cells)
    record_property("refusals", refusals)
    print(f"role table: {cells} cells, {cells} calls, {refusals} refusals")
    assert (cells, refusals) == (165, 113)
    live = setting.rooms["a"].dealer.GetHand(dealer_pb2.GetHandRequest(hand_id=setting.hand))
    assert live.hand.state == types_pb2.HAND_STATE_COMMITTED, "nobody has changed it"


def test_tables_hands_and_request_ids_belong_to_their_room(setting: Setting) -> None:
    a, b = setting.rooms["a"], setting.rooms["b"]
    assert status(lambda: b.open("a-1")) == ("PERMISSION_DENIED", "TABLE_OF_ANOTHER_ROOM")
    assert status(lambda: b.start("a-2")) == ("PERMISSION_DENIED", "TABLE_OF_ANOTHER_ROOM")
    listed = {name: list_hands(setting.rooms[name]) for name in ("a", "b", "local")}
    assert setting.hand in listed["a"]
    assert not set(listed["a"]) & {*listed["b"], *listed["local"]}
    assert status(lambda: setting.rooms["local"].open("a-1")) == ("PERMISSION_DENIED", "TABLE_OF_ANOTHER_ROOM")
    request = rid()
    assert a.open("a-3", request_id=request).hand_id == a.open("a-3", request_id=request).hand_id
    assert b.open("b-3", request_id=request).table == "b-3"
    assert status(lambda: a.open("a-4", request_id=request)) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


def list_hands(room: Room) -> list[str]:
    return [each.hand_id for each in room.dealer.ListHands(dealer_pb2.ListHandsRequest()).hands]


def test_on_the_public_listener_everything_wrong_is_a_wrong_token(setting: Setting) -> None:
    public, token = setting.rooms["public"], setting.started.tokens[0]
    right = setting.started.table_hand.hand_id

    def act(hand: str, seat: int, token: bytes) -> Callable[[], Any]:
        request = table_pb2.LeaveHandRequest(request_id=rid(), hand_id=hand, seat=seat, token=token)
        return lambda: public.table.LeaveHand(request)

    wrong = [
        act(str(uuid.uuid4()), token.seat, token.token),
        act(setting.hand, token.seat, token.token),
        act(right, 9, token.token),
        act(right, token.seat, bytes(32)),
        act(right, token.seat, b""),
    ]
    for call in wrong:
        assert status(call) == ("PERMISSION_DENIED", "WRONG_TOKEN")
    watch = table_pb2.WatchHandRequest(hand_id=right, seat=token.seat, token=bytes(32))
    assert status(lambda: next(public.table.WatchHand(watch))) == ("PERMISSION_DENIED", "WRONG_TOKEN")


@pytest.mark.parametrize("name", ["a", "b", "public", "local"])
def test_a_token_and_a_proof_together_are_wrong_form_whatever_hand_it_is(setting: Setting, name: str) -> None:
    room, token = setting.rooms[name], setting.started.tokens[0]
    for hand in (setting.started.table_hand.hand_id, setting.hand, str(uuid.uuid4())):
        shown = {"hand_id": hand, "seat": token.seat, "token": token.token, "proof": bytes(32)}
        calls: list[Callable[[], Any]] = [
            lambda shown=shown: next(room.table.WatchHand(table_pb2.WatchHandRequest(**shown))),
            lambda shown=shown: room.table.LeaveHand(table_pb2.LeaveHandRequest(request_id=rid(), **shown)),
            lambda shown=shown: room.table.Act(
                table_pb2.ActRequest(request_id=rid(), action=table_pb2.ACTION_FOLD, **shown)
            ),
        ]
        assert [status(call) for call in calls] == [("INVALID_ARGUMENT", "INVALID_REQUEST")] * 3


def test_a_player_acts_and_watches_on_the_public_listener_and_a_repeat_needs_its_token(setting: Setting) -> None:
    public, started = setting.rooms["public"], setting.rooms["a"].start("a-play")
    seat = started.table_hand.to_act
    token = next(each.token for each in started.tokens if each.seat == seat)
    option = started.table_hand.options[0]
    request = table_pb2.ActRequest(
        request_id=rid(), hand_id=started.table_hand.hand_id, seat=seat, token=token, action=option.action,
        amount=option.amount,
    )  # fmt: skip
    answer = public.table.Act(request)
    assert public.table.Act(request) == answer
    request.token = bytes(32)
    assert status(lambda: public.table.Act(request)) == ("PERMISSION_DENIED", "WRONG_TOKEN")
    watch = public.table.WatchHand(table_pb2.WatchHandRequest(hand_id=request.hand_id, seat=seat, token=token))
    assert next(watch).event.sequence == 1
    watch.cancel()


def test_a_sealed_seats_player_acts_and_watches_on_the_public_listener_by_proofs(setting: Setting) -> None:
    public, players = setting.rooms["public"], {seat: SealedSeat(seat) for seat in (1, 2)}
    started = setting.rooms["a"].start("a-sealed", seat_keys=[each.brought for each in players.values()])
    hand, first = started.table_hand.hand_id, started.table_hand.to_act
    for player in players.values():
        player.take(started.table_hand.hand)

    def watch(seat: int, proof: bytes = b"", hand: str = hand) -> Iterator[table_pb2.TableEvent]:
        request = table_pb2.WatchHandRequest(hand_id=hand, seat=seat, proof=proof)
        return (each.event for each in public.table.WatchHand(request))

    def act(proof: Callable[[int], bytes], seat: int = 0, hand: str = hand) -> table_pb2.ActRequest:
        events = watch(seat or first, players[seat or first].proof(0, "watch"))
        prompt = next(each for each in events if each.seat_prompted.seat == (seat or first))
        option = prompt.seat_prompted.options[0]
        return table_pb2.ActRequest(
            request_id=rid(), hand_id=hand, seat=seat or first, action=option.action, amount=option.amount,
            proof=proof(prompt.sequence),
        )  # fmt: skip

    bring_in = act(lambda at: players[first].proof(at, "bring_in", 50))
    for wrong in (act(lambda _: bytes(32)), act(lambda at: bring_in.proof, hand=str(uuid.uuid4()))):
        assert status(lambda wrong=wrong: public.table.Act(wrong)) == ("PERMISSION_DENIED", "WRONG_PROOF")  # type: ignore[misc]
    assert status(lambda: next(watch(first))) == ("PERMISSION_DENIED", "WRONG_TOKEN")
    assert status(lambda: next(watch(first, bytes(32)))) == ("PERMISSION_DENIED", "WRONG_PROOF")
    done = public.table.Act(bring_in)
    other = 3 - first
    prompt = next(each for each in watch(other, players[other].proof(0, "watch")) if each.seat_prompted.seat == other)
    raised = next(each for each in prompt.seat_prompted.options if each.action == table_pb2.ACTION_COMPLETE)
    complete = table_pb2.ActRequest(
        request_id=rid(), hand_id=hand, seat=other, action=raised.action, amount=raised.amount
    )
    complete.proof = players[other].proof(prompt.sequence, "complete", raised.amount)
    assert public.table.Act(complete).table_hand.to_act == first
    assert public.table.Act(bring_in) == done, "its repeat is the player's own, though it is asked anew meanwhile"


IDENTITIES: dict[str, dict[str, Any]] = {
    "no URI": {"names": [x509.DNSName("room-a")]},
    "no names, the id as common name": {"names": [], "subject": ID},
    "the id as a DNS name": {"names": [x509.DNSName(ID)]},
    "two URIs": {"names": [URI(ID), URI(f"spiffe://{DOMAIN}/cutcard/room/room-b")]},
    "a second URI of another kind": {"names": [URI(ID), URI("https://example.com/")]},
    "another domain": {"names": [URI("spiffe://example.org/cutcard/room/room-a")]},
    "a sub-domain": {"names": [URI(f"spiffe://x.{DOMAIN}/cutcard/room/room-a")]},
    "upper case": {"names": [URI(f"spiffe://{DOMAIN.upper()}/cutcard/room/room-a")]},
    "another role": {"names": [URI(f"spiffe://{DOMAIN}/cutcard/admin/room-a")]},
    "local as a name": {"names": [URI(f"spiffe://{DOMAIN}/cutcard/room/local")]},
    "dots as a name": {"names": [URI(f"spiffe://{DOMAIN}/cutcard/room/..")]},
    "a final slash": {"names": [URI(f"{ID}/")]},
    "a query": {"names": [URI(f"{ID}?x")]},
    "a port": {"names": [URI(f"spiffe://{DOMAIN}:1/cutcard/room/room-a")]},
    "percent": {"names": [URI(f"spiffe://{DOMAIN}/cutcard/room/room%2da")]},
    "more path": {"names": [URI(f"{ID}/x")]},
    "a line's end": {"names": [URI(f"{ID}\n")]},
    "a CA's certificate": {"names": [URI(ID)], "authority": True},
    "for servers": {"names": [URI(ID)], "use": x509.oid.ExtendedKeyUsageOID.SERVER_AUTH},
    "expired": {"names": [URI(ID)], "days": (-3, -1)},
    "not yet": {"names": [URI(ID)], "days": (1, 3)},
}


@pytest.mark.parametrize("what", IDENTITIES)
def test_who_is_nobody(setting: Setting, what: str) -> None:
    name = what.replace(" ", "-")
    setting.certificates.odd(name, **IDENTITIES[what])
    with channel_to(setting.dealer.address, setting.certificates.credentials(name)) as channel:
        log = log_pb2_grpc.LogServiceStub(channel)
        found = status(lambda: log.GetCheckpoint(log_pb2.GetCheckpointRequest(), timeout=20))
    # A certificate that TLS itself refuses never gets as far as a call.
    assert found in (("UNAUTHENTICATED", "NO_IDENTITY"), ("UNAVAILABLE", "")), found


def test_a_caller_is_who_its_own_certificate_names_whatever_else_it_sends(setting: Setting) -> None:
    made = setting.certificates
    made.odd("names-nobody", [x509.DNSName("room-a")])
    request = dealer_pb2.GetHandRequest(hand_id=setting.hand)

    def found(own: str, *others: str) -> list[tuple[str, str]]:
        sent = b"".join(made.path(each).read_bytes() for each in (own, *others))
        shown = grpc.ssl_channel_credentials(made.path("ca").read_bytes(), made.path(own, "key").read_bytes(), sent)
        with channel_to(setting.dealer.address, shown) as channel:
            calls = Room(channel)
            return [
                status(lambda: calls.dealer.GetHand(request)),
                status(lambda: calls.operator.GetStatus(operator_pb2.GetStatusRequest())),
            ]

    # A certificate is no secret: who sends another's behind its own has not shown to hold that one's key.
    nobody, not_ours = ("UNAUTHENTICATED", "NO_IDENTITY"), ("PERMISSION_DENIED", "NOT_YOUR_ROLE")
    assert found("b", "a") == found("b", "op", "a") == [NOT_FOUND, not_ours]
    assert found("a", "op") == found("a", "names-nobody", "b") == [("OK", ""), not_ours]
    assert found("names-nobody", "a") == found("names-nobody", "op") == [nobody] * 2


def test_a_plain_certificate_of_another_ca_and_what_a_caller_says_of_itself_count_for_nothing(setting: Setting) -> None:
    setting.certificates.ca("other")
    setting.certificates.issue("foreign", "--room", "room-a", ca="other")
    setting.certificates.odd("plain", [URI(ID)])
    foreign = setting.certificates.credentials("foreign")
    with channel_to(setting.dealer.address, foreign) as channel:
        assert status(lambda: Room(channel).open("x")) == ("UNAVAILABLE", "")
    with channel_to(setting.dealer.address, setting.certificates.credentials("plain")) as channel:
        assert status(lambda: Room(channel).open("a-plain")) == ("OK", "")
    said = (("x-forwarded-client-cert", f"URI={ID}"), ("spiffe-id", ID))
    request = dealer_pb2.GetHandRequest(hand_id=setting.hand)
    assert status(lambda: setting.rooms["b"].dealer.GetHand(request, metadata=said)) == NOT_FOUND
    with channel_to(setting.dealer.address, setting.certificates.credentials(None)) as channel:
        assert status(lambda: Room(channel).open("x")) == ("UNAVAILABLE", "")
    with channel_to(setting.dealer.public, setting.certificates.credentials("op")) as channel:
        assert status(lambda: Room(channel).open("x")) == UNSERVED


def test_what_is_refused_before_a_service_is_counted_and_no_handshake_fills_the_log(setting: Setting) -> None:
    made, dealer = setting.certificates, setting.dealer
    made.ca("strange")
    made.issue("stranger", "--room", "room-a", ca="strange")
    made.odd("unnamed", [x509.DNSName("room-a")])

    def counted(series: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{setting.metrics}/metrics", timeout=20) as answer:
            said = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines())
        return float(said.get(series, 0))

    def grown(series: str, call: Callable[[], Any]) -> float:
        before, until = counted(series), time.monotonic() + 10
        call()
        while counted(series) == before and time.monotonic() < until:  # a call is counted once its answer has left
            time.sleep(0.01)
        return counted(series) - before

    def wrong_token() -> None:
        request = table_pb2.WatchHandRequest(hand_id=str(uuid.uuid4()), seat=1, token=bytes(32))
        assert status(lambda: next(setting.rooms["public"].table.WatchHand(request)))[1] == "WRONG_TOKEN"

    def not_theirs() -> None:
        assert status(lambda: setting.rooms["operator"].open("x"))[1] == "NOT_YOUR_ROLE"

    def played() -> None:
        asked = dealer_pb2.PlayRequest(correlation_id="1", get_hand=dealer_pb2.GetHandRequest(hand_id=rid()))
        answers = setting.rooms["a"].dealer.PlayHands(iter([dealer_pb2.PlayHandsRequest(requests=[asked])]))
        assert next(answers).responses[0].error.code == grpc.StatusCode.NOT_FOUND.value[0]

    def handshakes() -> None:
        for address in (dealer.address, dealer.public):
            host, _, port = address.rpartition(":")
            for sent in (b"GET / HTTP/1.1\r\n\r\n", bytes(100)):
                with socket.create_connection((host, int(port)), timeout=20) as connection:
                    connection.sendall(sent)
                    connection.settimeout(20)
                    try:
                        while connection.recv(100):
                            pass
                    except ConnectionResetError:
                        pass
        with channel_to(dealer.address, made.credentials("stranger")) as channel:
            assert status(lambda: Room(channel).open("x")) == ("UNAVAILABLE", "")

    with channel_to(dealer.address, made.credentials("unnamed")) as channel:
        assert (
            grown('cutcard_refusals_total{reason="NO_IDENTITY"}', lambda: status(lambda: Room(channel).open("x"))) == 1
        )
    assert grown('cutcard_calls_total{code="PERMISSION_DENIED",method="OpenHand"}', not_theirs) == 1
    assert grown('cutcard_refusals_total{reason="NOT_YOUR_ROLE"}', not_theirs) == 1
    assert grown('cutcard_calls_total{code="PERMISSION_DENIED",method="WatchHand"}', wrong_token) == 1
    assert grown('cutcard_refusals_total{reason="WRONG_TOKEN"}', wrong_token) == 1
    assert grown('cutcard_refusals_total{reason="HAND_NOT_FOUND"}', played) == 1
    assert grown('cutcard_tls_connections_total{listener="rooms"}', handshakes) >= 3
    assert grown('cutcard_tls_connections_total{listener="public"}', handshakes) >= 2
    for line in dealer.log_lines().splitlines():
        json.loads(line)


def test_an_operator_s_command_says_what_may_be_wrong_with_its_connection(setting: Setting) -> None:
    made = setting.certificates
    made.ca("unknown")
    made.issue("intruder", "--operator", "olga", ca="unknown")

    def told(address: str, *words: str) -> str:
        done = run_tool("dealer", "status", "--connect", address, *words)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        return done.stderr

    ca, pair = ("--tls-ca", str(made.path("ca"))), ("--tls-cert", str(made.path("op")), "--tls-key")
    assert "is not the key of" in told(setting.dealer.address, *ca, *pair, str(made.path("a", "key")))
    assert "public listener?" in told(setting.dealer.public, *ca)
    foreign = ("--tls-cert", str(made.path("intruder")), "--tls-key", str(made.path("intruder", "key")))
    assert "of another CA" in told(setting.dealer.address, *ca, *foreign)
    assert "--tls-cert" in told(setting.dealer.address, *ca)
    assert "--tls-ca" in told(setting.dealer.address)


NODE_CALL = """
const h2 = require("http2"), fs = require("fs");
const [address, ca, version] = process.argv.slice(1);
const options = {ca: fs.readFileSync(ca), maxVersion: version, servername: "localhost"};
const session = h2.connect("https://" + address, options);
session.on("error", error => { console.log("error", error.code); process.exit(0); });
const call = session.request({":method": "POST", ":path": "/dealer.v1.LogService/GetCheckpoint",
  "content-type": "application/grpc", te: "trailers"});
const told = headers => headers["grpc-status"] && console.log(headers["grpc-status"], headers["grpc-message"] || "");
call.on("response", told);
call.on("trailers", told);
call.on("data", () => {});
call.on("end", () => session.close());
call.end(Buffer.alloc(5));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_tls_1_2_is_refused_before_anything_else(setting: Setting) -> None:
    ca = str(setting.certificates.path("ca"))

    def answer(version: str) -> str:
        command = ["node", "-e", NODE_CALL, setting.dealer.public, ca, version]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    assert answer("TLSv1.3") == "0"
    assert answer("TLSv1.2").startswith("16 ")  # UNAUTHENTICATED
    assert "TLS" in answer("TLSv1.2")


def test_a_new_certificate_is_taken_under_load_without_a_failed_call(
    tmp_path: Path, certificates: Certificates
) -> None:
    certificates.issue("server-2", *SERVER)
    for end in ("pem", "key"):
        (tmp_path / f"s.{end}").write_bytes(certificates.path("server", end).read_bytes())
    options = ("--tls-cert", str(tmp_path / "s.pem"), "--tls-key", str(tmp_path / "s.key"))
    failed: list[object] = []
    done = threading.Event()
    with behind_tls(tmp_path / "data", certificates, *options) as dealer:

        def load() -> None:
            while not done.is_set():
                with channel_to(dealer.address, certificates.credentials("a")) as channel:
                    found = status(lambda: Room(channel).log.GetCheckpoint(log_pb2.GetCheckpointRequest(), timeout=20))
                    if found != ("OK", ""):
                        failed.append(found)

        def serial() -> int:
            text = openssl("s_client", "-connect", dealer.public, "-tls1_3", "-showcerts")
            pem = text[text.index("-----BEGIN") : text.index("-----END") + 30]
            return x509.load_pem_x509_certificate(pem.encode()).serial_number

        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert serial() == certificates.certificate("server").serial_number
        (tmp_path / "s.pem").write_bytes(
            certificates.path("server-2").read_bytes()
        )  # not its key yet: the old pair stays
        assert serial() == certificates.certificate("server").serial_number
        (tmp_path / "s.key").write_bytes(certificates.path("server-2", "key").read_bytes())
        deadline = time.monotonic() + 20
        while serial() != certificates.certificate("server-2").serial_number:
            assert time.monotonic() < deadline
        done.set()
        for thread in threads:
            thread.join()
    assert failed == []


def test_a_revoked_certificate_ends_calls_by_its_fingerprint_or_serial_and_its_issuer_s_too(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path / "c")
    certificates.folder.mkdir()
    certificates.odd("ca", [], ca=None, authority=True, subject="root", use=None)
    certificates.odd("issuer", [], authority=True, subject="issuer", use=None)
    certificates.odd("c", [URI(f"spiffe://{DOMAIN}/cutcard/room/room-c")], ca="issuer")
    with certificates.path("c").open("ab") as chain:
        chain.write(certificates.path("issuer").read_bytes())
    certificates.issue("server", *SERVER)
    revoked = tmp_path / "revoked"
    revoked.write_text("# none yet\n")
    with (
        behind_tls(tmp_path / "data", certificates, "--revoked", str(revoked)) as dealer,
        channel_to(dealer.address, certificates.credentials("c")) as channel,
    ):
        room = Room(channel)
        room.open("c-1")
        marks = [certificates.certificate("ca").fingerprint(hashes.SHA256()).hex()]
        for certificate in (certificates.certificate("c"), certificates.certificate("issuer")):
            marks += [certificate.fingerprint(hashes.SHA256()).hex(":"), f"{certificate.serial_number:x}".upper()]
        for mark in marks:
            revoked.write_text(f"{mark}  # lost laptop\n")
            assert status(lambda: room.open(f"c-{rid()[:8]}")) == ("UNAUTHENTICATED", "NO_IDENTITY")
            revoked.write_text("")
            assert status(lambda: room.open(f"c-{rid()[:8]}")) == ("OK", "")
        revoked.write_text("no hex at all\n")  # the list in use stays
        assert status(lambda: room.open("c-4")) == ("OK", "")


async def test_an_open_stream_ends_once_its_caller_s_certificate_holds_no_more(
    tmp_path: Path, certificates: Certificates
) -> None:
    revoked = tmp_path / "revoked"
    revoked.write_text("")
    path = certificates.path
    tls = Tls(path("server"), path("server", "key"), path("ca"), DOMAIN, revoked)
    settings = Settings(tls=tls, judge_seconds=0.05, grace_seconds=1)
    async with (
        dealer_inside(tmp_path / "data", settings=settings) as (dealer, _),
        grpc.aio.secure_channel(dealer.address, certificates.credentials("a")) as channel,
    ):
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        play = dealer_pb2_grpc.DealerServiceStub(channel).PlayHands()
        await play.wait_for_connection()
        revoked.write_text(f"{certificates.certificate('a').serial_number:x}\n")
        for stream in (watch, play):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await asyncio.wait_for(stream.read(), 20)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_the_client_checks_the_server_s_name_and_deals_over_tls(setting: Setting) -> None:
    path = setting.certificates.path
    key = setting.dealer.verifier_key()
    own = tls_credentials(path("ca"), path("b"), path("b", "key"))
    async with Client(setting.dealer.address, key, credentials=own) as client:
        hand = await client.open_hand("b-client", [1, 2])
        assert len(await hand.deal_street("third")) == 6
    # A room's certificate is of the same CA; it bears no server's name.
    with behind_tls_as_room(setting) as address:
        async with Client(address, key, credentials=own, retry=Retry(seconds=0.5)) as client:
            with pytest.raises(CallError):
                await client.refresh()


async def test_a_sealed_seats_player_plays_on_the_public_listener_by_the_client(setting: Setting) -> None:
    path, verifier = setting.certificates.path, setting.dealer.verifier_key()
    own = tls_credentials(path("ca"), path("a"), path("a", "key"))
    keys = {seat: SeatKey.draw() for seat in (1, 2)}
    public = {seat: key.public for seat, key in keys.items()}
    stakes = Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
    async with (
        Client(setting.dealer.address, verifier, credentials=own) as room,
        Client(setting.dealer.public, verifier, credentials=tls_credentials(path("ca"))) as player,
    ):
        table = await room.start_hand("a-players", {1: 1000, 2: 1000}, stakes, seat_keys=public)

        async def play(seat: int) -> Seat:
            words = {"table": "a-players", "reveal": "public", "envelope": table.envelopes[seat]}
            played = player.sealed_seat(table.hand_id, seat, keys[seat], **words)
            async for _ in played.events():
                if played.options:
                    actions = [option.action for option in played.options]
                    await played.act(next(each for each in ("bring-in", "check", "call") if each in actions))
            return played

        for played in await asyncio.gather(play(1), play(2)):
            assert played.closed is not None
            assert all(card.name for card in played.cards_of(played.seat))


def behind_tls_as_room(setting: Setting) -> Any:
    """A dealer that shows room-a's certificate as its own."""
    from contextlib import contextmanager

    @contextmanager
    def serve() -> Iterator[str]:
        folder = setting.dealer.data.parent / "posing"
        folder.mkdir()
        with behind_tls(folder / "data", setting.certificates, *setting.certificates.options("a")) as dealer:
            yield dealer.address

    return serve()


def test_the_auditor_reads_the_public_listener_over_tls(setting: Setting) -> None:
    words = ("verify", f"grpcs://{setting.dealer.public}", "--key", setting.dealer.verifier_key())
    ca = ("--ca", str(setting.certificates.path("ca")))
    assert run_tool("audit", *words, *ca).returncode == 3  # hands are open
    assert run_tool("audit", *words).returncode == 4


def test_a_unix_socket_is_the_user_s_own_from_the_start_and_goes_with_the_server(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "s"
    with running(tmp_path / "data", "--listen", f"unix:{path}") as dealer:
        assert path.stat().st_mode & 0o777 == 0o600
        with channel_to(f"unix:{path}", None) as channel:
            assert Room(channel).open("t").number == 1
        second = run_tool("dealer", "serve", "--data-dir", tmp_path / "two", "--dev", "--listen", f"unix:{path}")
        assert (second.returncode, "is another server there?" in second.stderr) == (1, True)
        dealer.kill()
    assert path.is_socket()
    with running(tmp_path / "data", "--listen", f"unix:{path}") as dealer:  # what a kill left over is replaced
        assert dealer.stop() == 0
    assert not path.exists()


@pytest.mark.parametrize("what", ["file", "link", "folder", "long", "relative", "abstract", "writable"])
def test_a_socket_s_place_that_is_none_is_refused_and_left_alone(tmp_path: Path, what: str) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "s"
    match what:
        case "file":
            path.write_text("mine")
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case "folder":
            path.mkdir()
        case "writable":
            (tmp_path / "open").mkdir()
            (tmp_path / "open").chmod(0o777)
            path = tmp_path / "open" / "s"
    named = {"long": "/" + "x" * 107, "relative": "s", "abstract": "@s"}.get(what, str(path))
    done = run_tool("dealer", "serve", "--data-dir", tmp_path / "d", "--dev", "--listen", f"unix:{named}")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert {"file": path.is_file(), "link": path.is_symlink(), "folder": path.is_dir()}.get(what, True)


def test_a_pair_that_cannot_be_used_is_refused_at_the_start_in_one_line(
    tmp_path: Path, certificates: Certificates
) -> None:
    certificates.odd("old", [x509.DNSName("localhost")], days=(-3, -1), use=x509.oid.ExtendedKeyUsageOID.SERVER_AUTH)
    path = certificates.path
    for certificate, key, says in (
        (path("server"), path("a", "key"), "is not the key of"),
        (path("old"), path("old", "key"), "expired"),
        (path("nowhere"), path("a", "key"), "cannot be read"),
        (path("server", "key"), path("server", "key"), "no certificate"),
    ):
        options = certificates.options()
        options[1], options[3] = str(certificate), str(key)
        done = run_tool("dealer", "serve", "--data-dir", tmp_path / "d", "--dev", "--listen", "0.0.0.0:0", *options)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert says in done.stderr
    done = run_tool("dealer", "serve", "--data-dir", tmp_path / "d", "--dev", *certificates.options()[:6])
    assert (done.returncode, "--trust-domain" in done.stderr) == (2, True)


def test_without_tls_anywhere_is_said_each_time_and_tcp_callers_are_one_room(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    options = ("--insecure-listen-anywhere", "--listen", "0.0.0.0:0", "--listen", f"unix:{tmp_path}/s")
    dealer = Running(tmp_path / "data", options)
    dealer.start()
    try:
        assert "in the clear" in dealer.log_lines()
        with channel_to(dealer.address, None) as over_tcp, channel_to(f"unix:{tmp_path}/s", None) as local:
            assert Room(over_tcp).open("t").number == 1
            assert status(lambda: Room(local).open("t")) == ("FAILED_PRECONDITION", "TABLE_BUSY")
    finally:
        dealer.kill()


def test_dealer_certs_issues_nothing_that_nobody_could_use(tmp_path: Path, certificates: Certificates) -> None:
    ca, leaf = str(certificates.path("ca").with_suffix("")), str(certificates.path("a").with_suffix(""))
    mixed = tmp_path / "mixed"
    shutil.copy(certificates.path("ca"), f"{mixed}.pem")
    shutil.copy(certificates.path("a", "key"), f"{mixed}.key")

    def refused(*words: str) -> str:
        done = CliRunner().invoke(certs, list(words))
        assert done.exit_code in (1, 2), done.output
        return f"{done.output}{done.exception}"

    for host in ("", "not a host!", "b\u00e4r.example", "a..b", ".", "x" * 254):
        assert "neither a DNS name nor an address" in refused(
            "issue", str(tmp_path / "x"), "--ca", ca, "--server", host
        )
    room = ("--room", "a", "--trust-domain", DOMAIN)
    assert "no CA's certificate" in refused("issue", str(tmp_path / "x"), "--ca", leaf, *room)
    assert "is not the key of" in refused("issue", str(tmp_path / "x"), "--ca", str(mixed), *room)
    for folder in (".", "/"):
        assert "is a folder" in refused("ca", folder)


@pytest.mark.parametrize("address", ["", "foo", "127.0.0.1", "unix:x", "foo:"])
def test_an_operator_s_command_takes_a_dealer_s_address_alone(address: str) -> None:
    done = CliRunner().invoke(status_command, ["--connect", address])
    assert done.exit_code == 2
    assert "HOST:PORT" in done.output or "a socket's path" in done.output


def test_the_page_s_commands_bring_up_a_dealer_behind_tls(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "access.md").read_text()
    before, after = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    (program,) = re.findall(r"```python\n# tls_room.py\n(.*?)```", text, re.DOTALL)
    (tmp_path / "tls_room.py").write_text(program)
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        ports = {"50051": str(one.getsockname()[1]), "50052": str(other.getsockname()[1])}
    for port, free in ports.items():
        before, after = before.replace(port, free), after.replace(port, free)
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    making, serving = before.replace("\\\n", "").split("dealer serve")

    def run(script: str) -> subprocess.CompletedProcess[str]:
        words = ["sh", "-e", "-c", script]
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    assert (made := run(making)).returncode == 0, made.stderr
    words = [BIN / "dealer", "serve", *shlex.split(serving)]
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as dealer:
        try:
            assert dealer.stdout is not None
            assert dealer.stdout.readline().startswith("listening on ")
            done = run(after)
        finally:
            dealer.kill()
    assert done.returncode == 0, done.stderr
    assert "role         writer" in done.stdout
    assert "VALID" in done.stdout
