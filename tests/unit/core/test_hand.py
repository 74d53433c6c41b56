"""The hand state machine, rule by rule (PROTOCOL.md, section 7)."""

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from dealer.core import hand as machine
from dealer.core.codec import dump_state, load_state
from dealer.core.entries import canonical
from dealer.core.hand import BOARD, Dealt, Face, HandState, Reveal, Status
from dealer.core.ids import hand_text, is_id, parse_uuid, timestamp, uuid7
from dealer.errors import Reason, Refused
from dealer.games.plans import FREE_DRAW, GAMES, SEVEN_CARD_STUD

STREETS = [street.name for street in SEVEN_CARD_STUD.streets]


def stud(seats: int = 8, **fields: object) -> HandState:
    content = {
        "hand": bytes(16),
        "table": "t",
        "number": 1,
        "game": SEVEN_CARD_STUD,
        "deck": "standard52",
        "seats": tuple(range(1, seats + 1)),
        "reveal": Reveal.PUBLIC,
        "status": Status.COMMITTED,
        "seed_commitment": bytes(32),
    }
    return HandState(**{**content, **fields})  # type: ignore[arg-type]


def dealt_to(state: HandState, street: str) -> HandState:
    for name in STREETS[: STREETS.index(street) + 1]:
        state, _ = machine.deal_street(state, name)
    return state


def refused(reason: Reason, call: object, *arguments: object) -> None:
    with pytest.raises(Refused) as caught:
        call(*arguments)  # type: ignore[operator]
    assert caught.value.reason is reason


def test_third_street_is_two_rounds_down_and_one_up() -> None:
    _, event = machine.deal_street(stud(3), "third")
    assert event.cards == tuple(
        Dealt(3 * i + seat - 1, seat, face)
        for i, face in enumerate((Face.DOWN, Face.DOWN, Face.UP))
        for seat in (1, 2, 3)
    )


def test_eight_seats_to_the_end_use_48_cards_and_one_for_the_board() -> None:
    state = dealt_to(stud(8), "seventh")
    assert state.dealt[-1] == Dealt(48, BOARD, Face.UP)
    assert state.cards_left == 3


def test_with_one_fold_before_fourth_the_deck_ends_exactly() -> None:
    state, _ = machine.fold(dealt_to(stud(8), "third"), 4)
    for name in STREETS[1:]:
        state, event = machine.deal_street(state, name)
    assert [card.seat for card in event.cards] == [1, 2, 3, 5, 6, 7, 8]
    assert state.cards_left == 0


def test_streets_come_in_order_each_once() -> None:
    refused(Reason.WRONG_STREET, machine.deal_street, stud(), "fourth")
    refused(Reason.WRONG_STREET, machine.deal_street, dealt_to(stud(), "third"), "third")
    refused(Reason.WRONG_STREET, machine.deal_street, dealt_to(stud(2), "seventh"), "seventh")


def test_a_folded_seat_gets_no_more_cards_and_the_last_cannot_fold() -> None:
    state, _ = machine.fold(dealt_to(stud(2), "third"), 1)
    refused(Reason.SEAT_FOLDED, machine.fold, state, 1)
    refused(Reason.ONE_SEAT_LEFT, machine.fold, state, 2)
    refused(Reason.ONE_SEAT_LEFT, machine.deal_street, state, "fourth")
    assert machine.complete(state).status is Status.CLOSED


def test_nobody_folds_before_third_street_in_stud_but_anytime_in_free_draw() -> None:
    refused(Reason.WRONG_STREET, machine.fold, stud(), 1)
    state, _ = machine.fold(stud(2, game=FREE_DRAW), 1)
    state, event = machine.draw(state, [(2, Face.DOWN), (BOARD, Face.UP)])
    assert [card.position for card in event.cards] == [0, 1]
    assert machine.complete(state).status is Status.CLOSED


def test_a_stud_hand_is_complete_with_one_seat_or_seventh_street() -> None:
    refused(Reason.HAND_NOT_FINISHED, machine.complete, dealt_to(stud(), "sixth"))
    assert machine.complete(dealt_to(stud(), "seventh")).status is Status.CLOSED


