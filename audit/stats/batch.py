"""One chunk of decks as the families look at it: turned so that a position is contiguous, with shared derivations."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

LAGS = 16
"""How many decks back the tests between decks look."""

Bytes = NDArray[np.uint8]
Index = NDArray[np.intp]


def invert(permutations: Bytes) -> Bytes:
    """Returns the inverse of each column of an (n, N) array of permutations."""
    n, decks = permutations.shape
    inverse = np.empty((n, decks), np.uint8)
    flat = inverse.reshape(-1)
    column = np.arange(decks)
    for position in range(n):
        flat[permutations[position] * np.intp(decks) + column] = position
    return inverse


class Batch:
    """N decks of n cards and what several families work out from them, each worked out once and only if asked for.

    Arrays are uint8 of shape (n, N): column t is deck t. `cards[p]` is the card at position p from the top, by its
    index in the reference order; `perm[p]` is the place that this card had before the shuffle.
    """

    def __init__(
        self, decks: Bytes, order: Bytes | None = None, before: Bytes | None = None, seats: Bytes | None = None
    ) -> None:
        """Takes decks as rows.

        Args:
            decks: (N, n), card indexes in the reference order.
            order: (n,), the place of each card before the shuffle; None if that is the reference order.
            before: (at most LAGS, n), the decks that were dealt right before these, for the tests between decks.
            seats: (N, seats), the seat numbers of each hand in dealing order, if these are known and counted.
        """
        self.size, self.n = decks.shape
        self.order = order
        self.before = decks[:0] if before is None else before[-LAGS:]
        self.seats = np.empty((self.size, 0), np.uint8) if seats is None else seats
        self.cards: Bytes = np.ascontiguousarray(decks.T)
        self._pairs: dict[int, NDArray[np.int64]] = {}

    @classmethod
    def of_permutations(cls, permutations: Bytes) -> Batch:
        """Makes a batch of permutations that are not decks, already (n, N)."""
        batch = cls.__new__(cls)
        batch.n, batch.size = permutations.shape
        batch.order, batch.cards = None, permutations
        batch.before, batch.seats = np.empty((0, batch.n), np.uint8), np.empty((batch.size, 0), np.uint8)
        batch._pairs = {}
        return batch

    @cached_property
    def where(self) -> Bytes:
        """`where[c]` is the position of card c."""
        return invert(self.cards)

    @cached_property
    def perm(self) -> Bytes:
        """The deck with each card named by its place before the shuffle."""
        return self.cards if self.order is None else self.order[self.cards]

    @cached_property
    def inverse(self) -> Bytes:
        """`inverse[k]` is the position at which the card from place k ended up."""
        return self.where if self.order is None else self.where[np.argsort(self.order)]

    @cached_property
    def ranks(self) -> Bytes:
        """Rank of the card at each position: 0 for the lowest."""
        return self.cards >> np.uint8(2)

    @cached_property
    def suits(self) -> Bytes:
        """Suit of the card at each position: 0 to 3 for c, d, h, s."""
        return self.cards & np.uint8(3)

    @cached_property
    def reds(self) -> NDArray[np.bool_]:
        """Whether the card at each position is a diamond or a heart."""
        return ((self.suits + np.uint8(1)) & np.uint8(2)).astype(np.bool_)

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """Each card of `cards` as one bit at 16 * suit + rank of a 64-bit word."""
        indexes = np.arange(self.n, dtype=np.uint64)
        table = np.uint64(1) << (np.uint64(16) * (indexes & np.uint64(3)) + (indexes >> np.uint64(2)))
        return table[self.cards]

    @cached_property
    def deck_swaps(self) -> tuple[Bytes, Bytes]:
        """Swap indices of the Fisher-Yates shuffle worked back from the deck: downwards and upwards."""
        return swap_digits(self.perm), swap_digits(_turned(self.perm))

    @cached_property
    def inverse_swaps(self) -> tuple[Bytes, Bytes]:
        """The same of the inverse deck."""
        return swap_digits(self.inverse), swap_digits(_turned(self.inverse))

    @cached_property
    def lehmer_digits(self) -> tuple[Bytes, Bytes]:
        """Lehmer digits of the deck and of its inverse."""
        return lehmer_digits(self.perm), lehmer_digits(self.inverse)

    def pairs(self, distance: int) -> NDArray[np.int64]:
        """(n, n * n): for each p how often cards a, b lay at p and at p + distance round the circle, at a * n + b."""
        if distance not in self._pairs:
            wide = self.cards.astype(np.uint16)
            first = wide * np.uint16(self.n)
            self._pairs[distance] = np.stack(
                [
                    np.bincount(first[p] + wide[(p + distance) % self.n], minlength=self.n * self.n)
                    for p in range(self.n)
                ]
            )
        return self._pairs[distance]

    def at_lag(self, lag: int) -> tuple[Bytes, Bytes]:
        """Returns earlier and later decks, `lag` deals apart, as two (n, M) views; the later ones are of this batch."""
        along = self.along
        first = max(lag, self.before.shape[0])
        later = along[:, first:]
        return along[:, first - lag : first - lag + later.shape[1]], later

    @cached_property
    def along(self) -> Bytes:
        """The decks before and these, (n, before + N)."""
        return np.concatenate([np.ascontiguousarray(self.before.T), self.cards], axis=1)

    @cached_property
    def following(self) -> Batch:
        """Where each card of a deck lay one deal earlier, as permutations of positions: `D_t^-1 D_(t+1)`."""
        _, later = self.at_lag(1)
        where = self.where
        if len(self.before):
            where = np.concatenate([invert(np.ascontiguousarray(self.before[-1:].T)), where], axis=1)
        flat, width = where.reshape(-1), np.intp(where.shape[1])
        moved = np.empty(later.shape, np.uint8)
        columns = np.arange(later.shape[1])
        for position in range(self.n):
            np.take(flat, later[position] * width + columns, out=moved[position])
        return Batch.of_permutations(moved)

    def successors_at_lag(self, lag: int) -> tuple[Bytes, Bytes]:
        """As `at_lag`, with the card that follows each card round the circle instead of the card at each position."""
        along = self._successors
        first = max(lag, self.before.shape[0])
        later = along[:, first:]
        return along[:, first - lag : first - lag + later.shape[1]], later

    @cached_property
    def _successors(self) -> Bytes:
        along = self.along
        follower = np.empty(along.shape, np.uint8)
        flat, width, columns = follower.reshape(-1), np.intp(along.shape[1]), np.arange(along.shape[1])
        for position in range(self.n):
            flat[along[position] * width + columns] = along[(position + 1) % self.n]
        return follower


def _turned(permutations: Bytes) -> Bytes:
    """Reads permutations from the other end, with the places counted from the other end."""
    return np.ascontiguousarray(np.uint8(permutations.shape[0] - 1) - permutations[::-1])


def swap_digits(permutations: Bytes) -> Bytes:
    """Returns the j of each `swap(i, j)`, j <= i, of the one run of i = n-1 … 1 that makes each permutation.

    On uniformly random permutations they are independent and uniform (STATISTICS.md section 1).

    Args:
        permutations: (n, N), one a column.

    Returns:
        (n, N): row i holds j; row 0 is 0.
    """
    n = permutations.shape[0]
    # Where each card of the deck lies in what is not yet undone. What lies at place i goes where the swap took it from.
    place = permutations.copy()
    scratch = np.empty(permutations.shape, np.bool_)
    for i in range(n - 1, 0, -1):
        rest, moved = place[:i], scratch[:i].view(np.uint8)
        np.equal(rest, i, out=scratch[:i])
        np.multiply(moved, place[i] ^ np.uint8(i), out=moved)
        rest ^= moved
    place[0] = 0
    return place


def lehmer_digits(permutations: Bytes) -> Bytes:
    """Counts later entries smaller than each entry; row i of the result is entry n-1-i, a digit of 0 … i.

    On uniformly random permutations they are independent and uniform (STATISTICS.md section 1).
    """
    n, decks = permutations.shape
    digits = np.empty((n, decks), np.uint8)
    seen = np.zeros(decks, np.uint64)
    one = np.uint64(1)
    for i in range(n):
        bit = one << permutations[n - 1 - i].astype(np.uint64)
        digits[i] = np.bitwise_count(seen & (bit - one))
        seen |= bit
    return digits
