"""Plays hands at the pure referee from cards that a test chooses, and says what it asks, in words."""

from collections.abc import Iterator, Mapping, Sequence

from dealer.core.cards import DECK_KINDS
from dealer.table import hand
from dealer.table.betting import Option, Turn
from dealer.table.events import Event
from dealer.table.stakes import Lineup, Stakes
from dealer.table.state import Deal, Show, TableState


def words(option: Option) -> str:
    """An option as the tests write it: "call 50", "fold"."""
    return f"{option.action} {option.amount}" if option.amount else str(option.action)


class Table:
    """One hand. It deals and shows by itself, and stops where a seat has to act.

    Args:
        hands: the cards of each seat, in dealing order of the seats: two down, four up, one down. "??", or what is
            missing at the end, is any card that no seat is given by name.
        stacks: what each seat brings, or what all of them bring.
        hi_lo: whether low hands win half.
        board: the board card of seventh street; where given, nobody gets a seventh card.
        stop_at_showdown: leave showing and mucking to the test.
        stakes: whatever differs from an ante of 25, a bring-in of 50, and bets of 100 and 200.
    """

    def __init__(
        self,
        hands: Mapping[int, str],
        stacks: int | Mapping[int, int] = 10_000,
        *,
        hi_lo: bool = False,
        board: str | None = None,
        stop_at_showdown: bool = False,
        **stakes: int,
    ) -> None:
        named = {card for text in [*hands.values(), board or ""] for card in text.split()} - {"??"}
        spare = iter([card for card in DECK_KINDS["standard52"] if card not in named])
        self.cards = {seat: _fill(text.split(), spare, 6 if board else 7) for seat, text in hands.items()}
        self.board = board
        self.stop_at_showdown = stop_at_showdown
        played_for = Stakes(**({"ante": 25, "bring_in": 50, "small_bet": 100, "big_bet": 200} | stakes))  # type: ignore[arg-type]
        brings = stacks if isinstance(stacks, Mapping) else dict.fromkeys(hands, stacks)
        self.events: list[Event] = []
        self.state: TableState
        self._take(hand.start(Lineup(hi_lo, played_for, tuple(hands), tuple(brings[seat] for seat in hands))))
        self._go_on()

    def _take(self, step: hand.Advance) -> None:
        self.state, events = step
        self.events += events

    def _go_on(self) -> None:
        while not isinstance(waits_for := self.state.waits_for, Turn | None):
            if isinstance(waits_for, Deal):
                self._deal(waits_for.street)
            elif self.stop_at_showdown:
                return
            else:
                self.show(waits_for)

    def _deal(self, street: str) -> None:
        at = 2 + hand.STREETS.index(street)
        if street == "seventh":
            self._take(hand.dealt(self.state, street, {}, self.board))
        else:
            self._take(hand.dealt(self.state, street, {seat: self.cards[seat][at] for seat in self.state.live}))

    def down(self, seat: int) -> Sequence[str]:
        """The down cards of a seat."""
        return (*self.cards[seat][:2], *self.cards[seat][6:])

    def show(self, asked: Show) -> None:
        """Shows as the rules have it, or mucks."""
        if asked.may_muck and hand.is_beaten(self.state, asked.seat, self.down(asked.seat)):
            self._take(hand.muck(self.state, asked.seat))
        else:
            self._take(hand.show(self.state, asked.seat, self.down(asked.seat)))

    @property
    def prompt(self) -> str:
        """Who is asked, and what for: "3: bring-in 50, complete 100"; "over" at the end."""
        turn = self.state.waits_for
        if turn is None:
            return "over"
        assert isinstance(turn, Turn)
        return f"{turn.seat}: {', '.join(words(option) for option in turn.options)}"

    @property
    def asked(self) -> int | None:
        """The seat to act."""
        return self.state.waits_for.seat if isinstance(self.state.waits_for, Turn) else None

    def play(self, *moves: str) -> "Table":
        """Lets the seats act: "3 bring-in", "1 call", "2 raise 200"; several with commas; each has to be allowed."""
        for move in (part.strip() for text in moves for part in text.split(",")):
            seat, action, *amount = move.split()
            turn = self.state.waits_for
            assert isinstance(turn, Turn), f"{move}: the hand is over"
            fits = [o for o in turn.options if o.action == action and (not amount or o.amount == int(amount[0]))]
            assert turn.seat == int(seat), f"{move}: {self.prompt}"
            assert len(fits) == 1, f"{move}: {self.prompt}"
            self._take(hand.act(self.state, int(seat), fits[0]))
            self._go_on()
        return self

    def check_down(self) -> "Table":
        """Lets everybody check or call to the end, the bring-in posted."""
        while isinstance(turn := self.state.waits_for, Turn):
            passive = next(o for o in turn.options if o.action in ("check", "call", "bring-in"))
            self.play(f"{turn.seat} {words(passive)}")
        return self

    def to(self, street: str) -> "Table":
        """Lets everybody check or call until a street is dealt."""
        while self.state.street != street:
            turn = self.state.waits_for
            assert isinstance(turn, Turn), f"{street} street is not reached"
            passive = next(o for o in turn.options if o.action in ("check", "call", "bring-in"))
            self.play(f"{turn.seat} {words(passive)}")
        return self

    def time_out(self) -> "Table":
        """Lets the time of the seat to act run out."""
        assert self.asked is not None
        self._take(hand.time_out(self.state, self.asked))
        self._go_on()
        return self

    def leave(self, seat: int) -> "Table":
        """Lets a player leave."""
        self._take(hand.leave(self.state, seat))
        self._go_on()
        return self

    @property
    def pots(self) -> dict[tuple[int, ...], int]:
        """The pots by who may win them."""
        return {pot.eligible: pot.amount for pot in self.state.pots}

    @property
    def payouts(self) -> dict[int, int]:
        """What each winner got."""
        assert self.state.result is not None
        return dict(self.state.result.payouts)

    @property
    def shown(self) -> list[int]:
        """The seats that showed, in order."""
        return list(self.state.shown)

    def won(self, pot: int, half: str) -> dict[int, int]:
        """Who won a half of a pot, and how much."""
        assert self.state.result is not None
        (award,) = [a for a in self.state.result.awards if a.pot == pot and a.half == half]
        return {winner.seat: winner.share for winner in award.winners}

    def happened(self, kind: type) -> list[Event]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


