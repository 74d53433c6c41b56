"""A hand as a PHH file, the open notation for poker hands of the University of Toronto, from its events alone.

The file is the rail's: cards that the table did not see are `??`. Its exact bytes are what the log's close entry
hashes, so the same events always give the same text. docs/table.md says which rules of ours other readers of the
notation do not know.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dealer.table.betting import Action
from dealer.table.events import Acted, Cause, Event, Finished, Mucked, Returned, SeatLeft, Shown, Started, StreetDealt
from dealer.table.stakes import Lineup


@dataclass(frozen=True, slots=True)
class Heading:
    """What identifies a hand: its UUID text, its table, and the table's hand count."""

    hand: str
    table: str
    number: int


def write_phh(heading: Heading, events: Sequence[Event]) -> str:
    """Writes a finished hand as PHH.

    Args:
        heading: the hand.
        events: everything that happened, from `Started`, or from `Offered`, to `Finished`.

    Returns:
        ASCII text, lines ended by a newline. Players are p1, p2 … in dealing order; `seats` gives their numbers.

    Raises:
        ValueError: the events do not begin and end a hand.
    """
    first, last = next((event for event in events if isinstance(event, Started)), None), events[-1]
    if not (isinstance(first, Started) and isinstance(last, Finished)):
        raise ValueError("a hand history needs a whole hand")
    lineup, stakes = first.lineup, first.lineup.stakes
    stacks, won = dict(last.stacks), dict(last.payouts)
    fields: dict[str, object] = {
        "variant": "F7S/8" if lineup.hi_lo else "F7S",
        "ante_trimming_status": True,
        "antes": [stakes.ante] * len(lineup.seats),
        "bring_in": stakes.bring_in,
        "small_bet": stakes.small_bet,
        "big_bet": stakes.big_bet,
        "starting_stacks": list(lineup.stacks),
        "actions": list(_actions(lineup, events)),
        "hand": heading.hand,
        "seats": list(lineup.seats),
        "table": heading.table,
        "finishing_stacks": [stacks[seat] for seat in lineup.seats],
        "winnings": [won.get(seat, 0) for seat in lineup.seats],
        "_number": heading.number,
        "_chip": stakes.chip,
        "_open_pair_double": stakes.open_pair_double,
        "_returned": [_returned(seat, events) for seat in lineup.seats],
    }
    return "".join(f"{name} = {_toml(value)}\n" for name, value in fields.items())


def _actions(lineup: Lineup, events: Iterable[Event]) -> Iterable[str]:
    """Returns the actions of the notation, in the order in which they happened."""
    player = {seat: f"p{number}" for number, seat in enumerate(lineup.seats, 1)}
    up: dict[int, list[str]] = {seat: [] for seat in lineup.seats}
    for event in events:
        match event:
            case StreetDealt():
                yield from _dealing(player, event)
                for seat, card in event.up:
                    up[seat].append(card)
            case Acted(seat, option, _, _, cause):
                yield f"{player[seat]} {_move(option.action, option.amount)}{_remark(cause)}"
            case Shown(seat, cards, _):
                yield f"{player[seat]} sm {''.join([*cards[:2], *up[seat], *cards[2:]])}"
            case Mucked(seat):
                yield f"{player[seat]} sm"
            case SeatLeft(seat):
                yield f"# {player[seat]} left"
            case _:
                pass


def _dealing(player: Mapping[int, str], event: StreetDealt) -> Iterable[str]:
    """A street, seat by seat, down cards before up cards."""
    up = dict(event.up)
    for seat in up or dict.fromkeys(event.down):
        yield f"d dh {player[seat]} {'??' * event.down.count(seat)}{up.get(seat, '')}"
    if event.board:
        yield f"d db {event.board}"


def _move(action: Action, amount: int) -> str:
    """An action in the notation's few words."""
    match action:
        case Action.FOLD:
            return "f"
        case Action.CHECK | Action.CALL:
            return "cc"
        case Action.BRING_IN:
            return "pb"
        case Action.COMPLETE | Action.BET | Action.RAISE:
            return f"cbr {amount}"


def _remark(cause: Cause) -> str:
    """Why a seat acted, as a comment, where its player did not."""
    return {Cause.PLAYER: "", Cause.TIMEOUT: " # time ran out", Cause.LEFT: " # left"}[cause]


def _returned(seat: int, events: Iterable[Event]) -> int:
    """Returns what went back to a seat."""
    return sum(event.amount for event in events if isinstance(event, Returned) and event.seat == seat)


def _toml(value: object) -> str:
    """A value as TOML. Texts are ids and actions, ASCII without quotes or backslashes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return f"'{value}'" if isinstance(value, str) else str(value)
