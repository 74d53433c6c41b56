"""A referee's hand as the service holds it, and the record from which it is read back after a restart.

The record is what went into the referee, a line of JSON for each thing: the lineup, which begins with the record's
version, then streets, actions, time-outs, hands shown. The referee is pure, so the same record always gives the same
hand. It holds cards and salts of what has been dealt, and is kept as answers are: encrypted, until the hand's answers
expire.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dealer.core.hand import BOARD, Face, VoidReason
from dealer.table import hand as referee
from dealer.table.betting import Action, Option, Turn
from dealer.table.events import Event, Started
from dealer.table.phh import Heading
from dealer.table.stakes import Lineup, Stakes
from dealer.table.state import TableState

_VERSION, _WITH_SEALED_SEATS = 3, 4
"""A version that knows no sealed seats refuses a record that has some: it would show their cards."""
_STAKES_IN_ROW = ("ante", "bring_in", "small_bet", "big_bet", "chip", "open_pair_double")


@dataclass(frozen=True, slots=True)
class TableCard:
    """A card on the table, with all that is needed to check it; a sealed seat's also as its player gets it."""

    position: int
    seat: int
    face: Face
    card: str = field(repr=False)
    salt: bytes = field(repr=False)
    sealed: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class RefereedHand:
    """One hand that the referee runs.

    Attributes:
        hand: its id.
        heading: what its histories say at their top.
        action_seconds: the time for each action.
        tokens: SHA-256 of each seat's token; a sealed seat has none.
        state: where it stands.
        events: everything that happened; the first has sequence number 1.
        streets: the cards of each street dealt.
        secrets, envelopes: what each sealed seat shares with the dealer, and the same under its key, once the deck is
            committed. They outlive the hand's own, for those who look at it after its end.
        fresh: pieces of the record that are not kept yet.
    """

    hand: bytes
    heading: Heading
    action_seconds: int
    tokens: dict[int, bytes]
    state: TableState
    events: tuple[Event, ...]
    streets: tuple[tuple[TableCard, ...], ...] = ()
    secrets: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    envelopes: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    fresh: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def cards(self) -> tuple[TableCard, ...]:
        """Returns every card on the table, in the order dealt."""
        return tuple(card for street in self.streets for card in street)

    @property
    def started(self) -> bool:
        """Whether the antes have been posted: not while it is offered."""
        return any(isinstance(event, Started) for event in self.events)

    @property
    def prompt(self) -> int:
        """Returns the sequence number of the last time that a seat was asked to act; 0 before the first."""
        for sequence in range(len(self.events), 0, -1):
            if isinstance(self.events[sequence - 1], Turn):
                return sequence
        return 0

    def is_sealed(self, seat: int) -> bool:
        """Tells whether a seat of the hand brought a key."""
        return seat in self.state.lineup.seats and seat not in self.tokens

    def prompts(self, seat: int) -> list[int]:
        """Returns the sequence numbers of all times that a seat was asked to act."""
        return [at for at, event in enumerate(self.events, 1) if isinstance(event, Turn) and event.seat == seat]


def begin(
    hand: bytes,
    heading: Heading,
    lineup: Lineup,
    action_seconds: int,
    tokens: dict[int, bytes],
    *,
    offered: bool = False,
) -> RefereedHand:
    """Begins a hand: the antes are posted, and third street is waited for; one that is `offered` waits for its lock."""
    state, events = referee.offer(lineup) if offered else referee.start(lineup)
    head = {
        "version": _VERSION if len(tokens) == len(lineup.seats) else _WITH_SEALED_SEATS,
        "hand": hand.hex(),
        "table": heading.table,
        "number": heading.number,
        "text": heading.hand,
        "hi_lo": lineup.hi_lo,
        "stakes": asdict(lineup.stakes),
        "seats": lineup.seats,
        "stacks": lineup.stacks,
        "action_seconds": action_seconds,
        "tokens": [tokens[seat].hex() if seat in tokens else "" for seat in lineup.seats],
        "offered": offered,
    }
    return RefereedHand(hand, heading, action_seconds, tokens, state, events, fresh=(_line(head),))


def seal(refereed: RefereedHand, secrets: Mapping[int, bytes], envelopes: Mapping[int, bytes]) -> RefereedHand:
    """Takes what the sealed seats share with the dealer, now that the deck is committed."""
    if not secrets:
        return refereed
    rows = [[seat, secret.hex(), envelopes[seat].hex()] for seat, secret in secrets.items()]
    return replace(refereed, secrets=secrets, envelopes=envelopes, fresh=(*refereed.fresh, _line(["seats", rows])))


def lock(refereed: RefereedHand) -> RefereedHand:
    """Starts a hand that was offered; see `dealer.table.hand.lock`."""
    return _after(refereed, referee.lock(refereed.state), ["lock"])


def void(refereed: RefereedHand, reason: VoidReason) -> RefereedHand:
    """Gives a hand up; see `dealer.table.hand.void`."""
    return _after(refereed, referee.void(refereed.state, reason), ["void", reason])


