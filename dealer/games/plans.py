"""The games, as data: Seven Card Stud, Hi/Lo, and free-draw (PROTOCOL.md, section 7)."""

from collections.abc import Mapping
from types import MappingProxyType

from dealer.core.cards import DECK_KINDS
from dealer.core.hand import Face, Game, Street

_STREETS = (
    Street("third", (Face.DOWN, Face.DOWN, Face.UP)),
    Street("fourth", (Face.UP,)),
    Street("fifth", (Face.UP,)),
    Street("sixth", (Face.UP,)),
    Street("seventh", (Face.DOWN,), board_if_short=True),
)

SEVEN_CARD_STUD = Game("seven-card-stud", ("standard52",), 2, 8, _STREETS)
SEVEN_CARD_STUD_HI_LO = Game("seven-card-stud-hi-lo", ("standard52",), 2, 8, _STREETS)
FREE_DRAW = Game("free-draw", tuple(DECK_KINDS), 1, 23)

GAMES: Mapping[str, Game] = MappingProxyType(
    {game.name: game for game in (SEVEN_CARD_STUD, SEVEN_CARD_STUD_HI_LO, FREE_DRAW)}
)
"""Every game by its name in the log."""
