"""Decks for tests of the statistics: fair ones from a seed, every permutation of a few cards, and a source of them."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from audit.stats.counting.count import count_source
from audit.stats.judging.battery import judge
from audit.stats.results import BatteryResult, Chunk


def fair(count: int, seed: int, n: int = 52) -> np.ndarray:
    """(count, n) fair decks, the same for the same seed."""
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n, dtype=np.uint8), (count, 1)), axis=1)


def every_permutation(n: int) -> np.ndarray:
    """(n!, n): all of them."""
    return np.array(list(permutations(range(n))), dtype=np.uint8)


class Given:
    """A source of given decks, in chunks of a size."""

    def __init__(self, decks: np.ndarray, labels: dict[str, list[str]] | None = None, size: int = 16_384) -> None:
        self.name, self.cards, self.total, self.notes = "given", decks.shape[1], len(decks), []
        self.logs = []
        self._decks, self._labels, self._size = decks, labels or {}, size

    def __iter__(self) -> Iterator[Chunk]:
        for first in range(0, len(self._decks), self._size):
            rows = slice(first, first + self._size)
            yield Chunk(self._decks[rows], {name: labels[rows] for name, labels in self._labels.items()}, first)


def judged(
    decks: np.ndarray, alpha: float = 1e-6, labels: dict[str, list[str]] | None = None, **settings: object
) -> BatteryResult:
    """The battery's answer, by the strata that there are labels of."""
    return judge(count_source(Given(decks, labels), dimensions=tuple(labels or ()), processes=1, **settings), alpha)


def failed(result: BatteryResult) -> set[str]:
    """Names of the tests that failed."""
    return {test.name for test in result.tests if test.verdict == "fail"}
