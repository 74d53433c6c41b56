"""STUD.md, section 7: what is refused, who runs out of time, who leaves."""

import pytest

from dealer.errors import Reason, Refused
from dealer.table import hand
from dealer.table.betting import CHECK, Action, Option, Turn
from dealer.table.events import Acted, Cause, SeatLeft
from tests.driving import Table

THREE = {1: "?? ?? 3c Kh Qh Jh", 4: "?? ?? 9d 8c 7c 2s", 6: "?? ?? Ks 2d 4h 5d"}
"""Seat 1 brings in and opens fourth street."""


@pytest.mark.parametrize(
    ("seat", "action", "amount", "reason"),
    [
        pytest.param(6, Action.CALL, 50, Reason.OUT_OF_TURN, id="out of turn"),
        pytest.param(1, Action.BRING_IN, 50, Reason.OUT_OF_TURN, id="again"),
        pytest.param(4, Action.CALL, 49, Reason.ACTION_NOT_ALLOWED, id="for less"),
        pytest.param(4, Action.CALL, 100, Reason.ACTION_NOT_ALLOWED, id="for more"),
        pytest.param(4, Action.COMPLETE, 150, Reason.ACTION_NOT_ALLOWED, id="completing to more"),
        pytest.param(4, Action.RAISE, 100, Reason.ACTION_NOT_ALLOWED, id="by another name"),
        pytest.param(4, Action.CHECK, 0, Reason.ACTION_NOT_ALLOWED, id="checking where there is something to call"),
        pytest.param(4, Action.FOLD, 50, Reason.ACTION_NOT_ALLOWED, id="folding for an amount"),
        pytest.param(4, Action.CALL, -50, Reason.ACTION_NOT_ALLOWED, id="for a negative amount"),
        pytest.param(5, Action.CALL, 50, Reason.INVALID_SEAT, id="from a seat that is not in the hand"),
    ],
)
def test_an_action_out_of_turn_or_for_another_amount_is_refused(
    seat: int, action: Action, amount: int, reason: Reason
) -> None:
    table = Table(THREE).play("1 bring-in")
    with pytest.raises(Refused) as refusal:
        hand.act(table.state, seat, Option(action, amount))
    assert refusal.value.reason is reason


def test_an_action_after_the_end_is_refused() -> None:
    table = Table(THREE).play("1 bring-in, 4 fold, 6 fold")
    for happens in (lambda: hand.act(table.state, 1, CHECK), lambda: hand.leave(table.state, 1)):
        with pytest.raises(Refused, match="the hand is over") as refusal:
            happens()
        assert refusal.value.reason is Reason.HAND_CLOSED


def test_an_action_while_a_street_is_dealt_is_refused() -> None:
    table = Table(THREE)
    state, _ = hand.start(table.state.lineup)
    with pytest.raises(Refused, match="nobody's turn") as refusal:
        hand.act(state, 1, Option(Action.BRING_IN, 50))
    assert refusal.value.reason is Reason.OUT_OF_TURN


def test_a_prompt_names_the_seat_to_act_and_what_it_may_do_and_for_how_much() -> None:
    table = Table(THREE)
    (prompt,) = table.happened(Turn)
    assert isinstance(prompt, Turn)
    assert prompt.seat == 1
    assert prompt.options == ((Action.BRING_IN, 50), (Action.COMPLETE, 100))


def test_an_amount_is_the_seats_total_on_this_street_after_the_action_the_ante_apart() -> None:
    table = Table(THREE).play("1 bring-in, 4 complete, 6 raise 200")
    assert table.prompt == "1: call 200, raise 300, fold"
    table.play("1 call")
    act = table.happened(Acted)[-1]
    assert isinstance(act, Acted)
    assert (act.option.amount, act.chips) == (200, 150)


def test_a_seat_that_runs_out_of_time_checks_where_it_may() -> None:
    table = Table(THREE).to("fourth").time_out()
    assert table.happened(Acted)[-1] == Acted(1, (Action.CHECK, 0), 0, 9925, Cause.TIMEOUT)  # type: ignore[arg-type]


def test_a_seat_that_runs_out_of_time_posts_the_bring_in_where_it_must() -> None:
    table = Table(THREE).time_out()
    assert table.happened(Acted) == [Acted(1, (Action.BRING_IN, 50), 50, 9925, Cause.TIMEOUT)]  # type: ignore[arg-type]


def test_a_seat_that_runs_out_of_time_otherwise_folds() -> None:
    table = Table(THREE).play("1 bring-in").time_out()
    assert table.happened(Acted)[-1] == Acted(4, (Action.FOLD, 0), 0, 9975, Cause.TIMEOUT)  # type: ignore[arg-type]
    assert table.state.live == (1, 6)


def test_the_time_of_a_seat_that_is_not_asked_does_not_run() -> None:
    with pytest.raises(Refused, match="it is seat 1's turn") as refusal:
        hand.time_out(Table(THREE).state, 4)
    assert refusal.value.reason is Reason.OUT_OF_TURN


def test_a_seat_that_leaves_is_folded_when_its_turn_comes() -> None:
    table = Table(THREE).leave(6)
    assert table.state.live == (1, 4, 6)
    assert table.happened(SeatLeft) == [SeatLeft(6)]
    table.play("1 bring-in, 4 complete")
    assert table.happened(Acted)[-1] == Acted(6, (Action.FOLD, 0), 0, 9975, Cause.LEFT)  # type: ignore[arg-type]
    assert table.prompt == "1: call 100, raise 200, fold"


def test_a_seat_that_leaves_at_its_turn_is_folded_at_once() -> None:
    table = Table(THREE).play("1 bring-in").leave(4)
    assert table.asked == 6


def test_a_seat_that_leaves_has_its_bring_in_posted_first() -> None:
    table = Table(THREE).leave(1)
    assert [(a.option.action, a.chips, a.cause) for a in table.happened(Acted)] == [  # type: ignore[union-attr]
        (Action.BRING_IN, 50, Cause.LEFT),
        (Action.FOLD, 0, Cause.LEFT),
    ]
    assert table.prompt == "4: complete 100, call 50, fold"


def test_a_seat_that_left_before_its_cards_came_posts_and_folds() -> None:
    table = Table(THREE)
    state, _ = hand.start(table.state.lineup)
    state, _ = hand.leave(state, 1)
    state, events = hand.dealt(state, "third", {1: "3c", 4: "9d", 6: "Ks"})
    assert state.live == (4, 6)
    assert [e.option.action for e in events if isinstance(e, Acted)] == [Action.BRING_IN, Action.FOLD]


def test_to_leave_twice_is_to_leave_once() -> None:
    table = Table(THREE).leave(6)
    assert hand.leave(table.state, 6) == (table.state, ())


def test_an_all_in_seat_that_leaves_has_no_more_turns_and_keeps_its_claim() -> None:
    table = Table({**THREE, 6: "Kc Kd Ks 4d 4h 5d"}, {1: 1000, 4: 1000, 6: 25}).leave(6).check_down()
    assert table.payouts[6] == 75


def test_a_seat_that_is_not_in_the_hand_cannot_leave_it() -> None:
    with pytest.raises(Refused, match="seat 2 is not in this hand") as refusal:
        hand.leave(Table(THREE).state, 2)
    assert refusal.value.reason is Reason.INVALID_SEAT
