"""Third street of one hand of stud as a history tells it: the last cards that nobody's play has selected."""

from __future__ import annotations

from dataclasses import dataclass

Cards = tuple[int, ...]
"""Card indexes in the reference order, 0 for the deuce of clubs to 51 for the ace of spades."""

RANKS = "23456789TJQKA"
SUITS = "cdhs"


class HistoryError(Exception):
    """A hand that is told wrongly. `line` counts from 1 within the text that was read."""

    def __init__(self, line: int, detail: str) -> None:
        super().__init__(detail)
        self.line, self.detail = line, detail


class OtherGame(Exception):
    """A hand of another game; its message names that."""


@dataclass(frozen=True, slots=True)
class Dealt:
    """What one hand's history says of third street.

    Attributes:
        name: the hand's own name, empty if it has none.
        players: who was dealt in, in the order of the history; empty texts where it names nobody.
        doors: each one's up card.
        holes: each one's two down cards as they were told at the deal, None where they were not.
    """

    name: str
    players: tuple[str, ...]
    doors: Cards
    holes: tuple[Cards | None, ...]


def card_index(text: str) -> int:
    """Returns the index of a card such as `Td` or `10d`; ranks and suits in either case.

    Raises:
        ValueError: it is no card.
    """
    rank, suit = text[:-1].upper().replace("10", "T"), text[-1:].lower()
    if len(rank) != 1 or rank not in RANKS or suit not in SUITS or not suit:
        raise ValueError(f"{text[:20]!a} is no card")
    return RANKS.index(rank) * 4 + SUITS.index(suit)


def card_name(index: int) -> str:
    """Returns the name of a card."""
    return RANKS[index // 4] + SUITS[index % 4]


def dealt(name: str, seats: list[tuple[str, list[int], int]], line: int) -> Dealt:
    """Puts third street together from player, down cards (two, or none that are known) and up card of each seat.

    Raises:
        HistoryError: fewer than two or more than eight seats, a player twice, or a card twice.
    """
    if not 2 <= len(seats) <= 8:
        raise HistoryError(line, f"{len(seats)} seats were dealt third street: stud has two to eight")
    cards = [card for _, down, up in seats for card in (*down, up)]
    if len(set(cards)) < len(cards):
        twice = next(card for card in cards if cards.count(card) > 1)
        raise HistoryError(line, f"the {card_name(twice)} was dealt twice")
    names = [player for player, _, _ in seats if player]
    if len(set(names)) < len(names):
        raise HistoryError(line, "one player was dealt two hands")
    holes = tuple(tuple(down) if len(down) == 2 else None for _, down, _ in seats)
    return Dealt(name, tuple(player for player, _, _ in seats), tuple(up for _, _, up in seats), holes)
