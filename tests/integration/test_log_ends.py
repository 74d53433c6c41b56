"""A log that ends, and the one that follows it (WITNESS.md section 11): commands, the dealer, the auditor."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from dealer.log.checkpoint import Checkpoint, read_checkpoint
from dealer.log.ends import successor
from dealer.store.datadir import DataDir
from dealer.store.interface import RETIRED
from dealer.store.sqlite import SqliteStore
from dealer.v1 import log_pb2 as pb
from tests.integration.running import refusal, run_tool, running


def done(*words: str | Path) -> str:
    ran = run_tool(*words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def refused(*words: str | Path) -> str:
    ran = run_tool(*words)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stderr


def test_a_log_ends_and_another_one_follows(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old_key = done("dealer", "init", "--data-dir", old, "--origin", "ends.invalid/old").strip()
    with running(old, "--grace-seconds", "1") as dealer:
        room = dealer.room()
        hand = room.open()
        room.play_out(room.open("t2").hand_id)
        assert dealer.stop() == 0
        assert "1 hand is in play: a log ends with every hand closed" in refused("dealer", "retire", "--data-dir", old)
        dealer.start()
        assert "another server runs" in refused("dealer", "retire", "--data-dir", old)
        dealer.room().void(hand.hand_id)
        assert dealer.stop() == 0
        for wrong in (old_key, "ends.invalid/new+00000000+AA==", WITNESS):  # a log is not ended by a command that fails
            refused("dealer", "retire", "--data-dir", old, "--successor", wrong)
        dealer.start()
        room = dealer.room()
        room.void(room.open("t4").hand_id)
        assert dealer.stop() == 0
        said = done("dealer", "retire", "--data-dir", old)
        assert said == "the log ends.invalid/old has ended with 6 entries\n"

        init = ("dealer", "init", "--data-dir", new, "--succeeds", old / "public", "--succeeds-key", old_key)
        assert "choose another" in refused(*init, "--origin", "ends.invalid/old")
        assert not new.exists()
        new_key = done(*init, "--origin", "ends.invalid/new").strip()
        (tmp_path / "new.key").write_text(new_key + "\n")
        said = done("dealer", "retire", "--data-dir", old, "--successor", tmp_path / "new.key")
        assert f"its successor is {new_key}" in said
        assert "another successor was named" in refused("dealer", "retire", "--data-dir", old, "--successor", OTHER)
        assert "cannot follow itself" in refused("dealer", "retire", "--data-dir", old, "--successor", old_key)

        (old / "public" / "successor").unlink()
        dealer.start()  # it is in the database too
        room = dealer.room()
        with pytest.raises(grpc.RpcError) as ended:
            room.open("t3")
        assert refusal(ended.value) == (grpc.StatusCode.FAILED_PRECONDITION, "LOG_ENDED")
        assert read_checkpoint(room.log.GetCheckpoint(pb.GetCheckpointRequest()).checkpoint).size == 6
        exported = dealer.export(tmp_path / "out")
        assert dealer.stop() == 0
    with running(new, "--grace-seconds", "1") as dealer:
        room = dealer.room()
        room.play_out(room.open().hand_id)
        assert dealer.stop() == 0

    alone = done("audit", "verify", exported, "--key", old_key)
    assert f"successor   {new_key} after 6 entries" in " ".join(alone.split()).replace("successor ", "successor   ")
    both = ("audit", "verify", old / "public", new / "public", "--key", old_key, "--key", new_key)
    said = " ".join(done(*both).split())
    assert f"predecessor {old_key}, which ended with 6 entries" in said


WITNESS = "witness.example/one+9a05ecb1+BEXq6AWIuIw+deYFvdIYoxDn7qNq5YzwAD+FuMKSLWpd"
OTHER = "other.example/room+7f2ec15e+AUy1q/atefv1q7zK/MJp2FzSZR7UuIW1hp8kGu3wpbop"


@pytest.mark.parametrize("left", ["public", "at-rest"])
def test_an_older_database_does_not_end_the_log(tmp_path: Path, left: str) -> None:
    """Where what was published, or what was signed last, is there to tell; the mark could not be taken back."""
    data, older = tmp_path / "data", tmp_path / "older"
    with running(data) as dealer:
        dealer.room().void(dealer.room().open().hand_id)
        assert dealer.stop() == 0
        shutil.copytree(data / "db", older)
        newest = tmp_path / "newest"
        dealer.start()
        dealer.room().void(dealer.room().open().hand_id)
        assert dealer.stop() == 0
    (data / "db").rename(newest)
    older.rename(data / "db")
    if left == "public":
        (data / "at-rest" / "signed-last").rename(tmp_path / "signed-last")
    else:
        (data / "public").rename(tmp_path / "public")
        (data / "public").mkdir()
    assert "Restoring a backup" in refused("dealer", "retire", "--data-dir", data)
    with closing(SqliteStore(data / "db" / "cutcard.sqlite3", read_only=True)) as store:
        assert store.mark(RETIRED) is None
    assert not (data / "public" / "successor").exists()


def test_what_the_auditor_finds_wrong(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    key = done("dealer", "init", "--data-dir", old, "--origin", "ends.invalid/old").strip()
    with running(old, "--grace-seconds", "1") as dealer:
        room = dealer.room()
        room.play_out(room.open().hand_id)
        assert dealer.stop() == 0
        new_key = done(
            *("dealer", "init", "--data-dir", new, "--origin", "ends.invalid/new"),
            *("--succeeds", old / "public", "--succeeds-key", key),
        ).strip()
        dealer.start()
        room = dealer.room()
        room.play_out(room.open().hand_id)
        assert dealer.stop() == 0
    with running(new, "--grace-seconds", "1") as dealer:
        room = dealer.room()
        room.play_out(room.open().hand_id)
        assert dealer.stop() == 0
    both = run_tool("audit", "verify", old / "public", new / "public", "--key", key, "--key", new_key)
    assert both.returncode == 1
    assert "ends.invalid/old is said to have ended with 2 entries" in " ".join(both.stdout.split())

    signer = DataDir.at(old).signer()
    shown = read_checkpoint((old / "public" / "checkpoint").read_text())
    good = successor(shown, new_key, signer)
    cases = {
        "of another size": successor(Checkpoint(shown.origin, 2, shown.root), new_key, signer),
        "of another root": successor(Checkpoint(shown.origin, shown.size, bytes(32)), new_key, signer),
        "by another key": successor(shown, key, DataDir.at(new).signer()),
        "of another kind": signer.sign(
            "cutcard/v1/predecessor\n" + good.partition("\n")[2].partition("\n\n")[0] + "\n"
        ),
        "of no size": signer.sign(good.partition("\n\n")[0].replace(f"\n{shown.size}\n", "\nall\n") + "\n"),
        "of no key": signer.sign(good.partition("\n\n")[0].replace(new_key, "its key") + "\n"),
        "no note": "successor\n",
        "changed": good.replace(new_key[-8:], OTHER[-8:]),
    }
    for why, text in {"good": good, **cases}.items():
        folder = tmp_path / why.replace(" ", "-")
        shutil.copytree(old / "public", folder)
        (folder / "successor").write_text(text)
        ran = run_tool("audit", "verify", folder, "--key", key)
        unread = why in ("of another kind", "no note")
        assert ran.returncode == (0 if why == "good" else 3 if unread else 1), (why, ran.stdout)
        assert ("successor:" in ran.stdout) == (why != "good" and not unread), why
        assert ("successor cannot be read" in ran.stdout) == unread, why
    bare = run_tool("audit", "verify", tmp_path / "good")
    assert (bare.returncode, "successor was not checked" in bare.stdout) == (3, True)
