"""STUD.md, section 2: the lowest up card brings in, the highest hand showing opens."""

import pytest

from dealer.games.showing import highest_showing, lowest_door, shows_pair


@pytest.mark.parametrize(
    ("doors", "seat"),
    [
        pytest.param({1: "3c", 2: "2s", 3: "Kd"}, 2, id="the lowest rank brings in, whatever its suit"),
        pytest.param({1: "As", 2: "Kc", 3: "Ad"}, 2, id="the ace is high"),
        pytest.param({1: "Ad", 2: "Ac", 3: "As"}, 2, id="among aces only, the lowest suit"),
        pytest.param({1: "5d", 2: "5c", 3: "9c"}, 2, id="clubs lie below diamonds"),
        pytest.param({1: "5h", 2: "5d", 3: "9c"}, 2, id="diamonds lie below hearts"),
        pytest.param({1: "5s", 2: "5h", 3: "9c"}, 2, id="hearts lie below spades"),
        pytest.param({1: "Tc", 2: "9s", 3: "Jc"}, 2, id="ten lies above nine"),
    ],
)
def test_the_lowest_up_card_brings_in(doors: dict[int, str], seat: int) -> None:
    assert lowest_door(doors, [1, 2, 3]) == seat


def test_the_lowest_card_among_those_with_chips_brings_in() -> None:
    assert lowest_door({1: "4d", 2: "2c", 3: "3h"}, [1, 3]) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("2c 2d 2h 2s", "As Ad Ac Kd", id="four of a kind over three of a kind"),
        pytest.param("2c 2d 2h 3s", "As Ad Ks Kd", id="three of a kind over two pair"),
        pytest.param("2c 2d 3c 3h", "As Ad Ks Qd", id="two pair over a pair"),
        pytest.param("2c 2d 3c 4h", "As Kd Qs Jd", id="a pair over high cards"),
        pytest.param("As 2d 3c 5h", "Ks Qd Js 9d", id="high cards by the highest"),
        pytest.param("Ks Qd 5c 4h", "Kd Qc 5d 3s", id="kickers to the last"),
        pytest.param("9s 9d Ac 2h", "9c 9h Kd Qs", id="a pair's kicker"),
        pytest.param("9s 9d 3c 3h", "8c 8h 7d 7s", id="two pair by the higher pair"),
        pytest.param("9s 9d 4c 4h", "9c 9h 3d 3s", id="then by the lower pair"),
        pytest.param("9s 9d 2c", "As Kd Qh", id="three cards"),
        pytest.param("2s 2d", "As Kd", id="two cards"),
        pytest.param("As Ah Kd 2c", "3s 4s 5s 6s", id="no straights or flushes"),
    ],
)
def test_the_highest_hand_showing_opens(first: str, second: str) -> None:
    assert highest_showing({4: second.split(), 7: first.split()}, [4, 7]) == 7
    assert highest_showing({4: first.split(), 7: second.split()}, [4, 7]) == 4


def test_equal_hands_showing_open_with_the_first_clockwise_and_suits_do_not_count() -> None:
    cards = {5: ["Kc", "9d"], 2: ["Ks", "9s"], 8: ["Qs", "Qd"]}
    assert highest_showing(cards, [5, 2]) == 5
    assert highest_showing(cards, [2, 5]) == 2


def test_a_seat_that_is_all_in_cannot_open_the_next_highest_does() -> None:
    cards = {1: ["Ac", "Ad"], 2: ["Ks", "Kd"], 3: ["2s", "7d"]}
    assert highest_showing(cards, [2, 3]) == 2


def test_a_pair_shows_in_two_cards_of_one_rank() -> None:
    assert shows_pair(["9c", "9d"])
    assert not shows_pair(["9c", "8c"])
