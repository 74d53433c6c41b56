"""Rooms that deal third street, fairly or not, and tell it as PHH or in the text that rooms write."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from audit.histories.third_street import card_name

Deal = Callable[[random.Random, int], list[int]]
"""The cards of so many seats in dealing order: one down to each, one more, one up; as many as three a seat."""


def fair(rng: random.Random, seats: int) -> list[int]:
    return rng.sample(range(52), 3 * seats)


def hands(seed: int, count: int, deal: Deal = fair) -> list[list[tuple[int, int, int]]]:
    """Third streets of two to eight seats: down, down, up of each."""
    rng, dealt = random.Random(seed), []
    for _ in range(count):
        seats = rng.randint(2, 8)
        cards = deal(rng, seats)
        dealt.append([(cards[seat], cards[seats + seat], cards[2 * seats + seat]) for seat in range(seats)])
    return dealt


def phh(number: int, seats: Sequence[tuple[int, int, int]], owner: int | None, variant: str = "F7S") -> str:
    """One hand as PHH, the down cards told of its owner alone (of everybody for -1)."""
    actions = []
    for seat, (one, two, up) in enumerate(seats):
        down = card_name(one) + card_name(two) if owner in (seat, -1) else "????"
        actions.append(f"d dh p{seat + 1} {down}{card_name(up)}")
    players = [f"'player {seat}'" if seat != owner else "'hero'" for seat in range(len(seats))]
    lines = (
        f"variant = '{variant}'",
        f"antes = [{', '.join(['1'] * len(seats))}]",
        "bring_in = 1",
        f"actions = [{', '.join(repr(action) for action in [*actions, 'p1 pb', 'd dh p1 2c'])}]",
        f"hand = {number}",
        f"players = [{', '.join(players)}]",
    )
    return "\n".join(lines) + "\n"


def text(number: int, seats: Sequence[tuple[int, int, int]], owner: int, game: str = "7 Card Stud Limit") -> str:
    """One hand in the text that most rooms write."""
    lines = [f"Some Room Hand #{number}:  {game} ($1/$2) - 2026/11/30 12:00:00 ET", "Table 'Adhara' 8-max"]
    lines += [f"Seat {seat + 1}: {_name(seat, owner)} ($40 in chips)" for seat in range(len(seats))]
    lines.append("*** 3rd STREET ***")
    for seat, (one, two, up) in enumerate(seats):
        shown = [card_name(one), card_name(two), card_name(up)] if seat == owner else [card_name(up)]
        lines.append(f"Dealt to {_name(seat, owner)} [{' '.join(shown)}]")
    lines += [
        f"{_name(0, owner)}: brings in for $0.50",
        "*** 4th STREET ***",
        "Dealt to hero [2c] [3c]",
        "*** SUMMARY ***",
    ]
    return "\n".join(lines) + "\n\n\n"


def _name(seat: int, owner: int) -> str:
    return "hero" if seat == owner else f"player [{seat}]"
