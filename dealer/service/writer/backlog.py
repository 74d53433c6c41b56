"""The commands that wait for the writer: a line for each connection, served in turn, and a share of the room for each.

A connection that floods fills its own line. Another's command waits behind one of its commands, not behind all.
"""

from collections import Counter, deque
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from dealer.errors import Reason, Refused

T = TypeVar("T")


class Backlog(Generic[T]):
    """Items in lines, by their source; the source "" is the dealer itself, which has no share to keep to.

    `put` and `answered` belong to the loop, `take` to the writer's thread; `rest` is for when there is no writer.
    """

    def __init__(self, most: int) -> None:
        """Starts empty; `most` items may wait at once, over all lines."""
        self._most = most
        self._waiting: Counter[str] = Counter()  # until they are answered, not until they are taken
        self._arrivals: SimpleQueue[tuple[str, T] | None] = SimpleQueue()
        self._lines: dict[str, deque[T]] = {}
        self._ended = False

    def put(self, source: str, item: T) -> None:
        """Appends an item to the line of its source.

        Raises:
            Refused: there is no room, or the source has as many items waiting as there is room left. So nobody fills
                the last of it, and a new one finds some.
        """
        waiting = self._waiting.total()
        mine = self._waiting[source]
        if waiting >= self._most or (source and mine >= self._most - waiting):
            whose = f", {mine} of them on this connection" if source else ""
            raise Refused(Reason.TOO_MANY_REQUESTS, f"{waiting} requests are waiting{whose}: try again later")
        self._waiting[source] += 1
        self._arrivals.put((source, item))

    def answered(self, source: str) -> None:
        """Counts an item no longer: it has its answer."""
        self._waiting[source] -= 1
        if not self._waiting[source]:
            del self._waiting[source]

    def end(self) -> None:
        """Ends the lines behind what is in them now."""
        self._arrivals.put(None)

    def is_empty(self) -> bool:
        """Tells whether `take` would wait. On the writer's thread."""
        return not self._lines and not self._ended and self._arrivals.empty()

    def take(self, most: int) -> list[T] | None:
        """Waits for items and returns up to `most`, one of each line in turn; None once the lines have ended."""
        if not self._lines and not self._ended:
            self._line_up(self._arrivals.get())
        while not self._arrivals.empty():  # nobody else takes from it
            self._line_up(self._arrivals.get())
        if not self._lines and self._ended:
            return None
        taken: list[T] = []
        while self._lines and len(taken) < most:
            source = next(iter(self._lines))
            line = self._lines.pop(source)
            taken.append(line.popleft())
            if line:
                self._lines[source] = line  # behind the others
        return taken

    def rest(self) -> list[T]:
        """Removes and returns everything, and waits for nothing."""
        taken = [item for line in self._lines.values() for item in line]
        self._lines.clear()
        while True:
            try:
                arrival = self._arrivals.get_nowait()
            except Empty:
                return taken
            if arrival is not None:
                taken.append(arrival[1])

    def _line_up(self, arrival: tuple[str, T] | None) -> None:
        if arrival is None:
            self._ended = True
            return
        source, item = arrival
        self._lines.setdefault(source, deque()).append(item)
