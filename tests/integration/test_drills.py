"""The restore drills of docs/upgrades.md, each as it is written there: a real backup, a real loss, a real start."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, Running, refusal, run_tool, running


class Site:
    """A dealer's machine: its folder, and what was put away elsewhere while it ran."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, self.away = folder, folder / "data", folder / "away"
        self.away.mkdir()

    def back_up(self) -> None:
        """As docs/operations.md has it: SQLite's own means, while the server runs; the key apart."""
        with (
            closing(sqlite3.connect(self.data / "db" / "cutcard.sqlite3")) as source,
            closing(sqlite3.connect(self.away / "cutcard.sqlite3")) as target,
        ):
            source.backup(target)
        shutil.copy(self.data / "log.key", self.away)

    def lose_the_machine(self) -> None:
        shutil.rmtree(self.data)

    def restore(self) -> None:
        for name in ("db", "at-rest", "public"):
            (self.data / name).mkdir(parents=True, mode=0o700)
        shutil.copy(self.away / "cutcard.sqlite3", self.data / "db")
        shutil.copy(self.away / "log.key", self.data)

    def fsck(self) -> tuple[int, str]:
        done = run_tool("dealer", "fsck", "--data-dir", self.data)
        return done.returncode, done.stdout + done.stderr

    def refused(self) -> str:
        done = run_tool("dealer", "serve", "--data-dir", self.data, "--listen", "127.0.0.1:0")
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    return Site(tmp_path)


def begun(dealer: Running) -> tuple[str, str]:
    """A hand that is over, and one in play."""
    room = dealer.room()
    over, playing = room.open("t-1").hand_id, room.open("t-2").hand_id
    room.play_out(over)
    room.deal(playing, STREETS[0])
    return over, playing


def test_the_machine_is_lost_and_the_backup_is_the_newest_state(site: Site) -> None:
    with running(site.data) as dealer:
        over, playing = begun(dealer)
        site.back_up()
        assert dealer.stop() == 0
        shutil.copytree(site.data / "public", site.away / "public")
    site.lose_the_machine()
    site.restore()
    shutil.copytree(site.away / "public", site.data / "public", dirs_exist_ok=True)
    code, said = site.fsck()
    assert (code, "keys at rest of 1 hands in play are gone" in said, "fork" in said) == (1, True, False), said
    with running(site.data) as dealer:
        room = dealer.room()
        assert room.get(playing).hand.state == t.HAND_STATE_LOST, "its cards went with the machine"
        assert room.get(over).hand.state == t.HAND_STATE_CLOSED
        assert room.open("t-2").number == 2
        assert dealer.stop() == 0
        verified = dealer.audit(site.folder / "log")
        assert verified.returncode == 3, "a hand is open, and nothing is wrong"
        assert "INVALID" not in verified.stdout


def test_the_backup_is_older_than_what_was_published(site: Site) -> None:
    with running(site.data) as dealer:
        begun(dealer)
        site.back_up()
        dealer.room().open("t-3")
        assert dealer.stop() == 0
        old_key = dealer.verifier_key()
        shutil.copytree(site.data / "public", site.away / "public")
    site.lose_the_machine()
    site.restore()
    published = Path(shutil.copytree(site.away / "public", site.folder / "copy"))
    ahead = run_tool("dealer", "export", published, "--data-dir", site.data)
    assert ahead.returncode == 1, "the test of step 2"
    shutil.copytree(site.away / "public", site.data / "public", dirs_exist_ok=True)
    code, said = site.fsck()
    assert (code, "an older one" in said, "dealer init" in said) == (1, True, True), said
    for _ in range(2):
        assert "Restoring a backup" in site.refused()
    assert site.fsck() == (code, said), "nothing was signed, no close of the hand whose keys are gone either"
    # Step 3: a new origin; the old log stays published as it is.
    fresh = site.folder / "fresh"
    made = run_tool("dealer", "init", "--data-dir", fresh, "--origin", "example.com/room-2")
    assert made.returncode == 0, made.stderr
    with running(fresh) as dealer:
        dealer.room().play_out(dealer.room().open("t-1").hand_id)
    still = run_tool("audit", "verify", site.away / "public", "--key", old_key)
    assert (still.returncode, "INVALID" in still.stdout) == (3, False)


def test_the_keys_at_rest_alone_are_lost(site: Site) -> None:
    """As after a restart of a machine that has them on tmpfs."""
    with running(site.data) as dealer:
        _, playing = begun(dealer)
        dealer.kill()
    shutil.rmtree(site.data / "at-rest")
    (site.data / "at-rest").mkdir(mode=0o700)
    code, said = site.fsck()
    assert (code, "only not mounted" in said) == (1, True), said
    with running(site.data) as dealer:
        room = dealer.room()
        assert room.get(playing).hand.state == t.HAND_STATE_LOST
        with pytest.raises(grpc.RpcError) as caught:
            room.deal(playing, STREETS[1])
        assert refusal(caught.value)[1] == "HAND_LOST"
        assert room.open("t-1").number == 2


def test_the_published_files_alone_are_lost(site: Site) -> None:
    with running(site.data) as dealer:
        begun(dealer)
        assert dealer.stop() == 0
        before = {path.name: path.read_bytes() for path in (site.data / "public").rglob("*") if path.is_file()}
    shutil.rmtree(site.data / "public")
    assert "shows no checkpoint" in site.fsck()[1]
    with running(site.data) as dealer:
        assert dealer.stop() == 0
    assert site.fsck() == (0, site.fsck()[1])
    after = {path.name: path.read_bytes() for path in (site.data / "public").rglob("*") if path.is_file()}
    assert after == before, "serve has written them anew, byte for byte"


def test_the_signing_key_is_lost(site: Site) -> None:
    with running(site.data) as dealer:
        begun(dealer)
        site.back_up()
        assert dealer.stop() == 0
    (site.data / "log.key").unlink()
    assert "log.key is missing" in site.refused()
    shutil.copy(site.away / "log.key", site.data)
    with running(site.data) as dealer:
        assert dealer.room().open("t-1").number == 2
