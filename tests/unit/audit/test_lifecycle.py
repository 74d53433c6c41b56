"""What waits in memory while hands are open: their places, and not their entries."""

from __future__ import annotations

import tracemalloc
from contextlib import closing

from audit.findings import Tally
from audit.record.entries import Close, Commit, Offer, parse
from audit.whole.lifecycle import ID_BYTES, SLOT_BYTES, Kept, Lifecycle, Opened, trace_of
from audit.whole.repeats import Duplicates
from tests.attacks.maker import Draft, canonical, contributors


def test_bytes_come_back_from_memory_and_from_the_file_alike() -> None:
    raws = [b"x" * length for length in (1, 50, 7, 200)]
    with closing(Kept(limit=64)) as kept:
        places = [kept.keep(raw) for raw in raws]
        for at, (place, raw) in reversed(list(enumerate(zip(places, raws, strict=True)))):
            assert kept.read(Opened(at, place)) == (at, raw)
        assert kept.read(Opened(0, kept.keep(b"later"))) == (0, b"later")
        assert kept.keep(None) is None
        assert kept.read(Opened(0, None)) is None


def test_open_offers_wait_outside_memory_and_are_checked_at_the_end() -> None:
    count = 400
    tally = Tally()
    with Duplicates(ID_BYTES, SLOT_BYTES) as ids, closing(Kept(limit=1)) as kept:
        lifecycle = Lifecycle(tally, ids, kept)
        tracemalloc.start()
        size, names = 0, [f"contributor-{number}" for number in range(64)]
        for at in range(count):
            raw = canonical(Draft(f"hand {at}", table=f"table-{at}", values=contributors("x", *names)).offer())
            size += len(raw)
            entry = parse(raw)
            assert isinstance(entry, Offer | Commit | Close)
            trace = trace_of(at, entry, raw)
            lifecycle.offer(trace)  # type: ignore[arg-type]
        del raw, entry, trace
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert held < size / 2
        waiting = list(lifecycle.finish())
    assert [item.offer[0] for item in waiting if item.offer is not None] == list(range(count))
    assert sum(len(item.offer[1]) for item in waiting if item.offer is not None) == size
