"""Stacking by seats is the inverse of dealing: what was dealt, said back seat by seat, gives the same cards again."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from dealer.core import hand as machine
from dealer.core.cards import DECK_KINDS
from dealer.core.hand import Face, HandState, Reveal, Status
from dealer.double.seats import STREETS, stack_seats
from dealer.games.plans import SEVEN_CARD_STUD


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_was_dealt_can_be_stacked_again(data: st.DataObject):
    seats = tuple(data.draw(st.lists(st.integers(1, 255), min_size=2, max_size=8, unique=True)))
    deck = list(DECK_KINDS["standard52"])
    random.Random(data.draw(st.integers(0, 2**32))).shuffle(deck)
    state = HandState(bytes(16), "t", 1, SEVEN_CARD_STUD, "standard52", seats, Reveal.PUBLIC, Status.COMMITTED, b"")
    streets: dict[str, dict[int, str]] = {}
    for name in STREETS:
        said: dict[int, str] = {}
        if name != "third":
            for seat in data.draw(st.lists(st.sampled_from(state.live), unique=True, max_size=len(state.live) - 1)):
                state, _ = machine.fold(state, seat)
                said[seat] = "fold"
        if len(state.live) == 1:
            break
        state, event = machine.deal_street(state, name)
        for seat in {card.seat for card in event.cards}:
            down, up = (
                [deck[card.position] for card in event.cards if card.seat == seat and card.face is face]
                for face in (Face.DOWN, Face.UP)
            )
            said[seat] = (
                f"{' '.join(down)} | {' '.join(up)}"
                if data.draw(st.booleans()) or name == "third"
                else " ".join(down + up)
            )
        streets[name] = said
    stacked = stack_seats(seats, streets)
    dealt = len(state.dealt)
    assert list(stacked.top[:dealt]) == deck[:dealt]
    assert sorted(stacked.top) == sorted(deck)
