"""Which lists of decks are copies of others, by content, in whatever order their decks stand (STATISTICS.md section 2).

A list of `FEWEST_ALIKE` decks or more is a copy of another if each of its decks stands there, and at least as often. So
nothing that speaks against a shuffle can be hidden by leaving copies out: decks that come again within one list stay.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audit.stats.decks import Keys

FEWEST_ALIKE = 10
"""A list of fewer decks is never a copy: a short replay looks like one."""

IN_MEMORY = 1 << 22
"""Decks whose prints are held in memory, and the size of a part of them that is compared at a time."""

Prints = NDArray[np.bytes_]
"""Of each deck its fingerprint, 16 bytes: `S16`, which compares all of them where each has 16."""


class DeckLists:
    """Fingerprints of several lists of decks: in memory or, beyond `in_memory` decks, in a temporary folder."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: dict[int, list[Prints]] = {}
        self._held_decks = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.decks: list[int] = []

    def begin(self) -> None:
        """Starts the next list."""
        self.decks.append(0)

    def add(self, keys: Keys) -> None:
        """Adds decks to the list begun last.

        Args:
            keys: (2, N), the two rows of `audit.stats.decks.whole_deck_keys`.
        """
        prints = np.ascontiguousarray(keys.T).view("S16").reshape(-1)
        self._held.setdefault(len(self.decks) - 1, []).append(prints)
        self.decks[-1] += len(prints)
        self._held_decks += len(prints)
        if self._held_decks > self._limit:
            self._spill()

    def _spill(self) -> None:
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="cutcard-lists-")
        for number, blocks in self._held.items():
            with (Path(self._folder.name) / str(number)).open("ab") as file:
                for prints in blocks:
                    file.write(prints.tobytes())
        self._held, self._held_decks = {}, 0

    def _blocks(self, number: int) -> Iterator[Prints]:
        path = None if self._folder is None else Path(self._folder.name) / str(number)
        if path is not None and path.exists():
            yield np.memmap(path, dtype="S16", mode="r")
        yield from self._held.get(number, ())

    def _part(self, number: int, part: int, parts: int) -> tuple[Prints, NDArray[np.intp]]:
        """Returns the distinct prints of a list that fall into a part, in order, and how often each comes."""
        chosen = [prints[_halves(prints) % np.uint64(parts) == part] for prints in self._blocks(number)]
        return np.unique(np.concatenate([np.empty(0, "S16"), *chosen]), return_counts=True)

    def copies(self, by_id: Sequence[bool] = ()) -> dict[int, int]:
        """Finds the lists that are copies.

        Args:
            by_id: for each list whether its decks are told apart by their hands' ids: such lists are not compared with
                each other, and stay if another list holds the same decks.

        Returns:
            For each copy the list that holds its decks, which is none itself. Of equal lists the first stays.
        """
        count = len(self.decks)
        named = list(by_id) or [False] * count
        within: list[set[int] | None] = [None if decks >= FEWEST_ALIKE else set() for decks in self.decks]
        parts = max(1, -(-sum(self.decks) // self._limit))
        for part in range(parts):
            lists = [self._part(number, part, parts) for number in range(count)]
            prints = np.concatenate([own for own, _ in lists])
            owner = np.repeat(np.arange(count), [len(own) for own, _ in lists])
            order = np.argsort(prints, kind="stable")
            prints, owner = prints[order], owner[order]
            for number, (own, times) in enumerate(lists):
                before = within[number]
                if not len(own) or (before is not None and not before):
                    continue
                # Only lists with its first deck can hold all of them.
                first, last = np.searchsorted(prints, own[0]), np.searchsorted(prints, own[0], side="right")
                others = {int(other) for other in owner[first:last]} - {number}
                within[number] = {
                    other
                    for other in (others if before is None else others & before)
                    if not (named[number] and named[other]) and _holds(lists[other], own, times)
                }
        rank = [(not named[number], number) for number in range(count)]
        found = {}
        for number, holders in enumerate(within):
            larger = [
                other for other in holders or () if number not in (within[other] or ()) or rank[other] < rank[number]
            ]
            if larger:
                found[number] = min(larger, key=lambda other: (-self.decks[other], rank[other]))
        return found


def _halves(prints: Prints) -> Keys:
    """Returns the first eight bytes of each print."""
    return np.ascontiguousarray(prints).view(np.uint64).reshape(-1, 2)[:, 0]


def _holds(whole: tuple[Prints, NDArray[np.intp]], own: Prints, times: NDArray[np.intp]) -> bool:
    """Checks if a list holds each of some distinct prints as often as they come."""
    prints, counts = whole
    at = np.minimum(np.searchsorted(prints, own), len(prints) - 1)
    return bool(np.array_equal(prints[at], own) and (counts[at] >= times).all())
