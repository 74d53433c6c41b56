"""STUD.md, section 5: the best five of seven, high and low, and what hands are called."""

import pytest

from dealer.table.naming import high_name, low_name
from dealer.table.reading import high_five, high_value, low_five, low_value


@pytest.mark.parametrize(
    ("cards", "five", "name"),
    [
        ("Ah Kh Qh Jh Th 9h 2c", "Ah Kh Qh Jh Th", "royal flush"),
        ("9h Kc 8h 7h 6h 5h 2c", "9h 8h 7h 6h 5h", "straight flush, nine high"),
        ("Ad 2d 3d 4d 5d Kc Kh", "Ad 5d 4d 3d 2d", "straight flush, five high"),
        ("9h 9c 9d 9s Kc Qh 2c", "Kc 9s 9h 9d 9c", "four of a kind, nines, king kicker"),
        ("Kh Kc Kd 7s 7c 2h 3c", "Kh Kd Kc 7s 7c", "full house, kings over sevens"),
        ("Kh Kc Kd 7s 7c 7h 3c", "Kh Kd Kc 7s 7h", "full house, kings over sevens"),
        ("Ah Jh 9h 5h 3h 2h Kc", "Ah Jh 9h 5h 3h", "flush, ace jack nine five three"),
        ("Th 9c 8d 7s 6c 2h 2c", "Th 9c 8d 7s 6c", "straight, ten high"),
        ("Ah 2c 3d 4s 5c Kh Kc", "Ah 5c 4s 3d 2c", "straight, five high"),
        ("Ah Kc Qd Js Tc 2h 2c", "Ah Kc Qd Js Tc", "straight, ace high"),
        ("Qh Qc Qd As Tc 6h 2c", "As Qh Qd Qc Tc", "three of a kind, queens, ace and ten kickers"),
        ("Kh Kc 7d 7s Ac 2h 2c", "Ac Kh Kc 7s 7d", "two pair, kings and sevens, ace kicker"),
        ("6h 6c Ad Ts 8c 3h 2c", "Ad Ts 8c 6h 6c", "pair, sixes, ace, ten and eight kickers"),
        ("Ah Kc Jd 9s 8c 3h 2c", "Ah Kc Jd 9s 8c", "high card, ace king jack nine eight"),
    ],
)
def test_high_the_best_five_of_the_seven_cards(cards: str, five: str, name: str) -> None:
    assert " ".join(high_five(cards.split(), high_value(cards.split()))) == five
    assert high_name(five.split()) == name
    assert high_value(cards.split()) == high_value(five.split())


def test_hands_rank_as_everywhere() -> None:
    ladder = [
        "Ah Kc Jd 9s 8c",
        "2h 2c 3d 4s 5c",
        "3h 3c 2d 2s 4c",
        "2h 2c 2d 3s 4c",
        "Ah 2c 3d 4s 5c",
        "2h 3c 4d 5s 6c",
        "2h 3h 4h 5h 7h",
        "2h 2c 2d 3s 3c",
        "2h 2c 2d 2s 3c",
        "Ah 2h 3h 4h 5h",
        "Th Jh Qh Kh Ah",
    ]
    values = [high_value(five.split()) for five in ladder]
    assert values == sorted(values)
    assert len(set(values)) == len(values)


@pytest.mark.parametrize(
    ("cards", "five"),
    [
        pytest.param("Ks Kc 7d 7s Ac Ah 2c", "Ah Ac Ks Kc 7s", id="of the spare sevens the higher suit"),
        pytest.param("9s 9h 9d 9c 5c 5d 5s", "9s 9h 9d 9c 5s", id="the kicker of the highest suit"),
        pytest.param("Kc Ks Kd 4c 4s 4d 2h", "Ks Kd Kc 4s 4d", id="the pair out of lower trips"),
        pytest.param("6c 7d 8h 9s Tc Th Ts", "Ts 9s 8h 7d 6c", id="the straight with the highest ten"),
    ],
)
def test_where_several_fives_make_the_same_hand_the_first_in_order_counts(cards: str, five: str) -> None:
    assert " ".join(high_five(cards.split(), high_value(cards.split()))) == five


@pytest.mark.parametrize(
    ("cards", "five", "name"),
    [
        ("Ah 2c 3d 4s 5c Kh Kc", "5c 4s 3d 2c Ah", "low, five four three two ace"),
        ("Ah 2h 3h 4h 5h 6h 7h", "5h 4h 3h 2h Ah", "low, five four three two ace"),
        ("8h 7c 6d 5s 4c Kh Kc", "8h 7c 6d 5s 4c", "low, eight seven six five four"),
        ("8h 7c 6d 5s 4c 2h Kc", "7c 6d 5s 4c 2h", "low, seven six five four two"),
        ("As Ad 2c 2d 8s 6h 4c", "8s 6h 4c 2d As", "low, eight six four two ace"),
    ],
)
def test_low_five_different_ranks_eight_or_lower_ace_low_straights_and_flushes_do_not_count(
    cards: str, five: str, name: str
) -> None:
    assert low_value(cards.split()) is not None
    assert " ".join(low_five(cards.split())) == five
    assert low_name(five.split()) == name


@pytest.mark.parametrize("cards", ["9h 7c 6d 5s 4c Kh Kc", "8h 8c 6d 5s 4c 4h 5c", "Ah 2c 3d 4s 9c Th Kc"])
def test_without_five_different_ranks_of_eight_or_lower_there_is_no_low(cards: str) -> None:
    assert low_value(cards.split()) is None


def test_the_best_low_is_the_one_whose_highest_card_is_lowest_then_the_next() -> None:
    ladder = [
        "8h 7c 6d 5s 4c",
        "8h 5c 4d 3s 2c",
        "8h 5c 4d 3s Ac",
        "7h 6c 5d 4s 3c",
        "6h 5c 4d 3s 2c",
        "5c 4d 3s 2c Ah",
    ]
    values = [low_value(five.split()) or 0 for five in ladder]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
