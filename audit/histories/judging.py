"""Tests what third street shows of a room's dealing, whoever tells it (STATISTICS.md sections 1 and 2).

The unit is the hand: what is counted of one hand is one draw, with its exact distribution for that many seats.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb, nan, perm, sqrt
from typing import Literal

import numpy as np
from scipy.special import ndtri

from audit.histories.reading import Histories, own_holes
from audit.histories.sums import Draws, Floats, bernoulli, held, mean_and_variance, same_rank_pairs, sum_tails
from audit.histories.third_street import RANKS, SUITS, Cards, card_name
from audit.stats.families.third_street import third_street_kinds
from audit.stats.judging.holm import holm
from audit.stats.nulls import THIRD_STREET, third_street_counts
from audit.stats.nulls.pvalue import poisson_tail, two_sided
from audit.stats.results import Detectable

Verdict = Literal["pass", "fail", "insufficient", "unreadable"]

NEEDS = 100
"""Hands of which a test is made: of fewer, no fault short of a crude one would show."""
POWER = 0.99


@dataclass(frozen=True)
class Test:
    """One test.

    Attributes:
        name: what was counted.
        found: how often.
        expected: the mean under fair dealing.
        hands: that it was counted in.
        p: two-sided, paid for its own cells; NaN if there were too few hands.
        p_adjusted: paid for all tests (Holm).
        verdict: `fail` where `p_adjusted` is below alpha.
        sees: what a failure points at.
        detail: the worst cell in words.
    """

    __test__ = False

    name: str
    found: int
    expected: float
    hands: int
    p: float
    p_adjusted: float
    verdict: Verdict
    sees: str
    detail: str


@dataclass(frozen=True)
class Judgement:
    """What the histories show.

    Attributes:
        verdict: `fail`: evidence against the dealing. `unreadable`: a place could not be read, and nothing failed.
        tests: every test, in the order in which they were planned.
        detectable: what so many hands would have shown with 99 % power.
        alpha: chance of a false alarm over all tests.
        own: hands whose down cards count.
        left_out: what does not count, by reason.
    """

    verdict: Verdict
    tests: tuple[Test, ...]
    detectable: tuple[Detectable, ...]
    alpha: float
    own: int
    left_out: Counter[str]


@dataclass(frozen=True)
class _Cell:
    name: str
    found: int
    draws: tuple[Draws, ...]


@dataclass(frozen=True)
class _Plan:
    name: str
    sees: str
    hands: int
    cells: tuple[_Cell, ...]


def judge(histories: Histories, alpha: float, player: str | None = None) -> Judgement:
    """Tests all hands.

    Args:
        histories: what was read.
        alpha: chance of a false alarm over all tests.
        player: whose down cards to count; None: those of whoever kept the histories.
    """
    hands = histories.hands
    own, why = own_holes(hands, player)
    doors = [hand.doors for hand in hands]
    holes: list[Cards] = []
    threes: list[tuple[Cards, int]] = []
    places: list[tuple[int, Cards]] = []
    for hand, mine in zip(hands, own, strict=True):
        if mine is None:
            continue
        hole = hand.holes[mine[0]]
        assert hole is not None
        holes.append(hole)
        threes.append((hole, hand.doors[mine[0]]))
        if mine[1] == 1:
            places.append((mine[0], hand.doors))
    plans = [
        *_counted("door cards", "cards that come up too often or too rarely", doors),
        *_counted("own down cards", "cards that somebody holds too often or too rarely", holes),
        _doors_paired(doors),
        *_owner(holes, threes, places),
        _seats(doors),
    ]
    tests = _tested([*plans, _again(histories)], alpha)
    left_out = histories.left_out + why
    verdict: Verdict = "pass" if any(test.verdict == "pass" for test in tests) else "insufficient"
    if histories.problems:
        verdict = "unreadable"
    if any(test.verdict == "fail" for test in tests):
        verdict = "fail"
    return Judgement(verdict, tests, _detectable(plans, alpha), alpha, len(holes), left_out)


def _counted(what: str, sees: str, groups: Sequence[Cards]) -> Iterator[_Plan]:
    """Each card, rank and suit among groups of cards dealt together."""
    counts = np.bincount(np.array([card for group in groups for card in group], dtype=np.intp), minlength=52)
    sizes = Counter(len(group) for group in groups)
    kinds: list[tuple[str, list[str], Callable[[int], int], int]] = [
        ("each card", [card_name(card) for card in range(52)], lambda card: card, 1),
        ("each rank", list(RANKS), lambda card: card // 4, 4),
        ("each suit", list(SUITS), lambda card: card % 4, 13),
    ]
    for kind, names, index, of in kinds:
        found = np.zeros(len(names), dtype=np.int64)
        for card in range(52):
            found[index(card)] += counts[card]
        draws = tuple(Draws(held(of, size), times) for size, times in sorted(sizes.items()))
        cells = tuple(_Cell(name, int(each), draws) for name, each in zip(names, found, strict=True))
        yield _Plan(f"{what}: {kind}", sees, len(groups), cells)


def _doors_paired(doors: Sequence[Cards]) -> _Plan:
    found = sum(comb(count, 2) for each in doors for count in Counter(card // 4 for card in each).values())
    sizes = Counter(map(len, doors))
    draws = tuple(Draws(same_rank_pairs(size), times) for size, times in sorted(sizes.items()))
    sees = "cards of a rank that come together too often or too rarely: a shuffle that leaves old hands together"
    return _Plan("door cards of the same rank", sees, len(doors), (_Cell("pairs of door cards", found, draws),))


def _owner(
    holes: Sequence[Cards], threes: Sequence[tuple[Cards, int]], places: Sequence[tuple[int, Cards]]
) -> Iterator[_Plan]:
    """What whoever kept the histories was dealt, and where."""
    times = len(holes)

    def one(name: str, sees: str, cells: Sequence[tuple[str, int, Floats]], hands: int = times) -> _Plan:
        drawn = tuple(_Cell(cell, found, (Draws(chances, hands),)) for cell, found, chances in cells)
        return _Plan(name, sees, hands, drawn)

    paired = sum(first // 4 == second // 4 for first, second in holes)
    suited = sum(first % 4 == second % 4 for first, second in holes)
    yield one("own down cards: paired", "a player who is set up, or starved", [("pairs", paired, bernoulli(3 / 51))])
    yield one("own down cards: of one suit", "the same, by suits", [("suited", suited, bernoulli(12 / 51))])
    ranks = np.zeros(25)
    for first in range(52):
        for second in range(first):
            ranks[first // 4 + second // 4] += 1 / comb(52, 2)
    total = sum(first // 4 + second // 4 for first, second in holes)
    yield one("own down cards: their ranks", "cards that are too low or too high", [("sum of ranks", total, ranks)])
    kinds = third_street_kinds()
    seen = Counter(int(kinds[(hole[0] * 52 + hole[1]) * 52 + door]) for hole, door in threes)
    ways = np.array(third_street_counts().ways, dtype=np.float64)
    odds = ways / ways.sum()
    cells = [(name, seen[kind], bernoulli(float(odds[kind]))) for kind, name in enumerate(THIRD_STREET)]
    yield one("own first three cards", "starting hands that come too often or too rarely", cells)
    sizes = Counter(len(doors) for _, doors in places)
    draws = tuple(Draws(bernoulli(1 / size), count) for size, count in sorted(sizes.items()))
    for which, best in (("lowest", min), ("highest", max)):
        found = sum(doors[seat] == best(doors) for seat, doors in places)
        sees = "a player who has to bring it in too often, or whose door is best too rarely"
        yield _Plan(f"own door card is the {which}", sees, len(places), (_Cell(f"{which} door", found, draws),))


def _seats(doors: Sequence[Cards]) -> _Plan:
    """Which seat has the lowest door card, by its place in the order of the history."""
    found: Counter[int] = Counter(each.index(min(each)) for each in doors)
    sizes = Counter(map(len, doors))
    cells = []
    for seat in range(max(sizes, default=0)):
        draws = tuple(Draws(bernoulli(1 / size), times) for size, times in sorted(sizes.items()) if size > seat)
        cells.append(_Cell(f"seat {seat + 1} of the list", found[seat], draws))
    sees = "a place at the table that is dealt worse cards than others"
    return _Plan("seat with the lowest door card", sees, len(doors), tuple(cells))


def _again(histories: Histories) -> Test:
    """The same cards dealt to the same number of seats again: a deck that comes back, a seed space that is small."""
    groups: dict[tuple[int, int], Counter[object]] = defaultdict(Counter)
    for hand in histories.hands:
        told = tuple(hole for hole in hand.holes if hole is not None)
        known = len(hand.doors) + 2 * len(told)
        if known >= 4:
            groups[len(hand.doors), known][hand.doors, hand.holes] += 1
    hands = sum(count for group in groups.values() for count in group.values())
    found = sum(comb(count, 2) for group in groups.values() for count in group.values())
    expected = sum(comb(group.total(), 2) / perm(52, known) for (_, known), group in groups.items())
    p = poisson_tail(found, expected) if hands >= NEEDS else nan
    sees = "a deck that is dealt again: too few seeds, or a record of an earlier hand"
    detail = f"{found} pairs of hands with the same known cards in the same places, expected {expected:.3g}"
    return Test("the same deal again", found, expected, hands, p, nan, "insufficient", sees, detail)


def _tested(plans: Sequence[_Plan | Test], alpha: float) -> tuple[Test, ...]:
    made = [plan if isinstance(plan, Test) else _worst(plan) for plan in plans]
    ps = [test.p for test in made if test.p == test.p]
    adjusted = iter(holm(ps)) if ps else iter(())
    tests = []
    for test in made:
        if test.p != test.p:
            tests.append(test)
            continue
        p = float(next(adjusted))
        tests.append(
            Test(
                test.name,
                test.found,
                test.expected,
                test.hands,
                test.p,
                p,
                "fail" if p < alpha else "pass",
                test.sees,
                test.detail,
            )
        )
    return tuple(tests)


def _worst(plan: _Plan) -> Test:
    """Judges a plan by its most surprising cell, paid for all of them (Bonferroni)."""
    if plan.hands < NEEDS:
        detail = f"needs {NEEDS} hands, has {plan.hands}"
        return Test(plan.name, 0, nan, plan.hands, nan, nan, "insufficient", plan.sees, detail)
    alike: dict[tuple[Draws, ...], list[_Cell]] = defaultdict(list)
    for each in plan.cells:
        alike[each.draws].append(each)
    # Of cells with one distribution the fullest or the emptiest surprises most.
    ends = [end(cells, key=lambda each: each.found) for cells in alike.values() for end in (min, max)]
    p, cell = min(((two_sided(*sum_tails(each.found, each.draws)), each) for each in ends), key=lambda pair: pair[0])
    expected, _ = mean_and_variance(cell.draws)
    p = min(1.0, p * len(plan.cells))
    detail = f"{cell.name}: {cell.found} times, expected {expected:.1f}"
    return Test(plan.name, cell.found, expected, plan.hands, p, nan, "insufficient", plan.sees, detail)


_TIMES = "times as often as it should"
_ASKED = {
    "door cards: each card": "one card comes up at the door too often",
    "own down cards: paired": "the player is dealt a pair down too often",
    "own door card is the lowest": "the player has to bring it in too often",
    "seat with the lowest door card": "one place has the lowest door too often",
}


def _detectable(plans: Sequence[_Plan], alpha: float) -> tuple[Detectable, ...]:
    """Says how large a fault so many hands would have shown, by the normal approximation."""
    made = sum(plan.hands >= NEEDS for plan in plans) + 1
    found = []
    for plan in plans:
        if plan.name not in _ASKED or plan.hands < NEEDS:
            continue
        name = _ASKED[plan.name]
        mean, variance = mean_and_variance(plan.cells[0].draws)
        sigmas = ndtri(POWER) - ndtri(alpha / (2 * made * len(plan.cells)))
        value = 1 + float(sigmas) * sqrt(variance) / mean
        sentence = f"{name}: seen with 99 % power from {value:.2f} {_TIMES} on"
        found.append(Detectable(name, value, _TIMES, sentence))
    return tuple(found)
