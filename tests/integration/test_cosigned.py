"""A dealer that asks witnesses (WITNESS.md section 4): real dealers, real witnesses, each in a process of its own."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from dealer.log.checkpoint import read_checkpoint
from dealer.log.note import signature_lines
from dealer.v1 import log_pb2 as pb
from tests.integration.cosigning_room import make_log, make_witness, until, witness, write_policy
from tests.integration.running import refusal, run_tool, running

PACE = ("--witness-seconds", "1", "--grace-seconds", "1", "--log-format", "json")


def shown(data: Path) -> tuple[int, list[str]]:
    """The published checkpoint's size, and who signed it."""
    note = (data / "public" / "checkpoint").read_text()
    return read_checkpoint(note).size, [name for name, _ in signature_lines(note)[1]]


def test_the_log_is_cosigned_published_and_given_out(tmp_path: Path) -> None:
    data = tmp_path / "data"
    log = make_log(data)
    keys = [make_witness(tmp_path / name, name, log) for name in ("one", "two", "three")]
    with ExitStack() as stack:
        urls = [stack.enter_context(witness(tmp_path / name)) for name in ("one", "two", "three")]
        policy = write_policy(tmp_path / "policy", log, 2, *zip(keys, urls, strict=True))
        with running(data, "--witness-policy", str(policy), *PACE) as dealer:
            room = dealer.room()
            hand = room.open()
            room.play_out(hand.hand_id)
            size = read_checkpoint(room.log.GetCheckpoint(pb.GetCheckpointRequest()).checkpoint).size
            names = ["witnessed.invalid/room", *(f"{name}.witness.invalid" for name in ("one", "two", "three"))]
            until(lambda: shown(data) == (size, names))
            answer = room.log.GetCheckpoint(pb.GetCheckpointRequest(witnessed=True)).checkpoint
            assert answer == (data / "public" / "checkpoint").read_text()
            got = room.log.GetReceipt(pb.GetReceiptRequest(index=size - 1, witnessed=True))
            (tmp_path / "receipt").write_text(got.receipt)
            (tmp_path / "entry").write_bytes(got.entry)
            with pytest.raises(grpc.RpcError) as refused:
                room.log.GetReceipt(pb.GetReceiptRequest(index=size, witnessed=True))
            assert refusal(refused.value) == (grpc.StatusCode.NOT_FOUND, "ENTRY_NOT_FOUND")
            checked = run_tool(
                "audit", "receipt", tmp_path / "receipt", "--entry", tmp_path / "entry", "--policy", policy
            )
            assert (checked.returncode, "3 of 3 (w1, w2, w3), since" in checked.stdout) == (0, True), checked.stdout
            verified = run_tool("audit", "verify", data / "public", "--policy", policy, "--ask-witnesses")
            assert verified.returncode == 0, verified.stdout + verified.stderr
            exported = dealer.export(tmp_path / "out")
            assert (exported / "checkpoint").read_text() == answer
            assert dealer.stop() == 0
        assert '"a witness' not in dealer.log_lines()


def test_a_dealer_that_was_rolled_back_does_not_start(tmp_path: Path) -> None:
    data, older = tmp_path / "data", tmp_path / "older"
    log = make_log(data)
    key = make_witness(tmp_path / "one", "one", log)
    with witness(tmp_path / "one") as url:
        policy = write_policy(tmp_path / "policy", log, 1, (key, url))
        options = ("--witness-policy", str(policy), *PACE)
        with running(data, *options) as dealer:
            room = dealer.room()
            room.play_out(room.open("t1").hand_id)
            assert dealer.stop() == 0
            shutil.copytree(data, older)
            dealer.start()
            room = dealer.room()
            room.play_out(room.open("t2").hand_id)
            until(lambda: shown(data) == (4, ["witnessed.invalid/room", "one.witness.invalid"]))
            dealer.kill()
        serve = ("dealer", "serve", "--data-dir", older, "--listen", "127.0.0.1:0", *options)
        refused = run_tool(*serve)
        assert refused.returncode == 1
        assert "w1 holds 4 entries signed by this log's key, and the log has 2" in refused.stderr
        (kept,) = (older / "conflicts").iterdir()
        judged = run_tool("audit", "receipt", kept, "--key", log)
        assert (judged.returncode, "trees of 2 and 4 entries" in judged.stdout) == (3, True), judged.stdout
        assert shown(older)[0] == 2
        dealer.start()
        assert dealer.stop() == 0
