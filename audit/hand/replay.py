"""Section 7 of PROTOCOL.md: which cards go where, in which order, and when a hand may end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from audit.record.entries import STUD_GAMES
from audit.record.events import STREETS, Cards, Deal, Draw, Event, Fold, Show, dealt_cards


class _Fault(Exception):
    """The first thing in a hand that does not obey section 7."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of replaying a hand's events.

    Attributes:
        fault: the first thing that does not obey section 7, None where all do; what follows it was not followed.
        dealt: the cards of each deal or draw, in order (as far as the events were followed).
        shown: the positions that were shown.
    """

    fault: str | None
    dealt: tuple[Cards, ...]
    shown: tuple[int, ...]

    def seen(self) -> tuple[int, ...]:
        """Positions that the table saw, dealt up or shown, ascending."""
        return tuple(sorted([*self.shown, *(position for cards in self.dealt for position in cards.up)]))


@lru_cache(maxsize=4096)
def stud_street(street: str, live: tuple[int, ...], first: int, left: int) -> Cards:
    """Returns the cards of one street of seven card stud.

    Args:
        street: its name.
        live: the seats still in, in dealing order.
        first: the next position.
        left: how many cards are left in the deck.
    """
    if street == "third":
        seats, faces = live * 3, ("down",) * (2 * len(live)) + ("up",) * len(live)
    elif street != "seventh":
        seats, faces = live, ("up",) * len(live)
    elif left >= len(live):
        seats, faces = live, ("down",) * len(live)
    else:
        seats, faces = (0,), ("up",)
    return dealt_cards(tuple(range(first, first + len(seats))), seats, faces)


def may_complete(game: str, seats: Sequence[int], events: Sequence[Event]) -> bool:
    """Tells whether a hand with these events may be `completed`: by counts alone, however well the rest was dealt."""
    if game not in STUD_GAMES:
        return True
    if any(type(event) is Deal and event.street == "seventh" for event in events):
        return True
    folded = {event.seat for event in events if type(event) is Fold}
    return len(set(seats) - folded) <= 1


@dataclass(slots=True)
class _Table:
    """The hand as it is played again, event by event."""

    game: str
    size: int
    live: tuple[int, ...]
    streets: int = 0
    next: int = 0
    dealt: list[Cards] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)

    def deal(self, event: Deal) -> None:
        if self.game not in STUD_GAMES:
            raise _Fault(f"{self.game} has no deal of a street")
        due = STREETS[self.streets] if self.streets < len(STREETS) else None
        if event.street != due:
            raise _Fault(f"expected {due or 'no more streets'}, found {event.street} street")
        if len(self.live) == 1:
            raise _Fault(f"{event.street} street is dealt though one seat is left")
        expected = stud_street(event.street, self.live, self.next, self.size - self.next)
        if event.cards != expected:
            raise _Fault(f"{event.street} street: {_difference(expected, event.cards)}")
        self.streets += 1
        self._take(event.cards)

    def draw(self, event: Draw) -> None:
        if self.game in STUD_GAMES:
            raise _Fault(f"{self.game} has no draw")
        cards, first = event.cards, self.next
        if not cards.positions:
            raise _Fault("a draw of no cards")
        if cards.positions != tuple(range(first, first + len(cards.positions))):
            raise _Fault(f"a draw: expected positions from {first} without a gap, found {list(cards.positions)}")
        if cards.positions[-1] >= self.size:
            raise _Fault(f"a draw: position {cards.positions[-1]} in a deck of {self.size}")
        for position, seat, face in cards.rows():
            if seat and seat not in self.live:
                raise _Fault(f"a draw: position {position} goes to seat {seat}, which is not in")
            if not seat and face != "up":
                raise _Fault(f"a draw: position {position} goes to the board face down")
        self._take(cards)

    def fold(self, event: Fold) -> None:
        if event.seat not in self.live:
            raise _Fault(f"seat {event.seat} folds and is not in")
        if len(self.live) == 1:
            raise _Fault(f"seat {event.seat} folds and is the last one in")
        if self.game in STUD_GAMES and not self.streets:
            raise _Fault(f"seat {event.seat} folds before third street")
        self.live = tuple(seat for seat in self.live if seat != event.seat)

    def show(self, event: Show) -> None:
        if not event.positions:
            raise _Fault("a show of no cards")
        hidden = {position: seat for cards in self.dealt for position, seat, face in cards.rows() if face == "down"}
        last = -1
        for position in event.positions:
            if position <= last:
                raise _Fault(f"a show whose positions do not ascend: {position} after {last}")
            last = position
            if position not in hidden or position in self.shown:
                raise _Fault(f"position {position} is shown and does not lie face down")
            if hidden[position] not in self.live:
                raise _Fault(f"position {position} is shown and its seat {hidden[position]} is not in")
        self.shown += event.positions

    def _take(self, cards: Cards) -> None:
        self.dealt.append(cards)
        self.next += len(cards.positions)


def _difference(expected: Cards, found: Cards) -> str:
    for want, have in zip(expected.rows(), found.rows(), strict=False):
        if want != have:
            return f"expected {_row(*want)}, found {_row(*have)}"
    return f"expected {len(expected.positions)} cards, found {len(found.positions)}"


def _row(position: int, seat: int, face: str) -> str:
    return f"position {position} {face} to {f'seat {seat}' if seat else 'the board'}"


def replay(game: str, size: int, seats: tuple[int, ...], events: Sequence[Event]) -> Replay:
    """Plays a hand's events again (check `dealing`).

    Args:
        game: the commit's game.
        size: how many cards its deck has.
        seats: its seats, in dealing order.
        events: the close entry's events.
    """
    table = _Table(game, size, seats)
    fault = None
    try:
        for event in events:
            if isinstance(event, Deal):
                table.deal(event)
            elif isinstance(event, Fold):
                table.fold(event)
            elif isinstance(event, Show):
                table.show(event)
            else:
                table.draw(event)
    except _Fault as found:
        fault = str(found)
    return Replay(fault, tuple(table.dealt), tuple(table.shown))
