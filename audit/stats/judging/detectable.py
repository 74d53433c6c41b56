"""What could not have been seen: the smallest fault of each kind that these decks show with 99 % power."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, inf, log2, nan, sqrt

from scipy.optimize import brentq
from scipy.special import bdtrc, bdtrik, ndtri, pdtrc

from audit.plural import raised
from audit.stats.counting.corpus import Corpus
from audit.stats.families.aces import ACE_DOWN_WEIGHT, ACES, PLACES, THIRD_STREET_WEIGHT, holds_ace
from audit.stats.families.card_positions import CARD_POSITIONS
from audit.stats.families.duplicates import DUPLICATES, whole_decks
from audit.stats.families.permutations import PERMUTATIONS, RIFFLE_WEIGHT
from audit.stats.families.showdowns import SHOWDOWNS, WINS_WEIGHT
from audit.stats.families.third_street import BOTH_PAIRED, PAIR, PAIRED_HOLES
from audit.stats.family import MIN_DECKS
from audit.stats.nulls import DESCENTS
from audit.stats.nulls.pvalue import FAVOURED, poisson_tail
from audit.stats.results import Detectable

POWER = 0.99


def detectable_effects(corpus: Corpus, alpha: float, weights: Sequence[float]) -> list[Detectable]:
    """Returns the faults, each with the smallest size that this corpus' tests see.

    Args:
        corpus: the counts.
        alpha: of everything together.
        weights: of the tests made of all decks together and of each dimension, added up; empty groups as 0.
    """
    decks, n = corpus.whole.decks, corpus.plan.n
    if decks < MIN_DECKS or not weights or not weights[0]:
        return []
    groups = sum(1 for weight in weights if weight)
    level = alpha / groups / weights[0]
    battery = corpus.plan.battery
    effects = []
    if CARD_POSITIONS in battery:
        effects.append(_share("a card is put at one position", decks, 1 / n, level / n**2))
        if n % 4 == 0:
            effects.append(_share("a rank is put at one position", decks, 4 / n, level / (n * n / 4)))
    often = 2 * FAVOURED * level  # of looks that go to what is too often, where others halve their share
    if ACES in battery:
        one_seat = often / len(PLACES)
        effects.append(_share("a seat is given an ace down", decks, holds_ace(2), ACE_DOWN_WEIGHT * one_seat))
        effects.append(
            _share("a seat's first three cards are given an ace", decks, holds_ace(3), THIRD_STREET_WEIGHT * one_seat)
        )
    if PAIRED_HOLES in battery:
        effects.append(_share("a seat is given a pair down", decks, PAIR, level / 8))
        effects.append(_share("two seats are both given a pair down", decks, BOTH_PAIRED, level / 28))
    if SHOWDOWNS in battery:
        effects += [
            _share(f"the best of {seats} hands is moved to one seat", decks, 1 / seats, WINS_WEIGHT * share)
            for seats, share in ((2, level), (6, level / 6), (8, level / 8))
        ]
    if PERMUTATIONS in battery:
        effects += _riffles(decks, n, RIFFLE_WEIGHT * level)
    if DUPLICATES in battery:
        effects.append(_seeds(decks, n, level))
    return effects


def _share(fault: str, decks: int, chance: float, level: float) -> Detectable:
    """Finds the smallest share of hands in which something that happens with `chance` anyway is made to happen."""
    critical = smallest_surprising(decks, chance, level / 2)

    def power(share: float) -> float:
        return float(bdtrc(critical - 1, decks, chance + share * (1 - chance)))

    if critical > decks or power(1 - 1e-9) < POWER:
        return Detectable(fault, nan, "share of hands", f"If {fault}, no share of {decks:,} hands would show it.")
    share = brentq(lambda x: power(x) - POWER, 0.0, 1 - 1e-9, xtol=1e-9) if power(0.0) < POWER else 0.0
    sentence = f"If {fault} in fewer than {share:.2%} of hands, {decks:,} decks need not show it."
    return Detectable(fault, share, "share of hands", sentence)


def smallest_surprising(draws: int, chance: float, level: float) -> int:
    """Returns the least k with P(X >= k) <= level for X binomial; draws + 1 if there is none."""
    low = max(0, int(bdtrik(0.5, draws, chance)))
    high = draws + 1
    while low < high:
        middle = (low + high) // 2
        if middle and float(bdtrc(middle - 1, draws, chance)) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def _seeds(decks: int, n: int, level: float) -> Detectable:
    """Finds the largest seed space in which seeds that repeat are seen."""
    name, unit = "decks come from a small number of seeds", "bits of seed"
    kind = whole_decks(n)
    pairs = decks * (decks - 1) / 2
    needed = next(k for k in range(1, 1000) if poisson_tail(k, pairs / kind.space) <= level)
    mean = needed + 1.0
    while float(pdtrc(needed - 1, mean)) < POWER:
        mean *= 1.01
    bits = log2(pairs / mean) if pairs > mean else -inf
    if bits <= 0:
        return Detectable(name, nan, unit, f"No seed space would show in {decks:,} decks.")
    sentence = (
        f"If every deck came from one of 2{raised(f'{bits:.1f}')} seeds or fewer, repeats would show it; "
        f"a larger seed space, or a key that somebody knows, {decks:,} decks need not show."
    )
    return Detectable(name, bits, unit, sentence)


def _riffles(decks: int, n: int, level: float) -> list[Detectable]:
    """Finds the most riffles, and the longest sort keys, that rising sequences and descents tell from chance.

    After k riffles a deck with r rising sequences has probability C(2^k + n - r, n) / 2^(kn) (Bayer and Diaconis);
    sorting by k-bit random keys is the inverse of it.
    """
    null = DESCENTS.pmf(n)
    threshold = -float(ndtri(level / 2)) - float(ndtri(1 - POWER))
    seen = max((k for k in range(1, 48) if _shift(n, k) * sqrt(decks / null.variance) >= threshold), default=0)
    if not seen:
        return []
    return [
        Detectable(
            "decks are riffled or cards sorted by short keys",
            float(seen),
            "riffles, or bits of key",
            f"More than {seen} riffles, or sort keys of more than {seen} bits, {decks:,} decks need not show.",
        )
    ]


@cache
def _shift(n: int, riffles: int) -> float:
    """Returns by how much k riffles lower the mean number of rising sequences."""
    packets = 1 << riffles
    ways = DESCENTS.counts(n).ways
    weights = [ways[r - 1] * comb(packets + n - r, n) for r in range(1, n + 1)]
    mean = Fraction(sum(r * weight for r, weight in enumerate(weights, start=1)), packets**n)
    return float(Fraction(n + 1, 2) - mean)
