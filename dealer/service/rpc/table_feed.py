"""What those who watch a hand are sent: each event encoded once for all whose eyes see the same of it."""

import asyncio
from collections.abc import Iterator

from dealer.service.referee.record import RefereedHand
from dealer.service.rpc import table_views
from dealer.service.rpc.table_views import Began, Closing
from dealer.table import events as happened
from dealer.v1 import table_pb2 as pb


class HandFeed:
    """One hand's events as messages. Belongs to the loop, and lives for as long as somebody watches.

    Attributes:
        learning: held by the one watcher that reads how the hand started or ended, for all.
    """

    def __init__(self) -> None:
        """Knows nothing of the hand yet: see `learn`."""
        self._began: Began | None = None
        self._closing: Closing | None = None
        self._encoded: dict[tuple[int, int], bytes] = {}
        self.learning = asyncio.Lock()

    def covers(self, refereed: RefereedHand) -> bool:
        """Tells whether enough is known for all of a hand's events: with its lock and its end there is more to know."""
        started = self._began is not None and (self._began.started is not None or not refereed.started)
        return started and (self._closing is not None or refereed.state.waits_for is not None)

    def learn(self, began: Began, closing: Closing | None) -> None:
        """Takes the certified hand as it began and, once it is over, its close entry."""
        if self._began is None or self._began.started is None:
            self._began = began
        self._closing = self._closing or closing

    def events(self, refereed: RefereedHand, seat: int, after: int) -> Iterator[bytes]:
        """Yields what a watcher is sent.

        Args:
            refereed: the hand, covered by what was learned before.
            seat: whose eyes.
            after: sequence number of the last event that the watcher has.
        """
        for seen in table_views.events(refereed, after):
            key = seen.sequence, seen.eyes(seat)
            if key not in self._encoded:
                self._encoded[key] = self._encode(seen.message(key[1]), seen.event)
            yield self._encoded[key]

    def _encode(self, view: pb.TableEvent, event: happened.Event) -> bytes:
        began = self._began
        if isinstance(event, happened.Offered) and began is not None and began.offered is not None:
            view.hand_offered.hand.CopyFrom(began.offered)
        elif isinstance(event, happened.Started) and began is not None and began.started is not None:
            view.hand_started.hand.CopyFrom(began.started)
        elif isinstance(event, happened.Voided) and self._closing is not None:
            view.hand_voided.close_receipt = self._closing.receipt
            view.hand_voided.close_entry = self._closing.entry
            view.hand_voided.hand.CopyFrom(self._closing.hand)
        elif isinstance(event, happened.Finished) and self._closing is not None:
            view.hand_finished.close_receipt = self._closing.receipt
            view.hand_finished.close_entry = self._closing.entry
        return pb.WatchHandResponse(event=view).SerializeToString()
