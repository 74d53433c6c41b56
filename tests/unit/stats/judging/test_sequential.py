"""Continuous watching: fair decks may be watched for ever, crooked ones ring soon."""

import numpy as np
import pytest

from audit.stats.batch import Batch
from audit.stats.gallery import GALLERY
from audit.stats.judging.evalues import BETS, EProcesses, log_wealth, log_wealth_of_guesses
from audit.stats.judging.sequential import watch
from audit.stats.nulls import CYCLES
from tests.unit.stats.decks import Given, fair


def _forced_ace(count: int, seed: int, share: float) -> np.ndarray:
    decks = fair(count, seed)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(count) < share)
    at = np.argmax(decks[chosen] >= 48, axis=1)
    decks[chosen, 3], decks[chosen, at] = decks[chosen, at], decks[chosen, 3]
    return decks


def test_fair_decks_ring_no_alarm() -> None:
    result = watch(Given(fair(3_000, 1)), 0.05)
    assert (result.verdict, result.alarm, result.decks) == ("pass", None, 3_000)
    assert [test.name for test in result.tests if test.family == "battery"] == [
        f"look at {1 << exponent:,} decks" for exponent in range(7, 12)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_an_ace_forced_in_a_tenth_of_hands_rings_within_a_thousand(seed: int) -> None:
    result = watch(Given(_forced_ace(3_000, seed, 0.1)), 1e-6)
    assert result.verdict == "fail"
    assert result.alarm is not None
    assert result.alarm.decks <= 1_000


@pytest.mark.parametrize("seed", range(3))
def test_an_ace_forced_into_either_hole_card_rings_within_a_thousand(seed: int) -> None:
    decks, rng = fair(1_000, 40 + seed), np.random.default_rng(40 + seed)
    for row in np.flatnonzero(rng.random(1_000) < 0.1):
        hole, ace = rng.choice([3, 9]), rng.choice(np.flatnonzero(decks[row] >= 48))  # the fourth of six seats
        decks[row, [hole, ace]] = decks[row, [ace, hole]]
    assert watch(Given(decks), 0.05).alarm is not None


def test_watching_stops_at_the_alarm_and_says_when_and_why() -> None:
    result = watch(Given(_forced_ace(20_000, 9, 1.0)), 0.05)
    assert result.alarm is not None
    assert result.alarm.decks <= 200
    assert result.decks < 20_000
    assert result.sequential


def test_a_longer_watch_rings_where_a_shorter_one_did() -> None:
    decks = _forced_ace(2_000, 2, 0.1)
    alarm = watch(Given(decks), 1e-3).alarm
    assert alarm is not None
    for more in (0, 70):
        assert watch(Given(decks[: alarm.decks + more]), 1e-3).alarm == alarm
    assert watch(Given(decks[: alarm.decks - 1]), 1e-3).alarm is None


def test_chunks_do_not_matter() -> None:
    decks = _forced_ace(1_500, 5, 0.05)
    one, other = (repr(watch(Given(decks, size=size), 0.05)) for size in (16_384, 77))
    assert one == other


def test_too_few_decks_are_insufficient() -> None:
    assert watch(Given(fair(99, 1)), 0.05).verdict == "insufficient"
    assert watch(Given(fair(0, 1)), 0.05).verdict == "insufficient"


def test_a_stake_has_expectation_one_on_fair_draws() -> None:
    # All outcomes of five draws of a coin with chance 0.3, each with its probability.
    chances = np.array([0.3])
    total = 0.0
    for hits in range(6):
        ways = [1, 5, 10, 10, 5, 1][hits]
        stake = np.exp(log_wealth(np.array([[hits]]), np.array([[5]]), chances)[0])
        total += ways * 0.3**hits * 0.7 ** (5 - hits) * stake
    assert total == pytest.approx(1.0)


def test_a_stake_on_guesses_has_expectation_one_on_fair_decks() -> None:
    null = CYCLES.pmf(6)
    stakes = [log_wealth_of_guesses(np.array([[k]]), np.array([[1]]), 1 / np.arange(6, 0, -1))[0] for k in null.support]
    assert np.exp(stakes) @ null.prob == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "seed", "verdict"), [("not-reset-52", 1, "fail"), ("fair", 2, "pass")])
def test_a_player_who_bets_on_a_deck_that_is_not_reset_wins(name: str, seed: int, verdict: str) -> None:
    watched = watch(Given(GALLERY[name].make(np.random.default_rng(seed), 1_000)), 1e-12)
    (found,) = (each for each in watched.tests if each.name == "e-value: guessing player")
    assert found.verdict == verdict
    (said,) = watched.notes
    now = float(said.removeprefix("a player who bet on this room's faults would have turned 1 into "))
    assert (0.01 < now < 10) if verdict == "pass" else now > 1e12
    assert now <= found.statistic * 1.1


def test_bets_know_their_chances() -> None:
    batch = Batch(fair(20_000, 3))
    for bets in BETS:
        hits, trials, chances = bets.events(batch)
        tried = batch.size if trials is None else trials.sum(axis=1)
        expected, variance = tried * chances, tried * chances * (1 - chances)
        if bets.name == "guessing player":  # one cell, with all guesses of a deck
            expected, variance = expected.sum(), variance.sum()
        deviations = (hits.sum(axis=1) - expected) / np.sqrt(variance)
        assert np.abs(deviations).max() < 6, bets.name


def test_looks_come_every_hundred_decks_however_the_batches_fall() -> None:
    decks = fair(700, 4)
    whole, pieces = EProcesses(52, 100), EProcesses(52, 100)
    at_once = whole.add(Batch(decks))
    by_piece: dict[str, list[tuple[int, float]]] = {}
    for first, last in ((0, 30), (30, 130), (130, 600), (600, 700)):
        for name, looks in pieces.add(Batch(decks[first:last], before=decks[:first])).items():
            by_piece.setdefault(name, []).extend(looks)
    assert [decks for decks, _ in at_once[BETS[0].name]] == [100, 200, 300, 400, 500, 600, 700]
    assert {name: [pytest.approx(stake) for _, stake in looks] for name, looks in at_once.items()} == {
        name: [stake for _, stake in looks] for name, looks in by_piece.items()
    }


@pytest.mark.soak
def test_300_fair_rooms_watched_for_20000_hands_alarm_in_at_most_five_per_cent() -> None:
    alarms = sum(watch(Given(fair(20_000, 90_000 + room)), 0.05).verdict == "fail" for room in range(300))
    assert alarms <= 28  # 5 % and 3.4 standard deviations
