"""Action clocks of the referee's hands. They belong to the loop.

A clock runs on the monotonic clock and does not outlive the process: with the embedded store the seat to act has its
whole time again after a restart. Where several dealers share a database it says since when the seat has been asked.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

_LEAST_SECONDS = 10.0


def seconds_left(full: float, asked: float | None, now: float) -> float:
    """Returns what is left of a deadline when another dealer, or the next start, goes on with it.

    Nobody loses time to a machine's end, and no clock starts over for ever (MACHINES.md, section 7).

    Args:
        full: the whole time in seconds.
        asked: when it began, on the monotonic clock; None if that is not known, and it begins now.
        now: what that clock says.
    """
    if asked is None:
        return full
    return min(full, max(full - (now - asked), min(full, _LEAST_SECONDS)))


@dataclass(frozen=True, slots=True)
class _Clock:
    """The time of the seat to act: for which prompt, until when on the loop's clock."""

    prompt: int
    deadline: float
    timer: asyncio.TimerHandle


class Clocks:
    """The running clocks, one a hand at most."""

    def __init__(self, loop: asyncio.AbstractEventLoop, time_is_up: Callable[[bytes, int], None]) -> None:
        """Calls `time_is_up` on the loop with a hand and its prompt once the prompt's time has run out."""
        self._loop, self._time_is_up = loop, time_is_up
        self._of_hand: dict[bytes, _Clock] = {}

    def hands(self) -> set[bytes]:
        """Returns the hands that have a clock."""
        return set(self._of_hand)

    def runs(self, hand: bytes, prompt: int) -> bool:
        """Tells whether a hand has a clock for this prompt."""
        clock = self._of_hand.get(hand)
        return clock is not None and clock.prompt == prompt

    def set(self, hand: bytes, prompt: int, seconds: float) -> None:
        """Sets a hand's clock, in place of the one that it has."""
        self.stop(hand)
        timer = self._loop.call_later(seconds, self._time_is_up, hand, prompt)
        self._of_hand[hand] = _Clock(prompt, self._loop.time() + seconds, timer)

    def stop(self, hand: bytes) -> None:
        """Stops a hand's clock, if it has one."""
        if (clock := self._of_hand.pop(hand, None)) is not None:
            clock.timer.cancel()

    def stop_all(self) -> None:
        """Stops every clock."""
        for hand in list(self._of_hand):
            self.stop(hand)

    def milliseconds_left(self, hand: bytes, prompt: int) -> int | None:
        """Returns what is left of a prompt's time; None if its clock is not set. On any thread."""
        clock = self._of_hand.get(hand)
        if clock is None or clock.prompt != prompt:
            return None
        return max(0, round(1000 * (clock.deadline - self._loop.time())))

    def hasten(self, seconds: float) -> None:
        """Shortens every clock by so much; only the test double does that."""
        for hand, clock in list(self._of_hand.items()):
            self.set(hand, clock.prompt, max(0.0, clock.deadline - self._loop.time() - seconds))
