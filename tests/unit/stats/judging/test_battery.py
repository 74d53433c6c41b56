"""The battery lets fair decks pass, and names what is wrong with others."""

from math import isnan

import numpy as np
import pytest

from audit.stats.batch import Batch
from audit.stats.cards.hands import hand_worth
from audit.stats.family import Outcome
from audit.stats.judging.battery import judge
from audit.stats.judging.holm import benjamini_hochberg, holm, holm_in_groups
from tests.unit.stats.decks import failed, fair, judged


def test_fair_decks_pass_and_all_tests_are_made() -> None:
    result = judged(fair(2_000, 1))
    assert result.verdict == "pass"
    assert not failed(result)
    assert {test.verdict for test in result.tests} == {"pass"}
    assert len({test.name for test in result.tests}) == len(result.tests)


@pytest.mark.parametrize("count", [1, 20, 99])
def test_too_few_decks_are_neither_pass_nor_fail(count: int) -> None:
    result = judged(np.tile(np.arange(52, dtype=np.uint8), (count, 1)))
    assert result.verdict == "insufficient"
    assert {test.detail for test in result.tests} == {f"needs 100, has {count}"}
    assert all(isnan(test.p) and test.decks_used == 0 for test in result.tests)


def test_no_deck_at_all_is_insufficient() -> None:
    result = judge(None)
    assert (result.verdict, result.decks) == ("insufficient", 0)
    assert {test.detail for test in result.tests} == {"needs 100, has 0"}


def test_unshuffled_decks_fail_all_over() -> None:
    result = judged(np.tile(np.arange(52, dtype=np.uint8), (100, 1)))
    assert result.verdict == "fail"
    assert {"card x position", "permutation: cycles", "duplicates: equal: whole decks"} <= failed(result)
    numbers = [number for test in result.tests for number in (test.statistic, test.p, test.p_adjusted)]
    assert not any(np.signbit(number) for number in numbers if number == 0), "nothing is -0.0"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [52, 36])
def test_decks_that_only_turn_fail_with_p_values_that_are_numbers(n: int) -> None:
    result = judged(np.array([np.roll(np.arange(n), turn) for turn in range(120)], dtype=np.uint8))
    assert result.verdict == "fail"
    assert all(0 <= test.p <= 1 for test in result.tests)


def _seat_wins(count: int, seed: int, share: float) -> np.ndarray:
    """The first of two seats is given the better seven cards in a share of the hands."""
    decks = fair(count, seed)
    first, second = np.arange(0, 14, 2), np.arange(1, 14, 2)
    bits = Batch(decks).bits
    worse = hand_worth(np.bitwise_or.reduce(bits[first])) < hand_worth(np.bitwise_or.reduce(bits[second]))
    rows = np.flatnonzero(worse & (np.random.default_rng(seed).random(count) < share))[:, None]
    decks[rows, first], decks[rows, second] = decks[rows, second], decks[rows, first]
    return decks


def test_a_seat_with_better_hands_is_seen_by_who_wins() -> None:
    assert "showdowns: each of 2 seats wins equally often" in failed(judged(_seat_wins(3_000, 5, 0.2)))


