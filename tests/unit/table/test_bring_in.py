"""STUD.md, section 2: antes, the bring-in, who opens, when a round and a hand end."""

import pytest

from dealer.errors import Reason, Refused
from dealer.table import hand
from dealer.table.betting import Action, Option, Turn
from dealer.table.events import AntePosted, BringInDue, PotsGathered
from dealer.table.stakes import Lineup, Stakes
from tests.driving import Table

THREE = {1: "?? ?? 3c Kh Qh Jh", 4: "?? ?? 9d 9c 8c 7c", 6: "?? ?? Ks 4d 4h 5d"}
"""Seat 1 brings in; seat 4 opens fourth street with a pair."""


def test_every_seat_dealt_in_posts_the_ante() -> None:
    table = Table(THREE, {1: 1000, 4: 500, 6: 300})
    assert table.happened(AntePosted) == [AntePosted(1, 25, 975), AntePosted(4, 25, 475), AntePosted(6, 25, 275)]
    assert table.pots == {(1, 4, 6): 75}


def test_a_stack_that_does_not_cover_the_ante_is_all_in_for_what_it_has() -> None:
    table = Table(THREE, {1: 1000, 4: 10, 6: 300})
    assert table.state.stacks == {1: 975, 4: 0, 6: 275}
    assert table.pots == {(1, 4, 6): 30, (1, 6): 30}


def test_there_may_be_no_ante() -> None:
    table = Table(THREE, ante=0)
    assert table.happened(AntePosted) == []
    assert table.pots == {}
    assert table.prompt == "1: bring-in 50, complete 100"


@pytest.mark.parametrize("hi_lo", [False, True])
@pytest.mark.parametrize(
    ("doors", "seat"),
    [
        pytest.param(["As", "Kc", "Ad"], 2, id="the ace is high"),
        pytest.param(["9c", "2s", "9d"], 2, id="the lowest rank"),
        pytest.param(["6d", "6c", "9d"], 2, id="clubs are lowest"),
        pytest.param(["6h", "6d", "9d"], 2, id="then diamonds"),
        pytest.param(["6s", "6h", "9d"], 2, id="then hearts, then spades"),
    ],
)
def test_the_lowest_up_card_brings_in_in_both_games(doors: list[str], seat: int, hi_lo: bool) -> None:
    table = Table({number: f"?? ?? {door}" for number, door in zip((1, 2, 3), doors, strict=True)}, hi_lo=hi_lo)
    assert table.prompt == f"{seat}: bring-in 50, complete 100"
    assert table.happened(BringInDue) == [BringInDue(seat)]


def test_a_seat_that_is_all_in_from_the_ante_is_passed_over() -> None:
    table = Table({1: "?? ?? 2c", 2: "?? ?? 7h", 3: "?? ?? 5s"}, {1: 25, 2: 1000, 3: 1000})
    assert table.prompt == "3: bring-in 50, complete 100"


@pytest.mark.parametrize(
    "stacks",
    [
        pytest.param({1: 25, 2: 20, 3: 1000}, id="one seat holds chips"),
        pytest.param({1: 25, 2: 20, 3: 10}, id="none does"),
    ],
)
def test_with_fewer_than_two_seats_holding_chips_nobody_brings_in(stacks: dict[int, int]) -> None:
    table = Table({1: "?? ?? 2c", 2: "?? ?? 7h", 3: "?? ?? 5s"}, stacks)
    assert table.prompt == "over"
    assert table.happened(BringInDue) == []
    assert table.happened(Turn) == []
    assert table.state.bring_in is None
    assert table.state.street == "seventh"


def test_folding_or_checking_is_not_open_to_the_bring_in() -> None:
    table = Table(THREE)
    for action in (Action.FOLD, Action.CHECK):
        with pytest.raises(Refused, match="seat 1 may bring-in 50, complete 100") as refusal:
            hand.act(table.state, 1, Option(action, 0))
        assert refusal.value.reason is Reason.ACTION_NOT_ALLOWED


def test_with_less_than_the_bring_in_they_post_what_they_have_and_the_others_owe_the_whole() -> None:
    table = Table(THREE, {1: 45, 4: 1000, 6: 1000})
    assert table.prompt == "1: bring-in 20"
    table.play("1 bring-in 20")
    assert table.prompt == "4: complete 100, call 50, fold"


