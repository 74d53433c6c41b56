"""Whatever the seats do: chips are conserved, wrong actions change nothing, prompts can be acted on, play repeats."""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dealer.core.cards import DECK_KINDS
from dealer.errors import Refused
from dealer.table import hand
from dealer.table.betting import Action, Option, Turn
from dealer.table.events import Acted, AntePosted, Awarded, Event, Finished, PotsGathered, Returned, Started
from dealer.table.stakes import Lineup, Stakes
from dealer.table.state import TableState
from tests.driving import Cards

STAKES = [(1, 2, 2), (5, 10, 20), (3, 10, 20), (5, 11, 23), (2, 10, 45)]
SEATS = range(1, 9)


@st.composite
def lineups(draw: st.DrawFn) -> Lineup:
    """Two to eight seats, many of them short of chips."""
    seats = draw(st.permutations(SEATS))[: draw(st.integers(2, 8))]
    stacks = [draw(st.integers(1, draw(st.sampled_from([30, 100, 700])))) for _ in seats]
    bets = draw(st.sampled_from(STAKES))
    stakes = Stakes(
        draw(st.integers(0, 12)), *bets, chip=draw(st.sampled_from([1, 5])), open_pair_double=draw(st.booleans())
    )
    return Lineup(draw(st.booleans()), stakes, tuple(seats), tuple(stacks))


class Ledger:
    """Every stack, and what lies on the table, worked out from the events alone."""

    def __init__(self) -> None:
        self.stacks: dict[int, int] = {}
        self.table = 0

    def _move(self, seat: int, chips: int) -> None:
        self.stacks[seat] -= chips
        self.table += chips
        assert self.stacks[seat] >= 0
        assert self.table >= 0

    def take(self, event: Event) -> None:
        match event:
            case Started(lineup):
                self.stacks = dict(zip(lineup.seats, lineup.stacks, strict=True))
            case AntePosted(seat, chips, stack) | Acted(seat, _, chips, stack, _):
                self._move(seat, chips)
                assert self.stacks[seat] == stack
            case Returned(seat, chips, stack):
                self._move(seat, -chips)
                assert self.stacks[seat] == stack
            case PotsGathered(pots):
                assert sum(pot.amount for pot in pots) == self.table
            case Awarded(award):
                assert sum(winner.share for winner in award.winners) == award.amount
                for winner in award.winners:
                    self._move(winner.seat, -winner.share)
            case Finished(_, stacks):
                assert self.table == 0
                assert dict(stacks) == self.stacks


class Play(RuleBasedStateMachine):
    """Players who do anything that they may, and try what they may not."""

    state: TableState

    @initialize(lineup=lineups(), seed=st.integers(0, 2**32))
    def deal(self, lineup: Lineup, seed: int) -> None:
        self.lineup = lineup
        self.deck = random.Random(seed).sample(DECK_KINDS["standard52"], 52)
        self.cards = Cards(self.deck, lineup.seats)
        self.ledger = Ledger()
        self.events: list[Event] = []
        self.done: list[Option | int | None] = []
        self.take(hand.start(lineup))

    def take(self, step: hand.Advance) -> None:
        """Goes on from a step to the next prompt; chips are conserved after every event."""
        state, events = step
        self.state, more = self.cards.follow(state)
        for event in (*events, *more):
            self.events.append(event)
            self.ledger.take(event)
            assert sum(self.ledger.stacks.values()) + self.ledger.table == sum(self.lineup.stacks)
        assert self.ledger.stacks == self.state.stacks

    @property
    def turn(self) -> Turn | None:
        return self.state.waits_for if isinstance(self.state.waits_for, Turn) else None

    @precondition(lambda self: self.turn)
    @rule(choice=st.integers(0, 100))
    def act(self, choice: int) -> None:
        assert self.turn
        option = self.turn.options[choice % len(self.turn.options)]
        self.done.append(option)
        self.take(hand.act(self.state, self.turn.seat, option))

    @precondition(lambda self: self.turn)
    @rule()
    def run_out_of_time(self) -> None:
        assert self.turn
        self.done.append(None)
        self.take(hand.time_out(self.state, self.turn.seat))

    @precondition(lambda self: self.turn)
    @rule(choice=st.integers(0, 7), seldom=st.integers(0, 4))
    def leave(self, choice: int, seldom: int) -> None:
        if seldom == 0:
            seat = self.lineup.seats[choice % len(self.lineup.seats)]
            self.done.append(seat)
            self.take(hand.leave(self.state, seat))

    @rule(seat=st.integers(0, 9), action=st.sampled_from(Action), amount=st.integers(-1, 700))
    def try_what_is_not_allowed(self, seat: int, action: Action, amount: int) -> None:
        if self.turn and self.turn.seat == seat and Option(action, amount) in self.turn.options:
            return
        before = repr(self.state)
        with pytest.raises(Refused):
            hand.act(self.state, seat, Option(action, amount))
        assert repr(self.state) == before

    @invariant()
    def every_legal_prompt_can_be_acted_on(self) -> None:
        if not self.turn:
            return
        seat, options = self.turn
        assert [event for event in self.events if isinstance(event, Turn)][-1] == Turn(seat, options)
        assert seat in self.state.live
        assert self.state.stacks[seat] > 0
        assert len(set(options)) == len(options) > 0
        for option in options:
            assert option.amount <= self.state.round.bets[seat] + self.state.stacks[seat]  # type: ignore[union-attr]
            after, _ = hand.act(self.state, seat, option)
            assert all(stack >= 0 for stack in after.stacks.values())
            assert after.round is None or after.round.wagers <= 4

    def teardown(self) -> None:
        """The same actions on the same cards give the same hand."""
        if not hasattr(self, "state"):
            return
        cards = Cards(self.deck, self.lineup.seats)
        state, events = _followed(hand.start(self.lineup), cards)
        for what in self.done:
            turn = state.waits_for
            assert isinstance(turn, Turn)
            match what:
                case Option():
                    step = hand.act(state, turn.seat, what)
                case None:
                    step = hand.time_out(state, turn.seat)
                case seat:
                    step = hand.leave(state, seat)
            state, more = _followed(step, cards)
            events += more
        assert state == self.state
        assert list(events) == self.events


def _followed(step: hand.Advance, cards: Cards) -> tuple[TableState, tuple[Event, ...]]:
    state, events = step
    state, more = cards.follow(state)
    return state, (*events, *more)


TestPlay = Play.TestCase
TestPlay.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