def act(refereed: RefereedHand, seat: int, option: Option) -> RefereedHand:
    """Does what a player chose; see `dealer.table.hand.act`."""
    return _after(refereed, referee.act(refereed.state, seat, option), ["act", seat, option.action, option.amount])


def time_out(refereed: RefereedHand, seat: int) -> RefereedHand:
    """Acts for a seat whose time ran out; see `dealer.table.hand.time_out`."""
    return _after(refereed, referee.time_out(refereed.state, seat), ["time", seat])


def leave(refereed: RefereedHand, seat: int) -> RefereedHand:
    """Marks a seat's player as gone; see `dealer.table.hand.leave`."""
    return _after(refereed, referee.leave(refereed.state, seat), ["leave", seat])


def deal(refereed: RefereedHand, street: str, cards: Sequence[TableCard]) -> RefereedHand:
    """Deals the cards of a street; see `dealer.table.hand.dealt`. Of down cards the referee learns nothing."""
    up = {card.seat: card.card for card in cards if card.face is Face.UP}
    board = up.pop(BOARD, None)
    rows = [
        [card.position, card.seat, card.face, card.card, card.salt.hex(), *([card.sealed.hex()] if card.sealed else [])]
        for card in cards
    ]
    after = _after(refereed, referee.dealt(refereed.state, street, up, board), ["deal", street, rows])
    return replace(after, streets=(*refereed.streets, tuple(cards)))


def show(refereed: RefereedHand, seat: int) -> RefereedHand:
    """Turns a seat's down cards up; see `dealer.table.hand.show`."""
    return _after(refereed, referee.show(refereed.state, seat, down_cards(refereed, seat)), ["show", seat])


def muck(refereed: RefereedHand, seat: int) -> RefereedHand:
    """Mucks a seat's hand; see `dealer.table.hand.muck`."""
    return _after(refereed, referee.muck(refereed.state, seat), ["muck", seat])


def down_cards(refereed: RefereedHand, seat: int) -> list[str]:
    """Returns a seat's down cards, for the seat itself and to show or muck for it."""
    return [card.card for card in refereed.cards if card.seat == seat and card.face is Face.DOWN]


def read_record(pieces: Sequence[bytes]) -> RefereedHand:
    """Reads a hand back from the pieces of its record, by having the referee run it again."""
    head, *steps = (json.loads(line) for line in b"".join(pieces).splitlines())
    lineup = Lineup(hi_lo=head["hi_lo"], stakes=_stakes(head), seats=tuple(head["seats"]), stacks=tuple(head["stacks"]))
    heading = Heading(hand=head["text"], table=head["table"], number=head["number"])
    tokens = {seat: bytes.fromhex(token) for seat, token in zip(lineup.seats, head["tokens"], strict=True) if token}
    hand, offered = bytes.fromhex(head["hand"]), head.get("offered", False)
    refereed = begin(hand, heading, lineup, head["action_seconds"], tokens, offered=offered)
    for step in steps:
        refereed = _repeat(refereed, step)
    return replace(refereed, fresh=())


def _stakes(head: dict[str, Any]) -> Stakes:
    match head:
        case {
            "version": 2 | 3 | 4,
            "stakes": named,
        }:  # 3: may be of an offered hand; 4: has sealed seats
            return Stakes(**named)
        case {"version": version}:
            raise ValueError(f"a table's record is of version {version}, and this dealer reads {_WITH_SEALED_SEATS}")
        case _:  # the first version says none, and has the stakes in a row
            return Stakes(**dict(zip(_STAKES_IN_ROW, head["stakes"], strict=True)))


def _repeat(refereed: RefereedHand, step: list[Any]) -> RefereedHand:
    match step:
        case ["seats", rows]:
            secrets = {seat: bytes.fromhex(secret) for seat, secret, _ in rows}
            return seal(refereed, secrets, {seat: bytes.fromhex(envelope) for seat, _, envelope in rows})
        case ["lock"]:
            return lock(refereed)
        case ["void", reason]:
            return void(refereed, VoidReason(reason))
        case ["act", seat, action, amount]:
            return act(refereed, seat, Option(Action(action), amount))
        case ["time", seat]:
            return time_out(refereed, seat)
        case ["leave", seat]:
            return leave(refereed, seat)
        case ["deal", street, rows]:
            return deal(refereed, street, [_card(*row) for row in rows])
        case ["show", seat]:
            return show(refereed, seat)
        case ["muck", seat]:
            return muck(refereed, seat)
    raise ValueError("a line of a table's record is of no known kind")


def _card(position: int, seat: int, face: str, card: str, salt: str, sealed: str = "") -> TableCard:
    return TableCard(position, seat, Face(face), card, bytes.fromhex(salt), bytes.fromhex(sealed))


def _after(refereed: RefereedHand, step: referee.Advance, line: list[Any]) -> RefereedHand:
    state, events = step
    return replace(refereed, state=state, events=refereed.events + events, fresh=(*refereed.fresh, _line(line)))


def _line(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode("ascii") + b"\n"
