"""STUD.md, section 3: sizes, the cap, and the all-in for less."""

import pytest

from dealer.table.events import Acted
from tests.driving import Table

FOUR = {1: "?? ?? 3c 5h 6s 8d", 2: "?? ?? Jd Td 6h 8c", 3: "?? ?? Qc 9c 5s 7h", 4: "?? ?? Kh 9d 6c 7s"}
"""Seat 1 brings in; seat 4 opens every later street; nobody pairs on fourth street."""


def four(stacks: dict[int, int] | int = 10_000, **stakes: int) -> Table:
    """A table of four with the bring-in posted; the ante is 25."""
    if isinstance(stacks, dict):
        stacks = dict.fromkeys(FOUR, 10_000) | stacks
    return Table(FOUR, stacks, **stakes).play("1 bring-in")


def test_on_third_street_the_bet_is_the_small_bet_and_raises_are_small_bets() -> None:
    table = four()
    assert table.prompt == "2: complete 100, call 50, fold"
    table.play("2 complete")
    assert table.prompt == "3: call 100, raise 200, fold"
    table.play("3 raise")
    assert table.prompt == "4: call 200, raise 300, fold"


def test_on_fourth_street_the_small_bet() -> None:
    table = four().to("fourth")
    assert table.prompt == "4: check, bet 100, fold"
    assert table.play("4 bet").prompt == "1: call 100, raise 200, fold"


@pytest.mark.parametrize("street", ["fifth", "sixth", "seventh"])
def test_from_fifth_street_on_the_big_bet(street: str) -> None:
    table = four().to(street)
    assert table.prompt == "4: check, bet 200, fold"
    assert table.play("4 bet").prompt == "1: call 200, raise 400, fold"


def test_at_most_one_bet_and_three_raises_then_the_round_is_capped() -> None:
    table = four().play("2 complete, 3 raise 200, 4 raise 300")
    assert table.prompt == "1: call 300, raise 400, fold"
    assert table.play("1 raise").prompt == "2: call 400, fold"


def test_the_cap_holds_heads_up_as_well() -> None:
    table = four().to("fifth").play("4 bet, 1 raise, 2 fold, 3 fold, 4 raise, 1 raise")
    assert table.prompt == "4: call 800, fold"


def test_each_round_has_a_cap_of_its_own() -> None:
    table = four().play("2 complete, 3 raise, 4 raise, 1 raise, 2 call, 3 call, 4 call")
    assert table.prompt == "4: check, bet 100, fold"


def test_the_cap_stands_whoever_folds() -> None:
    table = four().play("2 complete, 3 raise, 4 raise, 1 raise, 2 fold, 3 fold")
    assert table.prompt == "4: call 400, fold"


# All-in for less than a full wager


def test_an_all_in_of_at_least_half_counts_reopens_and_the_next_wager_is_one_above_the_full_level() -> None:
    table = four({1: 2000, 2: 75 + 300, 3: 10_000}).to("fifth")
    assert table.play("4 bet 200, 1 call").prompt == "2: call 200, raise 300, fold"
    table.play("2 raise 300")
    assert table.prompt == "3: call 300, raise 600, fold"
    table.play("3 call")
    assert table.prompt == "4: call 300, raise 600, fold"


def test_an_all_in_of_less_than_half_does_not_count() -> None:
    table = four({2: 75 + 299}).to("fifth").play("4 bet 200, 1 call, 2 raise 299")
    # Seat 3 has not acted since the last full wager: it may also raise to the full level.
    assert table.prompt == "3: call 299, raise 400, fold"
    # Seats 4 and 1 have: they may only call or fold, what was actually put in.
    table.play("3 call")
    assert table.prompt == "4: call 299, fold"
    table.play("4 call")
    assert table.prompt == "1: call 299, fold"


