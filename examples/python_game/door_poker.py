"""Door poker: a game of one file on top of `dealer.client`, as a room's backend would write it.

Everybody antes one chip and gets third and fourth street of Seven Card Stud. The seat with the lowest door card has to
say first whether it stays; then everybody, in dealing order. Who stays puts two more chips in and gets fifth street.
The best hand showing then takes the pot; equal hands share it, the odd chip going to the first of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dealer.client import SyncClient, SyncHand

RANKS = "23456789TJQKA"
ANTE, STAY = 1, 2
Decide = Callable[[int, list[str]], bool]
"""Asked with a seat and its own cards: whether it stays."""


@dataclass(frozen=True)
class Result:
    """How a round ended: what each seat won or lost, who takes the pot, and the log entry that reveals the deck."""

    chips: Mapping[int, int]
    winners: tuple[int, ...]
    close_index: int


def play_round(client: SyncClient, table: str, seats: list[int], decide: Decide) -> Result:
    """Plays one round. Whatever goes wrong at our table, the hand does not stay open: it is given up as a misdeal."""
    hand = client.open_hand(table, seats)
    try:
        return _play(hand, seats, decide)
    except BaseException:
        if hand.closed is None:
            hand.void("misdeal")
        raise


def _play(hand: SyncHand, seats: list[int], decide: Decide) -> Result:
    chips = dict.fromkeys(seats, -ANTE)
    hand.deal_street("third")
    first = hand.opener.seat
    hand.deal_street("fourth")
    at = seats.index(first)
    for seat in seats[at:] + seats[:at]:
        if len(hand.seats) > 1 and not decide(seat, [str(card) for card in hand.cards_of(seat)]):
            hand.fold(seat)
    for seat in hand.seats:
        chips[seat] -= STAY
    if len(hand.seats) > 1:
        hand.deal_street("fifth")
        shown = {seat: showing(hand, seat) for seat in hand.seats}
        winners = tuple(seat for seat in hand.seats if shown[seat] == max(shown.values()))
        for street in ("sixth", "seventh"):  # stud is dealt to its end before it may be closed
            hand.deal_street(street)
    else:
        winners = hand.seats
    closed = hand.close()
    pot = -sum(chips.values())
    for place, seat in enumerate(winners):
        chips[seat] += pot // len(winners) + (place < pot % len(winners))
    return Result(chips, winners, closed.index)


def showing(hand: SyncHand, seat: int) -> tuple[list[int], list[int]]:
    """The value of a seat's up cards: pairs and better first, then high cards."""
    ranks = [RANKS.index(card.name[0]) for card in hand.cards_of(seat) if card.face == "up"]
    groups = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    return [count for count, _ in groups], [rank for _, rank in groups]
