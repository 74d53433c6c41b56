"""`dealer play`: every card of the person's is checked as it comes, and a dealer with another key is not believed."""

import asyncio
import os
import pty
import re
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from rich.console import Console

from dealer.games.plans import SEVEN_CARD_STUD
from dealer.play.game import BUY_IN, PERSON, Session
from dealer.play.held import held
from dealer.play.kept import Kept
from dealer.play.screen import Screen
from dealer.play.seats import choose
from dealer.play.table import TableSeen
from dealer.testing import StackedDealer
from dealer.v1 import table_pb2 as pb
from tests.integration.running import BIN, run_tool, running


def test_a_hand_is_played_with_every_card_checked_and_the_receipt_at_the_end() -> None:
    done = run_tool("dealer", "play", "--auto", "--hands", "1", "--seats", "8", "--game", "hi-lo")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    streets = [line for line in lines if re.match(r"\w+ street\. (You get|For everybody)", line)]
    assert streets
    for line in streets:
        assert len(re.findall(r"[2-9TJQKA][♣♦♥♠]", line)) == line.count("checked")
    assert streets[0].startswith("Third street. You get")
    assert streets[0].count("checked") == 3
    assert any("deck committed as" in line and line.endswith("checked") for line in lines)
    assert any("it reveals the committed deck" in line and line.endswith("checked") for line in lines)
    assert "c2sp.org/tlog-proof@v1" in lines
    assert any(re.search(r" win [\d,]+ of the pot", line) for line in lines)


def test_a_dealer_is_joined_by_its_key_and_another_key_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "dealer") as dealer:
        arguments = ("dealer", "play", "--auto", "--hands", "1", "--connect", dealer.address, "--key")
        joined = run_tool(*arguments, dealer.verifier_key())
        assert joined.returncode == 0, joined.stderr
        run_tool("dealer", "init", "--data-dir", tmp_path / "other", "--origin", "dev.invalid/dealer")
        other = run_tool("dealer", "key", "--data-dir", tmp_path / "other").stdout.strip()
        refused = run_tool(*arguments, other, cwd=tmp_path)
    assert refused.returncode == 1
    assert "checkpoint" in refused.stderr
    assert "You get" not in refused.stdout


def test_connect_and_key_belong_together() -> None:
    assert run_tool("dealer", "play", "--connect", "127.0.0.1:1").returncode == 2


FREE = [pb.ActionOption(action=pb.ACTION_CHECK), pb.ActionOption(action=pb.ACTION_BET, amount=100)]
FACED = [
    pb.ActionOption(action=pb.ACTION_CALL, amount=100),
    pb.ActionOption(action=pb.ACTION_RAISE, amount=200),
    pb.ActionOption(action=pb.ACTION_FOLD),
]


@pytest.mark.parametrize(
    ("cards", "options", "does"),
    [
        ("7c 7d 2h", FACED, pb.ACTION_RAISE),
        ("7c 7d 2h 9s", FACED, pb.ACTION_CALL),
        ("7c 7d 2h 2s", FACED, pb.ACTION_RAISE),
        ("Ac Kd 2h", FACED, pb.ACTION_CALL),
        ("9c 5d 2h", FACED, pb.ACTION_FOLD),
        ("9c 5d 2h", FREE, pb.ACTION_CHECK),
    ],
)
def test_simple_seats_play_what_they_hold(cards: str, options: list[pb.ActionOption], does: int) -> None:
    assert choose(options, cards.split()).action == does


def test_own_hand_pot_and_help_are_on_the_screen_of_a_person_who_may_leave_at_any_prompt() -> None:
    done = run_tool("dealer", "play", "--seats", "2", "--game", "hi-lo", input="?\nq\n")
    assert done.returncode == 0, done.stderr
    assert re.search(r"you hold  .+; no low, so far", done.stdout)
    assert re.search(r"pot 50\b", done.stdout)  # two antes of 25
    assert "Half of each pot goes to the best low" in " ".join(done.stdout.split())
    assert "You: fold (has left)" in done.stdout or "bring-in 50 (has left)" in done.stdout
    assert "c2sp.org/tlog-proof@v1" in done.stdout


@pytest.mark.parametrize(
    ("cards", "hi_lo", "name"),
    [
        ("Kc Kd 2h", False, "pair of kings, so far"),
        ("6c 6d 6h", False, "three of a kind, sixes, so far"),
        ("Ac Kd 2h", True, "ace high; no low, so far"),
        ("7c 7d 2h 2s", False, "two pair, sevens and twos, so far"),
        ("7c 7d 7h 7s", False, "four of a kind, sevens, so far"),
        ("Ac 2d 3h 4s 5c", True, "straight, five high; low, five four three two ace, so far"),
        ("Kc Kd 2h 9s 9c 4d 3s", False, "two pair, kings and nines, four kicker"),
    ],
)
def test_a_hand_is_named_as_it_grows(cards: str, hi_lo: bool, name: str) -> None:
    assert held(cards.split(), hi_lo=hi_lo) == name