def test_a_raise_to_the_full_level_reopens_the_action_to_all() -> None:
    table = four({2: 75 + 299}).to("fifth").play("4 bet 200, 1 call, 2 raise 299, 3 raise 400")
    assert table.prompt == "4: call 400, raise 600, fold"


def test_half_is_measured_from_the_last_full_level_so_two_short_ones_may_count_together() -> None:
    table = four({1: 75 + 250, 2: 75 + 300}).to("fifth").play("4 bet 200, 1 raise 250")
    assert table.prompt == "2: call 250, raise 300, fold"
    table.play("2 raise 300")
    assert table.prompt == "3: call 300, raise 600, fold"
    table.play("3 call")
    assert table.prompt == "4: call 300, raise 600, fold"


@pytest.mark.parametrize(
    ("short", "asked"),
    [
        pytest.param(700, "3: call 700, fold", id="at least half of the third raise: capped"),
        pytest.param(699, "3: call 699, raise 800, fold", id="less than half: one raise is left"),
    ],
)
def test_an_all_in_that_counts_counts_towards_the_cap(short: int, asked: str) -> None:
    table = four({2: 75 + short}).to("fifth").play("4 bet 200, 1 raise 400, 2 call, 3 call, 4 raise 600, 1 call")
    assert table.play(f"2 raise {short}").prompt == asked


def test_at_the_cap_a_short_stack_may_only_call_what_it_has() -> None:
    table = four({4: 25 + 350}).play("2 complete, 3 raise, 4 raise, 1 raise, 2 call, 3 call")
    assert table.prompt == "4: call 350, fold"


def test_the_first_bet_all_in_for_less_than_half_leaves_the_full_bet_open() -> None:
    table = four({4: 75 + 99}).to("fifth").play("4 bet 99")
    assert table.prompt == "1: bet 200, call 99, fold"
    table.play("1 call, 2 bet 200")
    assert table.prompt == "3: call 200, raise 400, fold"


def test_after_a_check_an_all_in_for_less_than_half_lets_the_checker_only_call_or_fold() -> None:
    table = four({1: 75 + 99}).to("fifth").play("4 check, 1 bet 99, 2 call, 3 call")
    assert table.prompt == "4: call 99, fold"


def test_the_first_bet_all_in_for_half_counts_as_the_bet_and_the_callers_call_what_was_put_in() -> None:
    table = four({4: 75 + 100}).to("fifth").play("4 bet 100")
    assert table.prompt == "1: call 100, raise 400, fold"


def test_above_a_short_all_in_that_counts_a_stack_below_the_full_level_may_still_put_all_of_it_in() -> None:
    table = four({4: 75 + 120, 1: 75 + 150}).to("fifth").play("4 bet 120")
    assert table.prompt == "1: call 120, raise 150, fold"
    # It lies below the full level that the bet counts for, so it is no full raise, and the cap stays.
    assert table.play("1 raise 150").prompt == "2: call 150, raise 400, fold"


def test_a_stack_that_covers_the_wager_exactly_makes_it() -> None:
    table = four({1: 75 + 400}).to("fifth").play("4 bet 200")
    assert table.prompt == "1: call 200, raise 400, fold"


def test_an_all_in_up_to_the_last_wager_is_a_call() -> None:
    table = four({1: 75 + 130, 2: 75 + 200}).to("fifth").play("4 bet 200")
    assert table.prompt == "1: call 130, fold"
    table.play("1 call")
    assert table.prompt == "2: call 200, fold"


# Completing the bring-in for less


def test_a_completion_for_at_least_half_from_the_bring_in_counts() -> None:
    table = four({2: 25 + 75})
    assert table.prompt == "2: complete 75, call 50, fold"
    table.play("2 complete 75")
    assert table.prompt == "3: call 75, raise 200, fold"
    table.play("3 call, 4 call")
    assert table.prompt == "1: call 75, raise 200, fold"


