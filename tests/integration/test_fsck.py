"""`dealer fsck`: a store that is whole, and every kind of damage named with a remedy."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import leaf_hash
from dealer.store.datadir import DataDir
from dealer.store.remembered import Remembered
from tests.integration.running import run_tool, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with hands that are over, in play and offered, stopped in order."""
    data = tmp_path_factory.mktemp("fsck") / "data"
    with running(data) as dealer:
        room = dealer.room()
        for _ in range(3):
            room.play_out(room.open("t-1").hand_id)
        for _ in range(126):  # so that the log has a full tile, and a part of the next one
            room.void(room.open("t-1").hand_id)
        room.open("t-2")
        room.void(room.open("t-3").hand_id)
        (data.parent / "older").mkdir()
        assert dealer.stop() == 0
    return data


@pytest.fixture
def data(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "data"))


def fsck(data: Path, *options: str) -> "tuple[int, str]":
    done = run_tool("dealer", "fsck", "--data-dir", data, *options)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_whole_store_is_well_and_stays_as_it_is(data: Path) -> None:
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file() and path.name != "lock"}
    code, said = fsck(data)
    assert (code, "all is well" in said, "hands in play: 1" in said) == (0, True, True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_running_server_is_left_alone(tmp_path: Path) -> None:
    with running(tmp_path / "data"):
        code, said = fsck(tmp_path / "data")
        assert (code, "another server runs" in said) == (4, True)


def changed(data: Path, statement: str) -> None:
    with sqlite3.connect(data / "db" / "cutcard.sqlite3") as db:
        assert db.execute(statement).rowcount


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "an entry changed": (
        lambda data: changed(data, "UPDATE entries SET entry = x'7b7d' WHERE position = 0"),
        "the signed tree of",
    ),
    "an entry gone": (lambda data: changed(data, "DELETE FROM entries WHERE position = 1"), "entries are missing"),
    "a node changed": (
        lambda data: changed(data, "UPDATE nodes SET hash = zeroblob(32) WHERE level = 0 AND position = 0"),
        "nodes are not those",
    ),
    "a note of somebody else's": (
        lambda data: changed(data, "UPDATE checkpoint SET note = replace(note, 'dev.invalid', 'dex.invalid')"),
        "not signed by this log's key",
    ),
    "a table's number": (
        lambda data: changed(data, "UPDATE tables SET number = 9 WHERE name = 't-1'"),
        "by the log it is",
    ),
    "a table gone": (lambda data: changed(data, "DELETE FROM tables WHERE name = 't-3'"), "not in the database"),
    "a table too many": (
        lambda data: changed(data, "INSERT INTO tables VALUES ('t-4', 'local', 1, NULL)"),
        "no hand of it",
    ),
    "a hand in play gone": (lambda data: changed(data, "DELETE FROM playing"), "not in play here"),
    "a hand that is over gone": (lambda data: changed(data, "DELETE FROM over"), "110 more hands are not as they"),
    "keys at rest gone": (lambda data: blank(data / "at-rest" / "seeds"), "are gone"),
    "public ahead": (
        lambda data: shutil.rmtree(data / "db") or shutil.copytree(data / "old", data / "db"),
        "an older one",
    ),
    "public forked": (
        lambda data: (data / "public" / "checkpoint").write_text(forked(data)),
        "public/ is another tree at 1 entries: a fork",
    ),
    "signed last forked": (
        lambda data: Remembered(data / "at-rest" / "signed-last").keep(forked(data)),
        "what was signed last is another tree at 1 entries: a fork",
    ),
    "signed last of another key": (
        lambda data: Remembered(data / "at-rest" / "signed-last").keep("x\n1\nAA==\n\n\u2014 x AAAA\n"),
        "does not tell what was signed last",
    ),
    "signed last unreadable": (
        lambda data: (data / "at-rest" / "signed-last").write_bytes(b"\xff" * 8192),
        "neither of its two records",
    ),
    "every tile zeroed": (
        lambda data: blank(*files(data / "public" / "tile")),
        "tile/entries/000 is not what the log says",
    ),
    "one hash changed": (
        lambda data: _flip(data / "public" / "tile" / "0" / "000"),
        "tile/0/000 is not what the log says",
    ),
    "one bundle cut short": (
        lambda data: os.truncate(files(data / "public" / "tile" / "entries")[-1], 20),
        "is not what the log says",
    ),
    "a partial tile gone": (lambda data: files(data / "public" / "tile" / "0")[-1].unlink(), "is missing"),
    "the tiles gone": (lambda data: shutil.rmtree(data / "public" / "tile"), "tile/entries/000 is missing"),
    "public gone": (lambda data: shutil.rmtree(data / "public"), "shows no checkpoint"),
    "a file of somebody else's": (
        lambda data: (data / "public" / "tile" / "0" / "notes.txt").write_text("mine"),
        "tile/0/notes.txt is no file of this log",
    ),
    "a tile beyond the log": (
        lambda data: (data / "public" / "tile" / "0" / "004").write_bytes(bytes(8192)),
        "tile/0/004 is no file of this log",
    ),
    "keys of answers gone": (
        lambda data: blank(*(data / "at-rest").glob("answer-*.key")),
        "kept answers are gone",
    ),
    "a kept answer changed": (
        lambda data: changed(data, "UPDATE kept SET members = x'00' WHERE batch = 1"),
        "what is kept for repeats is damaged",
    ),
    "a hand over that never was": (
        lambda data: changed(data, "INSERT INTO over VALUES (zeroblob(16), 0, NULL, 0, 1)"),
        "is over here, and the log does not have it",
    ),
    "a closed hand's secrets kept": (
        lambda data: changed(data, "UPDATE playing SET hand = (SELECT hand FROM over WHERE committed = 0)"),
        "is closed in the log and in play here",
    ),
    "public of another log": (
        lambda data: (data / "public" / "checkpoint").write_text("x\n1\nAA==\n\n\u2014 x AAAA\n"),
        "published checkpoint is not this log's",
    ),
    "a damaged file": (lambda data: _scribble(data / "db" / "cutcard.sqlite3"), "damaged"),
}


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def forked(data: Path) -> str:
    """A checkpoint of the log's own key over another first entry."""
    signer = DataDir.at(data).signer()
    return sign_checkpoint(Checkpoint(signer.name, 1, leaf_hash(b"another")), signer)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[5_000] ^= 1
    path.write_bytes(content)


