"""A family with a wrong null does not pass: every family of the battery is held against what fair decks give.

A statistic of one deck must have its exact null over every permutation of a few cards, and so must the test that uses
it. What players are dealt is held against counts of all hands. All other p-values come from fixed corpora of fair
decks: none may be smaller than uniform ones, those of Pearson sums must be uniform, and over all decks together no test
may ring. Each of these checks is tried on nulls that are a little wrong, and must find them out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import log, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from audit.stats.batch import Batch
from audit.stats.families import FAMILIES, Family, aces, seated, showdowns, sums, third_street
from audit.stats.families.aces import ACES
from audit.stats.families.between_decks import BETWEEN_DECKS, kept_neighbours
from audit.stats.families.card_positions import CARD_POSITIONS
from audit.stats.families.coupon_collector import COUPON_COLLECTOR
from audit.stats.families.fisher_yates import FISHER_YATES
from audit.stats.families.gap import GAP
from audit.stats.families.lehmer import LEHMER
from audit.stats.families.neighbours import NEIGHBOURS
from audit.stats.families.permutations import PERMUTATIONS
from audit.stats.families.position_pairs import ALIKE_POSITIONS, POSITION_PAIRS
from audit.stats.families.precedence import PRECEDENCE
from audit.stats.families.seated import SEATED
from audit.stats.families.showdowns import FIVE_CARDS, SHOWDOWNS
from audit.stats.families.streams import STREAMS
from audit.stats.families.successors import SUCCESSORS
from audit.stats.families.sums import histogram_outcomes
from audit.stats.families.third_street import PAIRED_HOLES, THIRD_STREET_HANDS
from audit.stats.family import Counts, PerDeck
from audit.stats.nulls import Pmf
from tests.unit.stats.decks import every_permutation, fair

ALPHA = 1e-6
TIMES = 200
"""So often every permutation is taken: enough for a null that is a little wrong to show."""

CORPORA, DECKS = 2000, 100
FEWER = {
    PERMUTATIONS: 30,
    NEIGHBOURS: 100,
    GAP: 20,
    COUPON_COLLECTOR: 80,
    ALIKE_POSITIONS: 200,
    BETWEEN_DECKS: 20,
    FISHER_YATES: 50,
    STREAMS: 10,
}
"""Fewer corpora where 2,000 would take up to a minute each. All before digits are sums, values and cells against exact
nulls, enumerated below; digits have their Pearson sums and cells from the code that Lehmer digits hold with all 2,000,
and saddlepoints of 8 ms a corpus besides; the waves of streams, 25 ms, are a bound, mostly 1."""
OF_POKER = 10, 1000
"""Families for 52 cards, 5 to 10 ms a corpus, have exact odds, held below against all hands that there are."""

ALL = (*FAMILIES, SEATED)
OF_CARDS = [family for family in ALL if family.cards]


@cache
def everything(n: int) -> Batch:
    return Batch(every_permutation(n))


def sizes(family: Family) -> list[int]:
    return [n for n in range(5, 9) if family.is_for(n)]


def powered(null: Pmf, power: float = 0.97) -> Pmf:
    """A null that is a little wrong."""
    prob = np.asarray(null.prob) ** power
    return null._replace(prob=prob / prob.sum())


def check_histogram(name: str, histogram: np.ndarray, null: Pmf) -> None:
    """Counts over everything that there is are the null itself, and the tests of them find nothing."""
    expected = np.zeros(len(histogram))
    expected[null.support[0] : null.support[0] + len(null.prob)] = null.prob
    assert histogram / histogram.sum() == pytest.approx(expected, abs=1e-12), name
    for outcome in histogram_outcomes(name, histogram * TIMES, null):
        assert outcome.p > 0.1, outcome.name


def check_statistic(statistic: PerDeck, n: int) -> None:
    """Over every permutation of n cards the statistic has its null, and its tests find nothing."""
    histogram = statistic.histogram(everything(n))
    check_histogram(statistic.name, histogram, statistic.null(n))
    for outcome in statistic.outcomes(histogram * TIMES, n):
        assert outcome.p > 0.1, outcome.name


@pytest.mark.parametrize("family", [each for each in ALL if each.statistics], ids=lambda each: each.name)
def test_statistics_of_one_deck_have_their_null_over_every_permutation(family: Family) -> None:
    assert sizes(family)
    for n in sizes(family):
        for statistic in family.statistics:
            check_statistic(statistic, n)


def kept(n: int) -> np.ndarray:
    """How many permutations keep 0 … n of the followers that cards have in the deck 0 … n - 1."""
    decks = every_permutation(n).astype(int)
    follows = (np.roll(decks, -1, axis=1) - decks) % n == 1
    return np.bincount(follows.sum(axis=1), minlength=n + 1)


def test_kept_followers_have_their_null_over_every_permutation() -> None:
    for n in range(5, 9):
        check_histogram("kept", kept(n), kept_neighbours(n))
    with pytest.raises(AssertionError):
        check_histogram("kept", kept(7), powered(kept_neighbours(7)))


STATISTICS = [
    statistic for family in (PERMUTATIONS, NEIGHBOURS, GAP, COUPON_COLLECTOR) for statistic in family.statistics
]


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.name)
def test_a_null_that_is_a_little_wrong_is_caught(statistic: PerDeck, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 7 if statistic in PERMUTATIONS.statistics else 8
    if statistic.name == "parity":  # both values are equally likely, and stay so
        return
    wrong = replace(statistic, null=lambda n: powered(statistic.null(n)))  # type: ignore[type-var]
    with pytest.raises(AssertionError):
        check_statistic(wrong, n)
    # The same if the statistic's null is right and the tests make something else of it.
    worst, tail = sums.worst_of_cells, sums.sum_tail
    monkeypatch.setattr(sums, "worst_of_cells", lambda counts, decks, prob: worst(counts, decks, prob**0.97))
    monkeypatch.setattr(sums, "sum_tail", lambda values, prob, *rest: tail(values, prob**0.97, *rest))
    with pytest.raises(AssertionError):
        check_statistic(statistic, n)


HANDS = 10**8
"""So many deals of poker, each kind exactly as often as it comes among all."""

KINDS = np.array([16_440, 3_744, 1_096, 720, 52, 48]) / 22_100
FIVE = np.array([1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 40]) / 2_598_960
SEVEN = (
    np.array([23_294_460, 58_627_800, 31_433_400, 6_461_620, 6_180_020, 4_047_644, 3_473_184, 224_848, 41_584])
    / 133_784_560
)
"""As they stand in books on poker, worst first."""


def holding_an_ace(cards: int) -> float:
    return float(np.mean([max(hand) >= 48 for hand in combinations(range(52), cards)]))


def paired_twice() -> float:
    pairs = [{one, other} for one, other in combinations(range(52), 2) if one // 4 == other // 4]
    return sum(one.isdisjoint(other) for one in pairs for other in pairs) / (1_326 * 1_225)


def chance_of(family: Family, key: str) -> Any:
    """Of each cell of a family's counts, by its key; `… of 3` is for three seats."""
    what, _, seats = key.partition(" of ")
    chances = {
        SHOWDOWNS: {"wins": lambda: 1 / int(seats), "hands": lambda: SEVEN},
        FIVE_CARDS: {"hands": lambda: FIVE},
        THIRD_STREET_HANDS: {
            "kinds": lambda: KINDS,
            "ranks": lambda: holding_an_ace(3),
            "lowest door": lambda: 1 / int(seats),
            "highest door": lambda: 1 / int(seats),
        },
        PAIRED_HOLES: {"paired": lambda: 78 / 1_326, "both": paired_twice, "both in a row": paired_twice},
        ACES: {"at": lambda: 4 / 52, "down": lambda: holding_an_ace(2), "third": lambda: holding_an_ace(3)},
        SEATED: {
            "hands": lambda: 1,
            "decided": lambda: 1,
            "wins": lambda: 1 / 6,
            "paired": lambda: 78 / 1_326,
            "ranks": lambda: holding_an_ace(3),
            "places": lambda: 6,
        },
    }
    return chances[family][what]()


