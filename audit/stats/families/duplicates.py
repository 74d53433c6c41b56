"""Decks and blocks of cards that come again: what a small seed space or a replayed deck cannot hide.

By chance equal keys are Poisson with mean N(N-1)/2 / (number of keys). A key is exact, ten cards in 60 bits, or 128
bits of fingerprint of a whole deck (STATISTICS.md section 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import factorial, perm

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.cards.names import card_name
from audit.stats.decks import BLOCK, KeyKind, Keys, fingerprint, packed, ten_in_a_word
from audit.stats.family import MIN_DECKS, Counted, KeptKeys, Outcome
from audit.stats.nulls.pvalue import poisson_tail

_ANCHORS = 4
_FEWEST_CARDS = 20

_RUN = 10
"""Decks in a row that come again in order: more than any cause but a list that is there twice."""


@cache
def key_kinds(n: int) -> tuple[KeyKind, ...]:
    """Returns the kinds of keys of decks of n cards; none for decks so small that equal ones are nothing special."""
    if n < _FEWEST_CARDS:
        return ()
    kinds = [
        KeyKind("whole decks", min(float(factorial(n)), 2.0**128), (0, 1)),
        KeyKind("decks up to a cut", min(float(factorial(n - 1)), 2.0**128), (2, 3)),
        KeyKind("decks from either end", min(factorial(n) / 2, 2.0**128), (4, 5)),
    ]
    row = 6
    for first in range(0, n - BLOCK + 1, BLOCK):
        kinds.append(KeyKind(f"positions {first} to {first + BLOCK - 1}", float(perm(n, BLOCK)), (row,)))
        row += 1
    for anchor in _anchors(n):
        kinds.append(KeyKind(f"the ten cards after {card_name(anchor, n)}", float(perm(n - 1, BLOCK)), (row,)))
        row += 1
    return tuple(kinds)


def whole_decks(n: int) -> KeyKind:
    """Returns the kind of key by which whole decks are equal; `is_for` says whether there is one."""
    return key_kinds(n)[0]


def _anchors(n: int) -> list[int]:
    """Returns the cards after which ten cards make a key, wherever in the deck they are."""
    return [step * n // _ANCHORS for step in range(_ANCHORS)]


def deck_keys(batch: Batch) -> Keys:
    """Returns the keys of the decks of a batch, (rows, N), the rows as `key_kinds` says."""
    n, decks = batch.n, batch.size
    if not key_kinds(n):
        return np.empty((0, decks), np.uint64)
    cards, columns = batch.cards, np.arange(decks)
    straight, backwards = ten_in_a_word(cards), ten_in_a_word(cards[::-1])
    flat, width = cards.reshape(-1), np.intp(decks)

    def after(anchor: int, count: int) -> list[NDArray[np.uint8]]:
        place = batch.where[anchor].astype(np.intp)
        return [flat[(place + step) % n * width + columns] for step in range(1, count + 1)]

    first_anchor, *anchors = _anchors(n)
    turned_cards = after(first_anchor, n - 1)
    turned = ten_in_a_word(turned_cards)
    whole_blocks = straight[: n // BLOCK]
    prints = [fingerprint(straight, which) for which in range(2)]
    return np.stack(
        [
            *prints,
            fingerprint(turned, 0),
            fingerprint(turned, 1),
            prints[0] + fingerprint(backwards, 0),  # the same whichever end is the top
            prints[1] + fingerprint(backwards, 1),
            *whole_blocks,
            turned[0],
            *(packed(after(anchor, BLOCK)) for anchor in anchors),
        ]
    )


@dataclass(frozen=True)
class Duplicates:
    """Tests of the keys of all decks; a peer of the families, whose counts add up where keys have to be compared.

    Attributes:
        name: unique within the battery.
        sees: one sentence: what it can see.
        needs: the least number of decks.
    """

    name: str = "duplicates"
    sees: str = "Decks, cut decks or blocks of cards that are dealt again: a small seed space, or replayed hands."
    needs: int = MIN_DECKS

    def is_for(self, n: int) -> bool:
        """Says whether decks of n cards can be tested."""
        return bool(key_kinds(n))

    def rows(self, counted: Counted) -> list[Outcome]:
        """Makes one test for each kind of key."""
        n, decks = counted.whole.n, counted.whole.decks
        pairs = decks * (decks - 1) / 2
        outcomes = []
        for kind in key_kinds(n):
            found, expected = counted.keys.repeats(kind), pairs / kind.space
            detail = f"{found} come again, expected {expected:.3g}"
            note = _lists_again(counted.keys, found) if kind is whole_decks(n) else ""
            p = poisson_tail(found, expected)
            outcomes.append(Outcome(f"equal: {kind.name}", float(found), p, detail=detail, note=note))
        return outcomes


DUPLICATES = Duplicates()


def _lists_again(keys: KeptKeys, found: int) -> str:
    """Returns a note if a whole list of decks seems to be there twice: the tests count it as dealt twice."""
    if found < _RUN:
        return ""
    times = keys.least_times()
    if times > 1:
        often = "twice" if times == 2 else f"{times} times or more"
        return (
            f"each deck stands in it {often}: a list that was exported twice looks like this, and so does a dealer "
            "that deals its decks again"
        )
    if not keys.list_comes_again(_RUN):
        return ""
    return (
        f"{_RUN} decks or more in a row come again in the same order: if a list of decks was given twice, "
        "in parts or within one source, give it once; if not, they were dealt twice"
    )
