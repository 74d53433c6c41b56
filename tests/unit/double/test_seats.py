"""Stacking by seat and street: the order of the deck, or why there is none."""

import pytest

from dealer.core.cards import DECK_KINDS
from dealer.double.decks import fill, parse_deck
from dealer.double.seats import stack_seats
from dealer.errors import Refused

EIGHT = tuple(range(1, 9))


def top(seats, **streets):
    return stack_seats(seats, streets).top


def test_third_street_goes_round_three_times():
    deck = top([1, 2], third={1: "As Ad | 7c", 2: "Ks Kd | 2h"})
    assert deck[:6] == ("As", "Ks", "Ad", "Kd", "7c", "2h")


def test_a_deck_is_whole_and_what_nobody_named_lies_in_reference_order():
    deck = top([1, 2], third={1: "?? 2c | ??"})
    assert sorted(deck) == sorted(DECK_KINDS["standard52"])
    assert deck[:6] == ("2d", "2h", "2c", "2s", "3c", "3d")
    assert [card for card in deck if card != "2c"] == [c for c in DECK_KINDS["standard52"] if c != "2c"]


def test_seats_are_dealt_in_the_hand_s_order_and_not_by_number():
    assert top([7, 3], third={3: "As ?? | ??", 7: "Ks ?? | ??"})[:2] == ("Ks", "As")


def test_folded_seats_get_no_card_from_the_street_on_that_they_folded_before():
    deck = top([1, 2, 3], third={2: "?? ?? | 2h"}, fourth={1: "As", 2: "fold", 3: "Ad"}, fifth={3: "Kd"})
    assert (deck[9], deck[10]) == ("As", "Ad")
    assert deck.index("Kd") == 12


def test_a_street_that_is_left_out_is_dealt_all_the_same():
    deck = top([1, 2], sixth={2: "Qh"})
    assert deck.index("Qh") == 6 + 2 + 2 + 1


def test_eight_seats_to_the_end_share_a_board_card():
    deck = top(EIGHT, seventh={0: "Qh"})
    assert deck.index("Qh") == 48


def test_one_fold_leaves_a_seventh_card_for_everybody():
    deck = top(EIGHT, fourth={5: "fold"}, seventh={8: "Qh"})
    assert deck.index("Qh") == 24 + 3 * 7 + 6


@pytest.mark.parametrize(
    ("seats", "streets", "why"),
    [
        ([1, 2], {"third": {1: "As As | 7c"}}, "As is given twice: to seat 1 on third street"),
        (
            [1, 2],
            {"third": {1: "As ?? | 7c"}, "fifth": {2: "As"}},
            "to seat 1 on third .* and to seat 2 on fifth street",
        ),
        ([1, 2], {"third": {1: "Jo ?? | 7c"}}, "'Jo' for seat 1 on third street is no card.*no jokers"),
        ([1, 2], {"third": {1: "As Ad Ah | 7c"}}, "Ah is a card too many for seat 1 on third street: 2 down"),
        ([1, 2], {"third": {1: "As Ad 7c"}}, "7c is a card too many .* stands behind a bar"),
        ([1, 2], {"third": {1: "As Ad | 7c 8c"}}, "8c is a card too many for seat 1 on third street: 1 up"),
        ([1, 2], {"fourth": {1: "7c 8c"}}, "8c is a card too many for seat 1 on fourth street: 1 up"),
        ([1, 2], {"seventh": {1: "7c | 8c"}}, "8c is a card too many for seat 1 on seventh street: 0 up"),
        ([1, 2], {"third": {9: "As ?? | ??"}}, "seat 9 is not among the seats 1, 2"),
        ([1, 2, 3], {"fourth": {2: "fold"}, "fifth": {2: "As"}}, "seat 2 has folded before fifth street"),
        ([1, 2], {"third": {1: "fold"}}, "nobody folds before third street"),
        ([1, 2], {"fourth": {1: "fold", 2: "As"}}, "one seat is left: no more cards"),
        ([1, 2, 3], {"fourth": {2: "fold"}, "fifth": {2: "fold"}}, "seat 2 has folded"),
        (EIGHT, {"seventh": {1: "As"}}, "give it to seat 0, not to seat 1"),
        ([1, 2], {"seventh": {0: "As"}}, "deals no board card: .* cards are left for 2 seats"),
        ([1, 2], {"eighth": {1: "As"}}, "'eighth' is no street"),
        ([1, 2], {}, "no street names a card"),
    ],
)
def test_what_cannot_be_dealt_is_refused_and_says_why(seats, streets, why):
    with pytest.raises(Refused, match=why):
        stack_seats(seats, streets)


def test_a_top_part_is_filled_up_in_the_reference_order_of_the_hand_s_deck_kind():
    assert fill("short36", ("As", "6c"))[:4] == ("As", "6c", "6d", "6h")
    assert parse_deck(" As  Kd ") == ("As", "Kd")


def test_a_whole_deck_stays_as_it_is():
    deck = tuple(reversed(DECK_KINDS["standard52"]))
    assert fill("standard52", parse_deck(" ".join(deck))) == deck
