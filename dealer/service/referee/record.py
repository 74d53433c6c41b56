"""A referee's hand as the service holds it, and the record from which it is read back after a restart.

The record is what went into the referee, a line of JSON for each thing: the lineup, then streets, actions, time-outs,
hands shown. The referee is pure, so the same record always gives the same hand. It holds cards and salts of what has
been dealt, and is kept as answers are: encrypted, until the hand's answers expire.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dealer.core.hand import BOARD, Face
from dealer.table import hand as referee
from dealer.table.betting import Action, Option, Turn
from dealer.table.events import Event
from dealer.table.phh import Heading
from dealer.table.stakes import Lineup, Stakes
from dealer.table.state import TableState


@dataclass(frozen=True, slots=True)
class TableCard:
    """A card on the table, with all that is needed to check it."""

    position: int
    seat: int
    face: Face
    card: str = field(repr=False)
    salt: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Play:
    """One hand that the referee runs.

    Attributes:
        hand: its id.
        heading: what its histories say at their top.
        action_seconds: the time for each action.
        tokens: SHA-256 of each seat's token.
        state: where it stands.
        events: everything that happened; the first has sequence number 1.
        streets: the cards of each street dealt.
        fresh: pieces of the record that are not kept yet.
    """

    hand: bytes
    heading: Heading
    action_seconds: int
    tokens: dict[int, bytes]
    state: TableState
    events: tuple[Event, ...]
    streets: tuple[tuple[TableCard, ...], ...] = ()
    fresh: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def cards(self) -> tuple[TableCard, ...]:
        """Every card on the table, in the order dealt."""
        return tuple(card for street in self.streets for card in street)

    @property
    def prompt(self) -> int:
        """Sequence number of the last time that a seat was asked to act; 0 before the first."""
        for sequence in range(len(self.events), 0, -1):
            if isinstance(self.events[sequence - 1], Turn):
                return sequence
        return 0


def begin(hand: bytes, heading: Heading, lineup: Lineup, action_seconds: int, tokens: dict[int, bytes]) -> Play:
    """Begins a hand: the antes are posted, and third street is waited for."""
    state, events = referee.start(lineup)
    head = {
        "hand": hand.hex(),
        "table": heading.table,
        "number": heading.number,
        "text": heading.hand,
        "hi_lo": lineup.hi_lo,
        "stakes": [
            lineup.stakes.ante,
            lineup.stakes.bring_in,
            lineup.stakes.small_bet,
            lineup.stakes.big_bet,
            lineup.stakes.chip,
            lineup.stakes.open_pair_double,
        ],
        "seats": lineup.seats,
        "stacks": lineup.stacks,
        "action_seconds": action_seconds,
        "tokens": [tokens[seat].hex() for seat in lineup.seats],
    }
    return Play(hand, heading, action_seconds, tokens, state, events, fresh=(_line(head),))


def act(play: Play, seat: int, option: Option) -> Play:
    """Takes what a player does; see `dealer.table.hand.act`."""
    return _after(play, referee.act(play.state, seat, option), ["act", seat, option.action, option.amount])


def time_out(play: Play, seat: int) -> Play:
    """Acts for a seat whose time ran out; see `dealer.table.hand.time_out`."""
    return _after(play, referee.time_out(play.state, seat), ["time", seat])


def leave(play: Play, seat: int) -> Play:
    """Takes that a seat's player has left; see `dealer.table.hand.leave`."""
    return _after(play, referee.leave(play.state, seat), ["leave", seat])


def deal(play: Play, street: str, cards: Sequence[TableCard]) -> Play:
    """Takes the cards of a street; see `dealer.table.hand.dealt`. Of down cards the referee learns nothing."""
    up = {card.seat: card.card for card in cards if card.face is Face.UP}
    board = up.pop(BOARD, None)
    rows = [[card.position, card.seat, card.face, card.card, card.salt.hex()] for card in cards]
    after = _after(play, referee.dealt(play.state, street, up, board), ["deal", street, rows])
    return replace(after, streets=(*play.streets, tuple(cards)))


def show(play: Play, seat: int) -> Play:
    """Turns a seat's down cards up; see `dealer.table.hand.show`."""
    return _after(play, referee.show(play.state, seat, down_cards(play, seat)), ["show", seat])


def muck(play: Play, seat: int) -> Play:
    """Gives a seat's hand up unseen; see `dealer.table.hand.muck`."""
    return _after(play, referee.muck(play.state, seat), ["muck", seat])


def down_cards(play: Play, seat: int) -> list[str]:
    """The down cards of a seat, for the seat itself and for whoever shows or mucks for it."""
    return [card.card for card in play.cards if card.seat == seat and card.face is Face.DOWN]


def read_play(pieces: Sequence[bytes]) -> Play:
    """Reads a hand back from the pieces of its record, by having the referee run it again."""
    head, *steps = (json.loads(line) for line in b"".join(pieces).splitlines())
    lineup = Lineup(head["hi_lo"], Stakes(*head["stakes"]), tuple(head["seats"]), tuple(head["stacks"]))
    heading = Heading(head["text"], head["table"], head["number"])
    tokens = {seat: bytes.fromhex(token) for seat, token in zip(lineup.seats, head["tokens"], strict=True)}
    play = begin(bytes.fromhex(head["hand"]), heading, lineup, head["action_seconds"], tokens)
    for step in steps:
        play = _repeat(play, step)
    return replace(play, fresh=())


def _repeat(play: Play, step: list[Any]) -> Play:
    match step:
        case ["act", seat, action, amount]:
            return act(play, seat, Option(Action(action), amount))
        case ["time", seat]:
            return time_out(play, seat)
        case ["leave", seat]:
            return leave(play, seat)
        case ["deal", street, rows]:
            cards = [TableCard(at, seat, Face(face), card, bytes.fromhex(salt)) for at, seat, face, card, salt in rows]
            return deal(play, street, cards)
        case ["show", seat]:
            return show(play, seat)
        case ["muck", seat]:
            return muck(play, seat)
    raise ValueError("a line of a table's record is of no known kind")


def _after(play: Play, step: referee.Step, line: list[Any]) -> Play:
    state, events = step
    return replace(play, state=state, events=play.events + events, fresh=(*play.fresh, _line(line)))


def _line(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode("ascii") + b"\n"
