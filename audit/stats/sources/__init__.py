"""Where decks come from: logs, text files, arrays and standard input, as one stream (API.md, SOURCE)."""

from audit.stats.sources.cards import DECK_KINDS, SHORT36, STANDARD52, DeckKind, are_permutations
from audit.stats.sources.logs import log_opener
from audit.stats.sources.opening import open_source
from audit.stats.sources.order import INDEXES, read_indexes, read_order

__all__ = [
    "DECK_KINDS",
    "INDEXES",
    "SHORT36",
    "STANDARD52",
    "DeckKind",
    "are_permutations",
    "log_opener",
    "open_source",
    "read_indexes",
    "read_order",
]