def test_a_completion_for_less_than_half_from_the_bring_in_does_not_count() -> None:
    table = four({3: 25 + 74}).play("2 call 50, 3 complete 74")
    assert table.prompt == "4: complete 100, call 74, fold"
    # The bring-in has acted by posting, seat 2 by calling.
    table.play("4 call")
    assert table.prompt == "1: call 74, fold"
    table.play("1 call")
    assert table.prompt == "2: call 74, fold"


def test_the_full_completion_above_a_short_one_is_the_bet_of_the_round() -> None:
    table = four({3: 25 + 74}).play("2 call, 3 complete 74, 4 complete 100")
    assert table.prompt == "1: call 100, raise 200, fold"
    table.play("1 raise, 2 raise, 4 raise")
    assert table.prompt == "1: call 400, fold"


@pytest.mark.parametrize(
    ("has", "asked"),
    [
        pytest.param(70, "2: complete 100, call 70, fold", id="less than half: still to be completed"),
        pytest.param(75, "2: call 75, raise 200, fold", id="half: completed"),
    ],
)
def test_the_bring_in_itself_may_complete_for_less(has: int, asked: str) -> None:
    table = Table(FOUR, dict.fromkeys(FOUR, 10_000) | {1: 25 + has}).play(f"1 complete {has}")
    assert table.prompt == asked


@pytest.mark.parametrize(
    ("has", "asked"), [(74, "4: complete 100, call 74, fold"), (75, "4: call 75, raise 200, fold")]
)
def test_a_short_bring_in_is_completed_from_the_whole_bring_in(has: int, asked: str) -> None:
    table = Table(FOUR, dict.fromkeys(FOUR, 10_000) | {1: 25 + 10, 3: 25 + has}).play("1 bring-in 10, 2 call 50")
    assert table.play(f"3 complete {has}").prompt == asked


def test_half_of_an_odd_completion_is_rounded_for_nobody() -> None:
    # From 25 to 100 are 75: 62 puts in 37, less than half; 63 puts in 38, more than half.
    low = four({2: 25 + 62}, bring_in=25).play("2 complete 62")
    assert low.prompt == "3: complete 100, call 62, fold"
    high = four({2: 25 + 63}, bring_in=25).play("2 complete 63")
    assert high.prompt == "3: call 63, raise 200, fold"


# Open pair on fourth street

PAIRED = {1: "?? ?? 3c 5h", 2: "?? ?? Jd Td", 3: "?? ?? Qc Qd", 4: "?? ?? Kh 9d"}
"""Seat 1 brings in; seat 3 shows a pair of queens on fourth street."""


def paired(stacks: dict[int, int] | None = None, *, hi_lo: bool = False, **stakes: int) -> Table:
    """Fourth street with an open pair, everybody in for 75."""
    return Table(PAIRED, dict.fromkeys(PAIRED, 10_000) | (stacks or {}), hi_lo=hi_lo, **stakes).to("fourth")


@pytest.mark.parametrize("hi_lo", [False, True])
def test_an_open_pair_lets_everybody_choose_the_small_or_the_big_bet_in_both_games(hi_lo: bool) -> None:
    table = paired(hi_lo=hi_lo)
    assert table.prompt == "3: check, bet 100, bet 200, fold"
    table.play("3 check")
    assert table.prompt == "4: check, bet 100, bet 200, fold"


def test_a_seat_without_the_pair_may_bet_double() -> None:
    table = paired().play("3 check, 4 bet 200")
    assert table.prompt == "1: call 200, raise 400, fold"


def test_a_small_bet_may_be_raised_by_a_small_or_a_big_bet() -> None:
    table = paired().play("3 bet 100")
    assert table.prompt == "4: call 100, raise 200, raise 300, fold"
    assert table.play("4 raise 200").prompt == "1: call 200, raise 300, raise 400, fold"


def test_after_the_first_wager_at_the_big_size_only_the_big_size_is_open() -> None:
    table = paired().play("3 bet 100, 4 raise 300")
    assert table.prompt == "1: call 300, raise 500, fold"
    assert table.play("1 raise 500").prompt == "2: call 500, raise 700, fold"