def test_a_saved_hand_is_checked_by_the_command_that_is_printed(tmp_path: Path) -> None:
    folder = tmp_path / "my hands"
    done = run_tool("dealer", "play", "--auto", "--hands", "2", "--seats", "2", "--save", folder)
    assert done.returncode == 0, done.stderr
    commands = [line for line in done.stdout.splitlines() if " receipt " in line and str(folder) in line]
    assert len(commands) == 2
    command = commands[-1]
    checked = subprocess.run(command, shell=True, capture_output=True, text=True, cwd="/")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    entries = sorted((folder / "receipts").glob("*.entry"))
    assert [entry.name.split(".")[1] for entry in entries] == ["close", "commit"] * 2
    hand_files = [Path(word) for word in shlex.split(command) if word.endswith(".json")]
    assert '"seat_key"' in hand_files[0].read_text()
    assert "sealed card" in checked.stdout
    for name in ("commit", "close"):  # the line checks each of them
        (entry,) = [Path(word) for word in shlex.split(command) if word.endswith(f".{name}.entry")]
        honest = entry.read_bytes()
        entry.write_bytes(honest.replace(b'"time":"2', b'"time":"3'))
        assert subprocess.run(command, shell=True, capture_output=True, cwd="/").returncode == 1
        entry.write_bytes(honest)
    again = run_tool("dealer", "play", "--auto", "--hands", "1", "--save", folder)
    assert again.returncode == 1
    assert "remembers another log's key" in again.stderr


CLOSES = "the terminal closes"


def started_by_the_test(mark: str) -> list[int]:
    """The processes that carry the mark in their environment, as all do that a marked one starts."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
    return found


def temporary_folders(processes: list[int]) -> set[Path]:
    """The commands' temporary folders, by the files in them that the processes hold open."""
    found = set()
    for process in processes:
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                found |= {each for each in descriptor.readlink().parents if each.name.startswith("cutcard-")}
    return found


def test_a_hand_of_the_test_double_is_checked_as_a_test_record(stacked_dealer: StackedDealer, tmp_path: Path) -> None:
    arguments = ("--connect", stacked_dealer.address, "--key", stacked_dealer.key, "--save", tmp_path)
    done = run_tool("dealer", "play", "--auto", "--hands", "1", "--seats", "2", *arguments)
    checked = subprocess.run(done.stdout.splitlines()[-1], shell=True, capture_output=True, text=True)
    assert (checked.returncode, "TEST RECORD" in checked.stdout) == (0, True)


@pytest.mark.parametrize("amount", [100, 200])
async def test_an_open_pair_may_make_either_bet(stacked_dealer: StackedDealer, amount: int) -> None:
    """Two options are called the same: simple seats take the first, and a person the one that was chosen."""

    def ask(seen: TableSeen) -> pb.ActionOption:
        passive = [each for each in seen.options if each.action in (pb.ACTION_CHECK, pb.ACTION_CALL)]
        bets = [each for each in seen.options if each.action == pb.ACTION_BET and each.amount == amount]
        return [*(bets if len(seen.options) > 3 else []), *passive, *seen.options][0]

    told = Console(file=StringIO(), width=100)
    kept = Kept(None, stacked_dealer.key)
    session = Session(SEVEN_CARD_STUD, {1: BUY_IN, 2: BUY_IN}, Screen(told, PERSON), ask, kept, table="pairs")
    async with stacked_dealer.async_client() as client:
        stacked_dealer.stack_seats("pairs", third={1: "3c 4d | 9h", 2: "Kc Kd | 2s"}, fourth={1: "9s", 2: "Js"})
        await asyncio.wait_for(session.hand(client), 60)
        stacked_dealer.stack_seats("pairs", third={1: "5c 6d | 2s", 2: "Qc Qd | 9h"}, fourth={1: "Ts", 2: "9s"})
        await asyncio.wait_for(session.hand(client), 60)
    shown = told.file.getvalue()  # type: ignore[attr-defined]
    assert f"You: bet {amount}\n" in shown
    assert "Seat 2: bet 100\n" in shown


@pytest.mark.parametrize(
    ("command", "processes", "ending"),
    [
        (("play", "--seats", "2"), 2, CLOSES),
        (("play", "--seats", "2"), 2, signal.SIGTERM),
        (("double",), 1, CLOSES),
        (("demo",), 2, CLOSES),
    ],
)
def test_nothing_is_left_of_a_command_whose_terminal_closes(
    command: tuple[str, ...], processes: int, ending: str | signal.Signals
) -> None:
    mark = f"{uuid4()}"
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may have it ignored (nohup)
        os.environ["CUTCARD_TEST"] = mark
        os.execv(BIN / "dealer", ["dealer", *command])
    shown = b""
    while not any(ready in shown for ready in (b"Your turn", b"verifier key test", b"listening on  ")):
        shown += os.read(terminal, 65536)
    started = started_by_the_test(f"CUTCARD_TEST={mark}")
    folders = temporary_folders(started)
    assert len(started) >= processes
    assert len(folders) == 1
    if isinstance(ending, signal.Signals):
        os.kill(pid, ending)
    else:
        os.close(terminal)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ended >= 0, "the signal ended the command, which could not clean up"
    last = time.monotonic() + 60  # a process that was being started just then hears of it when its dealer is gone
    while started_by_the_test(f"CUTCARD_TEST={mark}") and time.monotonic() < last:
        time.sleep(0.05)
    assert started_by_the_test(f"CUTCARD_TEST={mark}") == []
    assert not any(folder.exists() for folder in folders)
    if isinstance(ending, signal.Signals):
        os.close(terminal)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_person_who_is_waited_for_does_not_hold_the_end_up(number: signal.Signals) -> None:
    command = [BIN / "dealer", "play", "--seats", "2"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # these tests may run in a shell's background
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        shown = b""
        while b"Your turn" not in shown:
            shown += os.read(process.stdout.fileno(), 65536)
        process.send_signal(number)
        assert process.wait(60) == (1 if number is signal.SIGINT else 128 + number)
        assert b"rror" not in process.stderr.read()
