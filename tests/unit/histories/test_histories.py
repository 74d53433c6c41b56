"""`audit histories`: fair rooms pass, crooked ones do not, and what cannot be read or tested is named."""

from __future__ import annotations

import json
import random
from itertools import combinations
from math import comb, nan
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom

from audit.cli import cli
from audit.histories.judging import Judgement, judge
from audit.histories.reading import Histories, read_files
from audit.histories.sums import Draws, bernoulli, held, same_rank_pairs, sum_tails
from dealer.table.phh import write_phh
from dealer.table.text import write_text
from tests.unit.histories.rooms import Deal, fair, hands, phh, text
from tests.unit.table.test_histories import HEADING, THREE, Table

ALPHA = 1e-6


def room(deal: Deal, count: int, seed: int = 1, owner: int = 1) -> Judgement:
    told = "".join(f"[{n}]\n{phh(n, seats, owner)}" for n, seats in enumerate(hands(seed, count, deal)))
    return judge(read_files([("room.phhs", told.encode())]), ALPHA)


def failed(judgement: Judgement) -> set[str]:
    return {test.name for test in judgement.tests if test.verdict == "fail"}


def never_dealt(rng: random.Random, seats: int) -> list[int]:
    return rng.sample(range(51), 3 * seats)


def starved(rng: random.Random, seats: int) -> list[int]:
    """The second seat never gets a pair down."""
    cards = fair(rng, seats)
    while cards[1] // 4 == cards[seats + 1] // 4:
        cards = fair(rng, seats)
    return cards


def brings_it_in(rng: random.Random, seats: int) -> list[int]:
    """In one hand of four the second seat's door card is changed for the lowest."""
    cards = fair(rng, seats)
    lowest = min(range(2 * seats, 3 * seats), key=cards.__getitem__)
    if rng.random() < 0.25:
        cards[lowest], cards[2 * seats + 1] = cards[2 * seats + 1], cards[lowest]
    return cards


def few_seeds(rng: random.Random, seats: int) -> list[int]:
    return fair(random.Random(rng.randrange(1 << 14)), seats)


def unshuffled(rng: random.Random, seats: int) -> list[int]:
    """Cards of a rank stay together."""
    cards = fair(rng, seats)
    if rng.random() < 0.3:
        rank = rng.sample(range(13), 1)[0]
        cards[-2:] = [4 * rank, 4 * rank + 1]
        rest = [card for card in range(52) if card not in cards[-2:]]
        cards[:-2] = rng.sample(rest, len(cards) - 2)
    return cards


@pytest.mark.parametrize(
    ("deal", "expected"),
    [
        (never_dealt, "door cards: each card"),
        (starved, "own down cards: paired"),
        (brings_it_in, "own door card is the lowest"),
        (few_seeds, "the same deal again"),
        (unshuffled, "door cards of the same rank"),
    ],
)
def test_a_crooked_room_is_caught_by_the_test_that_is_for_it(deal: Deal, expected: str) -> None:
    judgement = room(deal, 2000)
    assert judgement.verdict == "fail"
    assert expected in failed(judgement)


@pytest.mark.parametrize("rooms", [60, pytest.param(300, marks=pytest.mark.soak)])
def test_fair_rooms_raise_no_alarm_more_often_than_they_may(rooms: int) -> None:
    alarms, ps = 0, []
    for seed in range(rooms):
        told = "".join(f"[{n}]\n{phh(n, seats, 1)}" for n, seats in enumerate(hands(1000 + seed, 120)))
        judgement = judge(read_files([("room.phhs", told.encode())]), 0.05)
        alarms += judgement.verdict == "fail"
        ps += [test.p for test in judgement.tests if test.name == "own down cards: their ranks"]
    assert binom.sf(alarms - 1, rooms, 0.05) > 1e-4, alarms
    assert abs(np.mean(ps) - 0.5) < 4 / np.sqrt(12 * rooms)


