"""The simulated dealer keeps its promises: in 1,000 short worlds, at each call that fails, and for kept seeds."""

import subprocess
import sys
import tarfile
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dealer.store.datadir import DataDir
from dealer.store.migrate import migrate
from dealer.store.vault import Vault
from simulation.__main__ import long_world, short_world
from simulation.faults import FAULTS
from simulation.stores import ALTHOUGH, BEFORE, LATE
from simulation.world import World

PARTS = 20
RELEASED = Path(__file__).parents[1] / "released" / "data-v1.tar.xz"
KEPT = {
    116: "an offer's deadline went with a call of the loop's that failed",
    231: "a hand whose key is lost, while no line can be written",
    382: "answers of a hand that closed before the calendar went on",
}
"""Seeds that once found something, and what."""


@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_short_worlds_break_no_promise(part: int) -> None:
    hands = 0
    for seed in range(1000 * part // PARTS, 1000 * (part + 1) // PARTS):
        hands += short_world(seed).run().counts.get("hands", 0)
    assert hands > 40, "they did deal"


@pytest.mark.parametrize("seed", KEPT, ids=KEPT.values())
@pytest.mark.parametrize("disk", [False, True], ids=["model", "disk"])
def test_a_seed_that_found_something_finds_it_no_more(seed: int, disk: bool) -> None:
    World(seed, disk=disk).run()


def test_an_older_database_that_is_put_back_twice_leaves_a_newest_one() -> None:
    """The world keeps the newest one aside, and gives it back once the older one was refused."""
    World(1, disk=False, rooms=1, steps=140, script=dict.fromkeys((20, 110, 118), "an older database")).run()


def test_a_seed_gives_the_same_world_in_every_process() -> None:
    command = [sys.executable, "-m", "simulation", "--seed", "8"]
    said = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(said) == 1
    assert "all is well" in said.pop()


@pytest.mark.parametrize("mode", [BEFORE, ALTHOUGH, LATE])
@pytest.mark.parametrize("times", [1, 10**9], ids=["once", "for good"])
def test_the_store_fails_at_each_call_in_turn(mode: str, times: int) -> None:
    for call in count(1, 3):
        world = World(7, rooms=1, tables=1, steps=150, fault_every=0, audited=False)
        world.plan.arm(call, times, mode)
        world.run()
        if not world.plan.failed:
            break
    assert call > 20


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**20),
    disk=st.booleans(),
    script=st.dictionaries(st.integers(0, 120), st.sampled_from([fault.name for fault in FAULTS]), max_size=6),
)
def test_faults_in_any_order_break_no_promise(seed: int, disk: bool, script: dict[int, str]) -> None:
    World(seed, disk=disk, rooms=1, steps=120, script=script).run()


@pytest.fixture
def upgraded(tmp_path: Path) -> Path:
    """A store of the first release with hands in play, brought up to this version."""
    with tarfile.open(RELEASED) as archive:
        archive.extractall(tmp_path, filter="data")
    data = DataDir.at(tmp_path / "data")
    with closing(Vault(data.at_rest, 3600)) as vault:
        assert migrate(data.database, vault, lambda line: None)
    return data.root


def test_a_store_of_an_older_release_lives_on_through_every_fault(upgraded: Path) -> None:
    for seed in range(4):
        assert World(seed, disk=True, rooms=1, begin=upgraded).run().counts["answers"]


def test_a_long_world_on_the_disk_and_one_on_the_model() -> None:
    for seed in (0, 1):
        assert long_world(seed).run().counts["hands"] > 50


@pytest.mark.soak
@pytest.mark.timeout(2 * 3600)
def test_an_hour_of_long_worlds() -> None:
    command = [sys.executable, "-m", "simulation", "--hours", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
