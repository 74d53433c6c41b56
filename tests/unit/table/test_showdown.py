"""STUD.md, section 6: who shows, who may muck, who wins what."""

import pytest

from dealer.errors import Reason, Refused
from dealer.table import hand
from dealer.table.events import Mucked, Shown
from dealer.table.payouts import split
from dealer.table.state import Show
from tests.driving import Table

THREE = {
    1: "Ac As 3c 5h 6s 8d 9h",  # aces
    4: "Kc Kd 9d Jc 8c 7h 2d",  # kings, and the highest hand showing
    6: "Qs Qd Ts 4d 4h 5d Th",  # queens and tens; fours showing from fifth street on
}


def test_without_a_wager_on_seventh_street_the_highest_hand_showing_shows_first_then_clockwise() -> None:
    assert Table(THREE).to("seventh").play("6 check, 1 check, 4 check").shown == [6]
    hands = THREE | {6: "Qs Qd Ts 4d 3h 5d 2h"}
    table = Table(hands).check_down()
    assert [event.seat for event in table.happened(Shown)] == [4, 1]  # type: ignore[union-attr]
    assert [event.seat for event in table.happened(Mucked)] == [6]  # type: ignore[union-attr]


def test_who_last_bet_or_raised_on_seventh_street_shows_first() -> None:
    table = Table(THREE).to("seventh").play("6 check, 1 bet, 4 raise, 6 call, 1 call")
    assert table.shown == [4, 6]
    assert table.state.mucked == (1,)


def test_a_bet_on_an_earlier_street_does_not_count_for_who_shows_first() -> None:
    table = Table(THREE).to("sixth").play("6 check, 1 bet, 4 call, 6 call, 6 check, 1 check, 4 check")
    assert table.shown[0] == 6


def test_an_all_in_for_less_counts_as_the_last_wager() -> None:
    table = Table(THREE, {1: 75 + 100 + 400 + 30, 4: 10_000, 6: 10_000})
    table.play("1 bring-in, 4 call, 6 call").to("fourth").play("4 bet, 6 call, 1 call")
    table.play("6 bet, 1 call, 4 call").play("6 bet, 1 call, 4 call").play("6 check, 1 bet 30, 4 call, 6 call")
    assert table.shown[0] == 1


def test_the_highest_hand_showing_counts_all_in_seats() -> None:
    table = Table(THREE, {1: 10_000, 4: 10_000, 6: 75}).check_down()
    assert table.shown == [6, 1, 4]


def test_equal_hands_showing_show_in_dealing_order() -> None:
    hands = {1: "Ac As 3c 5h 6s 8d", 4: "Kc Kd 9d Jc 8c 7h", 6: "Qs Qd 9c Jh 8s 7d"}
    assert Table(hands).check_down().shown[0] == 4


def test_a_later_seats_hand_that_neither_wins_nor_ties_any_part_is_mucked() -> None:
    table = Table(THREE).check_down()
    assert table.shown == [6]
    assert table.state.mucked == (1, 4)


def test_a_later_seats_hand_that_ties_is_shown() -> None:
    hands = {1: "2c 7s 3c Kh Qd Js 9h", 4: "2d 7c 3d Kc Qs Jd 9c"}
    assert Table(hands).check_down().shown == [1, 4]


def test_a_later_seats_hand_that_wins_the_low_alone_is_shown() -> None:
    hands = {1: "2c 7s 3c 4h 5d Ks Kh", 4: "Ad Ac Kd Kc Qs Jd 9c"}
    table = Table(hands, hi_lo=True).check_down()
    assert table.shown == [4, 1]
    assert Table(hands).check_down().shown == [4]


def test_a_low_that_is_beaten_by_a_shown_low_is_no_reason_to_show() -> None:
    hands = {1: "2c 8s 3c 4h 5d Ks Kh", 4: "Ad Ac 2d 3d 4s 5h 9c"}
    assert Table(hands, hi_lo=True).to("seventh").play("1 check, 4 bet, 1 call").shown == [4]


def test_where_a_seat_was_all_in_every_hand_is_shown() -> None:
    table = Table(THREE, {1: 10_000, 4: 10_000, 6: 75}).check_down()
    assert table.state.mucked == ()
    assert sorted(table.shown) == [1, 4, 6]


def test_nobody_is_made_to_show_out_of_turn_and_who_has_to_show_may_not_muck() -> None:
    table = _at_showdown()
    assert table.state.waits_for == Show(6, may_muck=False)
    with pytest.raises(Refused, match="seat 6 has to show") as refusal:
        hand.muck(table.state, 6)
    assert refusal.value.reason is Reason.ACTION_NOT_ALLOWED
    with pytest.raises(Refused, match="seat 1 is not asked to show") as refusal:
        hand.show(table.state, 1, table.down(1))
    assert refusal.value.reason is Reason.OUT_OF_TURN


@pytest.mark.parametrize("cards", ["Qs Qd", "Qs Qd Th 2c", "Qs Qd Qs", "Qs Qd Ts"])
def test_what_is_shown_makes_up_seven_distinct_cards(cards: str) -> None:
    with pytest.raises(ValueError, match="seven distinct cards"):
        hand.show(_at_showdown().state, 6, cards.split())


