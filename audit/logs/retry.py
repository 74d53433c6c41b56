"""How long a server is waited for: several attempts, with pauses between them, and an end to it all."""

from __future__ import annotations

import time
from collections.abc import Iterator

ATTEMPTS = 4
"""How often a server is asked for one thing before it counts as one that does not answer."""
SILENCE_SECONDS = 15.0
"""How long a server may send nothing before an attempt is over."""
PATIENCE_SECONDS = 60.0
"""How long all attempts for one thing (at most a bundle) may take, however busily the server sends."""
PAUSE_SECONDS = 0.2
"""Half of the pause after the first attempt; each pause is twice the one before it."""


class Patience:
    """The attempts for one thing; iterating gives for each of them how many seconds it has, and pauses in between."""

    def __init__(self) -> None:
        self._end = time.monotonic() + PATIENCE_SECONDS

    def __iter__(self) -> Iterator[float]:
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_SECONDS * 2**attempt)
            left = self._end - time.monotonic()
            if left <= 0:
                return
            yield left
