"""Awards pots among the hands that were shown, and cuts them in whole chips (STUD.md, section 6)."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from dealer.table.naming import high_name, low_name
from dealer.table.pots import Pot
from dealer.table.reading import high_five, high_order, high_value, low_five, low_order, low_value


class Half(StrEnum):
    """Which hand wins: the best high, which takes whole pots as well, or the best low."""

    HIGH = "high"
    LOW = "low"


class Winner(NamedTuple):
    """One winner of a half: its five cards, highest first, and the hand's name; both empty where it need not show."""

    seat: int
    cards: tuple[str, ...]
    name: str
    share: int


class Award(NamedTuple):
    """What was won of one pot with one half: `pot` counts from 0, the main pot; winners get odd chips first to last."""

    pot: int
    half: Half
    amount: int
    winners: tuple[Winner, ...]


class Hand(NamedTuple):
    """A hand that lies open: its seven cards, the board card among them, and their values (`reading`)."""

    cards: tuple[str, ...]
    high: int
    low: int | None


def read_hand(cards: Sequence[str], *, hi_lo: bool) -> Hand:
    """Reads seven cards; a low counts in Hi/Lo only."""
    return Hand(tuple(cards), high_value(cards), low_value(cards) if hi_lo else None)


def wins_a_part(hand: Hand, seat: int, shown: Mapping[int, Hand], pots: Sequence[Pot]) -> bool:
    """Tells whether a hand wins or ties any part of any pot against the hands shown so far."""
    for pot in pots:
        if seat in pot.eligible:
            others = [shown[other] for other in pot.eligible if other in shown]
            lows = [other.low for other in others if other.low is not None]
            if hand.high >= max([other.high for other in others], default=hand.high):
                return True
            if hand.low is not None and hand.low >= max(lows, default=hand.low):
                return True
    return False


def award_pots(pots: Sequence[Pot], shown: Mapping[int, Hand], chip: int) -> tuple[Award, ...]:
    """Awards each pot on its own, among the hands shown of the seats eligible for that pot.

    Args:
        pots: the pots, the main pot first.
        shown: the hands that lie open; who mucked wins nothing.
        chip: the smallest chip in play.
    """
    awards: list[Award] = []
    for index, pot in enumerate(pots):
        hands = {seat: shown[seat] for seat in pot.eligible if seat in shown}
        lows = {seat: hand.low for seat, hand in hands.items() if hand.low is not None}
        highs = {seat: hand.high for seat, hand in hands.items()}
        # An odd chip goes to the high half.
        low_half = pot.amount // 2 // chip * chip if lows else 0
        high_half = pot.amount - low_half
        fives = {seat: high_five(hands[seat].cards, hands[seat].high) for seat in _best(highs)}
        awards.append(Award(index, Half.HIGH, high_half, _winners(high_half, fives, high_order, high_name, chip)))
        if lows:
            fives = {seat: low_five(hands[seat].cards) for seat in _best(lows)}
            awards.append(Award(index, Half.LOW, low_half, _winners(low_half, fives, low_order, low_name, chip)))
    return tuple(awards)


def _best(values: Mapping[int, int]) -> list[int]:
    """Returns the seats of the greatest value."""
    best = max(values.values())
    return [seat for seat, value in values.items() if value == best]


def _winners(
    amount: int,
    fives: Mapping[int, tuple[str, ...]],
    order: Callable[[Sequence[str]], list[int]],
    name: Callable[[Sequence[str]], str],
    chip: int,
) -> tuple[Winner, ...]:
    """Splits an amount among tied seats, in the order in which they get odd chips."""
    tied = sorted(fives, key=lambda seat: order(fives[seat]), reverse=True)
    shares = split(amount, len(tied), chip)
    return tuple(Winner(seat, fives[seat], name(fives[seat]), share) for seat, share in zip(tied, shares, strict=True))


def split(amount: int, ways: int, chip: int) -> tuple[int, ...]:
    """Cuts an amount in equal shares of whole chips; odd chips go one by one to the first shares.

    An amount that is no multiple of the chip, from a stack that was none, leaves less than a chip over: it comes last.

        >>> split(100, 3, 5)
        (35, 35, 30)
    """
    share = amount // ways // chip * chip
    odd = amount - share * ways
    shares = []
    for _ in range(ways):
        more = min(chip, odd)
        odd -= more
        shares.append(share + more)
    return tuple(shares)
