"""The course of a hand: what follows of itself from one thing that happens, to the next thing that it waits for."""

from dealer.games.showing import highest_showing, lowest_door, shows_pair
from dealer.table.betting import (
    FOLD,
    Option,
    Round,
    Turn,
    bring_in_options,
    later_street,
    next_turn,
    options,
    put_in,
    third_street,
    wager_sizes,
)
from dealer.table.events import (
    Acted,
    Awarded,
    BringInDue,
    Cause,
    Event,
    Finished,
    PotsGathered,
    Returned,
)
from dealer.table.payouts import Award, Half, Winner, award_pots
from dealer.table.pots import build_pots, give_up, uncalled
from dealer.table.state import STREETS, Deal, Result, Show, TableState


class Course:
    """A state on its way to the next: its fields, which change, and the events that this brings about.

    What is handed out by `step` is frozen; mappings are replaced here and never changed in place.
    """

    def __init__(self, state: TableState) -> None:
        (
            self.lineup,
            self.waits_for,
            self.live,
            self.stacks,
            self.paid,
            self.pots,
            self.street,
            self.up,
            self.board,
            self.round,
            self.bring_in,
            self.left,
            self.returned,
            self.shown,
            self.mucked,
            self.result,
        ) = state
        self.events: list[Event] = []

    def step(self) -> tuple[TableState, tuple[Event, ...]]:
        """Returns the state that the hand has come to, and the events on the way."""
        state = TableState(
            self.lineup,
            self.waits_for,
            self.live,
            self.stacks,
            self.paid,
            self.pots,
            self.street,
            self.up,
            self.board,
            self.round,
            self.bring_in,
            self.left,
            self.returned,
            self.shown,
            self.mucked,
            self.result,
        )
        return state, tuple(self.events)

    def open_street(self) -> None:
        """Opens the betting on the street just dealt, or passes on where at most one seat can still bet."""
        able = [seat for seat in self.live if self.stacks[seat]]
        if len(able) < 2:
            self._end_round()
            return
        seats, stakes = self.lineup.seats, self.lineup.stakes
        if self.street is None or self.street == STREETS[0]:
            opener = lowest_door({seat: self.up[seat][0] for seat in able}, able)
            self.bring_in = opener
            self.round = third_street(seats, stakes)
            self.events.append(BringInDue(opener))
            turn = Turn(opener, bring_in_options(self.round, self.stacks[opener]))
        else:
            opener = highest_showing(self.up, able)
            # An all-in seat's pair counts; a folded seat's does not.
            pair = self.street == "fourth" and any(shows_pair(self.up[seat]) for seat in self.live)
            self.round = later_street(seats, wager_sizes(self.street, stakes, open_pair=pair))
            turn = Turn(opener, options(self.round, opener, self.stacks[opener], others_have_chips=True))
        self._prompt(turn)

    def carry_out(self, seat: int, option: Option, cause: Cause) -> None:
        """Does what a seat was found to be allowed, and goes on to whoever is next."""
        round_ = self.round
        assert round_ is not None, "nobody acts outside a betting round"
        at = self.live.index(seat)
        clockwise = self.live[at + 1 :] + self.live[: at + 1]
        if option == FOLD:
            self.events.append(Acted(seat, option, 0, self.stacks[seat], cause))
            clockwise = clockwise[:-1]
            self.live = self.live[:at] + self.live[at + 1 :]
            self.pots = give_up(self.pots, seat)
        else:
            round_ = self._move_chips(round_, seat, option, cause)
        turn = next_turn(round_, clockwise, self.stacks) if len(self.live) > 1 else None
        if turn is None:
            self._end_round()
        else:
            self._prompt(turn)

    def act_for_who_left(self, turn: Turn) -> None:
        """Folds a seat whose player has left, its bring-in posted first."""
        if FOLD not in turn.options and self.round is not None:
            self._move_chips(self.round, turn.seat, turn.options[0], Cause.LEFT)
        self.carry_out(turn.seat, FOLD, Cause.LEFT)

    def go_on_showing(self) -> None:
        """Asks the next seat to show, clockwise; after the last, awards the pots."""
        first = next(iter(self.shown))
        at = self.live.index(first)
        for seat in self.live[at:] + self.live[:at]:
            if seat not in self.shown and seat not in self.mucked:
                # Where a seat was all-in, every hand is shown.
                self.waits_for = Show(seat, may_muck=all(self.stacks[live] for live in self.live))
                return
        self._push_chips(award_pots(self.pots, self.shown, self.lineup.stakes.chip))

    def _prompt(self, turn: Turn) -> None:
        """Asks a seat to act, or acts for it where its player has left."""
        if turn.seat in self.left:
            self.act_for_who_left(turn)
            return
        self.waits_for = turn
        self.events.append(turn)

    def _move_chips(self, round_: Round, seat: int, option: Option, cause: Cause) -> Round:
        """Puts a seat's chips in front of it, and returns the round with them."""
        chips = option.amount - round_.bets[seat]
        if chips:
            self.stacks = {**self.stacks, seat: self.stacks[seat] - chips}
        self.round = put_in(round_, seat, option.amount)
        self.events.append(Acted(seat, option, chips, self.stacks[seat], cause))
        return self.round

    def _end_round(self) -> None:
        """Gathers the bets, gives back what nobody matched, and goes on to the next street or to the end."""
        last_wager = None
        if self.round is not None:
            bets = self.round.bets
            self.paid = {seat: paid + bets[seat] for seat, paid in self.paid.items()}
            last_wager = self.round.last_wager
            self.round = None
        if back := uncalled(self.paid, self.live):
            seat, amount = back
            self.paid = {**self.paid, seat: self.paid[seat] - amount}
            self.stacks = {**self.stacks, seat: self.stacks[seat] + amount}
            self.returned = (*self.returned, back)
            self.events.append(Returned(seat, amount, self.stacks[seat]))
        self.pots = build_pots(self.paid, self.live)
        self.events.append(PotsGathered(self.pots))
        if len(self.live) == 1:
            self._push_chips(self._unshown())
        elif self.street == STREETS[-1]:
            first = highest_showing(self.up, self.live) if last_wager is None else last_wager
            self.waits_for = Show(first, may_muck=False)
        else:
            at = STREETS.index(self.street) if self.street else -1
            self.waits_for = Deal(STREETS[at + 1])

    def _unshown(self) -> tuple[Award, ...]:
        """One seat is left: it wins every pot without showing."""
        (seat,) = self.live
        return tuple(
            Award(index, Half.HIGH, pot.amount, (Winner(seat, (), "", pot.amount),))
            for index, pot in enumerate(self.pots)
        )

    def _push_chips(self, awards: tuple[Award, ...]) -> None:
        """Pushes the chips to the winners. The hand is over."""
        won: dict[int, int] = {}
        for award in awards:
            for winner in award.winners:
                won[winner.seat] = won.get(winner.seat, 0) + winner.share
        payouts = tuple((seat, won[seat]) for seat in self.live if won.get(seat))
        self.stacks = {seat: stack + won.get(seat, 0) for seat, stack in self.stacks.items()}
        self.paid = dict.fromkeys(self.paid, 0)
        self.waits_for = None
        self.result = Result(awards, payouts)
        self.events += [Awarded(award) for award in awards]
        self.events.append(Finished(payouts, tuple(self.stacks.items())))
