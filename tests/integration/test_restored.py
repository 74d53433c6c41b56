"""A database that is older than what the log has signed, or another, is refused at the start, without `public/` too."""

import shutil
from pathlib import Path

import pytest

from dealer.store.interface import VaultError
from dealer.store.remembered import Remembered
from tests.integration.running import Running, run_tool, running


def play(dealer: Running, table: str, hands: int) -> None:
    room = dealer.room()
    for _ in range(hands):
        room.void(room.open(table).hand_id)


def put_back(data: Path, database: Path) -> None:
    """Restores a database, with `public/` lost as well."""
    shutil.rmtree(data / "db")
    shutil.copytree(database, data / "db")
    shutil.rmtree(data / "public")
    (data / "public").mkdir()


def refusal_to_start(data: Path) -> str:
    done = run_tool("dealer", "serve", "--data-dir", data, "--listen", "127.0.0.1:0")
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_an_older_database_is_refused_and_left_as_it_is(tmp_path: Path, killed: bool) -> None:
    data, backup, newest = tmp_path / "data", tmp_path / "backup", tmp_path / "newest"
    with running(data) as dealer:
        play(dealer, "early", 2)
        dealer.room().open("in-play")
        dealer.stop()
        shutil.copytree(data / "db", backup)
        dealer.start()
        play(dealer, "late", 3)
        dealer.kill() if killed else dealer.stop()
    shutil.copytree(data / "db", newest)
    put_back(data, backup)
    before = (data / "db" / "cutcard.sqlite3").read_bytes()
    said = refusal_to_start(data)
    assert "holds 5 entries, and this log has signed 11" in said
    assert "Restoring a backup" in said
    assert (data / "db" / "cutcard.sqlite3").read_bytes() == before
    put_back(data, newest)
    with running(data) as dealer:
        play(dealer, "late", 1)


def test_a_record_of_what_was_signed_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as dealer:
        play(dealer, "t", 1)
        dealer.stop()
        assert "what was signed last" not in dealer.log_lines()
        (data / "at-rest" / "signed-last").write_bytes(b"\xff" * 8192)
        dealer.start()
        play(dealer, "t", 1)
        dealer.stop()
        assert dealer.log_lines().count("what was signed last cannot be read") == 1
        dealer.start()
        dealer.stop()
        assert dealer.log_lines().count("what was signed last cannot be read") == 1


def test_another_history_of_the_same_log_is_refused(tmp_path: Path) -> None:
    data, fork = tmp_path / "data", tmp_path / "fork"
    with running(data) as dealer:
        play(dealer, "t", 1)
        dealer.stop()
        shutil.copytree(data, fork)
        dealer.start()
        play(dealer, "one", 1)
    with running(fork) as dealer:
        play(dealer, "other", 2)
        dealer.stop()
    put_back(data, fork / "db")
    assert "holds other entries than the 4 that this log has signed" in refusal_to_start(data)


def test_the_newest_record_that_is_whole_counts(tmp_path: Path) -> None:
    file = tmp_path / "signed-last"
    remembered = Remembered(file)
    assert remembered.note is None
    for number in range(1, 4):
        remembered.keep(f"note {number}")
    remembered.close()
    assert Remembered(file).note == "note 3"
    content = bytearray(file.read_bytes())
    content[content.index(b"note 3")] ^= 1
    file.write_bytes(content)
    assert Remembered(file).note == "note 2"


def test_a_file_that_is_taken_away_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "signed-last"
    remembered = Remembered(file)
    remembered.keep("a note")
    file.unlink()
    remembered.close()
    assert Remembered(file).note == "a note"


def test_what_cannot_be_kept_is_said_and_not_taken_for_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = Remembered(tmp_path / "signed-last")
    remembered.keep("a note")
    with monkeypatch.context() as broken:
        broken.setattr("os.pwrite", lambda *arguments: 3)
        with pytest.raises(VaultError, match="No space left"):
            remembered.keep("another")
    assert remembered.note == "a note"
    with pytest.raises(VaultError, match="too long"):
        remembered.keep("x" * 5000)
    remembered.close()
