"""Decks and blocks of cards that come again: what a small seed space or a replayed deck cannot hide.

By chance equal keys are Poisson with mean N(N-1)/2 / (number of keys). A key is exact, ten cards in 60 bits, or 128
bits of fingerprint of a whole deck (STATISTICS.md section 1).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import factorial, perm
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch
from audit.stats.cards.names import card_name
from audit.stats.decks import BLOCK, Keys, fingerprint, packed, ten_in_a_word
from audit.stats.family import MIN_DECKS, Outcome
from audit.stats.nulls.pvalue import poisson_tail

NAME = "duplicates"
SEES = "Decks, cut decks or blocks of cards that are dealt again: a small seed space, or replayed hands."
NEEDS = MIN_DECKS

IN_MEMORY = 1 << 21
"""Decks whose keys are kept in memory; beyond, they go to a temporary file."""

WHOLE = "equal: whole decks"
"""The name of the test of whole decks."""

RUN = 10
"""Decks in a row that come again in order: more than any cause but a list that is there twice."""

_ANCHORS = 4
_FEWEST_CARDS = 20
_PARTITION = 1 << 22


@dataclass(frozen=True)
class KeyKind:
    """One kind of key.

    Attributes:
        name: what is equal when two keys are.
        space: how many equally likely keys there are.
        rows: its rows in an array of keys: one, or two for a fingerprint of 128 bits.
    """

    name: str
    space: float
    rows: tuple[int, ...]


@cache
def key_kinds(n: int) -> tuple[KeyKind, ...]:
    """The kinds of keys of decks of n cards; none for decks so small that equal ones are nothing special."""
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


def _anchors(n: int) -> list[int]:
    """The cards after which ten cards make a key, wherever in the deck they are."""
    return [step * n // _ANCHORS for step in range(_ANCHORS)]


def deck_keys(batch: Batch) -> Keys:
    """(rows, N) keys of the decks of a batch, the rows as `key_kinds` says."""
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


class KeyStore:
    """Keys of all decks, in memory or, beyond `IN_MEMORY` decks, in a temporary folder that goes with the store."""

    def __init__(self, n: int, in_memory: int = IN_MEMORY) -> None:
        self.n = n
        self.decks = 0
        self._held: list[Keys] = []
        self._held_decks = 0
        self._limit = in_memory
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: list[Path] = []

    def add(self, keys: Keys) -> None:
        """Takes the keys of some more decks."""
        self.decks += keys.shape[1]
        self._held.append(keys)
        self._held_decks += keys.shape[1]
        if self._held_decks > self._limit:
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="cutcard-keys-")
            path = Path(self._folder.name) / f"{len(self._files)}.npy"
            np.save(path, np.concatenate(self._held, axis=1))
            self._files.append(path)
            self._held, self._held_decks = [], 0

    def blocks(self) -> Iterator[Keys]:
        """All keys, block by block."""
        for path in self._files:
            yield np.load(path, mmap_mode="r")
        yield from self._held

    def repeats(self, kind: KeyKind) -> int:
        """How many keys of a kind were there before."""
        if not self._files:
            return _repeats([np.concatenate([keys[row] for keys in self._held] or [_none()]) for row in kind.rows])
        parts = -(-self.decks // _PARTITION)
        assert self._folder is not None
        with tempfile.TemporaryDirectory(dir=self._folder.name) as folder:
            paths = [Path(folder) / str(part) for part in range(parts)]
            for keys in self.blocks():
                rows = np.stack([np.asarray(keys[row]) for row in kind.rows])
                part_of = fingerprint([rows[0]], 0) % np.uint64(parts)
                for part, path in enumerate(paths):
                    with path.open("ab") as file:
                        file.write(np.ascontiguousarray(rows[:, part_of == part].T).tobytes())
            return sum(_repeats(list(np.fromfile(path, np.uint64).reshape(-1, len(kind.rows)).T)) for path in paths)

    def least_times(self) -> int:
        """How often the rarest deck comes: 2 where each is there twice or more."""
        prints = np.concatenate([np.asarray(keys[0]) for keys in self.blocks()] or [_none()])
        return int(np.unique(prints, return_counts=True)[1].min(initial=self.decks))

    def list_comes_again(self) -> bool:
        """Whether `RUN` decks in a row are the same, in the same order, as others before them."""
        prints = np.concatenate([np.asarray(keys[0]) for keys in self.blocks()] or [_none()])
        order = np.argsort(prints, kind="stable")
        equal = prints[order[1:]] == prints[order[:-1]]
        before = np.full(len(prints), -1)
        before[order[1:][equal]] = order[:-1][equal]
        apart = np.arange(len(prints)) - before >= RUN  # one deck over and over is no list
        goes_on = (before[1:] == before[:-1] + 1) & (before[:-1] >= 0) & apart[1:]
        longest = np.diff(np.flatnonzero(~np.concatenate([[False], goes_on, [False]]))).max(initial=1)
        return bool(longest >= RUN)

    def outcomes(self) -> list[Outcome]:
        """One test for each kind of key."""
        pairs = self.decks * (self.decks - 1) / 2
        outcomes = []
        for kind in key_kinds(self.n):
            found, expected = self.repeats(kind), pairs / kind.space
            detail = f"{found} come again, expected {expected:.3g}"
            outcomes.append(Outcome(f"equal: {kind.name}", float(found), poisson_tail(found, expected), 1, detail))
        return outcomes


def _none() -> Keys:
    return np.empty(0, np.uint64)


def _repeats(rows: list[Keys]) -> int:
    """How many of the columns are equal to one before, whichever; cheap where none of the first row's words are."""
    ordered = np.sort(rows[0])
    again = ordered[1:] == ordered[:-1]
    if len(rows) == 1 or not again.any():
        return int(np.count_nonzero(again))
    candidates = np.isin(rows[0], ordered[1:][again])
    columns = np.stack([row[candidates] for row in rows])
    return int(columns.shape[1] - np.unique(columns, axis=1).shape[1])