@cache
def exact_counts(family: Family) -> Counts:
    """Counts in which everything comes as often as it does among all deals."""
    shapes = {key: array.shape for key, array in counts_of(family, 52, 10, 0).items()}
    return {key: np.rint(np.broadcast_to(HANDS * chance_of(family, key), shapes[key])).astype(int) for key in shapes}


def check_odds(family: Family) -> None:
    for outcome in family.pvalues(exact_counts(family), 52, HANDS):
        assert outcome.p > 0.1, outcome.name


@pytest.mark.parametrize("family", OF_CARDS, ids=lambda each: each.name)
def test_what_players_are_dealt_has_the_odds_of_all_hands(family: Family) -> None:
    check_odds(family)


def _powered_ways(counts: Callable[[int], Any]) -> Callable[..., Any]:
    return lambda *cards: SimpleNamespace(ways=tuple(ways**0.97 for ways in counts(*cards).ways))


def _powered_chance(test: Callable[..., Any]) -> Callable[..., Any]:
    return lambda found, draws, chance, *more: test(found, draws, chance**0.97, *more)


WRONG_ODDS: list[tuple[Family, Any, str, Callable[[Any], Any]]] = [
    (SHOWDOWNS, showdowns, "category_counts", _powered_ways),
    (SHOWDOWNS, showdowns, "worst_cell", _powered_chance),
    (FIVE_CARDS, showdowns, "category_counts", _powered_ways),
    (THIRD_STREET_HANDS, third_street, "third_street_counts", _powered_ways),
    (THIRD_STREET_HANDS, third_street, "HOLDS_RANK", lambda chance: chance**0.97),
    (THIRD_STREET_HANDS, third_street, "worst_cell", _powered_chance),
    (PAIRED_HOLES, third_street, "PAIR", lambda chance: chance**0.97),
    (PAIRED_HOLES, third_street, "BOTH_PAIRED", lambda chance: chance**0.97),
    (ACES, aces, "holds_ace", lambda chance: lambda cards: chance(cards) ** 0.97),
    (ACES, aces, "_odds", lambda odds: lambda cards: odds(cards) ** 0.97),
    (SEATED, seated, "HOLDS_RANK", lambda chance: chance**0.97),
    (SEATED, seated, "PAIR", lambda chance: chance**0.97),
    (SEATED, seated, "worst_cell", _powered_chance),
]


