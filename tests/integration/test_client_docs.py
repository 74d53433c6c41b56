"""What the pages about the client and the test double show is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dealer.client import SyncClient
from dealer.testing import StackedDealer
from tests.integration.running import run_tool, running
from tests.integration.test_node_example import NODE, installed

__all__ = ["installed"]  # a fixture
DOCS = Path(__file__).resolve().parents[2] / "docs"
PYTHON = re.compile(r"^```python\n# (?P<name>\w+\.py)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page: str) -> dict[str, str]:
    return {match["name"]: match["body"] for match in PYTHON.finditer((DOCS / page).read_text())}


def shown(page: str, language: str, containing: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if containing in block]
    return block


def test_the_pages_have_programs():
    assert set(programs("client.md")) == {"hand.py", "room.py", "entropy.py"}
    tests = {"test_first.py", "test_streets.py", "test_deck.py", "test_again.py", "test_faults.py"}
    assert set(programs("test-double.md")) == tests | {"refusals.py", "unused.py"}


def test_the_double_s_tests_pass_as_they_stand_and_the_one_with_an_unused_stack_fails_as_shown(tmp_path: Path):
    tests = {name: body for name, body in programs("test-double.md").items() if name.startswith("test_")}
    hand = recorded_hand(tmp_path)
    for name, body in tests.items():
        (tmp_path / name).write_text(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", hand, body))
    (tmp_path / "test_unused.py").write_text(programs("test-double.md")["unused.py"])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert shown("test-double.md", "text", "no hand took") in done.stdout
    assert f"1 failed, {sum(body.count('def test_') for body in tests.values())} passed" in done.stdout


def recorded_hand(folder: Path) -> str:
    """Has a real dealer deal a hand in which a seat folds, and writes its log to FOLDER/log."""
    with running(folder / "data") as dealer, SyncClient(dealer.address, dealer.verifier_key()) as client:
        hand = client.open_hand("table-1", [1, 2, 3])
        hand.deal_street("third")
        hand.fold(3)
        for street in ("fourth", "fifth", "sixth", "seventh"):
            hand.deal_street(street)
        hand.close()
    assert run_tool("dealer", "export", folder / "log", "--data-dir", folder / "data").returncode == 0
    return hand.hand_id


def test_the_refusals_are_those_that_are_shown(stacked_dealer: StackedDealer, capsys: pytest.CaptureFixture[str]):
    program: dict[str, object] = {}
    exec(programs("test-double.md")["refusals.py"], program)
    program["show"](stacked_dealer)
    assert capsys.readouterr().out == shown("test-double.md", "text", "is given twice")


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("hand.py", r"\['3:..', '1:..', .*\] opens: [123]\n\('..', '..', '..'\) 1\n"),
        ("room.py", r"2600 cards checked\n"),
        ("entropy.py", r"\[\] cutcard/v1/entropy\n"),
    ],
)
def test_the_client_s_programs_run(stacked_dealer: StackedDealer, name: str, printed: str):
    env = {**os.environ, "CUTCARD_ADDRESS": stacked_dealer.address, "CUTCARD_KEY": stacked_dealer.key}
    done = subprocess.run(
        [sys.executable, "-c", programs("client.md")[name]], env=env, capture_output=True, text=True, timeout=60
    )
    assert re.fullmatch(printed, done.stdout), done.stdout + done.stderr


@pytest.mark.usefixtures("installed")
def test_the_session_in_node_is_what_happens(stacked_dealer: StackedDealer):
    lines = shown("test-double.md", "console", "node stack.js").splitlines(keepends=True)
    steps: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("$ "):
            steps.append((line.removeprefix("$ ").strip(), ""))
        else:
            steps[-1] = steps[-1][0], steps[-1][1] + line
    for command, output in steps:
        command = command.replace("127.0.0.1:50052", stacked_dealer.address)
        command = command.replace('"$(cat double.key)"', f"'{stacked_dealer.key}'")
        done = subprocess.run(["bash", "-c", command], cwd=NODE, capture_output=True, text=True, timeout=60)
        assert done.stdout + done.stderr == output
