"""What a refusal tells a program of the hand or table that it is about, as far as that is the caller's own (API.md)."""

from collections.abc import Callable
from typing import Any

from dealer.core.ids import hand_text
from dealer.errors import Reason, Refused
from dealer.service.rpc.requests import hand_id
from dealer.service.writer.change import Reply, Unit

_OF_TABLE = (Reason.TABLE_BUSY, Reason.WRONG_NUMBER)


Run = Callable[[Unit], tuple[bytes, Reply]]


def describing(run: Run, request: Any, caller: str) -> Run:
    """Returns a command that fills in the metadata of its refusals.

    They are of the hand that the request names; of the table, where a hand was to be opened.

    Args:
        run: the request's command.
        request: the request, its form checked.
        caller: who asked; of another room's hands and tables nothing is told.
    """

    def described(unit: Unit) -> tuple[bytes, Reply]:
        try:
            return run(unit)
        except Refused as refused:
            if hasattr(request, "hand_id"):
                refused.metadata = about_hand(unit, hand_id(request.hand_id), caller)
            elif refused.reason in _OF_TABLE:
                refused.metadata = _table(unit, request.table, caller)
            raise

    return described


def about_hand(unit: Unit, hand: bytes, caller: str) -> dict[str, str]:
    """Returns what a refusal tells a caller of a hand; nothing where it is another's."""
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
