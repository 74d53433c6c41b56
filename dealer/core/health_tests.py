"""Health tests of a seed source's raw output (NIST SP 800-90B, section 4.4), with their rate of false alarms.

A source that works fails a decision of one of them with a probability of at most 2^-48. A draw of 64 bytes is about 130
decisions: at a million hands a day there is less than one false alarm in five thousand years.
"""

from dealer.core.seed import EntropyError

WINDOW = 10_000
"""Words in which repeats are counted."""
APT_WINDOW = 512
"""Bytes in which the first one's recurrence is counted."""
LONGEST_RUN = {1: 6, 2: 3, 4: 2, 8: 1}
"""Repetition count, for words of so many bytes: so many equal ones may come in a row."""
MOST_REPEATS = {1: 97, 2: 9, 4: 2, 8: 0}
"""Repeats in a window: so many words may equal the one before."""
MOST_RECURRENCES = 22
"""Adaptive proportion: so often a window's first byte may come in it."""


class HealthTests:
    """Tests what is drawn, draw by draw, in words of 8, 16, 32 and 64 bits.

    *Repetition count*: equal words in a row. *Adaptive proportion*: how often the first of 512 bytes comes among them.
    *Repeats*: how many of 10,000 words equal the one before. The last is ours, as section 4.5 allows: a source that
    gives one word in 300 twice has no long runs, and no value too often. With words of 16 bits or more it is caught
    within 10,000 of them, but for once in a million times; with bytes that would need some 40,000.

    Each draw is tested by itself, so that no word of a seed is kept until the next: of one seed in eight the first byte
    is.
    """

    def __init__(self) -> None:
        self._words = dict.fromkeys(LONGEST_RUN, 0)
        self._repeats = dict.fromkeys(LONGEST_RUN, (0, 0))  # which window, and how many in it
        self._first, self._left, self._recurrences = 0, 0, 0

    def examine(self, data: bytes) -> None:
        """Tests a draw.

        Raises:
            EntropyError: the source has failed; says which test, and nothing of the data.
        """
        number = int.from_bytes(data, "big")
        for width in LONGEST_RUN:
            # A word that equals the one before is zero in this difference, at its own place.
            self._look_for_repeats((number ^ number >> 8 * width).to_bytes(len(data), "big"), width)
        self._look_for_recurrences(data)

    def _look_for_repeats(self, difference: bytes, width: int) -> None:
        zero, before, run, last = bytes(width), self._words[width], 1, 0
        at = difference.find(zero, width)
        while at >= 0:
            if at % width:
                at = difference.find(zero, at + 1)
                continue
            word = at // width
            run, last = (run + 1 if word == last + 1 else 2), word
            if run > LONGEST_RUN[width]:
                raise EntropyError(f"the entropy source fails the repetition count test in words of {8 * width} bits")
            window, repeats = (before + word) // WINDOW, self._repeats[width]
            self._repeats[width] = repeats = window, (repeats[1] + 1 if repeats[0] == window else 1)
            if repeats[1] > MOST_REPEATS[width]:
                raise EntropyError(f"the entropy source repeats itself too often in words of {8 * width} bits")
            at = difference.find(zero, at + width)
        self._words[width] = before + len(difference) // width

    def _look_for_recurrences(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            if not self._left:
                self._first, self._left, self._recurrences = data[at], APT_WINDOW, 0
            part = data[at : at + self._left]
            self._recurrences += part.count(self._first)
            self._left -= len(part)
            at += len(part)
            if self._recurrences > MOST_RECURRENCES:
                raise EntropyError("the entropy source fails the adaptive proportion test")