def test_double_wagers_are_capped_as_well() -> None:
    table = paired().play("3 bet 100, 4 raise 200, 1 raise 300, 2 raise 500")
    assert table.prompt == "3: call 500, fold"


def test_the_choice_lasts_as_long_as_the_round_though_the_pair_folds() -> None:
    table = paired().play("3 fold")
    assert table.prompt == "4: check, bet 100, bet 200, fold"


def test_the_choice_is_gone_on_the_next_street() -> None:
    table = paired().play("3 check, 4 check, 1 check, 2 check")
    assert table.state.street == "fifth"
    assert table.prompt == "3: check, bet 200, fold"


def test_an_all_in_seats_pair_counts() -> None:
    table = paired({3: 75})
    assert table.prompt == "4: check, bet 100, bet 200, fold"


def test_the_pair_of_a_seat_that_folded_before_does_not_count() -> None:
    table = Table(PAIRED).play("1 bring-in, 2 complete, 3 fold, 4 call, 1 call")
    assert table.prompt == "4: check, bet 100, fold"


def test_a_room_may_switch_it_off() -> None:
    assert paired(open_pair_double=False).prompt == "3: check, bet 100, fold"


def test_where_small_and_big_bet_are_equal_there_is_no_choice() -> None:
    assert paired(big_bet=100).prompt == "3: check, bet 100, fold"


def test_a_pair_counts_on_fourth_street_only() -> None:
    hands = {1: "?? ?? 3c 5h 5d", 2: "?? ?? Kd Td 2h"}
    assert Table(hands).to("fifth").prompt == "1: check, bet 200, fold"


@pytest.mark.parametrize(
    ("has", "options", "after"),
    [
        pytest.param(49, "bet 49", "4: bet 100, bet 200, call 49, fold", id="less than half of the small bet"),
        pytest.param(50, "bet 50", "4: call 50, raise 200, raise 300, fold", id="half of the small bet"),
        pytest.param(100, "bet 100", "4: call 100, raise 200, raise 300, fold", id="the small bet"),
        pytest.param(101, "bet 100, bet 101", "4: call 101, raise 400, fold", id="above the small, half of the big"),
        pytest.param(199, "bet 100, bet 199", "4: call 199, raise 400, fold", id="nearly the big bet"),
        pytest.param(200, "bet 100, bet 200", "4: call 200, raise 400, fold", id="the big bet"),
    ],
)
def test_an_all_in_is_measured_against_the_small_bet_up_to_it_and_above_it_against_the_big(
    has: int, options: str, after: str
) -> None:
    table = paired({3: 75 + has})
    assert table.prompt == f"3: check, {options}, fold"
    assert table.play(f"3 bet {has}").prompt == after


def test_an_all_in_above_the_small_bet_and_below_half_of_a_far_greater_big_bet_does_not_count() -> None:
    table = paired({3: 75 + 150}, big_bet=400).play("3 bet 150")
    # The full small bet lies below what was put in; the others may raise to the big bet alone.
    assert table.prompt == "4: bet 400, call 150, fold"
    assert table.play("4 call, 1 call, 2 bet 400").prompt == "4: call 400, raise 800, fold"


def test_a_small_raise_all_in_is_measured_from_the_last_full_level() -> None:
    table = paired({4: 75 + 149}).play("3 bet 100, 4 raise 149")
    assert table.prompt == "1: call 149, raise 200, raise 300, fold"
    table = paired({4: 75 + 150}).play("3 bet 100, 4 raise 150")
    assert table.prompt == "1: call 150, raise 300, raise 400, fold"


def test_each_action_says_what_it_moved_and_what_is_left() -> None:
    table = four({2: 1000}).play("2 complete")
    act = table.happened(Acted)[-1]
    assert isinstance(act, Acted)
    assert (act.seat, act.chips, act.stack) == (2, 100, 875)