def _fill(cards: list[str], spare: Iterator[str], length: int) -> tuple[str, ...]:
    given = cards + ["??"] * (length - len(cards))
    return tuple(next(spare) if card == "??" else card for card in given)


class Cards:
    """Deals a deck from its top and shows as the rules have it, for whoever plays a hand to the end."""

    def __init__(self, deck: Sequence[str], seats: Sequence[int]) -> None:
        self._deck = iter(deck)
        self._left = len(deck)
        self.down: dict[int, list[str]] = {seat: [] for seat in seats}

    def _next(self) -> str:
        self._left -= 1
        return next(self._deck)

    def follow(self, state: TableState) -> hand.Advance:
        """Deals and shows until a seat has to act or the hand is over."""
        events: list[Event] = []
        while not isinstance(waits_for := state.waits_for, Turn | None):
            if isinstance(waits_for, Deal):
                state, more = self._deal(state, waits_for.street)
            elif waits_for.may_muck and hand.is_beaten(state, waits_for.seat, self.down[waits_for.seat]):
                state, more = hand.muck(state, waits_for.seat)
            else:
                state, more = hand.show(state, waits_for.seat, self.down[waits_for.seat])
            events += more
        return state, tuple(events)

    def _deal(self, state: TableState, street: str) -> hand.Advance:
        if street == "seventh" and self._left < len(state.live):
            return hand.dealt(state, street, {}, self._next())
        for _ in range({"third": 2, "seventh": 1}.get(street, 0)):
            for seat in state.live:
                self.down[seat].append(self._next())
        return hand.dealt(state, street, {} if street == "seventh" else {seat: self._next() for seat in state.live})
