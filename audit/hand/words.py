"""The words of a shuffle (PROTOCOL.md section 4) as people follow and count them: which were taken, which refused."""

from __future__ import annotations

import struct
from functools import lru_cache
from operator import lt

from audit import protocol


@lru_cache(maxsize=8)
def _limits(cards: int) -> tuple[int, ...]:
    return tuple(limit for _, _, limit in protocol.steps(cards))


def words_used(cards: int, source: bytes) -> list[tuple[int, int, int, bool]]:
    """Every word that a shuffle takes, for people to follow: the word, `i`, `j`, and whether it was below the limit."""
    used = []
    stream = protocol.words(source)
    for i, b, limit in protocol.steps(cards):
        for word in stream:
            used.append((word, i, word % b, word < limit))
            if word < limit:
                break
    return used


def refused_words(cards: int, source: bytes) -> int:
    """Returns how many words a shuffle refuses, so that no card is favoured: none in 59 of 60 decks of 52 cards."""
    if all(map(lt, struct.unpack(">68H", protocol.word_stream(source, protocol.BLOCK_BYTES)), _limits(cards))):
        return 0
    return sum(not below for _, _, _, below in words_used(cards, source))
