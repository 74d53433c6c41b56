"""A clock that runs by itself until a test stops it and moves it by hand."""

import threading
from collections.abc import Callable

LATEST = 253_402_300_799_999
"""Unix time in milliseconds of the last moment that the log can write, the end of the year 9999."""


class DrivenClock:
    """Unix time in milliseconds. The dealer's writer reads it while a test moves it."""

    def __init__(self, system: Callable[[], int]) -> None:
        """Takes the clock that runs until this one is stopped."""
        self._system = system
        self._stopped: int | None = None
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Returns the time."""
        with self._lock:
            return self._system() if self._stopped is None else self._stopped

    def stop_at(self, milliseconds: int) -> int:
        """Stops the clock at a time, and returns it.

        Raises:
            ValueError: the log cannot write this time.
        """
        if not 1 <= milliseconds <= LATEST:
            raise ValueError(f"a time in milliseconds lies from 1 to {LATEST}")
        with self._lock:
            self._stopped = milliseconds
        return milliseconds

    def run(self) -> None:
        """Lets the clock run by itself again."""
        with self._lock:
            self._stopped = None
