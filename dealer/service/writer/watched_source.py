"""The seed source under watch: tested before its first use, at every draw, and anew after each failure."""

import os
from collections.abc import Callable, Iterator

from dealer.core.health_tests import HealthTests
from dealer.core.seed import SEED_BYTES, Entropy, EntropyError, draw

START_UP_DRAWS = 313
"""Draws of 64 bytes: 10,016 words of 16 bits."""
_PART_DRAWS = 1024


class WatchedSource:
    """Gives what a source gives, unless a health test fails; an `Entropy` for one thread.

    After a failure nothing is given until the source has passed the start-up tests anew, by bytes that nobody uses. A
    process that was forked from this one gets nothing: its source may give the same bytes again.
    """

    def __init__(self, source: Entropy) -> None:
        """Watches `source`; draws nothing yet."""
        self._source = source
        self._process = os.getpid()
        self._tests: HealthTests | None = None  # None: the start-up tests are still to be passed

    def start_up(self) -> None:
        """Tests the source by bytes that nobody uses.

        Raises:
            EntropyError: it failed.
        """
        self._require_own_process()
        tests = HealthTests()
        tests.examine(b"".join([draw(self._source, SEED_BYTES) for _ in range(START_UP_DRAWS)]))
        self._tests = tests

    def __call__(self, length: int) -> bytes:
        """Draws so many bytes.

        Raises:
            EntropyError: the source failed, or this is a forked process.
        """
        self._require_own_process()
        if self._tests is None:
            self.start_up()
        tests, self._tests = self._tests, None
        if tests is None:
            raise AssertionError("the start-up tests were passed")
        data = draw(self._source, length)
        tests.examine(data)
        self._tests = tests
        return data

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise EntropyError("this process was forked from the dealer: its entropy source may repeat the dealer's")


def raw_output(source: Entropy, count: int | None, alarm: Callable[[str], None]) -> Iterator[bytes]:
    """Yields what a source gives, as seeds are drawn and in parts of 64 KiB at most: for a laboratory.

    Args:
        source: is asked for 64 bytes at a time.
        count: so many bytes; None: without end.
        alarm: is told of a health test that fails. The output goes on as it is: it is raw.

    Raises:
        EntropyError: the source gives nothing.
    """
    tests, left = HealthTests(), count
    while left is None or left > 0:
        part = bytearray()
        for _ in range(_PART_DRAWS):
            data = draw(source, SEED_BYTES)
            try:
                tests.examine(data)
            except EntropyError as error:
                alarm(str(error))
                tests = HealthTests()
            part += data
        yield bytes(part if left is None else part[:left])
        left = None if left is None else left - len(part)