@pytest.mark.parametrize(
    ("family", "module", "name", "wrong"), WRONG_ODDS, ids=lambda each: getattr(each, "name", None)
)
def test_odds_that_are_a_little_wrong_are_caught(
    family: Family, module: Any, name: str, wrong: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    with pytest.raises(AssertionError):
        check_odds(family)


def cards_of(family: Family) -> int:
    """As few cards as make all its tests: those of ranks and suits need a multiple of four."""
    return family.cards or max(family.fewest_cards, 8 if family is CARD_POSITIONS or family.suited else 5)


@cache
def counts_of(family: Family, n: int, decks: int, seed: int) -> Counts:
    seats = np.tile(np.arange(1, 7, dtype=np.uint8), (decks, 1)) if family is SEATED else None
    return family.count(Batch(fair(decks, seed, n), seats=seats))


def check_corpora(family: Family, corpora: int | None = None, n: int | None = None) -> None:
    """P-values of fair corpora are not smaller than uniform ones, and all decks together ring nothing."""
    n = n or cards_of(family)
    many, decks = OF_POKER if family.cards else (FEWER.get(family, CORPORA), DECKS)
    many = corpora or many
    p: dict[str, list[float]] = {}
    uniform = set()
    together: Counts | None = None
    for seed in range(many):
        counts = counts_of(family, n, decks, seed)
        together = counts if together is None else family.merge(together, counts)
        for outcome in family.pvalues(counts, n, decks):
            p.setdefault(outcome.name, []).append(outcome.p)
            if outcome.detail.startswith("Pearson sum"):
                uniform.add(outcome.name)
    for name, found in p.items():
        ordered, ranks = np.sort(found), np.arange(1, many + 1) / many
        assert (ranks - ordered).max() < sqrt(log(1 / ALPHA) / 2 / many), f"{name}: too small"
        if name in uniform:
            assert (ordered - ranks + 1 / many).max() < sqrt(log(2 / ALPHA) / 2 / many), f"{name}: too large"
    assert together is not None
    for outcome in family.pvalues(together, n, many * decks):
        assert outcome.p > ALPHA, f"{outcome.name}: all decks together"


@pytest.mark.parametrize("family", ALL, ids=lambda each: each.name)
def test_fair_corpora_have_uniform_p_values(family: Family) -> None:
    check_corpora(family)


OF_CELLS = [CARD_POSITIONS, SUCCESSORS, PRECEDENCE, ALIKE_POSITIONS, LEHMER, FISHER_YATES, STREAMS]
MANY = 10**8
"""So many decks, every permutation as often as any other, which gives each cell exactly its expected count."""


def check_cells(family: Family) -> None:
    """Nothing is found where everything comes as often as it should; Pearson sums of 0 are too good, and left out."""
    n = cards_of(family)
    if family is STREAMS:  # 20 cards have too many permutations
        decks = MANY
        counts = {key: np.full(array.shape, decks // 2) for key, array in counts_of(family, n, 10, 0).items()}
    else:
        times = MANY // everything(n).size
        decks = times * everything(n).size
        counts = {key: times * array for key, array in family.count(everything(n)).items()}
    for outcome in family.pvalues(counts, n, decks):
        if not outcome.detail.startswith("Pearson sum") and not outcome.name.endswith("three swaps in a row"):
            assert outcome.p > 0.1, outcome.name


@pytest.mark.parametrize("family", OF_CELLS, ids=lambda each: each.name)
def test_cells_have_their_null_over_every_permutation(family: Family) -> None:
    check_cells(family)


def _powered_rows(tail: Callable[..., float]) -> Callable[..., float]:
    def wrong(statistic: float, values: np.ndarray, prob: np.ndarray, decks: int) -> float:
        weights = np.linspace(1, 1.03, prob.shape[1]) * prob  # uniform digits stay uniform in any power
        return tail(statistic, values, weights / weights.sum(axis=1, keepdims=True), decks)

    return wrong


@pytest.mark.parametrize(
    ("module", "family", "name"),
    [
        ("card_positions", CARD_POSITIONS, "worst_cell"),
        ("card_positions", CARD_POSITIONS, "favoured_cell"),
        ("successors", SUCCESSORS, "worst_cell"),
        ("precedence", PRECEDENCE, "worst_cell"),
        ("position_pairs", ALIKE_POSITIONS, "worst_cell"),
        ("digits", LEHMER, "extreme_cell"),
        ("digits", FISHER_YATES, "extreme_cell"),
        ("digits", FISHER_YATES, "likelihood_ratio_tail"),
        ("streams", STREAMS, "worst_cell"),
        ("streams", STREAMS, "binomial_tails"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_cells_with_a_chance_that_is_a_little_wrong_are_caught(
    module: str, family: Family, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = sys.modules[f"audit.stats.families.{module}"]
    wrong = _powered_rows if name == "likelihood_ratio_tail" else _powered_chance
    monkeypatch.setattr(place, name, wrong(getattr(place, name)))
    with pytest.raises(AssertionError):
        check_cells(family)


def _without_factor(tails: Callable[..., Any]) -> Callable[..., Any]:
    """A Pearson sum with a factor too much: as much as 500 small corpora show, 8/7 with the most degrees of freedom."""
    return lambda found, df, *rest: tails(found * (8 / 7 if df > 40 else 1.4), df, *rest)


@pytest.mark.parametrize(
    ("module", "family", "name", "wrong"),
    [
        ("card_positions", CARD_POSITIONS, "pearson_tails", _without_factor),
        ("successors", SUCCESSORS, "pearson_tails", _without_factor),
        ("precedence", PRECEDENCE, "pearson_tails", _without_factor),
        ("digits", LEHMER, "pearson_tails", _without_factor),
        (
            "position_pairs",
            POSITION_PAIRS,
            "coincidence_tails",
            lambda tails: lambda counts, cells: tails(counts, cells**0.97),
        ),
    ],
    ids=lambda each: getattr(each, "name", each if isinstance(each, str) else ""),
)
def test_sums_over_cells_that_are_a_little_wrong_are_caught(
    module: str,
    family: Family,
    name: str,
    wrong: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = sys.modules[f"audit.stats.families.{module}"]
    monkeypatch.setattr(place, name, wrong(getattr(place, name)))
    with pytest.raises(AssertionError):
        check_corpora(family, 500 if name == "pearson_tails" else 100, 8)
