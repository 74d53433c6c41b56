"""STUD.md, section 4: main pot, side pots, what goes back."""

import pytest

from dealer.table.pots import Pot, build_pots, give_up, uncalled
from tests.driving import Table


@pytest.mark.parametrize(
    ("paid", "live", "expected"),
    [
        pytest.param({1: 100, 2: 100, 3: 100}, (1, 2, 3), [(300, (1, 2, 3))], id="one pot"),
        pytest.param({1: 50, 2: 100, 3: 100}, (1, 2, 3), [(150, (1, 2, 3)), (100, (2, 3))], id="a side pot"),
        pytest.param(
            {1: 10, 2: 60, 3: 100, 4: 100},
            (1, 2, 3, 4),
            [(40, (1, 2, 3, 4)), (150, (2, 3, 4)), (80, (3, 4))],
            id="two side pots",
        ),
        pytest.param({1: 100, 2: 40, 3: 100}, (1, 3), [(240, (1, 3))], id="layers with the same seats are one pot"),
        pytest.param(
            {1: 50, 2: 100, 3: 100}, (1, 3), [(150, (1, 3)), (100, (3,))], id="a folded seat has no claim on any pot"
        ),
        pytest.param(
            {1: 50, 2: 100, 3: 100}, (1,), [(250, (1,))], id="a layer whose contributors folded joins the one below"
        ),
        pytest.param(
            {1: 50, 2: 80, 3: 120, 4: 120, 5: 20},
            (1, 2),
            [(220, (1, 2)), (170, (2,))],
            id="the layers of 120 alone are folded and join the pot below",
        ),
        pytest.param({1: 50, 2: 0, 3: 20}, (2, 3), [(70, (3,))], id="a seat that paid nothing has no claim"),
        pytest.param({1: 50, 2: 0, 3: 0}, (2, 3), [(50, (2, 3))], id="dead chips that nobody else has met"),
        pytest.param({1: 0, 2: 0}, (1, 2), [], id="no chips, no pot"),
    ],
)
def test_chips_are_laid_by_the_depth_of_each_contribution(
    paid: dict[int, int], live: tuple[int, ...], expected: list[tuple[int, tuple[int, ...]]]
) -> None:
    assert build_pots(paid, live) == tuple(Pot(amount, eligible) for amount, eligible in expected)
    assert sum(pot.amount for pot in build_pots(paid, live)) == sum(paid.values())


@pytest.mark.parametrize(
    ("paid", "live", "back"),
    [
        pytest.param({1: 100, 2: 60, 3: 60}, (1, 2), (1, 40), id="what nobody matched"),
        pytest.param({1: 100, 2: 100, 3: 60}, (1, 3), None, id="matched by a seat that folded since"),
        pytest.param({1: 100, 2: 60}, (2,), None, id="not to a seat that has folded"),
        pytest.param({1: 0, 2: 0}, (1, 2), None, id="nothing at all"),
    ],
)
def test_what_nobody_matched_goes_back_to_its_owner_if_it_has_not_folded(
    paid: dict[int, int], live: tuple[int, ...], back: tuple[int, int] | None
) -> None:
    assert uncalled(paid, live) == back


THREE = {
    1: "Ac As 3c 5h 6s 8d 9h",  # aces
    4: "Kc Kd 9d Jc 8c 7h 2d",  # kings
    6: "Qs Qd Ts 4d 4h 5d Th",  # queens and tens
}


def test_the_last_side_pot_contender_folds_and_the_side_pot_goes_to_who_is_left_in_it() -> None:
    table = Table(THREE, {1: 125, 4: 10_000, 6: 10_000}, stop_at_showdown=True)
    table.play("1 bring-in, 4 complete, 6 call, 1 call")  # seat 1 is all-in
    assert table.pots == {(1, 4, 6): 375}
    table.play("4 bet, 6 call").play("6 bet, 4 call")
    assert table.pots == {(1, 4, 6): 375, (4, 6): 600}
    table.play("6 bet, 4 fold")
    assert table.state.returned == ((6, 200),)
    assert table.pots == {(1, 6): 375, (6,): 600}
    assert table.state.street == "seventh"