def test_shows_are_down_cards_of_seats_still_in_each_once() -> None:
    state = dealt_to(stud(3), "third")
    state, event = machine.show(state, [3, 0])
    assert event.positions == (0, 3)
    refused(Reason.NOT_A_DOWN_CARD, machine.show, state, [0])
    refused(Reason.NOT_A_DOWN_CARD, machine.show, state, [6])
    refused(Reason.NOT_A_DOWN_CARD, machine.show, state, [9])
    state, _ = machine.fold(state, 2)
    refused(Reason.SEAT_FOLDED, machine.show, state, [1])
    assert state.seen == (0, 3, 6, 7, 8)


def test_nothing_happens_to_a_hand_on_offer_or_over() -> None:
    offered = stud(status=Status.OFFERED)
    for call in (machine.complete, machine.void):
        refused(Reason.HAND_NOT_LOCKED, call, offered)
    over = machine.void(stud())
    refused(Reason.HAND_CLOSED, machine.lock, over)
    refused(Reason.HAND_CLOSED, machine.deal_street, over, "third")
    refused(Reason.HAND_LOCKED, machine.lock, stud())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_done_cards_come_off_the_top_and_the_state_survives_the_store(data: st.DataObject) -> None:
    game = data.draw(st.sampled_from([SEVEN_CARD_STUD, FREE_DRAW]))
    state = stud(data.draw(st.integers(2, 8)), game=game)
    for _ in range(data.draw(st.integers(0, 14))):
        seat = data.draw(st.integers(0, 9))
        call = data.draw(
            st.sampled_from(
                [
                    lambda s, seat: machine.deal_street(s, STREETS[seat % 5]),
                    lambda s, seat: machine.fold(s, seat),
                    lambda s, seat: machine.show(s, [5 * seat]),
                    lambda s, seat: machine.draw(s, [(seat, Face.UP)] * (seat + 1)),
                ]
            )
        )
        try:
            state, _ = call(state, seat)
        except Refused:
            continue
    assert [card.position for card in state.dealt] == list(range(len(state.dealt)))
    assert load_state(dump_state(state), GAMES) == state
    assert len(state.live) >= 1


@given(st.dictionaries(st.text("az_", max_size=9), st.integers(0, 2**53 - 1) | st.text("aZ09._-:+/= ", max_size=30)))
def test_entries_are_encoded_as_rfc_8785_has_it(content: dict[str, int | str]) -> None:
    assert canonical(content) == rfc8785.dumps(content)  # type: ignore[arg-type]


def test_hand_ids_are_uuids_of_version_7() -> None:
    made = hand_text(uuid7(0x0123456789AB, b"\xff" * 10))
    assert made == "01234567-89ab-7fff-bfff-ffffffffffff"
    assert hand_text(uuid7(0, bytes(10))) == "00000000-0000-7000-8000-000000000000"
    assert parse_uuid(made.upper(), Reason.INVALID_HAND_ID, "x") == uuid7(0x0123456789AB, b"\xff" * 10)


def test_ids_and_times_have_the_log_s_form() -> None:
    assert all(map(is_id, ("a", "A.b_c-9", "x" * 64)))
    assert not any(map(is_id, ("", "x" * 65, "a b", "a\n", "é", "а")))
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"


@given(st.data())
def test_what_follows_from_the_events_is_carried_on_as_it_would_be_worked_out(data: st.DataObject) -> None:
    state = dealt_to(stud(data.draw(st.integers(3, 8))), "third")
    for name in STREETS[1:]:
        if len(state.live) > 2 and data.draw(st.booleans()):
            state, _ = machine.fold(state, data.draw(st.sampled_from(state.live)))
        if data.draw(st.booleans()):
            down = [c.position for c in state.dealt if c.face is Face.DOWN and c.seat in state.live]
            state, _ = machine.show(state, [data.draw(st.sampled_from(sorted(set(down) - state.shown)))])
        state, _ = machine.deal_street(state, name)
    anew = stud(len(state.seats), events=state.events)
    assert (state, state.dealt, state.live, state.street) == (anew, anew.dealt, anew.live, anew.street)


def test_a_later_state_has_no_field_that_a_state_has_not() -> None:
    with pytest.raises(TypeError, match="no field for one of statu"):
        stud().later(statu=Status.CLOSED)
