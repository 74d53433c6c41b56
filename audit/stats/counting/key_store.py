"""The keys of all decks counted, kept in memory or in a temporary file, and how often each comes again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from audit.stats.decks import KeyKind, Keys, fingerprint

IN_MEMORY = 1 << 21
"""Decks whose keys are kept in memory; beyond, they go to a temporary file."""

_PARTITION = 1 << 22


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
        """Adds the keys of some more decks."""
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
        """Yields all keys, block by block."""
        for path in self._files:
            yield np.load(path, mmap_mode="r")
        yield from self._held

    def repeats(self, kind: KeyKind) -> int:
        """Counts the keys of a kind that were there before."""
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
        """Returns how often the rarest deck comes: 2 if each is there twice or more."""
        prints = np.concatenate([np.asarray(keys[0]) for keys in self.blocks()] or [_none()])
        return int(np.unique(prints, return_counts=True)[1].min(initial=self.decks))

    def list_comes_again(self, run: int) -> bool:
        """Checks if so many decks in a row are the same, in the same order, as others before them."""
        prints = np.concatenate([np.asarray(keys[0]) for keys in self.blocks()] or [_none()])
        order = np.argsort(prints, kind="stable")
        equal = prints[order[1:]] == prints[order[:-1]]
        before = np.full(len(prints), -1)
        before[order[1:][equal]] = order[:-1][equal]
        apart = np.arange(len(prints)) - before >= run  # one deck over and over is no list
        goes_on = (before[1:] == before[:-1] + 1) & (before[:-1] >= 0) & apart[1:]
        longest = np.diff(np.flatnonzero(~np.concatenate([[False], goes_on, [False]]))).max(initial=1)
        return bool(longest >= run)


def _none() -> Keys:
    return np.empty(0, np.uint64)


def _repeats(rows: list[Keys]) -> int:
    """Counts the columns that are equal to any before them; cheap if none of the first row's words are."""
    ordered = np.sort(rows[0])
    again = ordered[1:] == ordered[:-1]
    if len(rows) == 1 or not again.any():
        return int(np.count_nonzero(again))
    candidates = np.isin(rows[0], ordered[1:][again])
    columns = np.stack([row[candidates] for row in rows])
    return int(columns.shape[1] - np.unique(columns, axis=1).shape[1])
