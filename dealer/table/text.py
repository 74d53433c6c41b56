"""A hand as a text that a player can read, from its events alone; it shows what the rail saw."""

from collections.abc import Iterable, Sequence

from dealer.table.betting import Action, Option
from dealer.table.events import (
    Acted,
    AntePosted,
    Awarded,
    Cause,
    Event,
    Finished,
    Mucked,
    PotsGathered,
    Returned,
    SeatLeft,
    Shown,
    Started,
    StreetDealt,
    Voided,
)
from dealer.table.naming import high_name
from dealer.table.payouts import Award, Half
from dealer.table.phh import Heading
from dealer.table.reading import high_five
from dealer.table.stakes import Lineup


def write_text(heading: Heading, events: Sequence[Event]) -> str:
    """Writes a hand as text, a line for each thing that happened.

    Args:
        heading: the hand.
        events: what happened, from `Started`, or from `Offered`, on.
    """
    return "".join(f"{line}\n" for line in [*_head(heading), *_Story().lines(events)])


def _head(heading: Heading) -> Iterable[str]:
    yield f"Hand {heading.hand}"
    yield f"Table {heading.table}, hand {heading.number}"


class _Story:
    """What has to be remembered from line to line: the up cards, and how many pots there are."""

    def __init__(self) -> None:
        self._cards: dict[int, str] = {}
        self._pots = 0
        self._shown = False

    def lines(self, events: Iterable[Event]) -> Iterable[str]:
        """Returns the lines of all events."""
        for event in events:
            yield from self._line(event)

    def _line(self, event: Event) -> Iterable[str]:
        """Returns the lines of one event."""
        match event:
            case Started(lineup):
                yield from _stakes(lineup)
            case AntePosted(seat, amount, stack):
                yield f"Seat {seat} posts an ante of {amount}{_all_in(stack)}"
            case StreetDealt():
                yield from self._street(event)
            case Acted(seat, option, _, stack, cause):
                yield f"Seat {seat} {_deed(option)}{_all_in(stack) if option.amount else ''}{_why(cause)}"
            case SeatLeft(seat):
                yield f"Seat {seat} has left"
            case Returned(seat, amount, _):
                yield f"{amount} that nobody called go back to seat {seat}"
            case PotsGathered(pots):
                self._pots = len(pots)
                amounts = [f"{_pot_name(index, len(pots))} {pot.amount}" for index, pot in enumerate(pots)]
                yield ", ".join(amounts).capitalize()
            case Shown(seat, cards, hand):
                yield from self._showdown()
                up = [card for card in self._cards[seat].split() if card != "??"]
                name = high_name(high_five(hand.cards, hand.high))
                yield f"Seat {seat} shows {' '.join([*cards[:2], *up, *cards[2:]])}: {name}"
            case Mucked(seat):
                yield f"Seat {seat} mucks"
            case Awarded(award):
                yield from _award(award, self._pots)
            case Finished(_, stacks):
                yield _stacks(stacks)
            case Voided(reason, stacks):
                yield f"The hand is void ({reason}), and everybody has their chips back"
                yield _stacks(stacks)
            case _:
                pass

    def _street(self, event: StreetDealt) -> Iterable[str]:
        """A street with everybody's cards so far."""
        yield ""
        yield f"{event.street.capitalize()} street"
        up = dict(event.up)
        if event.board:
            yield f"Board: {event.board}"
        for seat in up or dict.fromkeys(event.down):
            cards = ["??"] * event.down.count(seat) + ([up[seat]] if seat in up else [])
            self._cards[seat] = " ".join([*self._cards.get(seat, "").split(), *cards])
            yield f"Seat {seat}: {self._cards[seat]}"

    def _showdown(self) -> Iterable[str]:
        """Returns the heading of the showdown, before the first hand that is shown."""
        if not self._shown:
            self._shown = True
            yield ""
            yield "Showdown"


def _stakes(lineup: Lineup) -> Iterable[str]:
    stakes = lineup.stakes
    game = "Seven Card Stud Hi/Lo" if lineup.hi_lo else "Seven Card Stud"
    yield (
        f"{game}, ante {stakes.ante}, bring-in {stakes.bring_in}, bets {stakes.small_bet} and {stakes.big_bet}, "
        f"smallest chip {stakes.chip}, {'' if stakes.open_pair_double else 'no '}double bet on an open pair"
    )
    for seat, stack in zip(lineup.seats, lineup.stacks, strict=True):
        yield f"Seat {seat} has {stack}"


def _stacks(stacks: Iterable[tuple[int, int]]) -> str:
    return "Stacks: " + ", ".join(f"seat {seat} {stack}" for seat, stack in stacks)


def _deed(option: Option) -> str:
    """Returns what a seat did, as one says it."""
    match option.action:
        case Action.BRING_IN:
            return f"brings in for {option.amount}"
        case Action.COMPLETE:
            return f"completes to {option.amount}"
        case Action.BET:
            return f"bets {option.amount}"
        case Action.CALL:
            return f"calls {option.amount}"
        case Action.RAISE:
            return f"raises to {option.amount}"
        case Action.CHECK:
            return "checks"
        case Action.FOLD:
            return "folds"


def _all_in(stack: int) -> str:
    return "" if stack else " and is all-in"


def _why(cause: Cause) -> str:
    return {Cause.PLAYER: "", Cause.TIMEOUT: " (time ran out)", Cause.LEFT: " (has left)"}[cause]


def _pot_name(index: int, pots: int) -> str:
    if pots == 1:
        return "pot"
    return f"side pot {index}" if index else "main pot"


def _award(award: Award, pots: int) -> Iterable[str]:
    """Who won a pot, or half of it, and with what."""
    half = {Half.HIGH: "", Half.LOW: " for low"}[award.half]
    for winner in award.winners:
        shown = f" with {' '.join(winner.cards)}: {winner.name}" if winner.cards else ""
        yield f"Seat {winner.seat} wins {winner.share} of the {_pot_name(award.pot, pots)}{half}{shown}"
