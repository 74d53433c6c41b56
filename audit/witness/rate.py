"""How often something may be done for each origin: buckets that fill at a steady rate."""

from __future__ import annotations

BURST_SECONDS = 2.0
"""So many seconds' worth may come at once."""


class Rates:
    """A rate for each origin and kind of request. Used by one thread; there are as many as listed logs at the most."""

    def __init__(self, rate: float) -> None:
        """Sets the rate, in requests a second."""
        self._rate = rate
        self._most = max(1.0, rate * BURST_SECONDS)
        self._left: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, origin: str, kind: str, now: float) -> bool:
        """Takes one from a bucket, if there is one; a clock that goes back fills nothing."""
        left, since = self._left.get((origin, kind), (self._most, now))
        left = min(self._most, left + max(0.0, now - since) * self._rate)
        taken = left >= 1.0
        self._left[origin, kind] = (left - 1.0 if taken else left, now)
        return taken
