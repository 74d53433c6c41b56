"""Serialises a hand's calls; one that was never answered is sent again before the next."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from dealer.client.calls import Caller
from dealer.client.errors import CallError

T = TypeVar("T")


class Turns:
    """Guards the order of a hand's calls.

    A call whose answer was lost may have been carried out. So before another one it is made again, as the same
    request: what the dealer says from then on can be held against what it has done.
    """

    def __init__(self, calls: Caller) -> None:
        self._calls = calls
        self._lock = asyncio.Lock()
        self._sent: tuple[str, Any] | None = None
        self._unsettled: tuple[tuple[object, ...], Callable[[], Awaitable[Any]]] | None = None

    async def take(self, step: Callable[[], Awaitable[T]], *what: object) -> T:
        """Carries a call out.

        Args:
            step: makes the call and takes its answer.
            what: says which call it is; the same call again needs no settling.

        Raises:
            CallError: it, or the one before it, was not answered; or it was refused.
        """
        async with self._lock:
            unsettled, self._unsettled = self._unsettled, None
            if unsettled is not None and unsettled[0] != what:
                try:
                    await self._attempt(unsettled[1], unsettled[0])
                except CallError as error:
                    if not error.refused:
                        raise
            return await self._attempt(step, what)

    async def send(self, method: str, call: Callable[..., Awaitable[Any]], request: Any) -> Any:
        """Makes the changing call of a step."""
        self._sent = method, request
        return await self._calls.change(method, call, request)

    async def _attempt(self, step: Callable[[], Awaitable[T]], what: tuple[object, ...]) -> T:
        try:
            return await step()
        except (CallError, asyncio.CancelledError) as error:
            if not (isinstance(error, CallError) and error.refused):
                self._unsettled = what, step
                if self._sent is not None:
                    self._calls.keep_open(*self._sent)
            raise
