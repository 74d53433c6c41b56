"""A terminal, a pipe, a full disk: wherever a command writes to, its exit code is the same, or says that it failed."""

from __future__ import annotations

import os
import pty
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.attacks.maker import Signer, honest, uuid7
from tests.integration.running import BIN, run_tool
from tests.terminal import on_terminal

CARDS = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    signer, dice = Signer(), random.Random(3)
    honest().write(place / "log")
    (place / "vkey").write_text(f"{signer.verifier}\n")
    raws = honest().raws()
    (place / "receipt").write_bytes(signer.receipt(raws, 5))
    (place / "entry").write_bytes(raws[5])
    (place / "decks.txt").write_text("".join(" ".join(dice.sample(CARDS, 52)) + "\n" for _ in range(150)))
    assert run_tool("audit", "count", place / "decks.txt", "-o", place / "part", "--jobs", "1").returncode == 0
    assert run_tool("dealer", "init", "--data-dir", place / "data", "--origin", "dealer.example/room").returncode == 0
    return place


CALLS = [
    ["audit", "verify", "log", "--key", "vkey"],
    ["audit", "stats", "decks.txt", "--jobs", "1"],
    ["audit", "receipt", "receipt", "--entry", "entry", "--key", "vkey"],
    ["audit", "explain", "log", uuid7("board")],
    ["audit", "count", "decks.txt", "-o", "{out}.part", "--jobs", "1"],
    ["audit", "merge", "part"],
    ["audit", "verify", "nowhere"],
    ["audit", "nonsense"],
    ["dealer", "init", "--data-dir", "{out}", "--origin", "dealer.example/room"],
    ["dealer", "key", "--data-dir", "data"],
    ["dealer", "export", "{out}", "--data-dir", "data"],
    ["dealer", "escrow-keygen", "{out}"],
    *(
        pytest.param(call, marks=pytest.mark.soak)  # seconds each, and they print as `stats` does
        for call in (
            ["audit", "stats", "decks.txt", "--sequential"],
            ["audit", "power", "fair", "--most", "100", "--jobs", "1"],
        )
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_terminal_gives_the_exit_code_of_a_pipe(
    call: list[str], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    piped = run_tool(*(word.format(out=tmp_path / "piped") for word in call))
    code, sent = on_terminal(*(word.format(out=tmp_path / "shown") for word in call))
    assert (code, "Traceback" in sent + piped.stderr) == (piped.returncode, False), sent
    assert code != 70


def test_a_terminal_shows_what_is_verified_compared_and_counted(place: Path) -> None:
    lines = (place / "decks.txt").read_text().splitlines(keepends=True)
    (place / "others.txt").write_text("".join(reversed(lines[:100])))
    code, sent = on_terminal("audit", "stats", place / "log", place / "decks.txt", place / "others.txt", "--jobs", "1")
    assert code == 0, sent
    for doing, unit in (("verifying", "entries"), ("comparing", "decks"), ("counting", "decks")):
        assert re.search(rf"{doing}\b.*\d {unit}", sent), doing


def test_bits_go_to_a_terminal_only_by_force(place: Path) -> None:
    assert on_terminal("audit", "bits", place / "decks.txt")[0] == 2
    assert on_terminal("audit", "bits", place / "decks.txt", "--force")[0] == 0


def test_serve_starts_and_ends_on_a_terminal_as_in_a_pipe(place: Path) -> None:
    ours, theirs = pty.openpty()
    command = [BIN / "dealer", "serve", "--data-dir", place / "data", "--listen", "127.0.0.1:0"]
    said = b""
    with subprocess.Popen(list(map(str, command)), stdout=theirs, stderr=theirs) as process:
        while b"listening on" not in said:
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, said
    os.close(ours)
    os.close(theirs)
    assert b"Traceback" not in said


BROKEN = """
import sys
from audit import cli
import audit.commands.verify as module
def fail(*args, **more):
    raise {error}
module.verify_log = fail
sys.argv[0] = "audit"
cli.main()
"""


@pytest.mark.parametrize(
    ("error", "errors"),
    [
        ("TypeError('one\\ntwo')", ""),
        ("MemoryError()", ""),
        ("RecursionError", "2>/dev/full"),
        ("AssertionError", "2>&-"),
    ],
)
def test_what_nobody_foresaw_ends_with_70_and_one_line(error: str, errors: str, place: Path) -> None:
    script = BROKEN.format(error=error)
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {errors}', BIN / "python", "-c", script, "verify", place / "log"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    if not errors:
        assert re.fullmatch(r"audit: an error of the auditor itself[^\n]*\n", done.stderr)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("verify log >/dev/full", 70),
        ("verify log --format json >/dev/full", 70),
        ("--help >/dev/full", 70),
        ("verify nowhere 2>/dev/full", 4),
        ("verify log --key nothing 2>/dev/full", 2),
        ("verify log 2>&-", 3),
    ],
)
def test_output_that_cannot_be_written_accuses_nobody(call: str, code: int, place: Path) -> None:
    done = subprocess.run(["sh", "-c", f'"$0" {call}', BIN / "audit"], capture_output=True, check=False, cwd=place)
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