def test_the_side_pot_is_paid_to_its_only_claimant_whatever_it_holds() -> None:
    table = Table(THREE, {1: 125, 4: 10_000, 6: 10_000})
    table.play("1 bring-in, 4 complete, 6 call, 1 call, 4 bet, 6 call, 6 bet, 4 call, 6 bet, 4 fold")
    assert table.won(0, "high") == {6: 375}  # two pair beats aces
    assert table.won(1, "high") == {6: 600}


def test_an_uncalled_bet_goes_back_before_the_last_seat_wins() -> None:
    table = Table(THREE).to("fifth").play("6 bet 200, 1 fold, 4 fold")
    assert table.state.returned == ((6, 200),)
    assert table.payouts == {6: 225}
    assert table.pots == {(6,): 225}


def test_an_uncalled_bet_goes_back_before_the_showdown_and_is_no_pot() -> None:
    table = Table(THREE, {1: 10_000, 4: 150, 6: 75}).to("fourth").play("4 bet 75, 1 call")
    assert table.prompt == "over"
    assert table.pots == {(1, 4, 6): 225, (1, 4): 150}
    table = Table(THREE, {1: 10_000, 4: 150, 6: 75}).to("fourth").play("4 check, 1 bet 100, 4 call 75")
    assert table.state.returned == ((1, 25),)
    assert table.pots == {(1, 4, 6): 225, (1, 4): 150}


def test_the_unmatched_part_of_an_ante_goes_back_as_well() -> None:
    table = Table(THREE, {1: 10, 4: 18, 6: 1000})
    assert table.state.returned == ((6, 7),)
    assert table.pots == {(1, 4, 6): 30, (4, 6): 16}


def test_a_bring_in_that_nobody_matched_goes_back() -> None:
    table = Table(THREE).play("1 bring-in, 4 fold, 6 fold")
    assert table.state.returned == ((1, 50),)
    assert table.payouts == {1: 75}


def test_a_bring_in_whose_seat_was_folded_does_not_go_back() -> None:
    table = Table(THREE).leave(1)
    table.play("4 fold")
    assert table.state.returned == ()
    assert table.payouts == {6: 75 + 50}


def test_chips_in_equal_chips_out_with_everybody_all_in_for_another_amount() -> None:
    table = Table(THREE, {1: 60, 4: 130, 6: 410}).play("1 bring-in 35, 4 complete, 6 raise 200, 4 call 105")
    assert table.prompt == "over"
    assert table.state.returned == ((6, 95),)
    assert table.pots == {(1, 4, 6): 180, (4, 6): 140}
    assert sum(table.state.stacks.values()) == 600


def test_a_seat_that_folds_has_no_claim_from_then_on_though_the_round_goes_on() -> None:
    table = Table(THREE, 10_000, stop_at_showdown=True)
    table.play("1 bring-in, 4 call, 6 call")
    assert list(table.pots) == [(1, 4, 6)]
    table.play("4 bet, 6 fold")
    assert list(table.pots) == [(1, 4)]


@pytest.mark.parametrize(
    "paid", [{1: 50, 2: 50, 3: 50}, {1: 20, 2: 50, 3: 80, 4: 80}, {1: 80, 2: 20, 3: 50, 4: 50, 5: 10}]
)
def test_giving_up_a_claim_lays_the_pots_as_if_they_were_laid_anew(paid: dict[int, int]) -> None:
    for first in paid:
        for second in paid.keys() - {first}:
            live = [seat for seat in paid if seat not in (first, second)]
            pots = give_up(give_up(build_pots(paid, list(paid)), first), second)
            assert pots == build_pots(paid, live)