def _seats_rigged(count: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """Seat 4 of three has a pair down in one of 25 hands, wherever in dealing order it sits."""
    rng = np.random.default_rng(seed)
    decks, tables = fair(count, seed), []
    for deck in decks:
        numbers = rng.permutation([2, 4, 7]).tolist()
        tables.append(",".join(map(str, numbers)))
        if rng.random() < 0.04:
            own, other = numbers.index(4), numbers.index(4) + 3
            mate = int(np.flatnonzero(deck == (deck[own] ^ 1))[0])
            deck[other], deck[mate] = deck[mate], deck[other]
    return decks, tables


def test_a_seat_is_followed_wherever_it_sits() -> None:
    decks, tables = _seats_rigged(4_000, 3)
    names = failed(judged(decks, labels={"seats": tables}))
    assert names == {"seats=3 seats: seats: seat 4 of 3: paired hole cards"}


def test_one_bad_day_in_thirty_is_seen_by_day_and_named() -> None:
    decks = fair(12_000, 9)
    days = [f"day {row // 400:02d}" for row in range(12_000)]
    bad = slice(17 * 400, 18 * 400)
    rows = np.arange(17 * 400, 18 * 400)
    aces = np.argmax(decks[bad] >= 48, axis=1)
    forced = np.random.default_rng(1).random(400) < 0.35
    rows, aces = rows[forced], aces[forced]
    decks[rows, 2], decks[rows, aces] = decks[rows, aces], decks[rows, 2]
    result = judged(decks, labels={"day": days}, names=("card x position",))
    assert "day=day 17: card x position: largest rank cell" in failed(result)
    assert {test.stratum for test in result.tests if test.verdict == "fail"} <= {"", "day 17", "between"}
    assert result.strata["day"]["day 17"] == 400


def test_strata_share_alpha_with_all_decks_together() -> None:
    decks = fair(600, 4)
    alone = {test.name: test for test in judged(decks, alpha=0.05).tests}
    with_days = judged(decks, alpha=0.05, labels={"day": ["a", "b"] * 300}).tests
    for test in with_days:
        if not test.dimension:
            assert test.p_adjusted == pytest.approx(min(1.0, 2 * alone[test.name].p_adjusted)) or test.p_adjusted == 1.0
            assert test.p == alone[test.name].p


def test_decks_in_another_order_are_seen_through_when_the_order_is_told() -> None:
    order = np.random.default_rng(8).permutation(52).astype(np.uint8)
    rng = np.random.default_rng(9)
    # Three riffles of a deck whose order before was another than ours: sorted by three random bits.
    riffled = np.argsort(rng.integers(0, 8, (300, 52)), axis=1, kind="stable").argsort(axis=1).astype(np.uint8)
    cards = np.argsort(order).astype(np.uint8)[riffled]
    told = failed(judged(cards, order=order))
    assert "permutation: rising sequences" in told
    assert "permutation: rising sequences" not in failed(judged(cards))


def test_decks_of_other_kinds_leave_out_what_is_about_poker() -> None:
    result = judged(fair(300, 2, n=36))
    assert result.verdict == "pass"
    assert "showdowns" not in {test.family for test in result.tests}
    assert judged(np.tile(np.arange(36, dtype=np.uint8), (100, 1))).verdict == "fail"


def test_only_the_families_asked_for_are_made() -> None:
    result = judged(fair(200, 3), names=("precedence", "duplicates"))
    assert {test.family for test in result.tests} == {"precedence", "duplicates"}


def test_what_cannot_be_seen_shrinks_with_more_decks() -> None:
    few, many = ({effect.name: effect.value for effect in judged(fair(count, 5)).detectable} for count in (500, 5_000))
    seeds = "decks come from a small number of seeds"
    assert many[seeds] > few[seeds]
    shares = [name for name in few if name.startswith(("a card", "a rank", "a seat", "two seats", "the best"))]
    assert len(shares) >= 7
    assert all(many[name] < few[name] for name in shares)


def test_what_is_said_to_be_seen_is_seen() -> None:
    effects = {effect.name: effect.value for effect in judged(fair(1_000, 6)).detectable}
    share = effects["a rank is put at one position"]
    for seed in range(5):
        decks = fair(1_000, seed)
        chosen = np.flatnonzero(np.random.default_rng(seed).random(1_000) < share * 1.05)
        at = np.argmax(decks[chosen] >= 48, axis=1)
        decks[chosen, 7], decks[chosen, at] = decks[chosen, at], decks[chosen, 7]
        assert "card x position: largest rank cell" in failed(judged(decks))


def test_holm_is_what_it_says() -> None:
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]).tolist() == [1.0, 1.0]


def test_weights_share_alpha() -> None:
    # Weights 3 and 1: the first is paid 4/3, then the other alone.
    assert holm([0.03, 0.03], [3, 1]).tolist() == pytest.approx([0.04, 0.04])
    assert holm([0.03, 0.04], [1, 1]).tolist() == pytest.approx([0.06, 0.06])


def test_groups_share_alpha_equally_and_empty_ones_get_nothing() -> None:
    groups = [[Outcome("a", 0, 0.01)], [], [Outcome(str(i), 0, 0.01) for i in range(10)]]
    adjusted = holm_in_groups(groups)
    assert adjusted[0].tolist() == pytest.approx([0.02])
    assert adjusted[2].tolist() == pytest.approx([0.2] * 10)


def test_false_discovery_rates_are_benjamini_and_hochbergs() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.04, 0.04])


def test_fair_corpora_rarely_alarm_at_five_per_cent() -> None:
    # 12 corpora: more than 5 alarms where 5 % are allowed has a chance below 2e-5.
    assert sum(judged(fair(150, 1000 + seed), alpha=0.05).verdict == "fail" for seed in range(12)) <= 5


@pytest.mark.soak
def test_300_fair_corpora_have_uniform_p_values_and_five_per_cent_of_alarms() -> None:
    found: dict[str, list[float]] = {}
    alarms = 0
    for seed in range(300):
        result = judged(fair(2_000, 50_000 + seed), alpha=0.05)
        alarms += result.verdict == "fail"
        assert min(test.p_adjusted for test in result.tests) > 1e-6
        for test in result.tests:
            found.setdefault(test.name, []).append(test.p)
    assert alarms <= 28  # 5 % and 3.4 standard deviations
    for name, ps in found.items():
        # Too many small ones is what must not be: the one-sided Kolmogorov-Smirnov distance, at 1e-6 for each.
        distance = max((k + 1) / 300 - p for k, p in enumerate(sorted(ps)))
        assert distance < np.sqrt(-np.log(1e-6) / 600), name
    continuous = [ps for name, ps in found.items() if name.endswith((": all digits", "x position", "distance 1"))]
    for ps in continuous:
        distance = max(max((k + 1) / 300 - p, p - k / 300) for k, p in enumerate(sorted(ps)))
        assert distance < np.sqrt(-np.log(1e-6 / 2) / 600)
