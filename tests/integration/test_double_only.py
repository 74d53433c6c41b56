"""Nothing makes the production server deal from a chosen deck, and nobody takes a double's hand for a certified one."""

import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner

from dealer.cli import main
from dealer.core.cards import DECK_KINDS
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import double_pb2, double_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.conformance.test_contract import double
from tests.integration.running import Room, refusal, rid, run_tool, running

CHOSEN = " ".join(reversed(DECK_KINDS["standard52"]))
NAMES = (
    "deck",
    "stack",
    "stacked",
    "stack-deck",
    "stacked-deck",
    "double",
    "test",
    "test-double",
    "seed",
    "entropy",
    "family",
)
SERVE = main.commands["serve"]


def top_three(room: Room, table: str, **call) -> list[str]:
    request = pb.OpenHandRequest(
        request_id=rid(), table=table, game=t.GAME_FREE_DRAW, seats=[1], reveal=t.REVEAL_PUBLIC
    )
    hand = room.stub.OpenHand(request, **call).hand.hand_id
    draws = [pb.Draw(seat=1, face=t.FACE_UP)] * 3
    answer = room.stub.DrawCards(pb.DrawCardsRequest(request_id=rid(), hand_id=hand, draws=draws), **call)
    return [card.card for card in answer.cards]


def test_no_variable_file_or_header_stacks_a_deck_at_the_real_server(tmp_path: Path):
    """Everything at once: each of them is passed over, and the top three are the chosen ones once in 132,600 hands."""
    data = tmp_path / "data"
    assert run_tool("dealer", "init", "--data-dir", data, "--origin", "example.com/room").returncode == 0
    names = [name.replace("-", "_") for name in NAMES]
    env = {f"{prefix}{name.upper()}": CHOSEN for prefix in ("CUTCARD_", "DEALER_", "") for name in names}
    for folder in (data, data / "db", data / "public", data / "at-rest", tmp_path):
        for name in NAMES:
            (folder / name).write_text(CHOSEN)
            (folder / f"{name}.txt").write_text(CHOSEN)
    for path in (data / "at-rest").iterdir():
        if path.stem in NAMES:
            path.unlink()  # the vault lists this folder; anything else there would rather stop the server
    with running(data, env=env) as dealer:
        room = dealer.room()
        dealt = [top_three(room, "t")]
        for prefix in ("", "x-", "cutcard-", "x-cutcard-"):
            headers = [(f"{prefix}{name}", CHOSEN) for name in NAMES]
            dealt.append(top_three(room, f"t-{prefix}", metadata=headers))
    assert CHOSEN.split()[:3] not in dealt
    assert DECK_KINDS["standard52"][:3] not in map(tuple, dealt)


@pytest.mark.parametrize("name", NAMES)
def test_no_option_and_no_member_of_the_settings_stacks_a_deck(tmp_path: Path, name: str):
    folder = str(tmp_path / "data")
    refused = CliRunner().invoke(main, ["serve", "--data-dir", folder, f"--{name}", CHOSEN])
    assert refused.exit_code == 2
    assert "No such option" in refused.output
    settings = tmp_path / "dealer.toml"
    settings.write_text(f'{name} = "{CHOSEN}"\n')
    refused = CliRunner().invoke(main, ["serve", "--data-dir", folder, "--config", str(settings)])
    assert refused.exit_code == 2
    assert "is no option of `dealer serve`" in refused.output


def test_the_options_of_the_real_server_are_known_and_none_of_them_is_about_decks():
    """A new option has to be looked at here before it may be there."""
    names = {parameter.name for parameter in SERVE.params}
    assert not names & {name.replace("-", "_") for name in NAMES}
    assert not [n for n in names if any(word in n for word in ("stack", "deck", "double", "seed", "entropy", "family"))]


