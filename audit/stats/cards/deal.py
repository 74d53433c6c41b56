"""Where seven card stud deals each seat's cards when nobody folds (PROTOCOL.md section 7)."""

from __future__ import annotations

TABLE_SIZES = range(2, 9)
"""Numbers of seats at a stud table."""

_DECK = 52


def third_street(seats: int, seat: int) -> tuple[int, int, int]:
    """Positions of a seat's two down cards and its door card; seats count from 0 in dealing order."""
    return seat, seats + seat, 2 * seats + seat


def seventh_street(seats: int, seat: int) -> tuple[int, ...]:
    """Positions of a seat's seven cards, the board card among them where eight seats are dealt to the end."""
    own = tuple(street * seats + seat for street in range(6))
    last = 6 * seats + seat if 7 * seats <= _DECK else 6 * seats
    return (*own, last)
