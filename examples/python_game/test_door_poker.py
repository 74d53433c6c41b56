"""Integration tests of the game, on the test double: each says which cards lie on the table, and what has to come."""

import pytest
from door_poker import play_round

from dealer.client import CallError

STAY = lambda seat, cards: True  # noqa: E731


@pytest.fixture
def client(stacked_dealer):
    return stacked_dealer.client()


def test_a_pair_showing_beats_high_cards(stacked_dealer, client):
    stacked_dealer.stack_seats(
        "t",
        third={1: "?? ?? | 4c", 2: "?? ?? | Ah", 3: "?? ?? | Kd"},
        fourth={1: "9h", 2: "Qs", 3: "Jd"},
        fifth={1: "4d", 2: "Ts", 3: "9d"},
    )
    result = play_round(client, "t", [1, 2, 3], STAY)
    assert result.winners == (1,)
    assert result.chips == {1: 6, 2: -3, 3: -3}


def test_down_cards_do_not_count(stacked_dealer, client):
    stacked_dealer.stack_seats(
        "t", third={1: "As Ad | 4c", 2: "2s 3d | 5h"}, fourth={1: "6h", 2: "7s"}, fifth={1: "8d", 2: "9c"}
    )
    assert play_round(client, "t", [1, 2], STAY).winners == (2,)


def test_equal_hands_share_and_the_odd_chip_goes_to_the_first(stacked_dealer, client):
    stacked_dealer.stack_seats(
        "t",
        third={5: "?? ?? | 2c", 6: "?? ?? | Kc", 7: "?? ?? | Kd"},
        fourth={6: "Qc", 7: "Qd"},
        fifth={5: "fold", 6: "Jc", 7: "Jd"},
    )
    result = play_round(client, "t", [5, 6, 7], lambda seat, cards: seat != 5)
    assert result.winners == (6, 7)
    assert result.chips == {5: -1, 6: 1, 7: 0}


def test_the_lowest_door_card_is_asked_first_and_sees_its_own_cards_only(stacked_dealer, client):
    stacked_dealer.stack_seats("t", third={1: "As Ad | Kc", 2: "Ks Kd | 2c", 3: "Qs Qd | 3c"}, fourth={2: "7h"})
    asked = []
    play_round(client, "t", [1, 2, 3], lambda seat, cards: asked.append((seat, cards)) or True)
    assert [seat for seat, _ in asked] == [2, 3, 1]
    assert asked[0][1] == ["Ks", "Kd", "2c", "7h"]


def test_the_last_seat_wins_without_being_asked(client):
    asked = []
    result = play_round(client, "t", [1, 2, 3], lambda seat, cards: asked.append(seat))
    assert len(asked) == 2
    assert len(result.winners) == 1
    assert sum(result.chips.values()) == 0


def test_a_crash_at_the_table_gives_the_hand_up_and_the_table_goes_on(client):
    with pytest.raises(ZeroDivisionError):
        play_round(client, "t", [1, 2], lambda seat, cards: 1 / 0)
    assert play_round(client, "t", [1, 2], STAY).close_index == 3


def test_a_refusal_comes_through(client):
    with pytest.raises(CallError) as refused:
        play_round(client, "t", [1], STAY)
    assert refused.value.reason == "INVALID_SEATS"


def test_eight_seats_play_to_the_board_card(client):
    assert sum(play_round(client, "t", list(range(1, 9)), STAY).chips.values()) == 0