def _at_showdown() -> Table:
    return (
        Table(THREE, stop_at_showdown=True)
        .play("1 bring-in, 4 call, 6 call")
        .to("fifth")
        .play("6 check, 1 check, 4 check", "6 check, 1 check, 4 check", "6 check, 1 check, 4 check")
    )


def test_the_showdown_reads_only_the_hands_that_were_handed_in() -> None:
    table = _at_showdown()
    state, _ = hand.show(table.state, 6, table.down(6))
    state, _ = hand.muck(state, 1)  # seat 1 gives up what nobody has seen
    state, _ = hand.muck(state, 4)
    assert state.result is not None
    assert state.result.payouts == ((6, 225),)


# Payout


def test_the_best_high_takes_the_pot() -> None:
    assert Table(THREE).check_down().payouts == {6: 225}


def test_equal_hands_split_it() -> None:
    hands = {1: "2c 7s 3c Kh Qd Js 9h", 4: "2d 7c 3d Kc Qs Jd 9c"}
    assert Table(hands).check_down().payouts == {1: 75, 4: 75}


HI_LO = {
    1: "2c 7s 3c 4h 5d Ks Kh",  # 7-5-4-3-2
    4: "Ad Ac Kd Kc Qs Jd 9c",  # aces and kings
    6: "2d 7c 3d 4s 5h Qc Td",  # 7-5-4-3-2
}


def test_half_to_the_best_high_half_to_the_best_low() -> None:
    table = Table(HI_LO, hi_lo=True).play("1 bring-in, 4 call, 6 fold").check_down()
    assert table.won(0, "high") == {4: 88}
    assert table.won(0, "low") == {1: 87}


def test_a_low_is_quartered() -> None:
    table = Table(HI_LO, hi_lo=True, ante=20, bring_in=40).check_down()
    assert table.won(0, "high") == {4: 90}
    assert table.won(0, "low") == {1: 45, 6: 45}


def test_one_seat_may_win_both_ways() -> None:
    hands = HI_LO | {4: "Ad 2h 3h 4d 5s Jd 9c"}
    table = Table(hands, hi_lo=True, ante=20, bring_in=40).check_down()
    assert table.won(0, "high") == {4: 90}
    assert table.won(0, "low") == {4: 90}
    assert table.payouts == {4: 180}
    assert table.state.result is not None
    names = [winner.name for award in table.state.result.awards for winner in award.winners]
    assert names == ["straight, five high", "low, five four three two ace"]


def test_where_nobody_has_a_low_the_high_takes_the_whole_pot() -> None:
    table = Table(THREE | {1: "Ac As 3c Tc 6s 8d 9h"}, hi_lo=True).check_down()
    assert table.won(0, "high") == {6: 225}
    assert table.state.result is not None
    assert [award.half for award in table.state.result.awards] == ["high"]


def test_no_low_in_this_pot_though_an_ineligible_seat_has_one() -> None:
    hands = {
        1: "2c 7s 3c 4h 5d Ks Kh",  # the only low, all-in from third street
        4: "Ad Ac Kd Kc Qs Jd 9c",  # aces and kings
        6: "Qd Qh Jc Ts Th 9d 2d",  # queens and tens
    }
    table = Table(hands, {1: 75, 4: 10_000, 6: 10_000}, hi_lo=True).to("fifth").play("4 bet, 6 call").check_down()
    assert table.won(0, "high") == {4: 113}
    assert table.won(0, "low") == {1: 112}
    assert table.won(1, "high") == {4: 400}
    assert table.state.result is not None
    assert len(table.state.result.awards) == 3


def test_each_pot_is_awarded_among_the_seats_eligible_for_that_pot() -> None:
    table = Table(THREE, {1: 10_000, 4: 10_000, 6: 75}).to("fifth").play("4 bet, 1 call").check_down()
    assert table.won(0, "high") == {6: 225}
    assert table.won(1, "high") == {1: 400}


def test_an_odd_chip_goes_to_the_high_half() -> None:
    table = Table(HI_LO, hi_lo=True).play("1 bring-in, 4 call, 6 fold").check_down()
    assert table.pots == {(1, 4): 175}
    assert table.won(0, "high")[4] - table.won(0, "low")[1] == 1


def test_odd_chips_are_whole_chips() -> None:
    table = Table(HI_LO, hi_lo=True, ante=25, bring_in=50, chip=25).play("1 bring-in, 4 call, 6 fold").check_down()
    assert table.won(0, "high") == {4: 100}
    assert table.won(0, "low") == {1: 75}


@pytest.mark.parametrize(
    ("amount", "ways", "chip", "shares"),
    [
        (100, 3, 1, (34, 33, 33)),
        (101, 3, 1, (34, 34, 33)),
        (100, 3, 5, (35, 35, 30)),
        (100, 2, 25, (50, 50)),
        (75, 2, 25, (50, 25)),
        (7, 2, 5, (5, 2)),
        (107, 2, 5, (55, 52)),
        (3, 4, 5, (3, 0, 0, 0)),
        (0, 2, 5, (0, 0)),
    ],
)
def test_odd_chips_go_one_by_one(amount: int, ways: int, chip: int, shares: tuple[int, ...]) -> None:
    assert split(amount, ways, chip) == shares
    assert sum(shares) == amount


