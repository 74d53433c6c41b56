"""Random histories of a log, each followed by a monitor that is killed now and then, and judged by `verify` as well.

Run as a program of its own, since it forks: `python -m tests.integration.monitor_histories FOLDER FIRST LAST`. What
happens is drawn from a history's number. A monitor's file changes by SQL alone, so it is killed at a statement. It
reads a bundle at a time, `verify` a log of this length in one piece.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from audit.monitor import alarms
from audit.monitor.follow import Follower, Looked
from audit.monitor.memory import FILE, Memory
from audit.report.verify_json import report_members
from audit.tlog.tiles import WIDTH
from audit.whole import asking
from audit.whole import verify as whole
from audit.whole.report import Report
from audit.whole.verify import Options, verify
from tests.attacks.judging import ESCROW, MemoryLog
from tests.attacks.maker import Book, Draft, Signer, canonical, contributors, honest_hands, log_files
from tests.attacks.test_random_mutations import mutate

SIGNER = Signer()
NOW = 1_800_000_000
ENTRIES = 540
Files = dict[str, bytes]
"""A static log by path: one thing that a log shows."""


def honest(*, repeats: bool = False) -> list[bytes]:
    """A log of many small hands at five tables, some of every kind among them, and always some that are open.

    With `repeats` it is not honest: seeds and ids of the first bundle come again.
    """
    rng = random.Random(0)
    book, numbers = Book(SIGNER), Counter[str]()
    free, kinds = [f"table-{number}" for number in range(5)], honest_hands()
    opened: list[tuple[str, Draft, int, bool]] = []
    early: list[Draft] = []
    while len(book.entries) < ENTRIES:
        if not free or (opened and rng.random() < 0.4):
            table, draft, at, dealt = opened.pop(rng.randrange(len(opened)))
            book.add(draft.close(at) if dealt else draft.lost(at))
            free.append(table)
            continue
        at = len(book.entries)
        label = f"hand {at}"
        table = free.pop(rng.randrange(len(free)))
        numbers[table] += 1
        dealt = rng.random() < 0.07
        again = rng.choice(early) if repeats and at > WIDTH and rng.random() < 0.2 else None
        if again is not None and not dealt:
            label = again.label
        if dealt:
            of = rng.choice(kinds)
            values = contributors(label, *of.values)
            seed = again.seed if again is not None else b""
            draft = replace(
                of, label=label, table=table, number=numbers[table], values=values, seed=seed, escrowed=None
            )
            at = book.add(draft.commit(book.add(draft.offer()) if values else None))
            if at < WIDTH:
                early.append(draft)
        else:
            draft = Draft(label, table=table, number=numbers[table], values=contributors(label, "a"))
            at = book.add(draft.offer())
        opened.append((table, draft, at, dealt))
    return book.raws()


def history(rng: random.Random, raws: list[bytes], said: Counter[str]) -> Iterator[Files]:
    """Yields what a log shows, one state after the other."""
    raws = list(raws)
    size = 0
    damaged: Files = {}
    known: set[str] = set()
    for _ in range(rng.choice([2, 3])):
        before, size = size, min(ENTRIES, size + rng.choice([0, 1, 30, 256, 290, 520]))
        what = rng.choice(["honest", "honest", "mutated", "forked", "rolled back", "damaged", "missing"])
        said[what] += 1
        if what == "rolled back" and before:
            size = rng.randrange(before)
        elif what in ("mutated", "forked"):
            at = min(before, ENTRIES - 20) if what == "mutated" else rng.randrange(before + 1) // 2
            new = [json.loads(raw) for raw in raws[at : at + 60]]
            mutate(new, rng)
            raws[at : at + 60] = map(canonical, new)
        files = log_files(SIGNER, raws[:size])
        # A monitor reads what is new, so that is what is damaged; for good, for of what is mended it says what it saw.
        where = rng.choice(sorted({"checkpoint", *files.keys() - known}))
        known |= files.keys()
        files.update({path: data for path, data in damaged.items() if path in files})
        if what == "damaged":
            data = bytearray(files[where])
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            files[where] = bytes(data)
            if where != "checkpoint":
                damaged[where] = files[where]
        elif what == "missing":
            del files[where]
        yield files


def looked(folder: Path, files: Files, kill_at: int | None = None) -> tuple[Looked, int]:
    """One look of a monitor that was started for it; with `kill_at`, killed before this change. How many there were."""
    count = 0

    def trace(statement: str) -> None:
        nonlocal count
        if statement.startswith(("SELECT", "INSERT OR IGNORE")):
            return
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with closing(Memory(folder, SIGNER.verifier, NOW)) as memory:
        memory._database.set_trace_callback(trace)
        follower = Follower(MemoryLog(files), SIGNER.verifier, Options(escrow=ESCROW), memory, "test", keep_every=1)
        result = follower.look(NOW)
        alarms.take(result, memory, NOW, None)
        return result, count


def killed(folder: Path, files: Files, kill_at: int) -> bool:
    """A look that is killed; whether it was before it ended."""
    child = os.fork()
    if child == 0:
        looked(folder, files, kill_at)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def since(folder: Path) -> tuple[tuple[str, bytes], ...]:
    """What a monitor holds against the log, as `--since` takes it."""
    if not (folder / FILE).exists():
        return ()
    with closing(Memory(folder, SIGNER.verifier, NOW)) as memory:
        newest, left = memory.branch()
    return tuple((each.name, each.text.encode()) for each in (*([newest] if newest else []), *left))


def judged(report: Report) -> dict[str, Any]:
    """All that a report says, but how often a check was made: that depends on how often the log was read."""
    members = report_members(report)
    return {**members, "checks": {each["name"]: each["failed"] for each in members["checks"]}}


def differences(found: Report, expected: Report) -> dict[str, object]:
    one, other = judged(found), judged(expected)
    return {name: (one[name], other[name]) for name in one if one[name] != other[name]}


def main(base: Path, first: int, last: int) -> None:
    asking.PUBLISH_SECONDS = 0.0
    plain = honest()
    logs = plain, plain, honest(repeats=True)
    said: Counter[str] = Counter()
    for number in range(first, last):
        rng = random.Random(f"kills {number}")
        folder = base / str(number)
        for state, files in enumerate(history(random.Random(number), logs[number % 3], said)):
            earlier = since(folder)
            (whole.BUNDLES, whole.STRETCH) = (8, 2048)
            expected = verify(MemoryLog(files), Options(SIGNER.verifier, ESCROW, earlier))
            (whole.BUNDLES, whole.STRETCH) = (1, 256)
            if rng.random() < 0.6:
                said["kills"] += killed(folder, files, rng.randrange(1, 16))
            found, _ = looked(folder, files)
            assert not (wrong := differences(found.report, expected)), (number, state, wrong)
            said[expected.verdict] += 1
            said["seed"] += any(each.check == "seed" for each in expected.findings)
            said["looks"] += 1
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
