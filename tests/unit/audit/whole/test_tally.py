"""What is found is counted in full and named in part, in words that fit the count."""

from __future__ import annotations

import pytest

from audit.findings import Finding
from audit.plural import counted
from audit.whole.tally import KEPT, NAMED, FirstFew, Tally


@pytest.mark.parametrize(("count", "said"), [(0, "0 hands"), (1, "1 hand"), (2, "2 hands")])
def test_a_count_agrees_with_its_noun(count: int, said: str) -> None:
    assert counted(count, "hand") == said


@pytest.mark.parametrize(("more", "said"), [(0, None), (1, "and 1 more open hand"), (2, "and 2 more open hands")])
def test_of_many_the_first_are_named(more: int, said: str | None) -> None:
    several = FirstFew("open hand", "open hands")
    for number in range(NAMED + more):
        several.add(f"hand {number}")
    named = [f"hand {number}" for number in range(NAMED)]
    assert several.texts() == (named if said is None else [*named, said])


def test_all_findings_are_counted_and_the_first_in_log_order_kept() -> None:
    tally = Tally()
    tally.add(Finding("seed", index, None, "wrong") for index in reversed(range(3 * KEPT)))
    assert tally.failed["seed"] == 3 * KEPT
    assert [found.index for found in tally.findings()] == list(range(KEPT))


def test_an_unknown_entry_explains_what_comes_after_it_and_only_lifecycle() -> None:
    tally = Tally()
    tally.saw_unknown(5)
    tally.add([Finding("lifecycle", 6, None, "a gap"), Finding("entropy", 7, None, "no offer", missing_offer=True)])
    assert (tally.excused, tally.judge(False)) == (2, ("unreadable", 4))
    tally.add([Finding("entropy", 7, None, "wrong")])
    assert tally.judge(False) == ("invalid", 1)
