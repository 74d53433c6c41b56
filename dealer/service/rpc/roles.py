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

NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
"""The name of a room or an operator."""
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

SERVICES: Mapping[str, frozenset[Role]] = MappingProxyType(
    {
        "dealer.v1.DealerService": _ROOMS,
        "dealer.v1.LogService": _ALL,
        "dealer.v1.OperatorService": _OPERATORS,
        "dealer.v1.TestDoubleService": _ROOMS,
        "grpc.health.v1.Health": _ALL,
        "grpc.reflection.v1alpha.ServerReflection": _ALL,
    }
)
"""Services whose calls are all alike."""

METHODS: Mapping[str, frozenset[Role]] = MappingProxyType(
    {
        "dealer.v1.TableService/StartHand": _ROOMS,
        "dealer.v1.TableService/SubmitTableEntropy": _ROOMS,
        "dealer.v1.TableService/LockTableDeck": _ROOMS,
        "dealer.v1.TableService/VoidTableHand": _ROOMS,
        "dealer.v1.TableService/Act": _PLAYERS,
        "dealer.v1.TableService/LeaveHand": _PLAYERS,
        "dealer.v1.TableService/WatchHand": _PLAYERS,
        "dealer.v1.TableService/GetTableHand": _PLAYERS,
    }
)
"""Calls of services that tell their callers apart."""

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
    service = method.partition("/")[0]
    if who.role not in METHODS.get(method, SERVICES.get(service, frozenset())):
        raise not_your_role(who)


def not_your_role(who: Caller) -> Refused:
    """Returns the refusal of a call that is not for this role."""
    return Refused(Reason.NOT_YOUR_ROLE, f"this call is not for the role {who.role}")