def test_the_double_s_service_is_not_at_the_real_server(tmp_path: Path):
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        stub = double_pb2_grpc.TestDoubleServiceStub(room.channel)
        for call, request in (
            (stub.StackDeck, double_pb2.StackDeckRequest(table="t1", deck=CHOSEN)),
            (stub.StackSeats, double_pb2.StackSeatsRequest(table="t1", seats=[1, 2])),
            (stub.Reset, double_pb2.ResetRequest()),
            (stub.SetClock, double_pb2.SetClockRequest(unix_milliseconds=1)),
            (stub.AdvanceClock, double_pb2.AdvanceClockRequest(milliseconds=1)),
            (stub.InjectFault, double_pb2.InjectFaultRequest(method="OpenHand", times=1, reason="STORAGE")),
        ):
            with pytest.raises(grpc.RpcError) as error:
                call(request)
            assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_the_real_server_does_not_even_load_the_double(tmp_path: Path):
    """What `dealer serve` imports, the command of the double apart, which only the command line knows."""
    script = "import sys, dealer.service.server as s; print([m for m in sys.modules if 'double' in m])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_fields_that_a_request_does_not_have_stack_nothing(tmp_path: Path):
    """A StackDeckRequest's bytes, sent as an OpenHandRequest with the same numbers, are unknown fields and no more."""
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        request = pb.OpenHandRequest(
            request_id=rid(), table="t1", game=t.GAME_FREE_DRAW, seats=[1], reveal=t.REVEAL_PUBLIC
        )
        smuggled = request.SerializeToString() + b"".join(
            bytes([number << 3 & 0x7F | 2 | 0x80, number >> 4, len(CHOSEN) & 0x7F | 0x80, len(CHOSEN) >> 7])
            + CHOSEN.encode()
            for number in (16, 17, 100)
        )
        call = room.channel.unary_unary("/dealer.v1.DealerService/OpenHand")
        hand = pb.OpenHandResponse.FromString(call(smuggled)).hand
        cards = [card.card for card in room.draw(hand.hand_id, *[(1, t.FACE_UP)] * 3).cards]
    assert cards != CHOSEN.split()[:3]


def test_the_double_refuses_a_data_folder(tmp_path: Path):
    refused = CliRunner().invoke(main, ["double", "--data-dir", str(tmp_path)])
    assert refused.exit_code == 2
    assert "No such option" in refused.output


def test_the_double_prints_where_it_is_and_writes_its_key(tmp_path: Path):
    with double("--key-file", str(tmp_path / "key")) as (address, key):
        host, port = address.split(":")
        assert (host, port.isdigit()) == ("127.0.0.1", True)
        assert key.startswith("test.invalid/")
        assert (tmp_path / "key").read_text().strip() == key
    with pytest.raises(grpc.FutureTimeoutError):
        grpc.channel_ready_future(grpc.insecure_channel(address)).result(timeout=0.5)


def test_a_double_s_hand_is_never_valid_and_is_judged_only_when_asked_by_name():
    with double() as (address, key):
        room = Room(address)
        stub = double_pb2_grpc.TestDoubleServiceStub(room.channel)
        stub.StackDeck(double_pb2.StackDeckRequest(table="t1", deck="As Ad Ah Ac"))
        room.play_out(room.open("t1").hand_id)
        judged = run_tool("audit", "verify", f"grpc://{address}", "--key", key)
        assert judged.returncode == 4
        assert "TEST RECORD" in judged.stdout
        judged = run_tool("audit", "verify", f"grpc://{address}", "--key", key, "--allow-test", "--format", "json")
        assert judged.returncode == 0
        assert '"verdict": "test-record"' in judged.stdout


def test_stacking_is_refused_over_the_wire_with_the_card_s_name():
    with double() as (address, _):
        stub = double_pb2_grpc.TestDoubleServiceStub(Room(address).channel)
        for deck, named in (
            ("As Kd As", "As"),
            ("As 1x", "1x"),
            ("As Joker", "Joker"),
            ("", "no card"),
            (f"{CHOSEN} 2c", "2c"),
        ):
            with pytest.raises(grpc.RpcError) as error:
                stub.StackDeck(double_pb2.StackDeckRequest(table="t1", deck=deck))
            assert refusal(error.value) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_DECK")
            assert named in error.value.details()
        with pytest.raises(grpc.RpcError) as error:
            stub.StackDeck(double_pb2.StackDeckRequest(table="", deck="As"))
        assert refusal(error.value) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_TABLE")
        third = double_pb2.StreetCards(street=t.STREET_THIRD, seats=[double_pb2.SeatCards(seat=1, cards="As As | 2c")])
        with pytest.raises(grpc.RpcError, match="As is given twice"):
            stub.StackSeats(double_pb2.StackSeatsRequest(table="t1", seats=[1, 2], streets=[third]))
