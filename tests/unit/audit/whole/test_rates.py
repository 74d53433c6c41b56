"""Void rates and the test of voids against the deck: an operator who looks shows, one who does not look does not."""

from __future__ import annotations

import random
from itertools import pairwise, product
from pathlib import Path

import pytest

from audit.whole.rates import VoidTest, _p_best, _p_ranks
from audit.whole.voids import VoidedHand, strength, voided_hand
from tests.attacks.judging import audit
from tests.attacks.maker import Book, Draft

HANDS = 1_000
VOIDS = 40


def _behind(draft: Draft, seat: int) -> bool:
    hand = voided_hand(_Commit(draft), draft.dealt)  # type: ignore[arg-type]
    assert hand is not None
    return hand.whole[hand.seats.index(seat)] != 1


class _Commit:
    def __init__(self, draft: Draft) -> None:
        self.game, self.seats, self.table = draft.game, tuple(draft.seats), draft.table


def _log(looks: bool) -> Book:
    book = Book()
    left = VOIDS
    for number in range(1, HANDS + 1):
        draft = Draft(f"voids {number}", number=number, seats=[1, 2, 3, 4])
        void = left > 0 and (number % 20 == 0 if not looks else _behind(draft, 3) and number % 10 == 0)
        draft.outcome = "void" if void else "completed"
        left -= void
        book.play(draft.deal("fifth") if void else draft.deal("third", folds={"third": [1, 2, 4]}))
    return book


def test_an_operator_who_voids_when_seat_3_is_behind_shows(tmp_path: Path) -> None:
    report = audit(_log(looks=True), tmp_path)
    rates = report.tables["table-1"]
    assert report.verdict == "valid"  # an observation, not a finding
    assert rates.life.void == {"operator": VOIDS}
    assert rates.void_rate == pytest.approx(VOIDS / HANDS)
    first = rates.voids[0]
    assert (first.seat, first.best, first.notable) == (3, 0, True)
    assert first.expected == pytest.approx(VOIDS / 4)
    assert first.p < 1e-4


def test_an_operator_who_does_not_look_does_not(tmp_path: Path) -> None:
    rates = audit(_log(looks=False), tmp_path).tables["table-1"]
    assert len(rates.voids) == 4
    assert not any(row.notable for row in rates.voids)


def test_best_is_exact() -> None:
    # Three hands of two seats and one of three: the chance of never being best is 1/8 * 2/3, of always 1/8 * 1/3.
    never, always = 1 / 8 * 2 / 3, 1 / 8 * 1 / 3
    assert _p_best({2: 3, 3: 1}, 4) == pytest.approx(always)
    assert _p_best({2: 3, 3: 1}, 0) == pytest.approx(never + always)


@pytest.mark.parametrize("total", range(3, 9))
def test_rank_sums_are_exact(total: int) -> None:
    sums = [sum(ranks) for ranks in product(range(1, 3), range(1, 4), range(1, 4))]
    counts = [sums.count(each) for each in range(3, 9)]
    no_likelier = sum(count for count in counts if count <= sums.count(total))
    assert _p_ranks({2: 1, 3: 2}, total) == pytest.approx(no_likelier / len(sums))


def test_exact_and_normal_agree_where_they_meet() -> None:
    for ours, mean in ((_p_best, 400 / 4), (_p_ranks, 400 * 2.5)):
        for off in (0, 10, 25):
            exact, normal = ours({4: 400}, int(mean + off)), ours({4: 401}, int(mean + off))
            assert normal == pytest.approx(exact, rel=0.2)


def test_fair_voids_rarely_stand_out() -> None:
    generator = random.Random(20261129)
    alarms = 0
    for number in range(300):
        test = VoidTest()
        for _ in range(40):
            third, whole = [*range(1, 7)], [*range(1, 7)]
            generator.shuffle(third)
            generator.shuffle(whole)
            test.add([VoidedHand(f"t{number}", (1, 2, 3, 4, 5, 6), tuple(third), tuple(whole))])
        alarms += test.result(f"t{number}")[0].notable
    assert alarms <= 300 * 0.05 + 4 * (300 * 0.05 * 0.95) ** 0.5


def test_too_few_voids_are_not_tested() -> None:
    test = VoidTest()
    test.add([VoidedHand("t", (1, 2), (1, 2), (2, 1))] * 4)
    assert test.result("t") == ()


ASCENDING = [
    "2c 3d 5h 7s 9c Jd Kh",
    "Ac 3d 5h 7s 9c Jd Kh",
    "2c 2d 5h 7s 9c Jd Kh",
    "2c 2d 5h 7s 9c Jd Ah",
    "2c 2d 3h 3s 9c Jd Kh",
    "2c 2d 3h 3s Kc Kd Jh",
    "2c 2d 2h 7s 9c Jd Kh",
    "Ac 2d 3h 4s 5c Jd Kh",
    "2d 3h 4s 5c 6d Jd Kh",
    "9c Td Jh Qs Kc Ad 2h",
    "2c 4c 6c 8c Tc Jd Kh",
    "2c 4c 6c 8c Jc Kd Ah",
    "2c 2d 2h 3s 3c 4d 4h",
    "2c 2d 2h Ks Kc Kd 4h",
    "2c 2d 2h 2s 9c Jd Kh",
    "2c 2d 2h 2s 9c Jd Ah",
    "Ac 2c 3c 4c 5c Kd Kh",
    "9c Tc Jc Qc Kc Ad Ah",
    "Tc Jc Qc Kc Ac Ad Ah",
]


def test_hands_rank_as_they_should() -> None:
    strengths = [strength(cards.split()) for cards in ASCENDING]
    assert strengths == sorted(strengths)
    assert len(set(strengths)) == len(strengths)


def test_strength_agrees_with_another_evaluator() -> None:
    phevaluator = pytest.importorskip("phevaluator")
    from audit.protocol import DECKS

    generator = random.Random(7)
    hands = [generator.sample(DECKS["standard52"], 7) for _ in range(2_000)]
    ours = [strength(hand) for hand in hands]
    theirs = [phevaluator.evaluate_cards(*hand) for hand in hands]
    for (a, b), (x, y) in zip(pairwise(ours), pairwise(theirs), strict=True):
        assert (a > b, a == b) == (x < y, x == y)


@pytest.mark.parametrize("seats", range(2, 9))
def test_every_seat_is_ranked_by_seven_cards(seats: int) -> None:
    from audit.whole.voids import _owners

    owned = _owners(tuple(range(1, seats + 1)), 52)
    assert [len(positions) for positions in owned] == [7] * seats
    # Eight seats share the last card; nobody else shares any.
    shared = set.intersection(*map(set, owned))
    assert shared == ({48} if seats == 8 else set())
