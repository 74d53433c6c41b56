"""Lost hands (PROTOCOL.md section 6): each one named, and how many others were in play and were not lost with it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import islice

from audit.plural import counted
from audit.record.fields import hand_text
from audit.whole.tally import KEPT


@dataclass(frozen=True, slots=True)
class LostHand:
    """One lost hand.

    Attributes:
        hand: UUID text.
        table: table id.
        number: the table's hand count.
        opened: log index of its offer or commit, whichever came first.
        closed: log index of its close.
        dealt: whether its close says that cards were dealt.
        others: how many other hands were in play when its close was logged and were not lost.
    """

    hand: str
    table: str
    number: int
    opened: int
    closed: int
    dealt: bool
    others: int

    def __str__(self) -> str:
        cards = "cards were dealt" if self.dealt else "no card was dealt"
        others = counted(self.others, "other hand in play then was", "other hands in play then were")
        return (
            f"hand {self.hand} (entry {self.opened}) was lost: number {self.number} at table {self.table}, closed by "
            f"entry {self.closed}; {cards}; {others} not lost"
        )


class LostHands:
    """Gathers lost hands in log order: the first `KEPT` by name, of the others where they begin and end."""

    def __init__(self) -> None:
        self._named: list[tuple[bytes, str, int, bool, int]] = []
        self._opened = array("q")
        self._closed = array("q")

    def add(self, hand: bytes, table: str, number: int, *, opened: int, closed: int, dealt: bool, in_play: int) -> None:
        """Adds a hand, whose close is behind that of the one before; `in_play` counts the hands open at its close."""
        self._opened.append(opened)
        self._closed.append(closed)
        if len(self._named) < KEPT:
            self._named.append((hand, table, number, dealt, in_play))

    def found(self) -> list[LostHand]:
        """Returns the first `KEPT` lost hands, once the whole log is known."""
        begun = sorted(self._opened)
        rows = zip(self._named, self._opened, self._closed, strict=False)
        return [
            # Of the hands in play, those were lost that began before this close and whose own close comes later.
            LostHand(
                hand_text(hand), table, number, opened, closed, dealt, in_play - (bisect_left(begun, closed) - ended)
            )
            for ended, ((hand, table, number, dealt, in_play), opened, closed) in enumerate(islice(rows, KEPT), 1)
        ]

    def texts(self) -> list[str]:
        """Returns each of them in words, and how many more there are."""
        more = len(self._opened) - len(self._named)
        return [str(hand) for hand in self.found()] + ([f"and {counted(more, 'more lost hand')}"] if more else [])
