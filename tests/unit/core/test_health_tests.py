"""A seed source's health tests: a fair source passes, a sick one is named, and the rates are those that are stated."""

import random
from collections.abc import Callable

import pytest
from scipy.stats import binom

from dealer.core.health_tests import APT_WINDOW, LONGEST_RUN, MOST_RECURRENCES, MOST_REPEATS, WINDOW, HealthTests
from dealer.core.seed import EntropyError

ALPHA = 2.0**-48


@pytest.mark.parametrize("width", LONGEST_RUN)
def test_a_fair_source_fails_a_decision_at_most_once_in_2_to_the_48th(width: int) -> None:
    chance = 2.0 ** (-8 * width)
    assert chance ** LONGEST_RUN[width] <= ALPHA < chance ** (LONGEST_RUN[width] - 1) * 256
    assert binom.sf(MOST_REPEATS[width], WINDOW, chance) <= ALPHA
    assert MOST_REPEATS[width] == 0 or binom.sf(MOST_REPEATS[width] - 1, WINDOW, chance) > ALPHA
    assert binom.sf(MOST_RECURRENCES - 1, APT_WINDOW - 1, 1 / 256) <= ALPHA
    assert binom.sf(MOST_RECURRENCES - 2, APT_WINDOW - 1, 1 / 256) > ALPHA


def words_until_caught(words: Callable[[random.Random], bytes], seed: int, draw: int = 64) -> int:
    """After how many words of a source it is caught, by whatever test; at most 100,000."""
    rng, tests, stream = random.Random(seed), HealthTests(), bytearray()
    drawn = 0
    while drawn < 100_000:
        while len(stream) < draw:
            stream += words(rng)
            drawn += 1
        data, stream = bytes(stream[:draw]), stream[draw:]
        try:
            tests.examine(data)
        except EntropyError:
            return drawn
    return drawn


def test_a_fair_source_passes() -> None:
    assert words_until_caught(lambda rng: rng.randbytes(64), 1) == 100_000


def repeating(width: int, one_in: int) -> Callable[[random.Random], bytes]:
    """A source that gives one word in so many twice."""
    before = bytes(width)

    def word(rng: random.Random) -> bytes:
        nonlocal before
        if rng.randrange(one_in):
            before = rng.randbytes(width)
        return before

    return word


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("seed", range(5))
def test_one_word_in_300_that_equals_the_one_before_is_caught_within_10000_words(width: int, seed: int) -> None:
    assert words_until_caught(repeating(width, 300), seed) <= 10_000


@pytest.mark.parametrize(
    ("words", "within"),
    [
        (lambda rng: bytes(8), 8),
        (lambda rng: b"\xa5" * 8, 8),
        (lambda rng: bytes(2) if not rng.randrange(10) else rng.randbytes(2), 3_000),  # RDSEED of CVE-2025-62626
        (lambda rng: bytes([rng.randrange(16)]), 512),
        (lambda rng: bytes([rng.randrange(256) | 0x0F]), 512),
        (lambda rng: rng.randbytes(7) + bytes(1), 2_000),
        (lambda rng: rng.randbytes(8) * 2, 8),
        (repeating(1, 100), 40_000),
    ],
    ids=["all zero", "one value", "zero words", "four bits", "bits stuck", "a byte stuck", "twice", "bytes twice"],
)
def test_a_sick_source_is_caught(words: Callable[[random.Random], bytes], within: int) -> None:
    assert words_until_caught(words, 3) <= within


def test_draws_of_any_length_are_tested_and_an_alarm_says_nothing_of_them() -> None:
    for length in (1, 2, 3, 7, 10, 65):
        HealthTests().examine(random.Random(length).randbytes(length))
    with pytest.raises(EntropyError, match="repetition count test in words of 8 bits"):
        HealthTests().examine(b"abc" + b"d" * 7)
    HealthTests().examine(b"abc" + b"d" * 6)


def test_repeats_are_counted_over_a_window_and_not_for_longer() -> None:
    rng, tests = random.Random(5), HealthTests()
    twice = [rng.randbytes(28) + rng.randbytes(4) * 2 + rng.randbytes(28) for _ in range(4)]
    for _ in range(2):
        for _ in range(MOST_REPEATS[4]):
            tests.examine(twice.pop())
        for _ in range(WINDOW // 16):
            tests.examine(rng.randbytes(64))
    tests = HealthTests()
    twice = [rng.randbytes(28) + rng.randbytes(4) * 2 + rng.randbytes(28) for _ in range(3)]
    tests.examine(twice.pop())
    tests.examine(twice.pop())
    with pytest.raises(EntropyError, match="repeats itself too often in words of 32 bits"):
        tests.examine(twice.pop())
