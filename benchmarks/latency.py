"""How long a table waits for a street, beside a bare durable dealer under the same load."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.rounds import medians
from benchmarks.row import Row

ROUNDS = 5
IN_PLAY = 200
PACED_SECONDS = 6
TOP = ("calls", 400, 64)


def rows() -> list[Row]:
    """One table alone; and 200 hands in play, opened at half of the dealer's top rate whether or not it keeps up."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        ours = stack.enter_context(servers.dealer(folder / "data"))
        bare = stack.enter_context(servers.bare(folder / "bare", ours))
        alone = medians(*(partial(_middle, each) for each in (ours, bare)), rounds=ROUNDS)
        rate = medians(lambda: ours.rate(*TOP), rounds=2)[0] / 2
        paced = medians(*(partial(_tail, each, rate) for each in (ours, bare)), rounds=ROUNDS)
    return [
        Row.of("street, one table, median, against a bare durable dealer", 1e3 * alone[0], 1e3 * alone[1], "ms"),
        Row.of(
            f"street, {IN_PLAY} hands in play at half the top rate ({rate:.0f}/s), 99th percentile, against it",
            1e3 * paced[0],
            1e3 * paced[1],
            "ms",
            goal=1.5,
        ),
    ]


def _middle(server: servers.Running) -> float:
    """Seconds that one table alone waits for a street, in the median."""
    return median(server.play("calls", 60, 1).streets)


def _tail(server: servers.Running, rate: float) -> float:
    """Seconds, 99th percentile under an open load; the first second is left out, until all hands are in play."""
    played = server.play("paced", round(IN_PLAY + PACED_SECONDS * rate), IN_PLAY, rate=rate)
    return quantiles([wait for wait, at in zip(played.streets, played.at, strict=True) if at > 1.0], n=100)[98]