@pytest.mark.parametrize(
    ("first", "second", "gets"),
    [
        pytest.param("Kh Qd Js 9h 7s 3c 2c", "Kc Qs Jd 9c 7c 3d 2d", 1, id="the king of hearts over that of clubs"),
        pytest.param("Kc Qd Js 9h 7s 3c 2c", "Kd Qs Jd 9c 7c 3d 2d", 4, id="the king of diamonds over that of clubs"),
        pytest.param("Kc Kd 3s 3h As 7c 2c", "Ks Kh 3d 3c Ad 7d 2d", 1, id="the ace, though it is the kicker"),
    ],
)
def test_odd_chips_of_a_high_go_by_the_highest_card_by_rank_and_then_suit(first: str, second: str, gets: int) -> None:
    # A third seat folds its ante of 25, so that an odd chip is there.
    hands = {1: _scattered(first), 4: _scattered(second), 6: "?? ?? 6s"}
    table = Table(hands)
    while table.prompt != "over":
        table.play("6 fold") if table.asked == 6 and "fold" in table.prompt else table.play(_passive(table))
    assert table.won(0, "high")[gets] - table.won(0, "high")[5 - gets] == 1


def _scattered(cards: str) -> str:
    """The same cards, the last of them as the door card, so that seats 1 and 4 bring in and not seat 6."""
    a, b, c, d, e, f, g = cards.split()
    return f"{a} {b} {g} {c} {d} {e} {f}"


def _passive(table: Table) -> str:
    moves = table.prompt.split(": ")[1].split(", ")
    move = next(move for move in moves if move.split()[0] in ("check", "call", "bring-in"))
    return f"{table.asked} {move}"


def test_comparing_card_by_card_where_the_board_card_is_the_highest_of_both() -> None:
    hands = {
        1: "Kh Qd 3c 9h 8h 5s",
        2: "Kd Qs 4h 9d 8d 5h",
        **{seat: f"?? ?? {door}" for seat, door in zip(range(3, 9), ["6c", "6d", "6h", "6s", "7c", "7d"], strict=True)},
    }
    table = Table(hands, board="As", ante=25).to("seventh")
    while table.prompt != "over":
        table.play(f"{table.asked} fold" if table.asked not in (1, 2) else _passive(table))
    assert table.pots == {(1, 2): 8 * 75}
    assert table.won(0, "high") == {1: 300, 2: 300}
    assert [winner.seat for winner in table.state.result.awards[0].winners] == [1, 2]  # type: ignore[union-attr]


def test_odd_chips_of_a_low_go_by_its_highest_card_the_ace_lowest() -> None:
    # Both hold 7-5-4-2-A: the seven of spades goes before the seven of clubs, whatever the aces are.
    hands = {
        1: "As 7c 2c 4h 5d Ks Kh",
        4: "Ac 7s 2d 4s 5h Qc Qd",
        6: "Jd Jh Js Ts Td 9c 9d",
    }
    table = Table(hands, hi_lo=True, ante=26, bring_in=50).check_down()
    assert table.won(0, "high") == {6: 114}
    assert table.won(0, "low") == {1: 57, 4: 57}
    odd = Table(hands, hi_lo=True, ante=25, bring_in=50, chip=3).check_down()
    assert odd.won(0, "low") == {4: 57, 1: 54}


def test_the_output_names_for_each_pot_the_winners_their_five_cards_and_share() -> None:
    table = Table(THREE, {1: 10_000, 4: 10_000, 6: 75}).to("fifth").play("4 bet, 1 call").check_down()
    assert table.state.result is not None
    first, second = table.state.result.awards
    assert (first.pot, first.amount, second.pot, second.amount) == (0, 225, 1, 400)
    (winner,) = first.winners
    assert (winner.seat, " ".join(winner.cards), winner.share) == (6, "Qs Qd Ts Th 5d", 225)
    assert winner.name == "two pair, queens and tens, five kicker"
    assert [pot.eligible for pot in table.state.pots] == [(1, 4, 6), (1, 4)]


def test_eight_seats_share_the_board_card() -> None:
    ups = [
        "Kc 2d 7h 9s",
        "3d Ac 8h 4s",
        "4h Jd 2s 6c",
        "5s Qd 8c 3h",
        "6d Kh Th 4c",
        "7d 2c Qh Js",
        "8d As 5h 9d",
        "9h 6s Tc 3s",
    ]
    hands = {seat: f"?? ?? {cards}" for seat, cards in zip(range(1, 9), ups, strict=True)}
    table = Table(hands, board="Ad").check_down()
    assert table.state.board == "Ad"
    assert all("Ad" in hand_.cards and len(hand_.cards) == 7 for hand_ in table.state.shown.values())
    assert sum(table.state.stacks.values()) == 80_000
