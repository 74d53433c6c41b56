"""Who calls, and which calls each role may make: the table of docs/access.md, section 3, as data.

What a role may do is asked here and nowhere else. Whose a table, a hand or a request id is, its owner's name tells.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from dealer.errors import Reason, Refused

NAME = re.compile(r"(?!\.\.?\Z)[A-Za-z0-9._-]{1,64}", re.ASCII)
"""The name of a room or an operator, matched whole."""
LOCAL_OWNER = "local"
"""Whom tables belong to that were opened without TLS; no room's name."""


class Role(StrEnum):
    """What a caller is to the dealer."""

    ROOM = "room"
    OPERATOR = "operator"
    PUBLIC = "public"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call.

    Attributes:
        role: what it may do.
        name: of a room or an operator, from its certificate; of a caller without TLS `local`; of the public "".
    """

    role: Role
    name: str = ""

    @property
    def owner(self) -> str:
        """Whose tables and request ids are this caller's; an operator has no tables, and no room has its name."""
        return f"{self.role}/{self.name}" if self.role is Role.OPERATOR else self.name

    def __str__(self) -> str:
        return self.role if self.role in (Role.LOCAL, Role.PUBLIC) else f"{self.role} {self.name}"


LOCAL = Caller(Role.LOCAL, LOCAL_OWNER)
PUBLIC = Caller(Role.PUBLIC)

_ROOMS = frozenset({Role.ROOM, Role.LOCAL})
_OPERATORS = frozenset({Role.OPERATOR, Role.LOCAL})
_PLAYERS = frozenset({Role.ROOM, Role.LOCAL, Role.PUBLIC})
_ALL = frozenset(Role)


def _each(service: str, names: str, roles: frozenset[Role]) -> dict[str, frozenset[Role]]:
    return {f"{service}/{name}": roles for name in names.split()}


METHODS: Mapping[str, frozenset[Role]] = MappingProxyType(
    _each(
        "dealer.v1.DealerService",
        "OpenHand SubmitEntropy LockDeck DealStreet DrawCards FoldSeat ShowCards CloseHand VoidHand GetHand GetTable "
        "ListHands PlayHands",
        _ROOMS,
    )
    | _each("dealer.v1.LogService", "GetCheckpoint GetReceipt GetConsistencyProof ListEntries", _ALL)
    | _each("dealer.v1.OperatorService", "ListAllHands VoidAnyHand MoveTable Drain Resume GetStatus", _OPERATORS)
    | _each("dealer.v1.TableService", "StartHand SubmitTableEntropy LockTableDeck VoidTableHand", _ROOMS)
    | _each("dealer.v1.TableService", "Act LeaveHand WatchHand GetTableHand", _PLAYERS)
    | _each("dealer.v1.TestDoubleService", "StackDeck StackSeats Reset SetClock AdvanceClock InjectFault", _ROOMS)
    | _each("grpc.health.v1.Health", "Check List Watch", _ALL)
    | _each("grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo", _ALL)
)
"""Every call that is served; one that is not here is refused to everybody."""

PUBLIC_METHODS = frozenset(
    f"dealer.v1.TableService/{name}" for name in ("Act", "LeaveHand", "WatchHand", "GetTableHand")
)
"""What the public listener serves of TableService; the rest of it is unknown there."""

_caller: ContextVar[Caller] = ContextVar("caller")


def set_caller(caller: Caller) -> None:
    """Notes who makes the call that runs now."""
    _caller.set(caller)


def caller() -> Caller:
    """Returns who makes the call that runs now."""
    return _caller.get()


def require_role(who: Caller, method: str) -> None:
    """Refuses a call that the caller's role may not make, whatever it asks for.

    Args:
        who: the caller.
        method: SERVICE/NAME.

    Raises:
        Refused: it is not in the table for this role.
    """
    if who.role not in METHODS.get(method, frozenset()):
        raise not_your_role(who)


def not_your_role(who: Caller) -> Refused:
    """Returns the refusal of a call that is not for this role."""
    return Refused(Reason.NOT_YOUR_ROLE, f"this call is not for the role {who.role}")
