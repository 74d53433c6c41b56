"""Simple seats: they play what they hold, and nothing but that."""

from collections.abc import Sequence

from dealer.games.showing import showing_value
from dealer.v1 import table_pb2 as pb

_FREE = (pb.ACTION_CHECK, pb.ACTION_BRING_IN)
_WAGERS = (pb.ACTION_COMPLETE, pb.ACTION_BET, pb.ACTION_RAISE)
_HIGH_CARDS = "TJQKA"


def choose(options: Sequence[pb.ActionOption], cards: Sequence[str]) -> pb.ActionOption:
    """Chooses what a simple seat does: it wagers with two pair or better, stays with a pair or high cards, else folds.

    Args:
        options: what it may do.
        cards: its own cards, down and up.
    """
    counts, _ = showing_value(cards)
    strong = counts[0] > 2 or counts[:2] == (2, 2) or (counts[0] == 2 and len(cards) == 3)
    stays = counts[0] == 2 or sum(card[0] in _HIGH_CARDS for card in cards) > 1
    if strong and (wager := _first(options, _WAGERS)):
        return wager
    if free := _first(options, _FREE):
        return free
    wanted = (pb.ACTION_CALL,) if strong or stays else (pb.ACTION_FOLD,)
    return _first(options, wanted) or options[0]


def _first(options: Sequence[pb.ActionOption], actions: Sequence[int]) -> pb.ActionOption | None:
    return next((option for option in options if option.action in actions), None)
