"""`dealer migrate --to` moves a log into PostgreSQL: stopped half-way and run again, and played on from there."""

import os
import shutil
import signal
import subprocess
import time

import psycopg

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.running import BIN, STREETS, rid, run_tool, running
from tests.integration.sharing import Shared, asked


def test_a_log_is_moved_and_played_on(postgres, tmp_path):
    url = postgres.database()
    data = tmp_path / "data"
    with running(data) as dealer:
        room = dealer.room()
        for number in range(3):
            room.play_out(room.open(f"over{number}").hand_id)
        request = pb.OpenHandRequest(
            request_id=rid(), table="t1", game=t.GAME_SEVEN_CARD_STUD, seats=[1, 2], reveal=t.REVEAL_PUBLIC
        )
        opened = room.stub.OpenHand(request)
        shown = room.deal(opened.hand.hand_id, STREETS[0])
        assert dealer.stop() == 0
    command = [str(BIN / "dealer"), "migrate", "--data-dir", str(data), "--to", url]
    half = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert half.stdout is not None
    for line in half.stdout:
        if "entries of the log" in line:
            os.kill(half.pid, signal.SIGKILL)
    half.wait()
    refused = run_tool("dealer", "join", "--data-dir", tmp_path / "b", "--store", url, "--log-key", data / "log.key")
    assert (data / "db-moved").exists() or "being moved" in refused.stderr
    if not (data / "db-moved").exists():
        done = run_tool("dealer", "migrate", "--data-dir", data, "--to", url)
        assert done.returncode == 0, done.stderr
    shared = Shared(data, ("--store", url, "--replication", "none"))
    try:
        room = shared.start().room()
        began = time.monotonic()
        again = asked(lambda: room.stub.OpenHand(request))
        assert time.monotonic() - began < 30
        assert again.SerializeToString() == opened.SerializeToString()
        assert list(room.get(opened.hand.hand_id).cards) == list(shown.cards)
        for street in STREETS[1:]:
            room.deal(opened.hand.hand_id, street)
        room.close(opened.hand.hand_id)
        assert room.open("over1").number == 2
        assert shared.stop() == 0
    finally:
        if shared.process is not None and shared.process.poll() is None:
            shared.kill()
    verdict = run_tool("audit", "verify", data / "public", "--key", shared.verifier_key(), "--format", "json")
    assert '"invalid"' not in verdict.stdout
    assert verdict.returncode in (0, 3), verdict.stdout
    with psycopg.connect(url) as link:
        row = link.execute("SELECT count(*) FROM hands WHERE closed IS NOT NULL").fetchone()
    assert row == (4,)


def test_an_older_store_is_not_moved(postgres, tmp_path):
    """In the database nothing would tell any more that it is one, once `public/` has gone."""
    data, older, url = tmp_path / "data", tmp_path / "older", postgres.database()
    with running(data) as dealer:
        assert dealer.stop() == 0
        shutil.copytree(data / "db", older)
        dealer.start()
        dealer.room().void(dealer.room().open("t").hand_id)
        assert dealer.stop() == 0
    shutil.rmtree(data / "db")
    older.rename(data / "db")
    shutil.rmtree(data / "public")
    (data / "public").mkdir()
    refused = run_tool("dealer", "migrate", "--data-dir", data, "--to", url)
    assert (refused.returncode, "Restoring a backup" in refused.stderr) == (1, True), refused.stderr
    with psycopg.connect(url) as link:
        assert link.execute("SELECT to_regclass('entries')").fetchone() == (None,)