def test_forms_tell_the_same_and_a_hand_that_is_told_twice_counts_once() -> None:
    dealt = hands(3, 150)
    as_phh = "".join(f"[{n}]\n{phh(n, seats, 0)}" for n, seats in enumerate(dealt)).encode()
    as_text = "".join(text(n, seats, 0) for n, seats in enumerate(dealt)).encode()
    one, other = read_files([("a.phhs", as_phh)]), read_files([("a.txt", as_text)])
    assert [(h.doors, h.holes) for h in one.hands] == [(h.doors, h.holes) for h in other.hands]
    assert (len(one.hands), one.problems, other.problems) == (150, [], [])
    first, second = judge(one, ALPHA), judge(other, ALPHA)
    assert [test.p for test in first.tests] == pytest.approx([test.p for test in second.tests], nan_ok=True)
    twice = read_files([("a.txt", as_text), ("b.txt", as_text + as_text)])
    assert (len(twice.hands), twice.files) == (150, {"a.txt": 150, "b.txt": 0})
    assert twice.left_out == {"told twice: counted once": 300}


def test_the_dealers_own_histories_are_read() -> None:
    table = Table(THREE).check_down()
    for name, told in (("h.phh", write_phh(HEADING, table.events)), ("h.txt", write_text(HEADING, table.events))):
        found = read_files([(name, told.encode())])
        assert found.problems == []
        (hand,) = found.hands
        assert HEADING.hand in hand.name
        assert [f"{'23456789TJQKA'[door // 4]}{'cdhs'[door % 4]}" for door in hand.doors] == ["3c", "9d", "Ts"]
        assert hand.holes == (None, None, None)


def test_bad_and_mixed_files_are_named_line_by_line() -> None:
    good = hands(5, 4)
    twice = [(0, 1, 2), (3, 0, 4)]
    mixed = (
        text(1, good[0], 0)
        + text(2, good[1], 0, game="Hold'em No Limit")
        + text(3, twice, 0).replace("player [1] [3c]", "player [1] [2c]")
        + text(4, good[2], 0).replace("Dealt to hero [", "Dealt to hero [Zz ")
        + text(5, good[3], 0)
    )
    found = read_files(
        [("mixed.txt", mixed.encode()), ("notes", b"nothing\n"), ("bytes", b"a\n\xff"), ("n.phh", b"variant = 'NT'\n")]
    )
    assert len(found.hands) == 2
    assert found.left_out == {"another game: hold'em": 1, "another game: NT": 1}
    lines = mixed.split("\n")
    told = {(problem.file, problem.line): problem.detail for problem in found.problems}
    assert told["notes", 1].startswith("there is no hand history")
    assert told["bytes", 2] == "byte 2 is no UTF-8: 0xff"
    (wrong,) = [line for (file, line), detail in told.items() if file == "mixed.txt" and "not third street's" in detail]
    assert "Zz" in lines[wrong - 1]
    assert len(told) == 4


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda phh: phh.replace("antes", "ants"), "antes"),
        (lambda phh: phh.replace("d dh p2", "d dh p1"), "not dealt to all of"),
        (lambda phh: phh + "x = \n", "no TOML"),
        (lambda phh: phh.replace("????", "??2c", 1), "not two cards down and one up"),
        (lambda phh: phh.replace("????", "?!"), "are no cards"),
        (lambda phh: phh.replace("'F7S'", "7"), "names no variant"),
        (lambda phh: phh.replace("'player 0', ", ""), "list of names"),
    ],
)
def test_a_wrong_hand_is_a_problem_with_its_place(change, detail: str) -> None:
    (seats,) = hands(2, 1)
    found = read_files([("h.phh", change(phh(1, seats, 1)).encode())])
    assert found.hands == []
    (problem,) = found.problems
    assert detail in problem.detail
    assert problem.line >= 1


