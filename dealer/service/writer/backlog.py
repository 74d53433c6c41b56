"""The commands that wait for the writer: lines of rooms and connections, served in turn, and a total for each room.

A room that floods fills its own lines. Another's command waits behind one of its commands, not behind all.
"""

from collections import Counter, deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from dealer.errors import Reason, Refused

T = TypeVar("T")
_RECENT_SECONDS = 1.0


class Backlog(Generic[T]):
    """Items in lines, by their source: a room and, after a newline, a connection or address of it. Rooms take turns.

    The source "" is the dealer itself, which has one line. `put` and `answered` belong to the loop, `take` to the
    writer's thread; `rest` is for when there is no writer.
    """

    def __init__(self, most: int, monotonic: Callable[[], float]) -> None:
        """Starts empty; `most` items of a room may wait at once. `monotonic` gives seconds."""
        self._most, self._monotonic = most, monotonic
        self._waiting: Counter[str] = Counter()  # by room, until they are answered, not until they are taken
        self._in_line: Counter[str] = Counter()  # by source, likewise
        self._arrivals: SimpleQueue[tuple[str, T] | None] = SimpleQueue()
        self._rooms: dict[str, dict[str, deque[T]]] = {}
        self._seen: dict[str, float] = {}
        self._ended = False

    def put(self, source: str, item: T) -> None:
        """Appends an item to the line of its source.

        Raises:
            Refused: too many of this room are waiting, or of this source as many as the room has left. So no
                connection fills the last of its room's share, and a new one finds some.
        """
        room = _room(source)
        waiting, mine = self._waiting[room], self._in_line[source]
        if waiting >= self._most or (source and mine >= self._most - waiting):
            whose = f" of this room are waiting, {mine} of them of this caller" if source else " are waiting"
            raise Refused(Reason.TOO_MANY_REQUESTS, f"{waiting} requests{whose}: try again later")
        self._waiting[room] += 1
        self._in_line[source] += 1
        self._arrivals.put((source, item))

    def answered(self, source: str) -> None:
        """Counts an item no longer: it has its answer."""
        for counted, name in ((self._waiting, _room(source)), (self._in_line, source)):
            counted[name] -= 1
            if not counted[name]:
                del counted[name]

    @property
    def waiting(self) -> int:
        """How many items wait, over all lines."""
        return self._waiting.total()

    def waiting_of(self, room: str) -> int:
        """Returns how many items of a room wait, over its lines."""
        return self._waiting[room]

    def end(self) -> None:
        """Ends the lines behind what is in them now."""
        self._arrivals.put(None)

    def is_empty(self) -> bool:
        """Tells whether `take` would wait. On the writer's thread."""
        return not self._rooms and not self._ended and self._arrivals.empty()

    def take(self, most: int, crowded: int | None = None) -> list[T] | None:
        """Waits for items and returns up to `most`, one of each line in turn; None once the lines have ended.

        Args:
            most: so many at a time, while one room alone is there.
            crowded: so many while there are several, so that none waits long for another's; None: as many.
        """
        if not self._rooms and not self._ended:
            self._line_up(self._arrivals.get())
        while not self._arrivals.empty():  # nobody else takes from it
            self._line_up(self._arrivals.get())
        if not self._rooms and self._ended:
            return None
        if crowded is not None and self._is_crowded():
            most = crowded
        taken: list[T] = []
        while self._rooms and len(taken) < most:
            room = next(iter(self._rooms))
            lines = self._rooms.pop(room)
            source = next(iter(lines))
            line = lines.pop(source)
            taken.append(line.popleft())
            if line:
                lines[source] = line  # behind the room's others
            if lines:
                self._rooms[room] = lines  # behind the other rooms
        return taken

    def _is_crowded(self) -> bool:
        if len(self._seen) < 2:
            return False
        now = self._monotonic()
        self._seen = {room: seen for room, seen in self._seen.items() if now - seen < _RECENT_SECONDS}
        return len(self._seen) > 1

    def rest(self) -> list[T]:
        """Removes and returns everything, and waits for nothing."""
        taken = [item for lines in self._rooms.values() for line in lines.values() for item in line]
        self._rooms.clear()
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
        room = _room(source)
        if room:
            self._seen[room] = self._monotonic()
        self._rooms.setdefault(room, {}).setdefault(source, deque()).append(item)


def _room(source: str) -> str:
    return source.partition("\n")[0]
