"""Hands that the referee runs over gRPC, and what an action costs on disk."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.rounds import medians
from benchmarks.row import Row

ROUNDS = 3
HANDS, TABLES = 128, 64
KILOBYTES_AN_ACT = 6.0


def rows() -> list[Row]:
    """Eight-handed check/call hands to the showdown, each action a call of its own."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        ours = stack.enter_context(servers.dealer(folder / "data"))
        others = []
        if (code := servers.release(folder)) is not None:
            others.append(stack.enter_context(servers.dealer(folder / "before", code=code)))
        rates = medians(*(partial(each.rate, "tables", HANDS, TABLES) for each in (ours, *others)), rounds=ROUNDS)
        before = ours.written()
        acts = ours.play("tables", HANDS, TABLES).acts
        written = (ours.written() - before) / acts / 1024
    name = "written for an action at a referee's table, 64 tables"
    found = [Row.of(f"{name}, against {KILOBYTES_AN_ACT:g} KiB", written, KILOBYTES_AN_ACT, "KiB", 1.0)]
    if others:
        name = "hands by TableService, 64 tables, against the release before"
        found.insert(0, Row.of(name, rates[0], rates[1], "hands/s", 4.0))
    return found
