"""What an operator, or a rule that an operator set, does with anybody's hands and tables (API.md, OperatorService)."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from dealer.errors import Reason, Refused
from dealer.service.writer.change import Unit
from dealer.store.interface import TableRow

_AT_ONCE = 1_000


def move_table(unit: Unit, name: str, before: str, after: str) -> int:
    """Gives a table to another room, and returns the number of its next hand; said again it changes nothing.

    Args:
        unit: what changes.
        name: the table.
        before: the room that has it.
        after: the room that gets it.

    Raises:
        Refused: there is no such table, it is neither room's, or it has a hand in play.
    """
    table = unit.table(name)
    if table is None:
        raise Refused(Reason.TABLE_NOT_FOUND, f"no hand was ever opened at table {name}")
    if table.owner == after:
        return table.number + 1
    if table.owner != before:
        raise Refused(Reason.TABLE_OF_ANOTHER_ROOM, f"table {name} does not belong to {before}")
    if table.hand is not None:
        raise Refused(Reason.TABLE_BUSY, f"table {name} has hand {table.number} in play")
    unit.tables[name] = TableRow(name, after, table.number, None)
    unit.recount_tables()
    return table.number + 1


def void_abandoned(unit: Unit, milliseconds: int, void: Callable[[Unit, bytes], object]) -> int:
    """Voids hands that nobody has touched for so long, those of the referee apart, and returns how many."""
    left = [
        hand
        for hand, live in unit.in_play().items()
        if not live.referee and unit.now - unit.touched(hand) > milliseconds
    ]
    for hand in left[:_AT_ONCE]:
        void(unit, hand)
    return len(left[:_AT_ONCE])


class Use(NamedTuple):
    """What a room has: hands in play, and tables."""

    room: str
    hands: int
    tables: int


def use(unit: Unit) -> list[Use]:
    """Returns what each room has that has a hand in play, by their names."""
    used = Counter[str]()
    for live in unit.in_play().values():
        if (table := unit.table(live.state.table)) is not None:
            used[table.owner] += 1
    return [Use(room, hands, unit.tables_of(room)) for room, hands in sorted(used.items())]
