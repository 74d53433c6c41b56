"""A player's own hands: the cards of third street, which nobody's play selected, against their exact odds.

Later streets are no sample: who folds decides who is dealt on. A player has hundreds of hands, not millions, so the
tests are few and simple, and what so few hands cannot show is said beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import bdtrc

from audit.stats.judging.holm import holm

RANKS = "23456789TJQKA"
SUITS = "cdhs"
OWN_DOWN, OWN_CARDS = 2, 3
FEWEST = 20
"""Below this a hand or two would decide a test; none is made."""
POWER = 0.9


@dataclass(frozen=True)
class ThirdStreet:
    """Third street as one player knows it.

    Attributes:
        down: the player's two down cards; empty if they are not known.
        door: the player's own door card; empty if the player's seat is not known.
        doors: every door card, in dealing order.
    """

    down: tuple[str, ...]
    door: str
    doors: tuple[str, ...]


@dataclass(frozen=True)
class OwnTest:
    """One test. `seen` is a count of hands, `expected` its mean if the deal is fair.

    `detectable` is the least rate above the fair one that would be found with chance 0.9; None if none would.
    """

    name: str
    hands: int
    seen: int
    expected: float
    p: float
    p_adjusted: float
    detectable: float | None
    verdict: str


def judge_own(hands: Sequence[ThirdStreet], alpha: float) -> list[OwnTest]:
    """Tests a player's hands.

    Args:
        hands: each once, all of them: leaving out the lucky ones makes any deal look rigged.
        alpha: the chance of an alarm over a fair deal, for all tests together.

    Returns:
        The tests for which there are hands enough; none if there are too few for any.
    """
    own = [hand for hand in hands if hand.down]
    seated = [hand for hand in hands if hand.door]
    rows = [
        ("paired down cards", [_paired(hand.down) for hand in own], [Fraction(3, 51)] * len(own)),
        ("a pair or better in three cards", [_paired(_three(hand)) for hand in own], [_pair_in_three()] * len(own)),
        ("three of one suit", [len({card[1] for card in _three(hand)}) == 1 for hand in own], [_one_suit()] * len(own)),
        ("an ace in three cards", [_ace(_three(hand)) for hand in own], [_ace_in_three()] * len(own)),
        ("highest door card", [_order(hand.door) == max(map(_order, hand.doors)) for hand in seated], _shares(seated)),
        ("lowest door card", [_order(hand.door) == min(map(_order, hand.doors)) for hand in seated], _shares(seated)),
    ]
    rows = [row for row in rows if len(row[1]) >= FEWEST]
    counts = [(name, len(hits), sum(hits), _distribution(odds)) for name, hits, odds in rows]
    ps = [two_sided(chances, seen) for _, _, seen, chances in counts]
    adjusted = holm(ps) if ps else np.empty(0)
    return [
        OwnTest(
            name,
            n,
            seen,
            float(chances @ np.arange(n + 1)),
            p,
            float(p_adjusted),
            _detectable(chances, n, alpha / len(counts)),
            "fail" if p_adjusted < alpha else "pass",
        )
        for (name, n, seen, chances), p, p_adjusted in zip(counts, ps, adjusted, strict=True)
    ]


def _three(hand: ThirdStreet) -> tuple[str, ...]:
    return (*hand.down, hand.door)


def _paired(cards: Sequence[str]) -> bool:
    return len({card[0] for card in cards}) < len(cards)


def _ace(cards: Sequence[str]) -> bool:
    return any(card[0] == "A" for card in cards)


def _order(card: str) -> tuple[int, int]:
    return RANKS.index(card[0]), SUITS.index(card[1])


def _pair_in_three() -> Fraction:
    return 1 - Fraction(48 * 44, 51 * 50)


def _one_suit() -> Fraction:
    return Fraction(12 * 11, 51 * 50)


def _ace_in_three() -> Fraction:
    return 1 - Fraction(48 * 47 * 46, 52 * 51 * 50)


def _shares(hands: Sequence[ThirdStreet]) -> list[Fraction]:
    """One card of so many is the highest: each seat's alike often."""
    return [Fraction(1, len(hand.doors)) for hand in hands]


def _distribution(odds: Sequence[Fraction]) -> np.ndarray:
    """Returns the exact distribution of how many of independent events with these odds come about."""
    chances = np.ones(1)
    for odd in odds:
        chances = np.convolve(chances, (float(1 - odd), float(odd)))
    return chances


def two_sided(chances: np.ndarray, seen: int) -> float:
    """Returns twice the smaller tail, 1 at the most."""
    return float(min(1.0, 2 * min(chances[: seen + 1].sum(), chances[seen:].sum())))


def _detectable(chances: np.ndarray, n: int, alpha: float) -> float | None:
    """Returns the least rate above the fair one that is found with chance `POWER`."""
    upper = np.cumsum(chances[::-1])[::-1]
    found = np.flatnonzero(2 * upper < alpha)
    if not len(found):
        return None
    least, (low, high) = int(found[0]), (0.0, 1.0)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if bdtrc(least - 1, n, middle) >= POWER else (middle, high)
    return high
