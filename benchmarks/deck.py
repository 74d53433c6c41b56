"""One certified deck against the plain shuffle that a careful room would use without certification."""

import os
import random
import uuid

from benchmarks.rounds import medians, seconds_per_call
from benchmarks.row import Row
from dealer.core.cards import DECK_KINDS
from dealer.core.deck import Deck, derive_deck
from dealer.core.seed import draw_seed, entropy_digest

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

    ours, other = medians(
        lambda: seconds_per_call(certified, CALLS),
        lambda: seconds_per_call(plain, CALLS),
        rounds=ROUNDS,
    )
    return [Row.of("certified deck against SystemRandom().shuffle", 1e6 * ours, 1e6 * other, "us/deck", goal=1.0)]
