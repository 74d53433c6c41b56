"""What a hand is called: "two pair, kings and sevens, ace kicker"."""

from collections.abc import Sequence

from dealer.core.cards import RANKS

_NAMES = dict(
    zip(
        RANKS,
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace"],
        strict=True,
    )
)


def high_name(five: Sequence[str]) -> str:
    """Names a high hand of exactly five cards."""
    held = [RANKS.index(card[0]) for card in five]
    groups = sorted([(held.count(rank), rank) for rank in set(held)], reverse=True)
    shape = [count for count, _ in groups]
    ranks = [RANKS[rank] for _, rank in groups]
    if len(ranks) == 5:
        return _unpaired_name(five, ranks)
    match shape:
        case [4, 1]:
            return f"four of a kind, {rank_names(ranks[0])}, {_kickers(ranks[1:])}"
        case [3, 2]:
            return f"full house, {rank_names(ranks[0])} over {rank_names(ranks[1])}"
        case [3, 1, 1]:
            return f"three of a kind, {rank_names(ranks[0])}, {_kickers(ranks[1:])}"
        case [2, 2, 1]:
            return f"two pair, {rank_names(ranks[0])} and {rank_names(ranks[1])}, {_kickers(ranks[2:])}"
        case _:
            return f"pair, {rank_names(ranks[0])}, {_kickers(ranks[1:])}"


def low_name(five: Sequence[str]) -> str:
    """Names a low of exactly five cards: "low, eight six four two ace"."""
    ranks = sorted((card[0] for card in five), key=("A" + RANKS[:-1]).index, reverse=True)
    return "low, " + " ".join(_NAMES[rank] for rank in ranks)


def _unpaired_name(five: Sequence[str], ranks: Sequence[str]) -> str:
    """Names five different ranks, given from the highest down."""
    flush = len({card[1] for card in five}) == 1
    wheel = "".join(ranks) == "A5432"
    top = "five" if wheel else _NAMES[ranks[0]]
    if wheel or RANKS.index(ranks[0]) - RANKS.index(ranks[4]) == 4:
        if not flush:
            return f"straight, {top} high"
        return "royal flush" if top == "ace" else f"straight flush, {top} high"
    rest = " ".join(_NAMES[rank] for rank in ranks[1:])
    return f"{'flush' if flush else 'high card'}, {top} {rest}"


def rank_name(rank: str) -> str:
    """Names a rank: "king"."""
    return _NAMES[rank]


def rank_names(rank: str) -> str:
    """Names several cards of a rank: "kings"."""
    return "sixes" if rank == "6" else f"{_NAMES[rank]}s"


def _kickers(ranks: Sequence[str]) -> str:
    """Returns the cards beside the pair or trips, which decide between equals."""
    names = [_NAMES[rank] for rank in ranks]
    if len(names) == 1:
        return f"{names[0]} kicker"
    return f"{', '.join(names[:-1])} and {names[-1]} kickers"
