"""How decks were understood, and a hint if another order of the cards explains what they show far better.

Nothing is ever guessed: a hint names the options to say, and the answer given stands as it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audit.stats.batch import Batch, Bytes
from audit.stats.families.permutations import PERMUTATIONS
from audit.stats.family import MIN_DECKS
from audit.stats.nulls.pvalue import sidak
from audit.stats.sources import INDEXES, DeckKind, read_indexes, read_order

SURPRISE = 1e-6
"""Below this the order before the shuffle shows, and so much less likely than under another order is implausible."""

FAR = 1.25
"""How many times the given order's log p-value another's must be besides: where any order shows, chance moves both."""

_SYMBOLS = dict(zip("cdhs", "♣♦♥♠", strict=True))


@dataclass(frozen=True)
class Reading:
    """How decks are understood.

    Attributes:
        kind: the deck kind.
        indexes: in which order indexes count the cards.
        order: the order before the shuffle: `rank`, `suit` or a file.
        named: how the sources name cards: by `index`, by `card`, or both.
    """

    kind: DeckKind
    indexes: str
    order: str
    named: frozenset[str]

    def __str__(self) -> str:
        """Says it in one sentence without a full stop."""
        by = []
        if "index" in self.named:
            cards = read_indexes(self.indexes, self.kind)
            by.append(", ".join(f"{'index ' if not at else ''}{at} = {self._card(cards[at])}" for at in (0, 12)))
        if "card" in self.named:
            by.append("cards by name")
        return f"{' and '.join(by)}; order before the shuffle: {self.order}"

    def _card(self, index: int) -> str:
        card = self.kind.cards[index]
        return card[0] + _SYMBOLS[card[1]]


def hint_of_order(decks: Bytes, reading: Reading) -> str:
    """Returns a hint if traces of a deck's order show, and far more of them under another order than under this one.

    A fair shuffle has no traces under any order. Two readings under which every deck is the same permutation cannot be
    told apart, and are named together.

    Args:
        decks: (N, n) card indexes in the reference order, as they were read.
        reading: how they were read.
    """
    if len(decks) < MIN_DECKS:
        return ""
    given = read_order(reading.order, reading.kind)
    others: dict[bytes, list[str]] = {}
    for place, options in _places(reading):
        others.setdefault(place.tobytes(), []).append(options)
    others.pop(given.tobytes(), None)
    # The clearest traces have p-values too small for a number, under any order: of fewer decks they can be compared.
    while not (bound := SURPRISE * _traces(decks, given) ** FAR) and len(decks) > 1:
        decks = decks[: len(decks) // 4 + 1]
    found = {place: sidak(_traces(decks, np.frombuffer(place, np.uint8)), len(others)) for place in others}
    best = min(found, key=lambda place: found[place], default=None)
    if best is None or found[best] >= bound:
        return ""
    read_so = _options(reading, reading.indexes, reading.order)
    return (
        f"a hint: the order given for the deck before its shuffle is implausible; its traces show far better with "
        f"{' or '.join(others[best])} than with {read_so}: if that is how these cards are counted, say so"
    )


def _places(reading: Reading) -> Iterator[tuple[Bytes, str]]:
    """Yields each other way to read the cards: the place before the shuffle of each card as read, and its options."""
    read = np.argsort(read_indexes(reading.indexes, reading.kind))
    for indexes in INDEXES if "index" in reading.named else (reading.indexes,):
        card = read_indexes(indexes, reading.kind)[read]
        for order in INDEXES:
            yield np.ascontiguousarray(read_order(order, reading.kind)[card]), _options(reading, indexes, order)


def _options(reading: Reading, indexes: str, order: str) -> str:
    """Returns the options that ask for this; those who name cards have no indexes to count."""
    return f"--indexes {indexes} --order {order}" if "index" in reading.named else f"--order {order}"


def _traces(decks: Bytes, place: Bytes) -> float:
    """Returns the p-value of the family `permutation`, all its looks paid for, of decks that lay in this order."""
    counts = PERMUTATIONS.count(Batch(decks, place))
    outcomes = PERMUTATIONS.pvalues(counts, decks.shape[1], len(decks))
    return sidak(min(outcome.p for outcome in outcomes), len(outcomes))
