"""Hands a second over gRPC, played and spot-checked by a client process of its own, beside what others would give."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.rounds import medians
from benchmarks.row import Row

ROUNDS = 5
STREAM = ("stream", 1500, 256)
CALLS = ("calls", 400, 64)


def rows() -> list[Row]:
    """Whole eight-handed hands (open, five streets, close), each answer durable before it leaves."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        ours = stack.enter_context(servers.dealer(folder / "data"))
        bare = stack.enter_context(servers.bare(folder / "bare", ours))
        naive = stack.enter_context(servers.naive(folder / "naive"))
        tls = stack.enter_context(servers.over_tls(folder / "tls"))
        streams, calls = [ours, bare, tls], [ours, bare, naive, tls]
        if (code := servers.release(folder)) is not None:
            before = stack.enter_context(servers.dealer(folder / "before", code=code))
            streams.append(before)
            calls.append(before)
        by_stream = medians(*(partial(each.rate, *STREAM) for each in streams), rounds=ROUNDS)
        by_calls = medians(*(partial(each.rate, *CALLS) for each in calls), rounds=ROUNDS)
        alone = medians(*(partial(each.rate, "calls", 60, 1) for each in (ours, naive)), rounds=ROUNDS)
    found = [
        Row.of(
            "hands by PlayHands, 256 tables, against a bare durable dealer", by_stream[0], by_stream[1], "hands/s", 0.4
        ),
        Row.of(
            "hands by single calls, 64 tables, against a bare durable dealer", by_calls[0], by_calls[1], "hands/s", 0.65
        ),
        Row.of(
            "hands by single calls, 64 tables, against a naive room's own service", by_calls[0], by_calls[2], "hands/s"
        ),
        Row.of(
            "hands by PlayHands against a naive room's own service at 64 tables",
            by_stream[0],
            by_calls[2],
            "hands/s",
            4.0,
        ),
        Row.of("hands by single calls, one table, against a naive room's own service", alone[0], alone[1], "hands/s"),
    ]
    found += [
        Row.of("hands by PlayHands, 256 tables, over TLS against without it", by_stream[2], by_stream[0], "hands/s"),
        Row.of("hands by single calls, 64 tables, over TLS against without it", by_calls[3], by_calls[0], "hands/s"),
    ]
    if len(streams) > 3:
        found += [
            Row.of(
                "hands by PlayHands, 256 tables, against the release before", by_stream[0], by_stream[3], "hands/s", 2.5
            ),
            Row.of("hands by single calls, 64 tables, against the release before", by_calls[0], by_calls[4], "hands/s"),
        ]
    return found
