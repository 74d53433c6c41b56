"""The derivations of PROTOCOL.md sections 1 to 5 and 8, written from that page alone: the second implementation.

Everything here is a pure function from bytes to bytes. Hands are the 16 raw bytes of their UUID, seeds and salts raw
bytes, cards two ASCII characters. The dealer has its own copy of these rules; the two share no code on purpose.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import add

RANKS = "23456789TJQKA"
SUITS = "cdhs"

HASH_BYTES = 32
SEED_BYTES = 64
SALT_BYTES = 32
ESCROW_BYTES = 32 + 80
WORD_RANGE = 65536
BLOCK_BYTES = 136

DECKS: dict[str, tuple[str, ...]] = {
    "standard52": tuple(rank + suit for rank in RANKS for suit in SUITS),
    "short36": tuple(rank + suit for rank in RANKS[4:] for suit in SUITS),
}
"""Deck kinds by name, each in its reference order (section 2)."""


def tag(name: str) -> bytes:
    """Returns the domain tag that begins every hash (section 1)."""
    return b"cutcard/v1/" + name.encode("ascii") + b"\0"


def u16(value: int) -> bytes:
    """Returns two bytes, big-endian."""
    return value.to_bytes(2, "big")


def lp(data: bytes) -> bytes:
    """Returns `data` with its length before it."""
    return u16(len(data)) + data


_SEED = tag("seed")
_SHUFFLE = tag("shuffle")
_SALTS = tag("salts")
_CARD = tag("card")
_DECK = tag("deck")
_POSITIONS = tuple(u16(position) for position in range(64))


def sha256(data: bytes) -> bytes:
    """Returns the SHA-256 of `data`."""
    return hashlib.sha256(data).digest()


def seed_commitment(hand: bytes, seed: bytes) -> bytes:
    """Returns the commitment to a hand's seed (section 3)."""
    return hashlib.sha256(_SEED + hand + seed).digest()


def contribution_preimage(table: str, number: int, contributor: str, value: bytes) -> bytes:
    """Returns what a contributor hashes before the hand is opened (section 3)."""
    place = lp(table.encode("ascii")) + number.to_bytes(8, "big")
    return tag("contribution") + place + lp(contributor.encode("ascii")) + value


def entropy_preimage(hand: bytes, contributions: Iterable[tuple[str, bytes]]) -> bytes:
    """Returns what the entropy digest is the hash of: contributors and values in the offer's order (section 3)."""
    taken = [lp(contributor.encode("ascii")) + value for contributor, value in contributions]
    return tag("entropy") + hand + u16(len(taken)) + b"".join(taken)


def entropy_digest(hand: bytes, contributions: Iterable[tuple[str, bytes]]) -> bytes:
    """Returns the digest of everything that others contributed (section 3)."""
    return sha256(entropy_preimage(hand, contributions))


def material(hand: bytes, digest: bytes, seed: bytes) -> bytes:
    """Returns what deck and salts are drawn from (section 4)."""
    return hand + digest + seed


@lru_cache(maxsize=8)
def steps(cards: int) -> tuple[tuple[int, int, int], ...]:
    """For each swap of the shuffle: index `i`, `b = i + 1`, and the limit that words must stay below."""
    return tuple((i, i + 1, WORD_RANGE - WORD_RANGE % (i + 1)) for i in range(cards - 1, 0, -1))


def word_stream(source: bytes, amount: int) -> bytes:
    """Returns the first bytes of the shuffle's word stream, two to a word (section 4)."""
    return hashlib.shake_256(_SHUFFLE + source).digest(amount)


def shuffle(reference: Sequence[str], source: bytes) -> list[str]:
    """Returns the deck that `source` (the hand's material) gives, top first (section 4).

    Args:
        reference: 2 to 64 distinct cards in reference order.
        source: hand, entropy digest and seed joined.
    """
    deck = list(reference)
    stream = words(source)
    for i, b, limit in steps(len(deck)):
        for word in stream:
            if word < limit:
                break
        j = word % b
        deck[i], deck[j] = deck[j], deck[i]
    return deck


def words(source: bytes) -> Iterator[int]:
    """Yields the shuffle's words, as many as anybody asks for.

    One block of SHAKE256 is 68 words: enough for 51 swaps and seventeen refusals. The rest waits until it is needed.
    """
    return chain(struct.unpack(">68H", word_stream(source, BLOCK_BYTES)), _later_words(source))


def _later_words(source: bytes) -> Iterator[int]:
    amount = BLOCK_BYTES
    while True:
        stream = word_stream(source, 2 * amount)
        yield from struct.unpack(f">{amount // 2}H", stream[amount:])
        amount *= 2


def salts(source: bytes, cards: int) -> bytes:
    """Returns the salts of all positions, 32 bytes each, joined (section 5)."""
    return hashlib.shake_256(_SALTS + source).digest(SALT_BYTES * cards)


def card_preimage(hand: bytes, position: int, card: str, salt: bytes) -> bytes:
    """Returns what a card commitment is the hash of (section 5)."""
    return _CARD + hand + u16(position) + card.encode("ascii") + salt


def card_commitment(hand: bytes, position: int, card: str, salt: bytes) -> bytes:
    """Returns the commitment to the card at one position (section 5)."""
    return sha256(card_preimage(hand, position, card, salt))


def card_commitments(hand: bytes, deck: Sequence[str], all_salts: bytes) -> bytes:
    """Returns the commitments to all cards of a deck, joined (section 5)."""
    prefix = _CARD + hand
    hashed = hashlib.sha256
    faces = "".join(deck).encode("ascii")
    cards = map(add, _POSITIONS, struct.unpack("2s" * len(deck), faces))
    each = struct.unpack("32s" * len(deck), all_salts)
    return b"".join([hashed(prefix + card + salt).digest() for card, salt in zip(cards, each, strict=True)])


def deck_preimage(hand: bytes, commitments: bytes) -> bytes:
    """Returns what a deck commitment is the hash of (section 5)."""
    return _DECK + hand + u16(len(commitments) // HASH_BYTES) + commitments


def deck_commitment(hand: bytes, commitments: bytes) -> bytes:
    """Returns the commitment to a whole deck, from its card commitments joined (section 5)."""
    return sha256(deck_preimage(hand, commitments))


def escrow_key_id(public_key: bytes) -> bytes:
    """Returns the 8 bytes by which an entry names an escrow key (section 8)."""
    return sha256(public_key)[:8]


def escrow_info(hand: bytes, commitment: bytes) -> bytes:
    """HPKE's `info` for a hand's escrow (section 8)."""
    return tag("escrow") + hand + commitment


def escrow_preimage(hand: bytes, ciphertext: bytes) -> bytes:
    """Returns what an escrow digest is the hash of (section 8)."""
    return tag("escrow-digest") + hand + ciphertext


def escrow_digest(hand: bytes, ciphertext: bytes) -> bytes:
    """Returns the digest of an escrow ciphertext, logged before the first card (section 8)."""
    return sha256(escrow_preimage(hand, ciphertext))
