"""The order of a deck before it was shuffled (API.md, `--order`)."""

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
        by_suit = [rank + suit for suit in SUITS for rank in RANKS if rank + suit in kind.cards]
        return np.array([by_suit.index(card) for card in kind.cards], dtype=np.uint8)
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
