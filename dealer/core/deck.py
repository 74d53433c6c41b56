"""From a seed to a committed deck: shuffle, salts and commitments (PROTOCOL.md, sections 4 and 5)."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import getitem

from dealer.core.cards import DECK_KINDS, MAX_DECK
from dealer.core.seed import Seed, tag

HAND_BYTES = 16
SALT_BYTES = 32
_SIZES = sorted(len(reference) for reference in DECK_KINDS.values())
_LIMITS = (0, *(65536 - 65536 % bound for bound in range(1, MAX_DECK + 1)))
"""For each bound the limit from which on a word is refused."""
_PLACES = tuple(
    {card: p.to_bytes(2, "big") + card.encode("ascii") for reference in DECK_KINDS.values() for card in reference}
    for p in range(_SIZES[-1])
)
"""For each position and card `u16(position) || card`."""
_WORDS = 64  # one block of SHAKE256 and enough for 52 cards; one hand in 60 meets a refused word, hardly any needs more
_SHUFFLE, _SALTS, _CARD, _DECK = tag("shuffle"), tag("salts"), tag("card"), tag("deck")
_MESSAGE_BYTES = len(_CARD) + HAND_BYTES + 2 + 2 + SALT_BYTES
_FORMATS = {n: tuple(struct.Struct(f"{size}s" * n).unpack for size in (SALT_BYTES, _MESSAGE_BYTES)) for n in _SIZES}
"""For each size of a deck, what cuts its salts apart, and its cards' messages."""


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

    def card_commitment(self, position: int) -> bytes:
        """Returns the 32-byte card commitment of a position."""
        return self.card_commitments[SALT_BYTES * position : SALT_BYTES * (position + 1)]


def shuffle(reference: Sequence[str], material: bytes) -> tuple[str, ...]:
    """Returns the cards of a deck kind in the order that `material` gives (PROTOCOL.md, section 4).

    Words at or above the largest multiple of the bound are refused, so that every swap is exactly equally likely.
    """
    data, words, limits = _SHUFFLE + material, _WORDS, _LIMITS
    while True:
        cards, bound = list(reference), len(reference)
        for word in struct.unpack(f">{words}H", hashlib.shake_256(data).digest(2 * words)):
            if word < limits[bound]:
                j = word % bound
                bound -= 1
                cards[bound], cards[j] = cards[j], cards[bound]
                if bound == 1:
                    return tuple(cards)
        words *= 2  # so many were refused that the deck is shuffled again with the same words and more of them


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
    sha256, count = hashlib.sha256, len(cards)
    salts = hashlib.shake_256(_SALTS + material).digest(SALT_BYTES * count)
    split_salts, split_messages = _FORMATS[count]
    parts = [_CARD + hand] * (3 * count)  # of all messages, laid out and cut as a whole: the fewest steps a card
    parts[1::3] = map(getitem, _PLACES, cards)
    parts[2::3] = split_salts(salts)
    commitments = b"".join([sha256(message).digest() for message in split_messages(b"".join(parts))])
    commitment = sha256(_DECK + hand + count.to_bytes(2, "big") + commitments).digest()
    return Deck(cards, salts, commitments, commitment)
