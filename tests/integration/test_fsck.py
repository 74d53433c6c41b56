"""`dealer fsck`: a store that is whole, and every kind of damage named with a remedy."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.running import run_tool, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with hands that are over, in play and offered, stopped in order."""
    data = tmp_path_factory.mktemp("fsck") / "data"
    with running(data) as dealer:
        room = dealer.room()
        for _ in range(3):
            room.play_out(room.open("t-1").hand_id)
        room.open("t-2")
        room.void(room.open("t-3").hand_id)
        (data.parent / "older").mkdir()
        assert dealer.stop() == 0
    return data


@pytest.fixture
def data(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "data"))


def fsck(data: Path) -> "tuple[int, str]":
    done = run_tool("dealer", "fsck", "--data-dir", data)
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
        assert (code, "all is well" in said) == (1, False)


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
    "a hand that is over gone": (lambda data: changed(data, "DELETE FROM over"), "other entries than the log"),
    "keys at rest gone": (lambda data: _blank(data / "at-rest" / "seeds"), "are gone"),
    "public ahead": (
        lambda data: shutil.rmtree(data / "db") or shutil.copytree(data / "old", data / "db"),
        "an older one",
    ),
    "public of another log": (
        lambda data: (data / "public" / "checkpoint").write_text("x\n1\nAA==\n\n\u2014 x AAAA\n"),
        "published checkpoint is not this log's",
    ),
    "a damaged file": (lambda data: _scribble(data / "db" / "cutcard.sqlite3"), "damaged"),
}


def _blank(path: Path) -> None:
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
