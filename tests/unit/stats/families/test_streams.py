"""Streams of swaps: the null against every permutation of a few cards, and generators whose numbers follow on."""

from collections.abc import Callable

import numpy as np
import pytest

from audit.stats.batch import Batch
from audit.stats.families.fisher_yates import DIRECTIONS
from audit.stats.families.streams import GRID, STREAMS, _waves, triples
from audit.stats.family import Outcome
from tests.unit.stats.decks import every_permutation, fair

GENERATORS: dict[str, Callable[[int], int]] = {
    "RANDU": lambda state: 65_539 * state % (1 << 31),
    "16 bits": lambda state: (25_173 * state + 13_849) % (1 << 16),
}
"""Congruential generators of the 1960s to 1980s: IBM's RANDU, and one of Pascal systems."""


def _dealt(count: int, generator: str, digit: Callable[[int, int], int]) -> np.ndarray:
    """Decks by Fisher-Yates with one stream for all; `digit` makes a state into a number below m."""
    step, state, decks = GENERATORS[generator], 12_345, np.tile(np.arange(52, dtype=np.uint8), (count, 1))
    for deck in decks:
        for i in range(51, 0, -1):
            state = step(state)
            j = digit(state, i + 1)
            deck[[i, j]] = deck[[j, i]]
    return decks


def _outcomes(decks: np.ndarray) -> dict[str, Outcome]:
    counts = STREAMS.count(Batch(decks))
    return {each.name: each for each in STREAMS.pvalues(counts, decks.shape[1], len(decks))}


@pytest.mark.parametrize("n", [7, pytest.param(8, marks=pytest.mark.soak)])
def test_waves_of_every_permutation_have_the_mean_and_at_most_the_variance(n: int) -> None:
    assert len(triples(n)) == 1
    every = every_permutation(n)
    counts, waves = STREAMS.count(Batch(every)), _waves(n)
    for direction in DIRECTIONS:
        cube = counts[f"lattice {direction}"]
        assert np.fft.fftn(cube) / len(every) == pytest.approx(waves.mean, abs=1e-9)
        # One triple a deck: each deck's wave is a root of unity, at the place of the cube where its digits lie.
        cells = np.argwhere(cube)
        weights = cube[tuple(cells.T)] / len(every)
        for h in ([1, 2, 0], [5, 3, 9], [31, 7, 20], [16, 0, 32]):
            parts = np.exp(-2j * np.pi * (cells @ h) / GRID) - waves.mean[tuple(h)]
            assert np.abs(parts).max() <= waves.reach[tuple(h)] + 1e-9
            for angle in np.linspace(0, np.pi, 25):
                variance = float(((parts * np.exp(1j * angle)).real ** 2) @ weights)
                assert variance <= waves.variance[tuple(h)] + 1e-9


@pytest.mark.parametrize("n", [6, 7])
def test_low_bits_of_every_permutation_agree_in_exactly_half(n: int) -> None:
    every = every_permutation(n)
    counts = STREAMS.count(Batch(every))
    for direction in DIRECTIONS:
        assert counts[f"low bits {direction}"].tolist() == [len(every) // 2] * ((n - 2) // 2)


def test_triples_are_three_in_a_row_and_share_no_digit() -> None:
    rows = [row for three in triples(52) for row in three]
    assert rows == list(range(51, 51 - len(rows), -1))
    assert min(rows) >= 25


@pytest.mark.parametrize("generator", sorted(GENERATORS))
def test_planes_of_a_congruential_generator_show_in_a_hundred_decks(generator: str) -> None:
    modulus = 1 << (31 if generator == "RANDU" else 16)
    outcome = _outcomes(_dealt(100, generator, lambda state, m: state * m // modulus))[
        "downwards: three swaps in a row"
    ]
    assert outcome.p < 1e-50
    if generator == "RANDU":  # x'' = 6 x' - 9 x
        assert "9 u + -6 v + 1 w" in outcome.detail


def test_low_bits_that_take_turns_show_in_a_hundred_decks() -> None:
    outcomes = _outcomes(_dealt(100, "16 bits", lambda state, m: state % m))
    assert outcomes["downwards: low bits"].p < 1e-100
    assert outcomes["downwards: low bits of two swaps"].p < 1e-20


def test_fair_swaps_follow_from_nothing() -> None:
    assert min(outcome.p for outcome in _outcomes(fair(3_000, 21)).values()) > 1e-4
