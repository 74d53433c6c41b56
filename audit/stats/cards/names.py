"""Names of cards and ranks by their index in the reference order (PROTOCOL.md section 2)."""

_RANKS = "23456789TJQKA"
_SUITS = "cdhs"


def rank_name(rank: int, n: int) -> str:
    """Returns the rank's character in a deck of n = 4 k cards: the k highest ranks."""
    return _RANKS[len(_RANKS) - n // 4 + rank] if 0 < n // 4 <= len(_RANKS) else f"rank {rank}"


def card_name(card: int, n: int) -> str:
    """Returns two characters for 52 and 36 cards; `card 17` for decks without ranks and suits."""
    if n % 4 or n > len(_RANKS) * len(_SUITS):
        return f"card {card}"
    return rank_name(card >> 2, n) + _SUITS[card & 3]
