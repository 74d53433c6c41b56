"""A full eight-handed check/call hand in the pure referee, against PokerKit's FixedLimitSevenCardStud."""

import random
from collections.abc import Sequence
from itertools import cycle

from pokerkit import Automation, FixedLimitSevenCardStud, Mode

from benchmarks.rounds import medians, seconds_per_call
from benchmarks.row import Row
from dealer.core.cards import DECK_KINDS
from dealer.table import hand
from dealer.table.betting import Action, Turn
from dealer.table.stakes import Lineup, Stakes
from dealer.table.state import Deal, Show, TableState

SEATS = tuple(range(1, 9))
LINEUP = Lineup(hi_lo=False, stakes=Stakes(25, 50, 100, 200), seats=SEATS, stacks=(10_000,) * 8)
PASSIVE = (Action.CHECK, Action.CALL, Action.BRING_IN)
GOAL = 20.0
ROUNDS = 15
_ALL_BUT_BETTING = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.RUNOUT_COUNT_SELECTION,
    Automation.CARD_BURNING,
    Automation.BOARD_DEALING,
    Automation.HOLE_DEALING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)


def check_down(deck: Sequence[str]) -> TableState:
    """Plays one hand to the showdown: the bring-in, then everybody checks or calls; the deck from its top."""
    state, _ = hand.start(LINEUP)
    down = {seat: (deck[place], deck[place + 8]) for place, seat in enumerate(SEATS)}
    at = 16
    while (waits_for := state.waits_for) is not None:
        if isinstance(waits_for, Turn):
            for option in waits_for.options:
                if option.action in PASSIVE:
                    state, _ = hand.act(state, waits_for.seat, option)
                    break
        elif isinstance(waits_for, Deal):
            if waits_for.street == "seventh":  # 48 cards are dealt, and four are left for eight seats
                state, _ = hand.dealt(state, "seventh", {}, deck[at])
            else:
                state, _ = hand.dealt(state, waits_for.street, dict(zip(SEATS, deck[at : at + 8], strict=True)))
                at += 8
        elif not isinstance(waits_for, Show):
            raise AssertionError("a hand that was not offered waits for no lock")
        elif waits_for.may_muck and hand.is_beaten(state, waits_for.seat, down[waits_for.seat]):
            state, _ = hand.muck(state, waits_for.seat)
        else:
            state, _ = hand.show(state, waits_for.seat, down[waits_for.seat])
    return state


def check_down_by_pokerkit() -> list[int]:
    """The same hand by PokerKit, which shuffles and deals by itself; the shuffle is a part in 300 of its time."""
    state = FixedLimitSevenCardStud.create_state(
        _ALL_BUT_BETTING, True, 25, 50, 100, 200, (10_000,) * 8, 8, mode=Mode.CASH_GAME
    )
    state.post_bring_in()
    while state.status:
        state.check_or_call()
    return list(state.stacks)


def rows() -> list[Row]:
    """Hands a second of both, taking turns."""
    rng = random.Random(2024)
    decks = [rng.sample(DECK_KINDS["standard52"], 52) for _ in range(200)]
    assert all(sum(check_down(deck).stacks.values()) == 80_000 for deck in decks)
    assert sum(check_down_by_pokerkit()) == 80_000
    turn = cycle(decks)
    ours, other = medians(
        lambda: seconds_per_call(lambda: check_down(next(turn)), len(decks)),
        lambda: seconds_per_call(check_down_by_pokerkit, 20),
        rounds=ROUNDS,
    )
    return [Row.of("eight-handed check/call hand against PokerKit", 1 / ours, 1 / other, "hands/s", goal=GOAL)]