def test_with_exactly_the_bring_in_they_post_it_all() -> None:
    assert Table(THREE, {1: 75, 4: 1000, 6: 1000}).prompt == "1: bring-in 50"


def test_with_less_than_the_small_bet_they_may_complete_for_less() -> None:
    assert Table(THREE, {1: 95, 4: 1000, 6: 1000}).prompt == "1: bring-in 50, complete 70"


def test_the_bring_in_may_complete_at_once_and_that_is_the_bet_of_the_round() -> None:
    table = Table(THREE).play("1 complete 100")
    assert table.prompt == "4: call 100, raise 200, fold"


def test_posting_counts_as_acting_where_nobody_completes_they_are_not_asked_again() -> None:
    table = Table(THREE).play("1 bring-in, 4 call 50, 6 call 50")
    assert table.state.street == "fourth"


def test_where_somebody_completes_the_bring_in_is_asked_again() -> None:
    table = Table(THREE).play("1 bring-in, 4 complete 100, 6 fold")
    assert table.prompt == "1: call 100, raise 200, fold"


def test_action_goes_clockwise() -> None:
    table = Table({5: "?? ?? Kc", 2: "?? ?? 3c", 9: "?? ?? Qc", 7: "?? ?? Jc"}).play("2 bring-in")
    table.play("9 call, 7 call, 5 call")
    assert table.state.street == "fourth"


def test_the_highest_hand_showing_opens_and_may_check_or_bet() -> None:
    table = Table(THREE, open_pair_double=False).to("fourth")
    assert table.prompt == "4: check, bet 100, fold"
    table.to("sixth")
    assert table.prompt == "4: check, bet 200, fold"


def test_equal_hands_showing_open_with_the_first_clockwise() -> None:
    table = Table({3: "?? ?? 2d Kd", 8: "?? ?? Qs 9c", 1: "?? ?? Qh 9s"}).play("3 bring-in, 8 complete, 1 call, 3 fold")
    assert table.asked == 8


def test_a_seat_that_is_all_in_cannot_open_the_next_highest_does() -> None:
    table = Table({1: "?? ?? 3c 5h", 4: "?? ?? Ad Ac", 6: "?? ?? Ks 4d"}, {1: 1000, 4: 75, 6: 1000}).to("fourth")
    assert table.asked == 6


def test_the_board_card_does_not_count_for_who_opens() -> None:
    eight = {seat: f"?? ?? {door} {cards}" for seat, door, cards in zip(range(1, 9), UPS, TAILS, strict=True)}
    table = Table(eight, board="Ah").to("seventh")
    assert table.state.board == "Ah"
    assert table.asked == 1


UPS = ["Kc", "3d", "4h", "5s", "6c", "7d", "8h", "9s"]
TAILS = ["Kd Qc Jc", "Ac 2d 3h", "4s 6d 7h", "8s 9c Td", "Jh Qs 2h", "3s 5c 6h", "7s 9d Th", "Js Qd 8c"]


def test_a_round_ends_when_every_seat_still_in_has_acted_and_has_matched_the_highest_wager() -> None:
    table = Table(THREE, open_pair_double=False).to("fourth")
    table.play("4 check, 6 check, 1 bet 100, 4 fold, 6 raise 200, 1 call")
    assert table.state.street == "fifth"
    assert table.pots == {(1, 6): 75 + 150 + 400}


def test_a_seat_may_fold_whenever_it_is_its_turn_even_where_it_could_check() -> None:
    table = Table(THREE).to("fourth").play("4 fold, 6 check, 1 fold")
    assert table.prompt == "over"
    assert table.payouts == {6: 75 + 150}


def test_where_no_other_seat_has_chips_a_seat_with_nothing_to_call_is_not_asked() -> None:
    # Seat 4 is all-in on third street; seat 6 folds where it could check; seat 1 alone has chips.
    table = Table({1: "?? ?? 3c 5h", 4: "?? ?? 9d 8c", 6: "?? ?? Ks 4d"}, {1: 1000, 4: 75, 6: 1000}).to("fourth")
    table.play("6 fold")
    assert table.prompt == "over"
    assert table.state.street == "seventh"


