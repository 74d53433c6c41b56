"""The guessing player: by luck as often right as cycles come, whatever he believes, and more often on habits."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import kstest

from audit.stats.batch import LAGS, Batch
from audit.stats.counting.count import count_source
from audit.stats.counting.tally import Tally
from audit.stats.families.guessing import GUESSING, guessed_right, played
from audit.stats.gallery import GALLERY
from audit.stats.judging.evalues import BETS, PLAYER
from audit.stats.nulls import CYCLES
from tests.unit.stats.decks import Given, every_permutation, fair

N = 7


def topped(count: int, seed: int, n: int = 52) -> np.ndarray:
    """Fair decks but for the reference order's first card, which lies on top: the player plays all but the first."""
    decks = fair(count, seed, n)
    rows = np.arange(count)
    decks[rows, np.argmax(decks == 0, axis=1)] = decks[:, 0]
    decks[:, 0] = 0
    return decks


def by_hand(decks: list[list[int]], at: int) -> int:
    """Plays deck `at` as the text of the module says, card by card."""
    n, known = len(decks[0]), decks[max(0, at - LAGS) : at]
    steps = Counter((b - a) % n for deck in known for a, b in pairwise(deck))
    shifts = Counter((card - place) % n for deck in known for place, card in enumerate(deck))
    moves = Counter((old.index(card) - place) % n for old, new in pairwise(known) for place, card in enumerate(new))

    def weight(card: int, place: int) -> int:
        before = decks[at][place - 1]
        step = 1 + steps[(card - before) % n] if place else 1
        return step * (1 + shifts[(card - place) % n]) * (1 + moves[(known[-1].index(card) - place) % n])

    right = 0
    for place, dealt in enumerate(decks[at]):
        unseen = sorted(set(range(n)) - set(decks[at][:place]))
        right += max(unseen, key=lambda card: weight(card, place)) == dealt
    return right


@pytest.mark.parametrize("order", [None, (3, 1, 5, 0, 6, 2, 4)])
def test_he_plays_as_it_is_told(order: tuple[int, ...] | None) -> None:
    decks = topped(60, 1, N)
    named = decks if order is None else np.array(order)[decks]
    batch = Batch(decks[5:], None if order is None else np.array(order, np.uint8), decks[:5])
    at, right = played(batch)
    assert at.tolist() == list(range(55))
    assert right.tolist() == [by_hand(named.tolist(), 5 + row) for row in range(55)]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_he_believes_luck_is_distributed_as_cycles(seed: int) -> None:
    decks, rng = every_permutation(N), np.random.default_rng(seed)
    beliefs = [np.repeat(rng.random((1, N), dtype=np.float32), len(decks), axis=0) for _ in range(3)]
    lay = np.repeat(rng.permutation(N)[None].astype(np.uint8), len(decks), axis=0)
    right = np.bincount(guessed_right(*beliefs, lay, decks), minlength=N + 1)
    assert right[1:] / len(decks) == pytest.approx(CYCLES.pmf(N).prob, abs=1e-12)


def test_his_mean_is_what_the_document_says() -> None:
    null = CYCLES.pmf(52)
    assert round(float(null.support @ null.prob), 2) == 4.54


@pytest.mark.parametrize("cuts", [(1,), (15, 16), (17, 20, 33), (60, 62, 63, 80)])
def test_seams_are_played_as_if_there_were_none(cuts: tuple[int, ...]) -> None:
    decks = topped(100, 2)
    parts = []
    for piece in np.split(decks, cuts):
        parts.append(Tally(52))
        parts[-1].add([GUESSING], Batch(piece))
        parts[-1].passed(piece)
    forwards, backwards = parts[0], parts[-1]
    for part in parts[1:-1]:
        forwards.append([GUESSING], part, None)
    forwards.append([GUESSING], backwards, None)
    whole = GUESSING.count(Batch(decks))["right"]
    assert whole.sum() == 99
    assert np.array_equal(forwards.counts[GUESSING.name]["right"], whole)


def test_pieces_and_processes_do_not_matter() -> None:
    decks = topped(300, 3)
    counted = [
        count_source(Given(decks, size=size), names=(GUESSING.name,), processes=processes, piece=piece)
        for size, processes, piece in ((16_384, 1, 16_384), (37, 1, 16_384), (300, 2, 64))
    ]
    one, *others = (corpus.whole.counts[GUESSING.name]["right"] for corpus in counted if corpus)
    assert one.sum() == 299
    assert all(np.array_equal(one, other) for other in others)


def test_no_game_is_no_evidence() -> None:
    decks = fair(200, 4)
    decks = decks[decks[:, 0] != 0]
    (found,) = GUESSING.pvalues(GUESSING.count(Batch(decks)), 52, len(decks))
    assert (found.p, found.decks, found.detail) == (1.0, 0, "no deck was played")


@pytest.mark.parametrize("name", ["not-reset-52", "sort-insertion", "shelf-machine", "lcg-low-bits"])
def test_habits_are_used(name: str) -> None:
    decks = GALLERY[name].make(np.random.default_rng(1), 6_000)
    (found,) = GUESSING.pvalues(GUESSING.count(Batch(decks)), 52, 6_000)
    assert found.p < 1e-6
    assert found.detail.endswith(f"in {found.decks:,} decks")


@pytest.mark.parametrize("number", [3, 6])
def test_too_few_right_guesses_are_seen_like_too_many(number: int) -> None:
    right = np.bincount(np.full(300, number), minlength=53)
    (found,) = GUESSING.pvalues({"right": right}, 52, 15_600)
    assert found.p < 1e-9


@pytest.mark.soak
def test_300_fair_corpora_have_uniform_p_values_and_leave_him_with_one_at_most() -> None:
    (bets,) = (each for each in BETS if each.name == PLAYER)
    own, many, wealths = [], [], []
    for room in range(300):
        batch = Batch(fair(2_000, 70_000 + room))
        hits, trials, chances = bets.events(batch)
        right = {"right": np.bincount(hits[trials], minlength=53)}
        own += [each.p for each in GUESSING.pvalues(GUESSING.count(batch), 52, 2_000)]
        many += [each.p for each in GUESSING.pvalues(right, 52, 2_000)]
        wealths.append(float(np.exp(bets.weigh(hits.sum(axis=1)[None], trials.sum(axis=1)[None], chances)[0])))
    # Sums of some forty whole numbers have p-values above uniform ones, those of five hundred all but uniform ones.
    assert kstest(own, "uniform", alternative="greater").pvalue > 0.001
    assert kstest(many, "uniform").pvalue > 0.001
    assert np.mean(wealths) <= 1 + 3 * np.std(wealths) / 300**0.5
