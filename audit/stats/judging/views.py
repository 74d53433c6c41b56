"""The battery under the names that laboratories give to tests (API.md, `stats --view`).

A view takes p-values that the battery has, and never decides an exit code: at 99 % collectively one fair room in a
hundred fails it, by its own definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from audit.stats.nulls.pvalue import sidak
from audit.stats.results import TestResult, ViewResult, ViewRow


@dataclass(frozen=True)
class LabTest:
    """A laboratory's test.

    Attributes:
        name: as the regulation has it.
        ours: names of the battery's tests that it is read as; one that ends in `…` stands for all that begin so.
        read_as: how its name was read, of a deck dealt without replacement.
        blind: what it cannot see.
        two_sided: whether too good a result counts as well as too bad a one.
    """

    name: str
    ours: tuple[str, ...]
    read_as: str
    blind: str
    two_sided: bool = True

    def takes(self, name: str) -> bool:
        """Says whether a test of the battery is one that this one is read as."""
        return any(name.startswith(own[:-1]) if own.endswith("…") else name == own for own in self.ours)


@dataclass(frozen=True)
class View:
    """A regulation's list of tests.

    Attributes:
        name: for `--view`.
        title: the regulation and clause.
        level: the chance of a false alarm: of each test, or of all together.
        collectively: which of the two.
        tests: its tests, in its order.
    """

    name: str
    title: str
    level: float
    collectively: bool
    tests: tuple[LabTest, ...]


_CHI_SQUARE = LabTest(
    "chi-square",
    ("card x position", "card x position: rank x position", "card x position: suit x position"),
    "cards, ranks and suits by position, with (n-1)/n and (classes-1)(n-1) degrees of freedom",
    "cards that lie together, decks that come again, anything that leaves each card everywhere equally often",
)
_EQUIDISTRIBUTION = LabTest(
    "equidistribution",
    ("card x position: largest card cell", "card x position: largest rank cell"),
    "the fullest and the emptiest cell of cards and of ranks by position",
    "the same as chi-square, and a small bias that is spread over many cells",
)
_GAP = LabTest(
    "gap",
    ("gap of …",),
    "the distance between the first two cards of each rank and suit; C(n-d, g-1) of C(n, g) orders",
    "where the cards lie, and all but the first two of each rank and suit",
)
_POKER = LabTest(
    "poker",
    ("five-card hands…",),
    "categories of five cards in a row, without replacement",
    "which seat is dealt a hand, which rank it is of, and everything between decks",
)
_COUPON = LabTest(
    "coupon collector",
    ("coupon collector…",),
    "cards from either end until every rank, every suit has come, without replacement",
    "which rank or suit comes first or last, if each does so equally often",
)
_PERMUTATION = LabTest(
    "permutation",
    ("Lehmer digits: deck: all digits", "permutation: inversions", "permutation: descents…"),
    "the whole order of the deck by its Lehmer digits, inversions and descents",
    "a shuffle whose traces are of the cards' values and not of their order before",
)
_RUNS = LabTest(
    "runs",
    ("permutation: longest ascending run…", "permutation: longest descending run…"),
    "the longest runs up and down in each deck and its inverse",
    "a bias of single cards or seats, and everything between decks",
)
_SERIAL = LabTest(
    "serial correlation",
    ("between decks: cards in the same place 1 deals…", "between decks: cards followed by the same card 1 deals…"),
    "cards that keep their place, or their follower, from one deck to the next",
    "decks that come again after more than one deal",
)
_SPECTRAL = LabTest(
    "spectral",
    tuple(
        f"streams of swaps: {way}: three swaps in a row"
        for way in ("downwards", "upwards", "inside out", "inside out from the end")
    ),
    "waves among three swaps in a row, as the planes of a congruential generator make them",
    "every generator that is not linear, and every bias of the shuffle itself",
    two_sided=False,
)
_SUBSEQUENCES = LabTest(
    "subsequences",
    tuple(f"pairs at positions: pairs of cards at distance {distance}" for distance in range(2, 9)),
    "every second to every eighth card, by pairs",
    "what shows only in three or more cards together, and decks that come again",
)
_OVERLAPS = LabTest(
    "overlaps",
    ("successors: neighbours at distance 1", "successors: order at distance 1"),
    "which card follows which, all overlapping pairs round the deck, symmetric and antisymmetric part",
    "where in the deck a pair lies, and whom it is dealt to",
)
_INTERPLAY = LabTest(
    "interplay correlation",
    ("precedence: mean depth", "precedence beyond depth"),
    "which of two cards lies higher, for all pairs",
    "how far apart two cards lie, and everything between decks",
)

_547 = (
    _CHI_SQUARE, _RUNS, _SERIAL, _EQUIDISTRIBUTION, _GAP, _POKER, _COUPON, _PERMUTATION, _SPECTRAL, _SUBSEQUENCES,
)  # fmt: skip
_GLI = (
    LabTest("total distribution", ("card x position",), _CHI_SQUARE.read_as, _CHI_SQUARE.blind),
    _OVERLAPS,
    _COUPON,
    _RUNS,
    _INTERPLAY,
    _SERIAL,
    LabTest(
        "duplicates",
        ("pairs at positions: first three cards", "duplicates: equal: whole decks"),
        "decks with the same three cards on top, and equal decks",
        "a part of the deck that comes again lower down, and a small seed space while no deck has come twice",
    ),
)
_PA = (
    _CHI_SQUARE,
    _EQUIDISTRIBUTION,
    _GAP,
    _OVERLAPS,
    _POKER,
    _COUPON,
    _PERMUTATION,
    LabTest(
        "Kolmogorov-Smirnov",
        ("Lehmer digits: deck: all digits", "Lehmer digits: inverse: all digits"),
        "the whole distribution of the digits of deck and inverse against uniform ones; a Pearson sum in place of the "
        "largest difference, which is for continuous values",
        "traces that leave each digit uniform",
    ),
    LabTest(
        "adjacency criterion",
        ("neighbours of one …",),
        "neighbours of one rank, suit or colour",
        "which cards they are and where they lie",
    ),
    LabTest(
        "order statistics",
        ("permutation: highest so far…", "permutation: lowest so far…"),
        "records: cards above or below all cards before them, from either end",
        "everything below the highest and above the lowest so far",
    ),
    _RUNS,
    _INTERPLAY,
    _SERIAL,
    _SUBSEQUENCES,
    LabTest(
        "Poisson distribution",
        ("permutation: fixed points…", "duplicates: equal: whole decks"),
        "cards in their own place, nearly Poisson with mean 1 (their exact distribution is used), and equal decks, "
        "Poisson",
        "a bias that moves every card",
    ),
)

VIEWS = {
    view.name: view
    for view in (
        View("547.14", "25 CFR 547.14(b)(2)", 0.01, False, _547),
        View("gli-19", "GLI-19 v3.0, 3.2.2", 0.01, True, _GLI),
        View("pa", "58 Pa. Code 810a.5(c)", 0.05, False, _PA),
    )
}
"""Every view by its name. The Pennsylvanian list follows the order of the code."""


def view_of(view: View, tests: Sequence[TestResult]) -> ViewResult:
    """Names the battery's tests of all decks together as a regulation does.

    The p-value of a laboratory's test is that of the smallest of ours that it is read as, all of them paid for by
    Šidák. A test of which none could be made has no p-value.

    Args:
        view: the regulation's list.
        tests: all that the battery said.
    """
    level = view.level / len(view.tests) if view.collectively else view.level
    rows = []
    for test in view.tests:
        ours = [each for each in tests if not each.dimension and test.takes(each.name)]
        made = [each for each in ours if each.verdict != "insufficient"]
        least = min(made, key=lambda each: each.p, default=None)
        p = nan if least is None else sidak(least.p, len(made))
        rows.append(
            ViewRow(
                name=test.name,
                p=p,
                level=level,
                verdict="insufficient" if least is None else "fail" if p < level else "pass",
                two_sided=test.two_sided,
                ours=tuple(each.name for each in made),
                least="" if least is None else least.name,
                read_as=test.read_as,
                blind=test.blind,
            )
        )
    alarms = view.level if view.collectively else 1 - (1 - view.level) ** len(view.tests)
    return ViewResult(view.name, view.title, view.level, view.collectively, alarms, tuple(rows))
