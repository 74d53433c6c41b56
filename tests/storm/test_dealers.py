"""Two dealers, callers of 20 tables, and everything that can end a writer's work: MACHINES.md, sections 3 to 5."""

import random
import statistics
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.postgres import Postgres, server
from tests.storm.dealers import Dealers, Takeover, dealers

LABELS = ("before", "half", "sent", "answers", "housekeeping", "copy")
PROMISED_SECONDS = 3.0
"""From a writer's death to the next answer of another, with a lease of 2 s and a processor for everybody."""
ANSWER_SECONDS = 0.6
"""Until a caller whose call was under way at the death asks again and is answered: its own pauses."""


def judged(made: Dealers, least: int) -> None:
    """Holds every answer and the log against each other, and has an auditor read what was published."""
    made.wait()
    made.end()
    assert made.judge() == []
    assert made.given_up > 0
    assert len(made.answered) > least
    verdict = made.audit()
    assert verdict.returncode in (0, 3), verdict.stdout  # 3: hands of callers who gave up are open
    assert "Nothing failed" in verdict.stdout or verdict.returncode == 0
    print(
        f"{len(made.takeovers)} events, {len(made.answered)} answers, {made.given_up} given up; "
        f"until the next answer: {figures(made.takeovers)}"
    )


def figures(taken: list[Takeover]) -> str:
    seconds = [each.seconds for each in taken]
    return f"median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s"


def late(taken: list[Takeover], allowed: float) -> list[Takeover]:
    """Returns those that took longer than allowed, with what the machine withheld meanwhile."""
    return [each for each in taken if each.seconds > allowed + each.stalled]


def test_a_short_storm(tmp_path: Path) -> None:
    with server() as postgres, dealers(postgres, tmp_path, lease=1.0) as made:
        made.stop_at("half")
        made.stop_at("copy")
        made.set_clock_and_kill(-1)
        made.restart_database()
        judged(made, 50)


def test_with_a_plain_select_for_a_fence_it_fails(postgres: Postgres, tmp_path: Path) -> None:
    with dealers(postgres, tmp_path, lease=1.0, fence="plain") as made:
        made.stop_at("copy")
        made.end()
        assert any("was committed in epoch" in fault for fault in made.judge())


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_kills(tmp_path: Path) -> None:
    """The figures that it prints are those of docs/several-dealers.md."""
    draw = random.Random(13)
    with server() as postgres, dealers(postgres, tmp_path, seed=13) as made:

        def stop_at(label: str) -> None:
            made.stop_at(label, draw.choice([0, 0, 10]))

        events: dict[str, Callable[[], None]] = {
            **{label: partial(stop_at, label) for label in LABELS},
            "kill": made.kill,
            "cut": made.cut,
            "forth": lambda: made.set_clock(1),
            "back": lambda: made.set_clock(-1),
            "back and kill": lambda: made.set_clock_and_kill(-1),
            "restart": made.restart_database,
        }
        names = [*events] * (100 // len(events) + 1)
        draw.shuffle(names)
        of = defaultdict[str, list[Takeover]](list)
        for name in names:
            before = len(made.takeovers)
            events[name]()
            of[name] += made.takeovers[before:]
        for name, taken in of.items():
            print(f"  {name}: {figures(taken)}" if taken else f"  {name}: nobody's work ended")
        judged(made, 2000)
        promised = PROMISED_SECONDS + ANSWER_SECONDS
        assert late(of["kill"], promised) == []
        assert late(of["back and kill"], promised + made.lease) == []
