"""Cards and deck kinds: what a card is called and in which order a deck lies before the shuffle."""

from collections.abc import Mapping
from types import MappingProxyType

RANKS = "23456789TJQKA"
SUITS = "cdhs"
MAX_DECK = 64


def _deck(ranks: str) -> tuple[str, ...]:
    return tuple(rank + suit for rank in ranks for suit in SUITS)


DECK_KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType({"standard52": _deck(RANKS), "short36": _deck(RANKS[4:])})
"""Each deck kind's reference order: rank ascending, then clubs, diamonds, hearts, spades (PROTOCOL.md, section 2)."""
