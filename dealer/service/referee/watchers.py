"""Those who watch the referee's hands. They belong to the loop."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dealer.errors import Refused
from dealer.service.referee.record import RefereedHand


@dataclass(slots=True, eq=False)
class Watcher:
    """Somebody who watches a hand: the newest state of it, whether that is news, and why there will be no more."""

    newest: RefereedHand | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
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
    """All watchers, by their hands."""

    def __init__(self) -> None:
        self._of_hand: dict[bytes, set[Watcher]] = {}

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
        """Shows a hand's watchers its newest state."""
        for watcher in self._of_hand.get(refereed.hand, ()):
            if watcher.newest is None or len(watcher.newest.events) < len(refereed.events):
                watcher.newest = refereed
            watcher.news.set()

    def end(self, hand: bytes, why: Refused) -> None:
        """Sends the watchers of a hand away."""
        for watcher in self._of_hand.get(hand, ()):
            watcher.end(why)

    def end_all(self, why: Refused) -> None:
        """Sends every watcher away."""
        for hand in self._of_hand:
            self.end(hand, why)
