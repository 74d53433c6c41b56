"""examples/node deals a checked hand at the double and at the real server, wherever Node is installed."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from dealer.testing import StackedDealer
from tests.integration.running import running

NODE = Path(__file__).resolve().parents[2] / "examples" / "node"


@pytest.fixture(scope="module")
def installed() -> None:
    """Installs the example's packages, once for all workers; the lock file says which, to the byte."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed: the example in Node was not run")
    with (NODE / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = NODE / "node_modules" / ".package-lock.json"
        if done.exists() and done.stat().st_mtime >= (NODE / "package-lock.json").stat().st_mtime:
            return
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        npm = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=300)
        if "EAI_AGAIN" in npm.stderr or "ENOTFOUND" in npm.stderr or "ECONNREFUSED" in npm.stderr:
            pytest.skip("npm reaches no registry: the example in Node was not run")
        assert npm.returncode == 0, npm.stderr


def deal(address: str, key: str, folder: Path = NODE) -> "subprocess.CompletedProcess[str]":
    command = ["node", "deal.js", address, key, "t"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.usefixtures("installed")
def test_a_stacked_hand_at_the_double(stacked_dealer: StackedDealer):
    stacked_dealer.stack_seats("t", third={1: "As Ad | 7c", 2: "Kh Kd | 2h", 3: "Qh Qd | 9s"}, fourth={1: "Ac"})
    done = deal(stacked_dealer.address, stacked_dealer.key)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "hand 1 of t: committed in entry 0 of test.invalid/double"
    assert lines[1] == "third    1:As 2:Kh 3:Qh 1:Ad 2:Kd 3:Qd 1:7c 2:2h 3:9s"
    assert lines[2].startswith("fourth   1:Ac ")
    assert lines[-1] == "completed: entry 1; every card was the one committed to"


@pytest.mark.usefixtures("installed")
def test_a_hand_at_the_real_server(tmp_path: Path):
    with running(tmp_path / "data") as dealer:
        done = deal(dealer.address, dealer.verifier_key())
    assert done.returncode == 0, done.stderr
    assert "completed: entry 1" in done.stdout


@pytest.mark.usefixtures("installed")
def test_another_log_s_key_is_refused_before_a_card_is_asked_for(stacked_dealer: StackedDealer, tmp_path: Path):
    with running(tmp_path / "data") as dealer:
        done = deal(dealer.address, stacked_dealer.key)
    assert done.returncode == 1
    assert "the note is not signed by test.invalid/double" in done.stderr
    assert "third" not in done.stdout


@pytest.mark.usefixtures("installed")
def test_it_runs_where_it_is_copied_to_with_the_protos_beside_it(stacked_dealer: StackedDealer, tmp_path: Path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(NODE, copy)
    alone = deal(stacked_dealer.address, stacked_dealer.key, copy)
    assert alone.returncode == 2
    assert "copy the folder `proto`" in alone.stderr
    shutil.copytree(NODE.parents[1] / "proto", copy / "proto")
    command = ["node", "stack.js", stacked_dealer.address, "t", "As Kd"]
    stacked = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=60)
    assert (stacked.returncode, stacked.stdout) == (0, "hand 1 of t is stacked\n"), stacked.stderr
    done = deal(stacked_dealer.address, stacked_dealer.key, copy)
    assert done.returncode == 0, done.stderr
    assert "third    1:As 2:Kd" in done.stdout
