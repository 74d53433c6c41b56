"""What each room may use, from its own use alone, and turns between rooms (docs/access.md, section 5).

A room is counted by its name, a caller on the public listener by its address. Everything here belongs to the loop.
"""

import asyncio
import ipaddress
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from dealer.errors import Reason, Refused
from dealer.service.rpc.roles import Caller, Role
from dealer.service.settings import Limits

_RECENT_SECONDS = 1.0
_AT_ONCE = 8
"""Calls of one room that are carried out at a time while another room is there as well; the others wait their turn."""
_PAUSE_SECONDS = 0.05
"""A caller beyond its rate is answered after so long, so that to ask oftener gains nothing and costs others little."""
_MOST_ADDRESSES = 10_000
_NETWORK_BITS = 64


@dataclass(slots=True)
class _Use:
    """What one room, or one address of the public, uses at the moment."""

    tokens: float
    filled: float
    active: int = 0
    waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)
    calls_on: "Counter[str]" = field(default_factory=Counter)


class RoomLimits:
    """Counts what rooms use. One for all listeners of a dealer."""

    def __init__(self, limits: Limits) -> None:
        """Starts with nobody there."""
        self._limits = limits
        self._use: dict[str, _Use] = {}
        self._seen: dict[str, float] = {}

    def rated(self, who: Caller, peer: str) -> float:
        """Takes one request of a caller's rate; returns 0, or in how many seconds there will be one."""
        now, rate = asyncio.get_running_loop().time(), self._limits.room_rate
        use = self._of(key_of(who, peer), now)
        use.tokens = min(rate, use.tokens + (now - use.filled) * rate)
        use.filled = now
        if use.tokens >= 1:
            use.tokens -= 1
            return 0.0
        return (1 - use.tokens) / rate

    async def require_rate(self, who: Caller, peer: str) -> None:
        """Refuses a request beyond the caller's rate.

        Raises:
            Refused: it is; with the time after which there will be room.
        """
        if wait := self.rated(who, peer):
            await asyncio.sleep(_PAUSE_SECONDS)
            text = f"more than {self._limits.room_rate:g} requests a second: slow down"
            raise Refused(Reason.TOO_MANY_REQUESTS, text, retry=max(wait, _PAUSE_SECONDS))

    @asynccontextmanager
    async def turn(self, who: Caller, peer: str) -> AsyncIterator[None]:
        """Holds a call for its turn, where another room is there as well.

        Raises:
            Refused: too many calls of this room wait already, or come on too many connections.
        """
        key = key_of(who, peer)
        room = "public" if who.role is Role.PUBLIC else key
        now = asyncio.get_running_loop().time()
        use = self._of(key, now)
        if peer not in use.calls_on and len(use.calls_on) >= self._limits.room_connections:
            most = self._limits.room_connections
            raise Refused(Reason.TOO_MANY_CONNECTIONS, f"calls come on {most} connections at once: use fewer")
        self._seen[room] = now
        use.calls_on[peer] += 1
        try:
            if use.active >= _AT_ONCE and self._crowded(room, now):
                if len(use.waiting) >= self._limits.room_pending:
                    most = self._limits.room_pending
                    raise Refused(
                        Reason.TOO_MANY_REQUESTS, f"{most} requests of this room are waiting: try again later"
                    )
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                use.waiting.append(future)
                try:
                    await future
                except asyncio.CancelledError:
                    if future.done() and not future.cancelled():  # its turn had come: the next one's has
                        self._next(use)
                    with suppress(ValueError):
                        use.waiting.remove(future)
                    raise
            use.active += 1
            try:
                yield
            finally:
                use.active -= 1
                self._next(use)
        finally:
            use.calls_on[peer] -= 1
            if not use.calls_on[peer]:
                del use.calls_on[peer]

    def _next(self, use: _Use) -> None:
        while use.waiting:
            future = use.waiting.popleft()
            if not future.done():
                future.set_result(None)
                return

    def _crowded(self, room: str, now: float) -> bool:
        return any(other != room and now - seen < _RECENT_SECONDS for other, seen in self._seen.items())

    def _of(self, key: str, now: float) -> _Use:
        use = self._use.get(key)
        if use is None:
            if len(self._use) >= _MOST_ADDRESSES:
                self._use = {name: each for name, each in self._use.items() if each.calls_on}
                self._seen = {name: seen for name, seen in self._seen.items() if now - seen < _RECENT_SECONDS}
            use = self._use[key] = _Use(self._limits.room_rate, now)
        return use


def key_of(who: Caller, peer: str) -> str:
    """Returns whose use a call counts as: a room's, or on the public listener an address's (of IPv6 its /64)."""
    if who.role is not Role.PUBLIC:
        return str(who)
    return f"public {_network(peer)}"


def source_of(who: Caller, context: Any) -> str:
    """Returns the line in which a call waits for the writer: its room, then its connection."""
    return f"{who}\n{context.peer()}"


def _network(peer: str) -> str:
    _, _, address = unquote(peer).partition(":")
    host = address.rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