def test_down_cards_that_play_may_have_chosen_do_not_count() -> None:
    (seats,) = [each for each in hands(11, 30) if len(each) >= 4][:1]
    told = phh(1, seats, 0) + ""
    shown = told.replace("d dh p2 ????", "d dh p2 " + "".join(_cards(seats[1][:2])))
    everybody, of_another = phh(3, seats, -1), phh(4, seats, 2)
    found = read_files(
        [
            (f"{n}.phh", each.replace("hand = ", f"hand = 1{n}").encode())
            for n, each in enumerate((told, told, shown, everybody, of_another))
        ]
    )
    judgement = judge(found, ALPHA)
    assert (len(found.hands), judgement.own) == (5, 4)
    (reason,) = judgement.left_out
    assert "selected by play" in reason


def _cards(cards):
    return [f"{'23456789TJQKA'[card // 4]}{'cdhs'[card % 4]}" for card in cards]


def test_too_few_hands_are_neither_a_pass_nor_a_fail(tmp_path: Path) -> None:
    file = tmp_path / "few.phhs"
    file.write_text("".join(f"[{n}]\n{phh(n, seats, 1)}" for n, seats in enumerate(hands(1, 99))))
    done = CliRunner().invoke(cli, ["histories", str(file)])
    assert done.exit_code == 3, done.output
    assert "needs 100 hands, has 99" in done.output


def test_the_command_says_what_it_read_tested_and_left_out(tmp_path: Path) -> None:
    file, other = tmp_path / "room.phhs", tmp_path / "other.txt"
    file.write_text("".join(f"[{n}]\n{phh(n, seats, 1)}" for n, seats in enumerate(hands(1, 400))))
    other.write_text(text(1000, hands(2, 1)[0], 0))
    done = CliRunner().invoke(cli, ["histories", str(file), str(other)])
    assert done.exit_code == 0, done.output
    for word in ("NO EVIDENCE", "401 hands", "fourth street and later", "99 % power", "every hand that was dealt"):
        assert word in done.output
    as_json = CliRunner().invoke(cli, ["histories", str(file), "--json"])
    found = json.loads(as_json.output)
    assert (found["verdict"], found["hands"], found["problems"]) == ("pass", 400, [])
    assert len(found["of"]["inputs"]) == 1
    other.write_text("no history")
    done = CliRunner().invoke(cli, ["histories", str(file), str(other)])
    assert done.exit_code == 4
    assert "other.txt, line 1" in done.output
    file.write_text("".join(f"[{n}]\n{phh(n, seats, 1)}" for n, seats in enumerate(hands(1, 400, never_dealt))))
    assert CliRunner().invoke(cli, ["histories", str(file), str(other)]).exit_code == 1


def test_exact_distributions_are_those_of_counting() -> None:
    for size in (2, 3, 4):
        counts = np.zeros(comb(size, 2) + 1)
        for cards in combinations(range(16), size):  # four ranks of four: the recursion with fewer ranks
            ranks = [card // 4 for card in cards]
            counts[sum(a == b for a, b in combinations(ranks, 2))] += 1
        assert counts.sum() == comb(16, size)
        assert same_rank_pairs(size).sum() == pytest.approx(1)
    assert same_rank_pairs(2)[1] == pytest.approx(3 / 51)
    for found in (0, 30, 59, 60, 61, 100, 300):
        chance = 3 / 51
        tails = sum_tails(found, [Draws(bernoulli(chance), 400), Draws(bernoulli(chance), 600)])
        assert tails == pytest.approx((binom.cdf(found, 1000, chance), binom.sf(found - 1, 1000, chance)), rel=1e-9)
    assert sum_tails(-1, [Draws(held(4, 2), 3)])[0] == 0
    assert sum_tails(7, [Draws(held(4, 2), 3)])[1] == 0


def test_no_hands_at_all() -> None:
    judgement = judge(Histories(), ALPHA)
    assert judgement.verdict == "insufficient"
    assert all(test.p is nan or test.p != test.p for test in judgement.tests)
