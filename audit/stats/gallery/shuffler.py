"""What a shuffler of the gallery is, and the moves that many of them share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CARDS = 52
"""Cards of a deck."""

BLOCK = 8192
"""Decks that are shuffled at a time, so that scratch space stays in the cache."""

Decks = NDArray[np.uint8]
"""uint8, shape (N, 52): card indexes in the reference order, top card first."""

Make = Callable[[np.random.Generator, int], Decks]
Labels = Callable[[int], Mapping[str, list[str]]]


@dataclass(frozen=True)
class Shuffler:
    """A way to shuffle that a room might really use, fair or crooked.

    Attributes:
        name: Short, as the command line takes it.
        story: What it is and where it was seen.
        make: From a generator and N to N decks, dealt one after the other.
        goal: Decks within which it must be caught (STATISTICS.md section 3); None where nothing can or should be.
        fair: Whether every order is equally likely, each deck apart from the others.
        labels: From N to the strata that are needed to see it, if any.
    """

    name: str
    story: str
    make: Make = field(repr=False)
    goal: int | None = None
    fair: bool = False
    labels: Labels | None = field(default=None, repr=False)


def story_of(function: Callable[..., object]) -> str:
    """The first paragraph of a function's docstring on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def new_decks(count: int) -> Decks:
    """`count` decks in the reference order."""
    return np.tile(np.arange(CARDS, dtype=np.uint8), (count, 1))


def in_blocks(make: Make, rng: np.random.Generator, count: int) -> Decks:
    """`count` decks of a shuffler that treats each deck alone, `BLOCK` at a time."""
    decks = np.empty((count, CARDS), dtype=np.uint8)
    for first in range(0, count, BLOCK):
        block = decks[first : first + BLOCK]
        block[:] = make(rng, len(block))
    return decks


def swap_in_turn(positions: NDArray[np.integer], partners: NDArray[np.integer], decks: Decks | None = None) -> Decks:
    """Decks after the swaps of positions[k] with partners[t, k], from k = 0 on.

    Args:
        positions: shape (K,).
        partners: shape (N, K).
        decks: what is shuffled, (N, 52); new decks if not given.
    """
    start = new_decks(len(partners)) if decks is None else decks
    columns = np.ascontiguousarray(start.T)
    flat = columns.reshape(-1)
    along = np.arange(len(partners))
    for position, partner in zip(positions.tolist(), np.ascontiguousarray(partners.T), strict=True):
        at = partner.astype(np.intp) * len(along) + along
        moved = flat[at]
        flat[at] = columns[position]
        columns[position] = moved
    return np.ascontiguousarray(columns.T)


def arrange(decks: Decks, order: NDArray[np.integer]) -> Decks:
    """Each deck with its cards taken in the order of positions of its row of `order`, both (N, 52)."""
    return np.take_along_axis(decks, order, axis=1)


def inverted(permutations: NDArray[np.integer]) -> Decks:
    """The inverse of each row."""
    inverse = np.empty(permutations.shape, dtype=np.uint8)
    np.put_along_axis(inverse, permutations, np.arange(CARDS, dtype=np.uint8)[None, :], axis=1)
    return inverse


def by_keys(keys: NDArray[np.generic]) -> Decks:
    """New decks sorted by keys, (N, 52), equal keys left in order."""
    return np.argsort(keys, axis=1, kind="stable").astype(np.uint8)


def fair_decks(rng: np.random.Generator, count: int) -> Decks:
    """Decks in which every order is equally likely."""
    return rng.permuted(new_decks(count), axis=1)


STEPS_DOWN = np.arange(CARDS - 1, 0, -1)
"""The positions of a Fisher-Yates shuffle from the last card: 51 … 1."""


def fair_partners(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Swap partners of `STEPS_DOWN`, (count, 51), each uniform from 0 to its own position."""
    return rng.integers(0, STEPS_DOWN + 1, size=(count, CARDS - 1))
