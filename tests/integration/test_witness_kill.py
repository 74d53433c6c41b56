"""A witness that is killed, at every step and in the middle of its work, never signs two trees that contradict."""

from __future__ import annotations

import contextlib
import http.client
import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.tlog import note
from audit.witness.store import Store, create, origin_hash
from tests.attacks.maker import Signer
from tests.integration.witnessing import ask, quick_folder, request, serving

SHARED = [b"entry %d" % number for number in range(5)]
FORKS = [[*SHARED, b"%d" % fork, b"more"] for fork in range(2)]


@pytest.fixture
def base() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def test_a_kill_at_every_step_of_an_update(base: Path) -> None:
    command = [sys.executable, "-m", "tests.integration.witness_steps", str(base)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"(\d+) kills: (\d+) before the update was durable, (\d+) after\n", done.stdout)
    assert found is not None, done.stdout
    steps, before, after = map(int, found.groups())
    assert steps > 40
    assert min(before, after) > 5


def test_kills_in_the_middle_of_two_forks(base: Path) -> None:
    folder = base / "w"
    create(folder, "witness.example/w")
    rooms = [Signer(f"room-{number}.example") for number in range(600)]
    store = Store(folder)
    store.add_logs(room.verifier for room in rooms)
    store.close()
    cosigned: dict[str, set[int]] = defaultdict(set)
    reached = [0, 0]
    chance = random.Random(7)

    def push(fork: int, port: int) -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            while reached[fork] < len(rooms):
                room = rooms[reached[fork]]
                if ask(port, request(room, FORKS[fork], 0)).status == 200:
                    cosigned[room.origin].add(fork)
                reached[fork] += 1

    for _ in range(3):
        with contextlib.suppress(AssertionError), serving(folder) as (port, process):
            threads = [threading.Thread(target=push, args=(fork, port)) for fork in (0, 1)]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.05, 0.4))
            process.kill()
            for thread in threads:
                thread.join()
        reached = [min(reached)] * 2  # what was under way may have been stored, answered or neither
    asked = rooms[: max(reached) + 1]
    assert len(asked) > 4
    with serving(folder) as (port, _):
        for room in asked:
            for fork in (0, 1):
                if ask(port, request(room, FORKS[fork], 0)).status == 200:
                    cosigned[room.origin].add(fork)
            held = note.decode(ask(port, b"", f"/{origin_hash(room.origin)}/checkpoint", "GET").body.encode())
            (fork,) = [n for n in (0, 1) if note.decode(room.checkpoint(FORKS[n])).text == held.text]
            assert cosigned[room.origin] <= {fork}
