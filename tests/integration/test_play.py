"""`dealer play`: every card of the person's is checked as it comes, and a dealer with another key is not believed."""

import re
from pathlib import Path

import pytest

from dealer.play.seats import choose
from dealer.v1 import table_pb2 as pb
from tests.integration.running import run_tool, running


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


def test_a_person_may_leave_at_any_prompt() -> None:
    done = run_tool("dealer", "play", "--seats", "2", input="q\n")
    assert done.returncode == 0, done.stderr
    assert "You: fold (has left)" in done.stdout or "bring-in 50 (has left)" in done.stdout
    assert "c2sp.org/tlog-proof@v1" in done.stdout


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
