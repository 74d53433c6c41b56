"""What those who watch a hand are sent: each event encoded once for all whose eyes see the same of it."""

import asyncio
from collections.abc import Iterator

from dealer.service.referee.record import RefereedHand
from dealer.service.rpc import table_views
from dealer.service.rpc.table_views import Closing
from dealer.table import events as happened
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2


class HandFeed:
    """One hand's events as messages. Belongs to the loop, and lives for as long as somebody watches.

    Attributes:
        ending: held by the one watcher that reads how the hand ended, for all.
    """

    def __init__(self, began: types_pb2.Hand) -> None:
        """Takes the certified hand before its first card, with its commitments and receipt."""
        self._began = began
        self._closing: Closing | None = None
        self._encoded: dict[tuple[int, int], bytes] = {}
        self.ending = asyncio.Lock()

    @property
    def ended(self) -> bool:
        """Whether it is known how the hand ended."""
        return self._closing is not None

    def end(self, closing: Closing | None) -> None:
        """Takes the hand's close entry, once the hand is over."""
        self._closing = self._closing or closing

    def events(self, refereed: RefereedHand, seat: int, after: int) -> Iterator[bytes]:
        """Yields what a watcher is sent.

        Args:
            refereed: the hand; over only if its closing was taken before.
            seat: whose eyes.
            after: sequence number of the last event that the watcher has.
        """
        for seen in table_views.events(refereed, after):
            key = seen.sequence, seen.eyes(seat)
            if key not in self._encoded:
                self._encoded[key] = self._encode(seen.message(key[1]), seen.event)
            yield self._encoded[key]

    def _encode(self, view: pb.TableEvent, event: happened.Event) -> bytes:
        if isinstance(event, happened.Started):
            view.hand_started.hand.CopyFrom(self._began)
        elif isinstance(event, happened.Finished) and self._closing is not None:
            view.hand_finished.close_receipt = self._closing.receipt
            view.hand_finished.close_entry = self._closing.entry
        return pb.WatchHandResponse(event=view).SerializeToString()
