"""What waits in memory while hands are open: their places, and not their entries."""

from __future__ import annotations

import tracemalloc
from contextlib import closing

import pytest

from audit.record.entries import Offer
from audit.record.reading import parse
from audit.whole.judge import SLOT_BYTES, Judge
from audit.whole.lifecycle import ID_BYTES, OPEN_HAND_BYTES, Kept, Lifecycle, Opened
from audit.whole.repeats import Duplicates
from audit.whole.tally import Tally
from audit.whole.traces import OfferTrace
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


@pytest.mark.parametrize("contributions", [1, 64])
@pytest.mark.parametrize("tables", [1, 400])
def test_open_offers_wait_outside_memory_and_are_checked_at_the_end(contributions: int, tables: int) -> None:
    """What an open hand weighs does not depend on what its entries hold."""
    count = 400
    values = contributors("x", *[f"contributor-{number}" for number in range(contributions)])
    with Duplicates(ID_BYTES, SLOT_BYTES) as ids, closing(Kept(limit=1)) as kept:
        tally = Tally()
        lifecycle = Lifecycle(tally, kept)
        judge = Judge(ids, ids)
        raws = []
        for at in range(count):
            draft = Draft(f"hand {at}", table=f"table-{at % tables}", number=at // tables + 1, values=values)
            raws.append(canonical(draft.offer()))
        tracemalloc.start()
        for at, raw in enumerate(raws):
            entry = parse(raw)
            assert isinstance(entry, Offer)
            trace = OfferTrace(at, entry.hand, entry.table, entry.number, 0, raw)
            judge.follow(trace, lifecycle.follow(trace))
            del entry, trace
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        if tables == count:
            assert held < OPEN_HAND_BYTES * count
        else:  # each offer but the first is a finding, of which a thousand are kept at the most
            assert held < 2 * OPEN_HAND_BYTES * count
        waiting = list(lifecycle.finish())
    assert [item.offer[0] for item in waiting if item.offer is not None] == list(range(count))
    assert sum(len(item.offer[1]) for item in waiting if item.offer is not None) == sum(map(len, raws))
