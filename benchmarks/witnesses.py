"""What witnesses cost a room: three of them, one slow, one dead and one lying, beside the same dealer without any."""

import sys
import time
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread

from benchmarks import servers
from benchmarks.rounds import medians
from benchmarks.row import Row
from tests.attacks.cosigning import ONE, THREE, TWO, Cosigner
from tests.integration.cosigning_room import Answer, Liar

PACE, TIMEOUT, SLOW = 2.0, 1.5, 1.0
ROUNDS = 5
LOAD = ("calls", 200, 16)


def rows() -> list[Row]:
    """A street's median under load, and the published checkpoint's pace meanwhile."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        policy = folder / "policy"
        slow, liar, gaps = Liar(), Liar(), list[float]()
        slow.on_post = partial(_signed, ONE, SLOW)
        liar.on_post = lambda body: _signed(TWO, 0.0, body.replace("\n\n", "\n\nother/", 1))
        places = [(ONE, stack.enter_context(slow.serve())), (TWO, stack.enter_context(liar.serve()))]
        with Liar().serve() as gone:
            places.append((THREE, gone))
        lines = [f"witness {who.name} {who.key} {url}" for who, url in places]
        policy.write_text("\n".join([*lines, "group g 1 one two three", "quorum g", ""]))
        plain = stack.enter_context(_dealer(folder / "plain", "--publish-seconds", PACE))
        ask = ("--witness-policy", policy, "--witness-seconds", PACE, "--witness-timeout", TIMEOUT)
        asking = stack.enter_context(_dealer(folder / "asking", *ask))
        over = Event()
        watching = Thread(target=_watch, args=(folder / "asking" / "public" / "checkpoint", over, gaps))
        watching.start()
        try:
            ours, theirs = medians(*(partial(_street, each) for each in (asking, plain)), rounds=ROUNDS)
        finally:
            over.set()
            watching.join()
        busy = asking.processor_seconds(), plain.processor_seconds()
    return [
        Row.of("street under load, median, with three bad witnesses, beside none", 1e3 * ours, 1e3 * theirs, "ms", 1.1),
        Row.of("published checkpoint, median time to the next, beside its pace", median(gaps), PACE, "s", 1.1),
        Row.of("processor time of the server for all of it, beside none", *busy, "s", 1.1),
    ]


def _dealer(data: Path, *options: object) -> AbstractContextManager[servers.Running]:
    """A dealer that publishes at the same pace with witnesses and without: publishing costs more than asking."""
    program = [sys.executable, "-c", "from dealer.cli import main; main()"]
    serve = [*program, "serve", "--listen", "127.0.0.1:0", "--dev", "--data-dir", str(data), *map(str, options)]
    return servers.dealer(data, command=serve)


def _signed(who: Cosigner, seconds: float, body: str) -> Answer:
    text = body.partition("\n\n")[2].rpartition("\n\n")[0] + "\n"
    time.sleep(seconds)
    return 200, "text/plain; charset=utf-8", who.line(text, int(time.time())).encode()


def _street(server: servers.Running) -> float:
    return median(server.play(*LOAD).streets)


def _watch(path: Path, over: Event, gaps: list[float]) -> None:
    """Takes the times between two published checkpoints of a growing log."""
    shown, since = path.read_bytes(), None
    while not over.wait(0.02):
        if (now := path.read_bytes()) == shown:
            continue
        shown, at = now, time.monotonic()
        if since is not None:
            gaps.append(at - since)
        since = at
