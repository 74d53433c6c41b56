"""What a refusal tells a program of the hand or table that it is about, as far as that is the caller's own (API.md)."""

from collections.abc import Callable
from typing import TypeVar

from dealer.core.ids import hand_text
from dealer.errors import Reason, Refused
from dealer.service.writer.change import Unit

T = TypeVar("T")
_OF_TABLE = (Reason.TABLE_BUSY, Reason.WRONG_NUMBER)


def describing_hand(run: Callable[[Unit], T], hand: bytes, caller: str) -> Callable[[Unit], T]:
    """Returns work that fills in the metadata of its refusals: those of a hand.

    Args:
        run: the work.
        hand: the hand that it is about.
        caller: who asked; of another room's hands nothing is told.
    """

    def described(unit: Unit) -> T:
        try:
            return run(unit)
        except Refused as refused:
            refused.metadata = {**about_hand(unit, hand, caller), **refused.metadata}
            raise

    return described


def describing_table(run: Callable[[Unit], T], table: str, caller: str) -> Callable[[Unit], T]:
    """Returns work that opens a hand and fills in the metadata of its refusals: those of the table.

    Args:
        run: the work.
        table: the table at which it opens a hand.
        caller: who asked; of another room's tables nothing is told.
    """

    def described(unit: Unit) -> T:
        try:
            return run(unit)
        except Refused as refused:
            if refused.reason in _OF_TABLE:
                refused.metadata = _table(unit, table, caller)
            raise

    return described


def about_hand(unit: Unit, hand: bytes, caller: str) -> dict[str, str]:
    """Returns what a refusal tells a caller of a hand; nothing if it is another's."""
    try:
        state = unit.hand(hand).state
    except Refused:
        return {}
    table = unit.table(state.table)
    if table is None or table.owner != caller:
        return {}
    return {
        "hand_id": hand_text(hand),
        "table": state.table,
        "number": str(state.number),
        "state": state.status.name,
    }


def _table(unit: Unit, name: str, caller: str) -> dict[str, str]:
    table = unit.table(name)
    if table is None:
        return {"table": name, "next_number": "1"}
    if table.owner != caller:
        return {}
    in_play = {} if table.hand is None else about_hand(unit, table.hand, caller)
    return {"table": name, "next_number": str(table.number + 1)} | in_play
