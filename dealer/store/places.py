"""Where the answer to a request lies: of the newest requests in memory, of the others in a table.

Request ids are random, so that each new row of a table of them would change a page of its own. What is new waits in
memory instead, for the batches themselves say what they hold, and comes into the table by ranges of ids, many rows a
page.
"""

from collections.abc import Iterable, Mapping

from dealer.store.kept import Member

PARTS = 64
"""So many ranges of ids there are."""
WAITING = 1 << 15
"""From so many requests that wait in memory on, each batch brings one range of them into the table."""
_SLOT_BITS = 20


def key_of(request: bytes, caller: int) -> bytes:
    """Returns what a request is found by, 20 bytes; an id that begins with the time ends at random."""
    return request[::-1] + caller.to_bytes(4, "big")


class Places:
    """The requests that wait in memory.

    Attributes:
        count: how many.
        merged: of each range the newest batch whose requests are in the table.
    """

    def __init__(self, merged: Mapping[int, int]) -> None:
        """Starts with what has come into the table before."""
        self.count = 0
        self.merged = {part: merged.get(part, 0) for part in range(PARTS)}
        self._waiting: list[dict[bytes, int]] = [{} for _ in range(PARTS)]
        self._next = min(self.merged, key=self.merged.__getitem__)

    def add(self, batch: int, members: Iterable[Member]) -> None:
        """Notes what a batch holds, if it is not in the table."""
        for slot, member in enumerate(members):
            key = key_of(member.request, member.number)
            part = _part(key)
            if not member.record and batch > self.merged[part]:
                self._waiting[part][key] = batch << _SLOT_BITS | slot
                self.count += 1

    def find(self, key: bytes) -> tuple[int, int] | None:
        """Returns batch and slot of a request that waits here."""
        place = self._waiting[_part(key)].get(key)
        return None if place is None else _split(place)

    def due(self, more: int) -> int | None:
        """Returns the range whose turn it is to come into the table, if too much waits with so many more."""
        return self._next if self.count + more > WAITING else None

    def rows(self, part: int) -> list[tuple[bytes, int, int]]:
        """Returns what waits of a range, as rows of the table."""
        return [(key, *_split(place)) for key, place in sorted(self._waiting[part].items())]

    def moved(self, part: int, batch: int) -> None:
        """Forgets what of a range, up to this batch, has become durable in the table."""
        self.count -= len(self._waiting[part])
        self._waiting[part] = {}
        self.merged[part] = batch
        self._next = (part + 1) % PARTS

    def drop(self, members: Iterable[Member]) -> int:
        """Forgets requests whose batch has gone, and returns how many of them lie in the table."""
        others = 0
        for member in members:
            if not member.record:
                key = key_of(member.request, member.number)
                if self._waiting[_part(key)].pop(key, None) is None:
                    others += 1
                else:
                    self.count -= 1
        return others


def _part(key: bytes) -> int:
    return key[0] * PARTS >> 8


def _split(place: int) -> tuple[int, int]:
    return place >> _SLOT_BITS, place & ((1 << _SLOT_BITS) - 1)