def blank(*paths: Path) -> None:
    for path in paths:
        path.write_bytes(bytes(path.stat().st_size))


def _scribble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 3000)
        file.write(b"\xff" * 2000)


@pytest.mark.parametrize("what", DAMAGE)
def test_each_kind_of_damage_is_named_with_what_to_do(data: Path, what: str) -> None:
    damage, named = DAMAGE[what]
    if what == "public ahead":
        with running(data) as dealer:
            shutil.copytree(data / "db", data / "old")
            dealer.kill()
        with running(data) as dealer:
            dealer.room().void(dealer.room().open("t-5").hand_id)
            assert dealer.stop() == 0
    damage(data)
    code, said = fsck(data)
    assert (code, named in said) == (1, True), said
    assert "do: " in said or what == "a damaged file"


def test_what_a_killed_publisher_leaves_is_no_damage(data: Path) -> None:
    public = data / "public"
    note = (public / "checkpoint").read_text()
    with running(data) as dealer:
        room = dealer.room()
        for _ in range(2):
            room.void(room.open("t-9").hand_id)
        assert dealer.stop() == 0
    (public / "checkpoint").write_text(note)  # the tiles were there before the checkpoint that shows them
    (public / ".new").write_bytes(b"half a ti")
    code, said = fsck(data)
    assert (code, "all is well" in said) == (0, True), said


def test_what_is_said_to_do_about_published_files_mends_them(data: Path) -> None:
    blank(*files(data / "public" / "tile"))
    (data / "public").rename(data / "aside")
    with running(data) as dealer:
        assert dealer.stop() == 0
    code, said = fsck(data)
    assert (code, "all is well" in said) == (0, True), said


@pytest.mark.parametrize(
    ("size", "laid_over"),
    [(0, b""), (40_960, b""), (None, bytes(4096)), (None, b"\xff" * 100)],
    ids=["empty", "cut", "zeros", "no header"],
)
def test_a_database_that_cannot_be_read_is_called_damaged_with_what_to_do(
    data: Path, size: int | None, laid_over: bytes
) -> None:
    with (data / "db" / "cutcard.sqlite3").open("r+b") as file:
        file.truncate(size)
        file.write(laid_over)
    code, said = fsck(data)
    assert (code, "damaged" in said, "backup" in said) == (4, True, True), said
