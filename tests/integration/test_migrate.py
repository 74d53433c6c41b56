"""A data folder of the first release is brought up to this version, and everything in it goes on."""

import json
import resource
import shutil
import signal
import sqlite3
import subprocess
import tarfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.store.sqlite import version_of
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc, table_pb2_grpc
from dealer.v1 import table_pb2 as tpb
from dealer.v1 import types_pb2 as t
from tests.integration.running import BIN, STREETS, Running, error_info, rid, run_tool, running

RELEASED = Path(__file__).parents[1] / "released" / "data-v1.tar.xz"
PASSIVE = (tpb.ACTION_BRING_IN, tpb.ACTION_CHECK, tpb.ACTION_CALL)
KINDS = {"dealer": pb, "table": tpb}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with tarfile.open(RELEASED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def migrated(data: Path) -> str:
    done = run_tool("dealer", "migrate", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def serving(data: Path) -> Any:
    return running(data, "--contribution-seconds", "0", "--escrow-public-key", str(data / "escrow.pub"))


def said(data: Path) -> list[dict[str, str]]:
    return json.loads((data.parent / "answers.json").read_text())


def ask(dealer: Running, each: dict[str, str]) -> Any:
    """Repeats a request that the release has answered."""
    stubs = {"dealer": dealer_pb2_grpc.DealerServiceStub, "table": table_pb2_grpc.TableServiceStub}
    request = getattr(KINDS[each["service"]], each["kind"]).FromString(bytes.fromhex(each["request"]))
    with grpc.insecure_channel(dealer.address) as channel:
        return getattr(stubs[each["service"]](channel), each["method"])(request)


def test_an_older_store_is_refused_in_one_line_that_names_the_command_and_is_well_after_it(data: Path) -> None:
    refused = run_tool("dealer", "serve", "--data-dir", data, "--listen", "127.0.0.1:0")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "version 1" in refused.stderr
    assert "`dealer migrate`" in refused.stderr
    assert version_of(data / "db" / "cutcard.sqlite3") == 1
    assert run_tool("dealer", "migrate", "--data-dir", data).returncode == 0
    checked = run_tool("dealer", "fsck", "--data-dir", data)  # the refused start has kept nothing of what was signed
    assert (checked.returncode, "all is well" in checked.stdout) == (0, True), checked.stderr


def test_every_answer_is_repeated_and_every_hand_goes_on(data: Path, tmp_path: Path) -> None:
    migrated(data)
    assert "nothing to do" in migrated(data)
    with serving(data) as dealer:
        answers = {}
        for each in said(data):
            answer = ask(dealer, each)
            assert answer.SerializeToString().hex() == each["answer"], each["method"]
            answers[each["method"], getattr(getattr(answer, "hand", None), "table", "")] = answer
        room = dealer.room()
        for name, answer in answers.items():
            if name[0] == "DealStreet" and name[1].startswith("playing"):
                for street in STREETS[2:]:
                    room.deal(answer.hand.hand_id, street)
                room.close(answer.hand.hand_id)
        offered = answers["SubmitEntropy", "offered"].hand.hand_id
        room.stub.LockDeck(pb.LockDeckRequest(request_id=rid(), hand_id=offered))
        room.play_out(offered)
        finish(dealer, said(data))
        over = room.get(answers["CloseHand", "over-1"].hand.hand_id)
        assert over.hand.state == t.HAND_STATE_CLOSED
        assert list(over.hand.live_seats) == [1, 3]
        assert len(over.cards) == 9 + 4 * 2
        void = room.get(answers["VoidHand", "void"].hand.hand_id)
        assert void.hand.state == t.HAND_STATE_VOID
        assert room.open("over-1").number == 2
        dealer.kill()
        dealer.start()
        (again,) = [each for each in said(data) if each["method"] == "VoidHand"]
        assert ask(dealer, again).SerializeToString().hex() == again["answer"]
        verified = dealer.audit(tmp_path / "log", "--escrow-key", data / "escrow.key")
    assert verified.returncode == 3, verified.stdout  # the hand that was opened last is open
    assert "INVALID" not in verified.stdout


def test_the_old_file_is_the_way_back_from_a_migration(data: Path) -> None:
    store, kept = data / "db" / "cutcard.sqlite3", data / "db" / "cutcard-v1.sqlite3"
    before = dumped(store)
    migrated(data)
    assert (dumped(kept), version_of(kept)) == (before, 1), "every row of before, and nothing else"
    store.unlink()
    kept.rename(store)
    migrated(data)
    assert run_tool("dealer", "fsck", "--data-dir", data).returncode == 0


def dumped(store: Path) -> list[str]:
    with closing(sqlite3.connect(store)) as db:
        return list(db.iterdump())


def finish(dealer: Running, told: list[dict[str, str]]) -> None:
    """Plays the referee's hand on that was in play, with its seats' tokens."""
    start = next(each for each in told if each["method"] == "StartHand")
    started = tpb.StartHandResponse.FromString(bytes.fromhex(start["answer"]))
    tokens = {each.seat: each.token for each in started.tokens}
    with grpc.insecure_channel(dealer.address) as channel:
        stub = table_pb2_grpc.TableServiceStub(channel)
        hand = stub.GetTableHand(tpb.GetTableHandRequest(hand_id=started.table_hand.hand_id)).table_hand
        assert not hand.finished
        while not hand.finished:
            option = next(
                o for o in hand.options if o.action in (tpb.ACTION_BRING_IN, tpb.ACTION_CHECK, tpb.ACTION_CALL)
            )
            act = tpb.ActRequest(
                request_id=rid(), hand_id=hand.hand_id, seat=hand.to_act, token=tokens[hand.to_act],
                action=option.action, amount=option.amount,
            )  # fmt: skip
            hand = stub.Act(act).table_hand
        assert sum(seat.stack for seat in hand.seats) == 15_000


def test_a_run_that_was_killed_is_simply_made_again(data: Path, tmp_path: Path) -> None:
    for milliseconds in (0, 150, 300, 450, 600, 900):
        process = subprocess.Popen([BIN / "dealer", "migrate", "--data-dir", data], stdout=subprocess.DEVNULL)
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGKILL)
        process.wait()
    shutil.copy(data / "db" / "cutcard.sqlite3", data / "db" / "cutcard.sqlite3.new")  # what a kill may leave
    migrated(data)
    with serving(data) as dealer:
        for each in said(data)[:3]:
            assert ask(dealer, each).SerializeToString().hex() == each["answer"]


def test_an_answer_whose_key_is_gone_is_lost_and_not_carried_out_anew(data: Path) -> None:
    for key in (data / "at-rest").glob("answer-*.key"):
        key.unlink()
    migrated(data)
    with serving(data) as dealer:
        opened = next(each for each in said(data) if each["method"] == "VoidHand")
        with pytest.raises(grpc.RpcError) as error:
            ask(dealer, opened)
        assert error_info(error.value).reason == "ANSWER_LOST"  # type: ignore[arg-type]


def test_a_store_of_a_later_version_is_refused(data: Path) -> None:
    migrated(data)
    with closing(sqlite3.connect(data / "db" / "cutcard.sqlite3")) as db, db:
        db.execute("UPDATE meta SET value = '77' WHERE name = 'version'")
    for command in (("serve", "--listen", "127.0.0.1:0"), ("migrate",)):
        refused = run_tool("dealer", *command, "--data-dir", data)
        assert refused.returncode == 1
        assert "version 77" in refused.stderr
        assert "newer dealer" in refused.stderr


def test_a_store_that_another_program_has_open_is_left_as_it_is(data: Path) -> None:
    store = data / "db" / "cutcard.sqlite3"
    with closing(sqlite3.connect(store)) as shell:
        shell.execute("SELECT count(*) FROM answers").fetchall()
        refused = run_tool("dealer", "migrate", "--data-dir", data)
        assert refused.returncode == 1
        assert "another program" in refused.stderr
        assert version_of(store) == 1
    migrated(data)


def test_a_disk_that_fills_up_at_any_moment_costs_nothing(data: Path) -> None:
    """Also at the very end, where what was written ahead goes into the new file, which is larger."""
    store = data / "db" / "cutcard.sqlite3"
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA journal_mode = DELETE")  # the old file itself has no need to grow

    for most in (50_000, 90_000, 115_000, 120_000):
        full = run_tool(
            "dealer", "migrate", "--data-dir", data,
            preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        )  # fmt: skip
        assert full.returncode == 1, most
        assert "another program" not in full.stderr
        assert version_of(store) == 1
    migrated(data)
    with serving(data) as dealer:
        for each in said(data)[:3]:
            assert ask(dealer, each).SerializeToString().hex() == each["answer"]
