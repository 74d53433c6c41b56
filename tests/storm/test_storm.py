"""The lease in a storm, and that the storm would notice: MACHINES.md, sections 3 to 5."""

import random
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres import Postgres, server
from tests.storm.storm import Storm
from tests.storm.writer import LABELS, LEASE_SECONDS

TAKEOVER_SECONDS = 3.0 + LEASE_SECONDS


@contextmanager
def storm(postgres: Postgres, folder: Path, fence: str = "whole", seed: int = 1) -> Iterator[Storm]:
    made = Storm(postgres, folder, fence, seed)
    try:
        yield made
    finally:
        made.end()


def test_nothing_is_lost_changed_or_given_twice(tmp_path):
    with server() as postgres, storm(postgres, tmp_path) as made:
        for label in sorted({*LABELS} - {"half", "copy"}):  # whole dealers are stopped there in test_dealers.py
            made.stop_at(label)
        made.kill()
        made.cut()
        made.set_clock(1)
        made.set_clock(-1)
        made.restart_database()
        made.wait_for_answers()
        made.end()
        assert made.faults() == []
        assert len(made.answers) > 100
        assert statistics.median(made.takeovers) < TAKEOVER_SECONDS


@pytest.mark.soak
def test_with_a_plain_select_for_a_fence_it_fails(postgres, tmp_path):
    """In each run of the tests the same is asked of whole dealers."""
    with storm(postgres, tmp_path, "plain") as made:
        for _ in range(2):
            made.stop_at("housekeeping")
        made.wait_for_answers()
        made.end()
        assert any("twice" in fault or "interleave" in fault for fault in made.faults())


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_stops_and_kills(tmp_path):
    draw = random.Random(13)
    with server() as postgres, storm(postgres, tmp_path, seed=13) as made:
        for _ in range(100):
            event = draw.choice([*LABELS, "kill", "cut", "forth", "back", "restart"])
            if event in LABELS:
                made.stop_at(event)
            elif event in ("forth", "back"):
                made.set_clock(1 if event == "forth" else -1)
            else:
                {"kill": made.kill, "cut": made.cut, "restart": made.restart_database}[event]()
        made.wait_for_answers()
        made.end()
        assert made.faults() == []
        print(f"takeovers: median {statistics.median(made.takeovers):.2f} s, worst {max(made.takeovers):.2f} s")
