"""What the person holds so far, in words: "pair of kings, so far"."""

from collections.abc import Sequence

from dealer.core.cards import RANKS
from dealer.table.naming import high_name, low_name, rank_name, rank_names
from dealer.table.reading import high_five, high_value, low_five, low_value

_HAND = 7


def held(cards: Sequence[str], *, hi_lo: bool) -> str:
    """Names the best hand in one to seven cards, and in Hi/Lo the low, or that there is none yet.

    From five cards on it is the name that the referee would give at a showdown.
    """
    names = [_high(cards)]
    if hi_lo:
        names.append(low_name(low_five(cards)) if low_value(cards) is not None else "no low")
    return "; ".join(names) + (", so far" if len(cards) < _HAND else "")


def _high(cards: Sequence[str]) -> str:
    if len(cards) >= 5:
        return high_name(high_five(cards, high_value(cards)))
    ranks = [card[0] for card in cards]
    groups = sorted({(ranks.count(rank), RANKS.index(rank)) for rank in ranks}, reverse=True)
    (count, best), *rest = groups
    match count, [other for other, _ in rest]:
        case 4, _:
            return f"four of a kind, {rank_names(RANKS[best])}"
        case 3, _:
            return f"three of a kind, {rank_names(RANKS[best])}"
        case 2, [2]:
            return f"two pair, {rank_names(RANKS[best])} and {rank_names(RANKS[rest[0][1]])}"
        case 2, _:
            return f"pair of {rank_names(RANKS[best])}"
        case _:
            return f"{rank_name(RANKS[best])} high"
