"""Null distributions of permutation statistics: as every permutation of a short deck has it, and as published."""

from collections import Counter
from itertools import pairwise, permutations
from math import factorial

import numpy as np
import pytest

from audit.stats import nulls
from audit.stats.nulls import Null, same_class_neighbours


def descents(p):
    return sum(a > b for a, b in pairwise(p))


def inverse(p):
    return tuple(sorted(range(len(p)), key=p.__getitem__))


def rising_sequences(p):
    at = inverse(p)
    return 1 + sum(at[c] > at[c + 1] for c in range(len(p) - 1))


def inversions(p):
    return sum(p[i] > p[j] for i in range(len(p)) for j in range(i + 1, len(p)))


def cycles(p):
    seen, found = set(), 0
    for start in range(len(p)):
        found += start not in seen
        while start not in seen:
            seen.add(start)
            start = p[start]
    return found


def records(p):
    return sum(p[i] == max(p[: i + 1]) for i in range(len(p)))


def fixed_points(p):
    return sum(i == c for i, c in enumerate(p))


def longest_run(p):
    best = here = 1
    for a, b in pairwise(p):
        here = here + 1 if a < b else 1
        best = max(best, here)
    return best


def longest_subsequence(p):
    best = []
    for i, c in enumerate(p):
        best.append(1 + max((best[j] for j in range(i) if p[j] < c), default=0))
    return max(best)


STATISTICS = [
    (nulls.DESCENTS, descents),
    (nulls.RISING_SEQUENCES, rising_sequences),
    (nulls.INVERSIONS, inversions),
    (nulls.CYCLES, cycles),
    (nulls.RECORDS, records),
    (nulls.FIXED_POINTS, fixed_points),
    (nulls.LONGEST_RUN, longest_run),
    (nulls.LONGEST_RUN, lambda p: longest_run(p[::-1])),
    (nulls.LONGEST_SUBSEQUENCE, longest_subsequence),
    (nulls.PARITY, lambda p: inversions(p) % 2),
]


def as_counter(counts):
    return Counter({counts.lowest + k: ways for k, ways in enumerate(counts.ways) if ways})


@pytest.mark.parametrize(("null", "statistic"), STATISTICS, ids=lambda x: getattr(x, "name", ""))
@pytest.mark.parametrize("n", range(1, 8))
def test_agrees_with_every_permutation(null: Null, statistic, n):
    assert as_counter(null.counts(n)) == Counter(map(statistic, permutations(range(n))))


@pytest.mark.parametrize("null", nulls.PERMUTATION_NULLS, ids=lambda null: null.name)
def test_counts_every_deck_of_52_once(null: Null):
    counts = null.counts(52)
    assert sum(counts.ways) == factorial(52)
    assert min(counts.ways) >= 0
    support, prob = null.pmf(52)
    assert list(np.diff(support)) == [1] * (len(support) - 1)
    assert prob.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    ("null", "n", "published"),
    [
        (nulls.DESCENTS, 8, (1, 247, 4293, 15619, 15619, 4293, 247, 1)),  # OEIS A008292
        (nulls.INVERSIONS, 5, (1, 4, 9, 15, 20, 22, 20, 15, 9, 4, 1)),  # A008302
        (nulls.CYCLES, 8, (5040, 13068, 13132, 6769, 1960, 322, 28, 1)),  # A132393
        (nulls.FIXED_POINTS, 8, (14833, 14832, 7420, 2464, 630, 112, 28, 0, 1)),  # A008290
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_agrees_with_published_triangles(null: Null, n, published):
    assert null.counts(n).ways == published


@pytest.mark.parametrize(
    ("null", "at_most", "published"),
    [
        (nulls.LONGEST_RUN, 2, (1, 2, 5, 17, 70, 349, 2017, 13358)),  # A049774
        (nulls.LONGEST_SUBSEQUENCE, 2, (1, 2, 5, 14, 42, 132, 429, 1430)),  # A000108, Catalan
        (nulls.LONGEST_SUBSEQUENCE, 3, (1, 2, 6, 23, 103, 513, 2761, 15767)),  # A005802
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_agrees_with_published_sequences(null: Null, at_most, published):
    assert tuple(sum(null.counts(n).ways[:at_most]) for n in range(1, 9)) == published


@pytest.mark.parametrize(
    ("null", "mean", "variance"),
    [
        (nulls.DESCENTS, 51 / 2, 53 / 12),
        (nulls.INVERSIONS, 52 * 51 / 4, 52 * 51 * 109 / 72),
        (nulls.CYCLES, sum(1 / k for k in range(1, 53)), sum(1 / k - 1 / k**2 for k in range(1, 53))),
        (nulls.FIXED_POINTS, 1, 1),
        (nulls.PARITY, 1 / 2, 1 / 4),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_has_the_textbook_moments(null: Null, mean, variance):
    assert null.pmf(52).mean == pytest.approx(mean, rel=1e-12)
    assert null.pmf(52).variance == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize(("kinds", "size"), [(2, 3), (3, 2), (1, 4), (4, 1), (7, 1)])
def test_neighbours_of_a_kind_agree_with_every_order(kinds, size):
    orders = permutations(range(kinds * size))
    expected = Counter(sum(a // size == b // size for a, b in pairwise(p)) for p in orders)
    assert as_counter(same_class_neighbours(kinds, size)) == expected


@pytest.mark.parametrize(("kinds", "size", "mean"), [(13, 4, 3), (4, 13, 12), (2, 26, 25)])
def test_neighbours_of_a_kind_in_52_cards(kinds, size, mean):
    counts = same_class_neighbours(kinds, size)
    assert sum(counts.ways) == factorial(52)
    assert counts.pmf().mean == pytest.approx(mean)


def test_no_ranks_touch_as_often_as_published():
    # The chance that no two neighbours share their rank; well known as about 4.5 %.
    assert same_class_neighbours(13, 4).pmf().prob[0] == pytest.approx(0.045476, abs=1e-6)


def test_arrays_are_shared_and_cannot_be_spoiled():
    prob = nulls.DESCENTS.pmf(52).prob
    with pytest.raises(ValueError):
        prob[0] = 1


def test_refuses_an_empty_deck():
    with pytest.raises(ValueError, match="at least one card"):
        nulls.CYCLES.counts(0)
