"""From a seed to a committed deck: shuffle, salts and commitments (PROTOCOL.md, sections 4 and 5)."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from dealer.core.cards import DECK_KINDS, MAX_DECK
from dealer.core.seed import Seed, tag

SALT_BYTES = 32
_POSITIONS = tuple(p.to_bytes(2, "big") for p in range(MAX_DECK))
_LIMITS = (0, *(65536 - 65536 % bound for bound in range(1, MAX_DECK + 1)))
_SHUFFLE, _SALTS, _CARD, _DECK = tag("shuffle"), tag("salts"), tag("card"), tag("deck")
_SPARE_WORDS = 13  # some hand in 60 meets a refused word; none in a lifetime meets this many


@dataclass(frozen=True, slots=True)
class Deck:
    """A deck with its salts and commitments. Secret until the hand closes, but for what is dealt."""

    cards: tuple[str, ...] = field(repr=False)
    salts: bytes = field(repr=False)
    card_commitments: bytes = field(repr=False)
    commitment: bytes

    def salt(self, position: int) -> bytes:
        """Returns the 32-byte salt of a position."""
        return self.salts[SALT_BYTES * position : SALT_BYTES * (position + 1)]


def shuffle(reference: Sequence[str], material: bytes) -> tuple[str, ...]:
    """Returns the cards of `reference` (2 to 64) in the order that `material` gives (PROTOCOL.md, section 4).

    Words at or above the largest multiple of the bound are refused, so that every swap is exactly equally likely.
    """
    cards = list(reference)
    count = len(cards) + _SPARE_WORDS
    words = _words(material, count)
    at = 0
    for i in range(len(cards) - 1, 0, -1):
        bound = i + 1
        limit = _LIMITS[bound]
        while True:
            if at == count:
                count *= 2
                words = _words(material, count)
            word = words[at]
            at += 1
            if word < limit:
                break
        j = word % bound
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards)


def _words(material: bytes, count: int) -> tuple[int, ...]:
    return struct.unpack(f">{count}H", hashlib.shake_256(_SHUFFLE + material).digest(2 * count))


def derive_deck(kind: str, hand: bytes, digest: bytes, seed: Seed) -> Deck:
    """Derives the deck of a hand.

    Args:
        kind: a deck kind of `DECK_KINDS`.
        hand: the 16 bytes of the hand's UUID.
        digest: the entropy digest, 32 bytes.
        seed: the hand's seed.
    """
    material = hand + digest + seed.value
    return commit_deck(shuffle(DECK_KINDS[kind], material), hand, material)


def commit_deck(cards: tuple[str, ...], hand: bytes, material: bytes) -> Deck:
    """Salts and commits cards that lie in their final order (PROTOCOL.md, section 5)."""
    sha256 = hashlib.sha256
    salts = hashlib.shake_256(_SALTS + material).digest(SALT_BYTES * len(cards))
    prefix = _CARD + hand
    faces = "".join(cards).encode("ascii")
    commitments = b"".join(
        [
            sha256(prefix + _POSITIONS[p] + faces[2 * p : 2 * p + 2] + salts[32 * p : 32 * p + 32]).digest()
            for p in range(len(cards))
        ]
    )
    commitment = sha256(_DECK + hand + len(cards).to_bytes(2, "big") + commitments).digest()
    return Deck(cards, salts, commitments, commitment)
