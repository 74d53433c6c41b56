"""What hands are worth, against an evaluator of another make and against every five-card hand."""

from itertools import combinations, pairwise

import numpy as np
from phevaluator import evaluate_cards

from audit.stats.cards.hands import CATEGORY_SHIFT, hand_worth
from audit.stats.nulls import CATEGORIES, category_counts

_CARD = np.uint64(1) << (
    np.uint64(16) * (np.arange(52, dtype=np.uint64) & np.uint64(3)) + (np.arange(52, dtype=np.uint64) >> np.uint64(2))
)
_NAMES = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


def _worths(hands: np.ndarray) -> np.ndarray:
    return hand_worth(np.bitwise_or.reduce(_CARD[hands], axis=1))


def test_every_five_card_hand_is_in_its_category() -> None:
    flat = np.fromiter((card for hand in combinations(range(52), 5) for card in hand), np.uint8)
    found = np.bincount(_worths(flat.reshape(-1, 5)) >> np.uint32(CATEGORY_SHIFT), minlength=len(CATEGORIES))
    assert tuple(found.tolist()) == category_counts(5).ways


def test_seven_cards_are_ranked_as_another_evaluator_ranks_them() -> None:
    rng = np.random.default_rng(7)
    # Few ranks and few suits make the rare hands common.
    hands = np.array([rng.permutation(size)[:7] for size in (52, 52, 24, 16) for _ in range(1500)])
    ours = _worths(hands)
    theirs = [evaluate_cards(*(_NAMES[card] for card in hand)) for hand in hands]
    ranked = sorted(zip(theirs, ours.tolist(), strict=True))
    for (worse, ours_of_better), (rank, ours_of_worse) in pairwise(ranked):
        assert (ours_of_better == ours_of_worse) == (worse == rank)
        assert ours_of_better >= ours_of_worse
