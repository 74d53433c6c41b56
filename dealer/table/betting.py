"""One betting round: what a seat may do, and what its chips then stand for (STUD.md, sections 2, 3 and 7)."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from dealer.table.stakes import Stakes

MOST_WAGERS = 4
"""One bet and three raises; then the round is capped."""


class Action(StrEnum):
    """What a seat may do when it is its turn."""

    BRING_IN = "bring-in"
    COMPLETE = "complete"
    CHECK = "check"
    BET = "bet"
    CALL = "call"
    RAISE = "raise"
    FOLD = "fold"


class Option(NamedTuple):
    """One thing that a seat may do: `amount` is its total on this street afterwards, 0 for check and fold."""

    action: Action
    amount: int


class Turn(NamedTuple):
    """A seat is asked to act, to do one of `options`."""

    seat: int
    options: tuple[Option, ...]


CHECK = Option(Action.CHECK, 0)
FOLD = Option(Action.FOLD, 0)


class Round(NamedTuple):
    """One betting round.

    Attributes:
        sizes: the sizes that a full wager may have, ascending: one, or the small and the big bet.
        bets: what each seat has put in on this street, the ante apart.
        highest: what a seat must have put in to stay. On third street the whole bring-in from the start: where it
            is posted short, the others still owe all of it.
        level: the last full level, from which the next wager is measured. Below `highest` after an all-in that did
            not count as a full wager, above it after one that did.
        completion: what is missing from the bring-in to the small bet, until the bring-in is completed; then, and
            on later streets, 0.
        wagers: full bets and raises so far.
        acted: seats that have acted since the last full wager; they may not raise.
        last_wager: who last bet or raised, all-in for less included.
    """

    sizes: tuple[int, ...]
    bets: Mapping[int, int]
    highest: int = 0
    level: int = 0
    completion: int = 0
    wagers: int = 0
    acted: tuple[int, ...] = ()
    last_wager: int | None = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Returns how far above the last full level the next full wager may go, ascending."""
        return (self.completion,) if self.completion else self.sizes


def third_street(seats: Sequence[int], stakes: Stakes) -> Round:
    """Returns the round of third street: the bring-in is owed, and to complete it is the bet of the round."""
    return Round(
        sizes=(stakes.small_bet,),
        bets=dict.fromkeys(seats, 0),
        highest=stakes.bring_in,
        level=stakes.bring_in,
        completion=stakes.small_bet - stakes.bring_in,
    )


def later_street(seats: Sequence[int], sizes: tuple[int, ...]) -> Round:
    """Returns the round of a later street, where wagers have one of `sizes`."""
    return Round(sizes, dict.fromkeys(seats, 0))


def wager_sizes(street: str, stakes: Stakes, *, open_pair: bool) -> tuple[int, ...]:
    """Returns the sizes that a full wager may have on a later street, ascending.

    Args:
        street: "fourth" to "seventh".
        stakes: the stakes.
        open_pair: whether any seat still in shows a pair; counts on fourth street only.
    """
    if street != "fourth":
        return (stakes.big_bet,)
    if open_pair and stakes.open_pair_double and stakes.small_bet < stakes.big_bet:
        return stakes.small_bet, stakes.big_bet
    return (stakes.small_bet,)


def bring_in_options(round_: Round, stack: int) -> tuple[Option, ...]:
    """Returns what the lowest card may do: bring in or complete, with what it has; it may neither fold nor check."""
    post = Option(Action.BRING_IN, min(round_.highest, stack))
    if stack <= round_.highest:
        return (post,)
    return post, Option(Action.COMPLETE, min(round_.highest + round_.completion, stack))


def options(round_: Round, seat: int, stack: int, *, others_have_chips: bool) -> tuple[Option, ...]:
    """Returns what a seat may do when it is its turn, in the order of `Action`.

    Args:
        round_: the round.
        seat: the seat to act.
        stack: the chips that it has behind.
        others_have_chips: whether any other seat still in has chips behind; a wager needs somebody to answer it.
    """
    # Deeper stacks have the same choice as one that covers the greatest wager, and so share one answer.
    sizes, bets, highest, level, completion, wagers, acted, _ = round_
    steps = (completion,) if completion else sizes
    most = min(bets[seat] + stack, highest + level + steps[-1])
    may_wager = others_have_chips and wagers < MOST_WAGERS and seat not in acted
    return _options(highest, level, completion, steps if may_wager else (), most)


@lru_cache(maxsize=4096)
def _options(highest: int, level: int, completion: int, steps: tuple[int, ...], most: int) -> tuple[Option, ...]:
    """Returns what a seat may do whose total on this street can be `most`; no `steps` where it may not wager."""
    passive = Option(Action.CALL, min(highest, most)) if highest else CHECK
    # What did not count as a full wager has not bet or completed: the first full wager still does.
    name = Action.COMPLETE if completion else Action.RAISE if level else Action.BET
    wagers = [Option(name, amount) for amount in _wager_amounts(highest, level, steps, most)]
    return (*wagers, passive, FOLD) if highest and name is not Action.RAISE else (passive, *wagers, FOLD)


def _wager_amounts(highest: int, level: int, steps: tuple[int, ...], most: int) -> Iterator[int]:
    """Returns the full wagers that `most` covers, and then all of it where it falls short of one."""
    for step in steps:
        full = level + step
        if full <= highest:
            continue  # an all-in for less than half of the big bet lies above this one already
        if most < full:
            if most > highest:
                yield most
            return
        yield full
        if most == full:
            return


def put_in(round_: Round, seat: int, amount: int) -> Round:
    """Returns the round after a seat has brought its bets of this street to `amount`.

    What goes above `highest` is a wager. All-in for less, it counts as a full one from half of it on, measured from
    the last full level: it then reopens the action. Where the small and the big bet are open, up to the small bet is
    measured against the small, above it against the big.
    """
    sizes, bets, highest, level, completion, wagers, acted, last_wager = round_
    if amount:
        bets = {**bets, seat: amount}
    if amount <= highest:
        return Round(sizes, bets, highest, level, completion, wagers, (*acted, seat), last_wager)
    above = amount - level
    step = next(step for step in round_.steps if above <= step)
    if 2 * above < step:
        return Round(sizes, bets, amount, level, completion, wagers, (*acted, seat), seat)
    if step == sizes[-1]:
        sizes = sizes[-1:]  # after the first wager at the big size only the big size is open
    return Round(sizes, bets, amount, level + step, 0, wagers + 1, (seat,), seat)


def next_turn(round_: Round, clockwise: Sequence[int], stacks: Mapping[int, int]) -> Turn | None:
    """Returns whose turn is next, or None if the round is over.

    A seat is asked that has chips and either has not acted since the last full wager or has not matched the highest.
    Where no other seat has chips, one with nothing to call is not asked.

    Args:
        round_: the round.
        clockwise: the seats still in, clockwise, the last to act at the end.
        stacks: the chips that each seat has behind.
    """
    for seat in clockwise:
        owes = round_.bets[seat] < round_.highest
        if stacks[seat] and (owes or seat not in round_.acted):
            others = _others_have_chips(seat, clockwise, stacks)
            if owes or others:
                return Turn(seat, options(round_, seat, stacks[seat], others_have_chips=others))
    return None


def _others_have_chips(seat: int, live: Sequence[int], stacks: Mapping[int, int]) -> bool:
    """Tells whether any other seat still in has chips behind."""
    for other in live:  # noqa: SIM110 - most often the first has, and `any` costs more than that
        if stacks[other] and other != seat:
            return True
    return False
