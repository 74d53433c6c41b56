"""What each room may use, from its own use alone, and turns between rooms (docs/access.md, section 5).

A room is counted by its name, a caller on the public listener by its address. Everything here belongs to the loop.
"""

import asyncio
import ipaddress
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
    calls_on: "Counter[str]" = field(default_factory=Counter)


@dataclass(slots=True)
class _Room:
    """A room in the turn, the public as a whole among them.

    Attributes:
        active: calls that are carried out.
        waiting: those that wait, by whose use they are; a room's own are one line, the public has one an address.
    """

    active: int = 0
    waiting: "dict[str, deque[asyncio.Future[None]]]" = field(default_factory=dict)

    def next(self) -> None:
        """Gives a turn to the next call that waits: of each line one, in turn."""
        while self.waiting:
            key = next(iter(self.waiting))
            line = self.waiting.pop(key)
            future = line.popleft()
            if line:
                self.waiting[key] = line  # behind the others
            if not future.done():
                future.set_result(None)
                return

    def leave(self, key: str, future: "asyncio.Future[None]") -> None:
        """Takes a call out of its line, if it is there."""
        if (line := self.waiting.get(key)) is not None and future in line:
            line.remove(future)
            if not line:
                del self.waiting[key]


class RoomLimits:
    """Counts what rooms use. One for all listeners of a dealer."""

    def __init__(self, limits: Limits) -> None:
        """Starts with nobody there."""
        self._limits = limits
        self._use: dict[str, _Use] = {}
        self._rooms: dict[str, _Room] = {}
        self._seen: dict[str, float] = {}

    def rated(self, who: Caller, peer: str) -> float:
        """Takes one request of a caller's rate; returns 0, or in how many seconds there will be one."""
        now, rate = asyncio.get_running_loop().time(), self._rate(who)
        use = self._of(key_of(who, peer), now, rate)
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
            text = f"more than {self._rate(who):g} requests a second: slow down"
            raise Refused(Reason.TOO_MANY_REQUESTS, text, retry=max(wait, _PAUSE_SECONDS))

    @asynccontextmanager
    async def turn(self, who: Caller, peer: str) -> AsyncIterator[None]:
        """Holds a call for its turn, where another room is there as well.

        Raises:
            Refused: too many calls of this room, or public address, wait already, or come on too many connections.
        """
        limits, public = self._limits, who.role is Role.PUBLIC
        key = key_of(who, peer)
        name = "public" if public else key
        now = asyncio.get_running_loop().time()
        use = self._of(key, now, self._rate(who))
        most = limits.address_connections if public else limits.room_connections
        if peer not in use.calls_on and len(use.calls_on) >= most:
            raise Refused(Reason.TOO_MANY_CONNECTIONS, f"calls come on {most} connections at once: use fewer")
        self._seen[name] = now
        room = self._rooms.setdefault(name, _Room())
        use.calls_on[peer] += 1
        try:
            if room.active >= _AT_ONCE and self._crowded(name, now):
                most = limits.address_pending if public else limits.room_pending
                line = room.waiting.get(key, ())
                if len(line) >= most:
                    whose = "address" if public else "room"
                    raise Refused(
                        Reason.TOO_MANY_REQUESTS, f"{most} requests of this {whose} are waiting: try again later"
                    )
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                room.waiting.setdefault(key, deque()).append(future)
                try:
                    await future
                except asyncio.CancelledError:
                    if future.done() and not future.cancelled():  # its turn had come: the next one's has
                        room.next()
                    room.leave(key, future)
                    raise
            room.active += 1
            try:
                yield
            finally:
                room.active -= 1
                room.next()
        finally:
            use.calls_on[peer] -= 1
            if not use.calls_on[peer]:
                del use.calls_on[peer]

    def _rate(self, who: Caller) -> float:
        return self._limits.address_rate if who.role is Role.PUBLIC else self._limits.room_rate

    def _crowded(self, room: str, now: float) -> bool:
        return any(other != room and now - seen < _RECENT_SECONDS for other, seen in self._seen.items())

    def _of(self, key: str, now: float, rate: float) -> _Use:
        use = self._use.get(key)
        if use is None:
            if len(self._use) >= _MOST_ADDRESSES:
                self._use = {name: each for name, each in self._use.items() if each.calls_on}
                self._seen = {name: seen for name, seen in self._seen.items() if now - seen < _RECENT_SECONDS}
            use = self._use[key] = _Use(rate, now)
        return use


def key_of(who: Caller, peer: str) -> str:
    """Returns whose use a call counts as: a room's, or on the public listener an address's (of IPv6 its /64)."""
    if who.role is not Role.PUBLIC:
        return str(who)
    return f"public {_network(peer)}"


def source_of(who: Caller, context: Any) -> str:
    """Returns the line in which a call waits for the writer: its room, then its connection; of the public the address.

    So to come on many connections gains an address of the public no turns, and takes no more of what may wait.
    """
    peer = context.peer()
    return f"{who}\n{_network(peer) if who.role is Role.PUBLIC else peer}"


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
