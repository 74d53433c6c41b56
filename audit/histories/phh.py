"""PHH, the open notation for poker hands: one hand a file (`.phh`), or numbered sections (`.phhs`)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from audit.histories.third_street import Dealt, HistoryError, OtherGame, card_index, dealt

STUD = ("F7S", "F7S/8", "FR")
"""Seven card stud, with Hi/Lo, and razz, all of which deal third street alike."""

_SECTION = re.compile(r"^\s*\[\s*\"?[^\]\"]+\"?\s*\]\s*(#.*)?$")
_VARIANT = re.compile(r"^\s*variant\s*=", re.MULTILINE)
_DEAL = re.compile(r"d dh p([1-9][0-9]*) (\S+)")
_CARD = re.compile(r"\?\?|.[cdhs]")


def is_phh(text: str) -> bool:
    """Tells whether a text is in this notation: each hand names its variant."""
    return _VARIANT.search(text) is not None


def hands(text: str) -> Iterator[tuple[int, str]]:
    """Yields the first line, from 1, and the text of each hand."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    if not starts:
        yield 1, text
        return
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start + 2, "".join(lines[start + 1 : end])


def read(text: str, line: int) -> Dealt:
    """Reads one hand, whose text begins at a line of its file.

    Raises:
        HistoryError: it is no TOML, or third street is not told as the notation has it.
        OtherGame: it is no stud.
    """
    try:
        hand = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"at line (\d+)", str(error))
        raise HistoryError(line + (int(found[1]) - 1 if found else 0), f"no TOML: {error}") from None
    variant = hand.get("variant")
    if not isinstance(variant, str):
        raise HistoryError(line, "the hand names no variant")
    if variant not in STUD:
        raise OtherGame(variant)
    actions, antes = hand.get("actions"), hand.get("antes")
    if not isinstance(actions, list) or not all(isinstance(each, str) for each in actions):
        raise HistoryError(line, "`actions` is no list of texts")
    if not isinstance(antes, list):
        raise HistoryError(line, "`antes` is no list, so how many were dealt in is not known")
    at = line + text[: text.find("actions")].count("\n")
    return dealt(_name(hand), _seats(actions, _players(hand, len(antes), line), at), at)


def _name(hand: dict[str, Any]) -> str:
    name = hand.get("hand", "")
    return " ".join(str(each) for each in (hand.get("venue"), hand.get("table"), name) if each) if name else ""


def _players(hand: dict[str, Any], count: int, line: int) -> list[str]:
    players = hand.get("players", [""] * count)
    if not isinstance(players, list) or len(players) != count or not all(isinstance(each, str) for each in players):
        raise HistoryError(line, "`players` is no list of names as long as `antes`")
    return players


def _seats(actions: list[str], players: list[str], line: int) -> list[tuple[str, list[int], int]]:
    """Gathers what was dealt before anybody acted."""
    cards: dict[int, list[str]] = {}
    for action in actions:
        bare = action.partition("#")[0].strip()
        if not bare:
            continue
        found = _DEAL.fullmatch(bare)
        if found is None:
            break
        given = _CARD.findall(found[2])
        if "".join(given) != found[2]:
            raise HistoryError(line, f"{found[2][:20]!a} are no cards")
        cards.setdefault(int(found[1]), []).extend(given)
    if sorted(cards) != list(range(1, len(players) + 1)):
        raise HistoryError(line, f"third street was not dealt to all of {len(players)} players")
    seats = []
    for player, three in sorted(cards.items()):
        if len(three) != 3 or three[2] == "??" or three[:2].count("??") == 1:
            raise HistoryError(line, f"p{player}'s third street is not two cards down and one up")
        try:
            down = [] if three[0] == "??" else [card_index(card) for card in three[:2]]
            seats.append((players[player - 1], down, card_index(three[2])))
        except ValueError as error:
            raise HistoryError(line, str(error)) from None
    return seats
