"""One certified deck against the plain shuffle of a careful room, and against the hashes that it cannot do without."""

import hashlib
import os
import random
import uuid
from collections.abc import Callable

from benchmarks.rounds import medians, seconds_per_call
from benchmarks.row import Row
from dealer.core.cards import DECK_KINDS
from dealer.core.deck import Deck, derive_deck
from dealer.core.seed import Seed, draw_seed, entropy_digest, tag

CALLS = 1_000
ROUNDS = 15


def rows() -> list[Row]:
    """A deck with everything that its commit entry says of it, beside `random.SystemRandom().shuffle` of 52 cards."""
    reference = DECK_KINDS["standard52"]
    hand = uuid.uuid4().bytes

    def certified() -> tuple[bytes, bytes, Deck]:
        """Seed, its commitment, entropy digest, shuffle, salts, 52 card commitments, deck commitment."""
        seed = draw_seed(os.urandom)
        digest = entropy_digest(hand, ())
        return seed.commitment(hand), digest, derive_deck("standard52", hand, digest, seed)

    def plain() -> list[str]:
        cards = list(reference)
        random.SystemRandom().shuffle(cards)
        return cards

    floor = _floor(hand)
    ours, other, hashes = medians(
        lambda: seconds_per_call(certified, CALLS),
        lambda: seconds_per_call(plain, CALLS),
        lambda: seconds_per_call(floor, CALLS),
        rounds=ROUNDS,
    )
    return [
        Row.of("certified deck against SystemRandom().shuffle", 1e6 * ours, 1e6 * other, "us/deck", goal=1.0),
        Row.of("certified deck against its bare hashes and swaps", 1e6 * ours, 1e6 * hashes, "us/deck", goal=1.35),
    ]


def _floor(hand: bytes) -> Callable[[], None]:
    """The random bytes, hashes and swaps of a certified deck on inputs that are ready, and nothing else."""
    reference, seed = list(DECK_KINDS["standard52"]), Seed(os.urandom(64))
    deck = derive_deck("standard52", hand, entropy_digest(hand, ()), seed)
    material = hand + entropy_digest(hand, ()) + seed.value
    shakes = [(tag("shuffle") + material, 128), (tag("salts") + material, len(deck.salts))]
    hashed = [
        tag("seed") + hand + seed.value,
        tag("entropy") + hand + bytes(2),
        tag("deck") + hand + (52).to_bytes(2, "big") + deck.card_commitments,
        *(tag("card") + hand + p.to_bytes(2, "big") + c.encode() + deck.salt(p) for p, c in enumerate(deck.cards)),
    ]
    swaps = [(i, i // 2) for i in range(51, 0, -1)]

    def floor() -> None:
        os.urandom(64)
        for data, length in shakes:
            hashlib.shake_256(data).digest(length)
        for data in hashed:
            hashlib.sha256(data).digest()
        cards = list(reference)
        for i, j in swaps:
            cards[i], cards[j] = cards[j], cards[i]

    return floor
