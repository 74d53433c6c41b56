"""Section 7, sentence by sentence: events that break one fail `dealing` (and openings follow the events)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.judging import assert_fails, audit
from tests.attacks.maker import Book, Draft


def stud() -> Draft:
    return Draft("stud").deal()


def _position_skipped(draft: Draft) -> None:
    draft.events[1]["cards"][2][0] += 1


def _position_returned(draft: Draft) -> None:
    draft.events[1]["cards"][0][0] -= 1


def _card_burned(draft: Draft) -> None:
    for event in draft.events[1:]:
        for row in event["cards"]:
            row[0] += 1


def _down_dealt_up(draft: Draft) -> None:
    draft.events[0]["cards"][0][2] = "up"


def _up_dealt_down(draft: Draft) -> None:
    draft.events[0]["cards"][6][2] = "down"


def _seats_out_of_order(draft: Draft) -> None:
    cards = draft.events[0]["cards"]
    cards[0][1], cards[1][1] = cards[1][1], cards[0][1]


def _seat_left_out(draft: Draft) -> None:
    draft.events[4]["cards"].pop()


def _seat_nobody_sits_in(draft: Draft) -> None:
    draft.events[1]["cards"][0][1] = 9


def _street_left_out(draft: Draft) -> None:
    del draft.events[2]


def _street_twice(draft: Draft) -> None:
    draft.events.insert(1, draft.events[1])


def _street_of_no_cards(draft: Draft) -> None:
    draft.events[1]["cards"] = []


def _board_card_with_cards_to_spare(draft: Draft) -> None:
    draft.events[4]["cards"] = [[18, 0, "up"]]


def _fold_before_third_street(draft: Draft) -> None:
    draft.events.insert(0, {"fold": 1})


def _fold_and_dealt_on(draft: Draft) -> None:
    draft.events.insert(1, {"fold": 1})


def _fold_twice(draft: Draft) -> None:
    draft.events += [{"fold": 1}, {"fold": 1}]


def _last_one_folds(draft: Draft) -> None:
    draft.events += [{"fold": 1}, {"fold": 2}, {"fold": 3}]


def _fold_of_a_stranger(draft: Draft) -> None:
    draft.events.append({"fold": 9})


def _draw_in_stud(draft: Draft) -> None:
    draft.events.append({"draw": [[21, 1, "up"]]})


def _show_of_an_up_card(draft: Draft) -> None:
    draft.show(6)


def _show_twice(draft: Draft) -> None:
    draft.show(0).show(0)


def _show_not_ascending(draft: Draft) -> None:
    draft.show(3, 0)


def _show_of_nothing(draft: Draft) -> None:
    draft.show()


def _show_of_a_folded_seat(draft: Draft) -> None:
    draft.fold(1).show(0)


def _show_of_an_undealt_card(draft: Draft) -> None:
    draft.show(40)


STUD = [value for name, value in list(globals().items()) if name.startswith("_") and callable(value) and name[1] != "_"]


@pytest.mark.parametrize("attack", STUD, ids=lambda attack: attack.__name__.strip("_"))
def test_stud_hand_fails_dealing(attack: Callable[[Draft], None], tmp_path: Path) -> None:
    draft = stud()
    attack(draft)
    assert_fails(audit(Book().play(draft), tmp_path), "dealing")


FREE = {
    "deal": Draft("a", game="free-draw", seats=[1, 2]).deal("third"),
    "gap": Draft("b", game="free-draw", seats=[1, 2]),
    "empty": Draft("c", game="free-draw", seats=[1, 2]).draw(),
    "board down": Draft("d", game="free-draw", seats=[1, 2]).draw((0, "down")),
    "folded": Draft("e", game="free-draw", seats=[1, 2]).fold(1).draw((1, "down")),
    "stranger": Draft("f", game="free-draw", seats=[1, 2]).draw((5, "down")),
    "beyond the deck": Draft("g", game="free-draw", seats=[1, 2]).draw(*[(1, "down")] * 53),
    "last fold": Draft("h", game="free-draw", seats=[1, 2]).fold(1).fold(2),
}
FREE["gap"].events.append({"draw": [[1, 1, "down"]]})


@pytest.mark.parametrize("name", FREE)
def test_free_draw_hand_fails_dealing(name: str, tmp_path: Path) -> None:
    assert_fails(audit(Book().play(FREE[name]), tmp_path), "dealing")


HONEST = {
    "board card": Draft("i", seats=list(range(1, 9))).deal(),
    "exact fit": Draft("j", seats=list(range(1, 9))).deal(folds={"third": [4]}),
    "one left": Draft("k").deal("third", folds={"third": [1, 2]}),
    "shown by the last one in": Draft("l").deal("third", folds={"third": [1, 2]}).show(2, 5),
    "draw with one seat left": Draft("m", game="free-draw", seats=[1, 2]).fold(1).draw((2, "down"), (0, "up")),
    "one seat": Draft("n", game="free-draw", seats=[7]).draw((7, "up")),
    "no event": Draft("o", game="free-draw", seats=[7]),
    "whole deck": Draft("p", game="free-draw", seats=[1, 2]).draw(*[(1, "down")] * 52),
}


@pytest.mark.parametrize("reveal", ["public", "sealed"])
@pytest.mark.parametrize("name", HONEST)
def test_honest_hand_passes(name: str, reveal: str, tmp_path: Path) -> None:
    draft = Draft(**{**vars(HONEST[name]), "reveal": reveal, "_ciphertext": None})
    assert audit(Book().play(draft), tmp_path).verdict == "valid"
