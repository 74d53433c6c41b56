"""Those who watch the referee's hands. They belong to the loop."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dealer.errors import Refused
from dealer.service.referee.record import RefereedHand

_WOKEN_AT_ONCE = 16


@dataclass(slots=True, eq=False)
class Watcher:
    """Somebody who watches a hand.

    Attributes:
        newest: the newest state of it that is durable.
        news: set when that is news.
        called: whether it stands in line to be woken.
        ended: why there will be no more.
    """

    newest: RefereedHand | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    called: bool = False
    ended: Refused | None = None

    def end(self, why: Refused) -> None:
        """Sends the watcher away once it has seen everything."""
        self.ended = why
        self.news.set()

    async def later_than(self, known: RefereedHand) -> RefereedHand:
        """Waits until more has happened than the watcher knows, and returns the hand.

        Raises:
            Refused: the hand was given up or is lost, or the dealer shuts down.
        """
        while self.newest is None or len(self.newest.events) <= len(known.events):
            if self.ended is not None:
                raise self.ended
            self.news.clear()
            await self.news.wait()
        return self.newest


class Watchers:
    """All watchers, by their hands. Made on the loop that they live on."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._of_hand: dict[bytes, set[Watcher]] = {}
        self._asleep: deque[Watcher] = deque()

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self._of_hand.values()))

    def hands(self) -> set[bytes]:
        """Returns the hands that are watched."""
        return set(self._of_hand)

    @contextmanager
    def watching(self, hand: bytes) -> Iterator[Watcher]:
        """Yields a watcher that is shown everything that happens to a hand from now on."""
        watcher = Watcher()
        self._of_hand.setdefault(hand, set()).add(watcher)
        try:
            yield watcher
        finally:
            watchers = self._of_hand[hand]
            watchers.discard(watcher)
            if not watchers:
                del self._of_hand[hand]

    def show(self, refereed: RefereedHand) -> None:
        """Shows a hand's watchers its newest state; a few wake up at once, so that who acts need not wait for all."""
        waking = bool(self._asleep)
        for watcher in self._of_hand.get(refereed.hand, ()):
            if watcher.newest is None or len(watcher.newest.events) < len(refereed.events):
                watcher.newest = refereed
            if not watcher.news.is_set() and not watcher.called:
                watcher.called = True
                self._asleep.append(watcher)
        if self._asleep and not waking:
            self._wake()

    def _wake(self) -> None:
        for _ in range(min(_WOKEN_AT_ONCE, len(self._asleep))):
            watcher = self._asleep.popleft()
            watcher.called = False
            watcher.news.set()
        if self._asleep:
            self._loop.call_soon(self._wake)

    def end(self, hand: bytes, why: Refused) -> None:
        """Sends the watchers of a hand away."""
        for watcher in self._of_hand.get(hand, ()):
            watcher.end(why)

    def end_all(self, why: Refused) -> None:
        """Sends every watcher away."""
        for hand in self._of_hand:
            self.end(hand, why)