def test_where_no_other_seat_has_chips_one_with_something_to_call_may_only_call_or_fold() -> None:
    table = Table(THREE, {1: 1000, 4: 300, 6: 25}, open_pair_double=False).to("fourth")
    table.play("4 bet 100, 1 raise 200")
    assert table.prompt == "4: call 200, raise 225, fold"
    table.play("4 raise 225")
    assert table.prompt == "1: call 225, fold"


def test_the_whole_bring_in_is_owed_to_a_short_one_by_the_last_seat_with_chips() -> None:
    table = Table({1: "?? ?? 3c", 2: "?? ?? 7h"}, {1: 35, 2: 1000}).play("1 bring-in 10")
    assert table.prompt == "2: call 50, fold"
    table.play("2 call")
    assert table.state.returned == ((2, 40),)
    assert table.pots == {(1, 2): 70}


def test_once_at_most_one_seat_can_still_bet_the_remaining_streets_are_dealt_without_betting() -> None:
    table = Table(THREE, {1: 1000, 4: 175, 6: 175}, open_pair_double=False).to("fourth")
    table.play("4 bet 100, 6 call, 1 call")
    assert table.prompt == "over"
    assert table.state.street == "seventh"
    assert len(table.happened(PotsGathered)) == 6  # after the antes, and after each street


@pytest.mark.parametrize("street", ["third", "fourth", "fifth", "sixth", "seventh"])
def test_a_seat_may_be_all_in_on_every_street(street: str) -> None:
    stacks = {"third": 75, "fourth": 175, "fifth": 275, "sixth": 375, "seventh": 475}
    table = Table(THREE, {1: 2000, 4: 2000, 6: stacks[street]}, open_pair_double=False)
    table.play("1 bring-in, 4 call, 6 call")
    for betting in ("fourth", "fifth", "sixth", "seventh"):
        if table.state.street == betting and table.state.stacks[6]:
            table.play("4 bet, 6 call, 1 call")
        elif table.state.street == betting:
            break
        if betting == street:
            break
    assert table.state.stacks[6] == 0 or table.prompt == "over"
    table.check_down()
    assert table.prompt == "over"
    assert sum(table.state.stacks.values()) == 4000 + stacks[street]


def test_once_one_seat_is_left_it_wins_every_pot_without_showing() -> None:
    table = Table(THREE).play("1 bring-in, 4 complete, 6 fold, 1 fold")
    assert table.prompt == "over"
    assert table.shown == []
    assert table.payouts == {4: 75 + 50 + 50}
    assert table.state.returned == ((4, 50),)
    (award,) = table.state.result.awards  # type: ignore[union-attr]
    assert [(w.seat, w.cards, w.name, w.share) for w in award.winners] == [(4, (), "", 175)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ante": -1}, "ante"),
        ({"bring_in": 0}, "bring-in"),
        ({"bring_in": 100}, "bring-in"),
        ({"small_bet": 250}, "big bet"),
        ({"chip": 0}, "chip"),
        ({"big_bet": 2**53}, "big bet"),
    ],
)
def test_stakes_are_ordered(change: dict[str, int], says: str) -> None:
    with pytest.raises(Refused, match=says) as refusal:
        Stakes(**({"ante": 25, "bring_in": 50, "small_bet": 100, "big_bet": 200} | change))  # type: ignore[arg-type]
    assert refusal.value.reason is Reason.INVALID_STAKES


def test_small_and_big_bet_may_be_equal_and_the_ante_zero() -> None:
    Stakes(0, 1, 2, 2)


@pytest.mark.parametrize("stack", [0, -1, 2**53])
def test_stacks_are_at_least_one(stack: int) -> None:
    with pytest.raises(Refused, match="seat 2") as refusal:
        Lineup(False, Stakes(0, 1, 2, 2), (1, 2), (5, stack))
    assert refusal.value.reason is Reason.INVALID_STACK


def test_a_street_is_taken_only_when_it_is_waited_for_and_whole() -> None:
    table = Table(THREE)
    with pytest.raises(Refused, match="does not wait for fourth") as refusal:
        hand.dealt(table.state, "fourth", {})
    assert refusal.value.reason is Reason.WRONG_STREET
    state, _ = hand.start(Lineup(False, Stakes(0, 1, 2, 2), (1, 2), (5, 5)))
    with pytest.raises(ValueError, match="one up card to each seat"):
        hand.dealt(state, "third", {1: "2c"})
