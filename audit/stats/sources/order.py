"""Orders of a deck: before it was shuffled (`--order`), and in which indexes count its cards (`--indexes`; API.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audit.errors import InputError
from audit.files import open_regular
from audit.protocol import RANKS, SUITS
from audit.stats.sources.cards import DeckKind, parse_block


def read_order(order: str, kind: DeckKind) -> NDArray[np.uint8]:
    """Returns the position of each card before the shuffle.

    Args:
        order: `rank` (the reference order), `suit` (2c … Ac 2d … Ad 2h … Ah 2s … As), or the path of a text file with
            the deck's cards in order, separated by spaces or line feeds.
        kind: The deck kind.

    Returns:
        uint8, shape (n,): for each card index of the reference order its position in the unshuffled deck.

    Raises:
        InputError: If the file cannot be read or is no permutation of the deck.
    """
    if order == "rank":
        return np.arange(kind.size, dtype=np.uint8)
    if order == "suit":
        return np.argsort(read_indexes("suit", kind)).astype(np.uint8)
    path = Path(order)
    try:
        with open_regular(path) as file:
            text = file.read()
    except OSError as error:
        raise InputError(f"{order}: the order is rank, suit or a file that can be read: {error.strerror}") from error
    deck = parse_block(b" ".join(text.split()) + b"\n", kind, order, 1)[0]
    positions = np.empty(kind.size, dtype=np.uint8)
    positions[deck] = np.arange(kind.size, dtype=np.uint8)
    return positions


INDEXES = ("rank", "suit")
"""The orders in which indexes may count the cards."""


def read_indexes(indexes: str, kind: DeckKind) -> NDArray[np.uint8]:
    """Returns the card that each index of a file stands for.

    Args:
        indexes: `rank` (our reference order) or `suit` (2c … Ac 2d … Ad 2h … Ah 2s … As).
        kind: The deck kind.

    Returns:
        uint8, shape (n,): for each index of the file the card's index in the reference order.
    """
    if indexes == "rank":
        return np.arange(kind.size, dtype=np.uint8)
    by_suit = [rank + suit for suit in SUITS for rank in RANKS if rank + suit in kind.cards]
    return np.array([kind.cards.index(card) for card in by_suit], dtype=np.uint8)
