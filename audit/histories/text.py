"""Hand histories as rooms write them for their players: English text, a line for each thing that happened.

Two forms are read. In the one that most rooms use, a hand begins with `ROOM Hand #NUMBER: 7 Card Stud …`, third street
with `*** 3rd STREET ***`, and each seat's cards stand in brackets after `Dealt to NAME`. In Cutcard's own, a hand
begins with `Hand UUID`, third street with `Third street`, and a seat's cards follow `Seat N:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.histories.third_street import Dealt, HistoryError, OtherGame, card_index, dealt

_FIRST = re.compile(r"^(?:\S.*?\b(?:Hand|Game|hand|game) #\s?(?P<number>[\w-]+)|Hand (?P<uuid>[0-9a-f-]{36})\s*$)")
_STUD = re.compile(r"\b(7|seven)[ -]?card[ -]?stud\b|\brazz\b|\bstud\b", re.IGNORECASE)
_OTHER = re.compile(r"\b(hold'?em|omaha|draw|badugi|courchevel|5[ -]?card)\b", re.IGNORECASE)
_STREET = re.compile(r"^\*\*\*\s*3rd street\s*\*\*\*|^third street\s*$", re.IGNORECASE)
_NEXT = re.compile(r"^\*\*\*|^(fourth|fifth|sixth|seventh) street\s*$|^showdown\s*$", re.IGNORECASE)
_CARDS = r"\[(?:(?:10|\w|\?)[\w?] ?){1,3}\]"
_DEALT = re.compile(rf"^Dealt to (?P<name>.+?) (?P<cards>{_CARDS}(?: {_CARDS})*)\s*$")
_SEAT = re.compile(r"^(?P<name>Seat \d+): (?P<cards>(?:(?:\?\?|[2-9TJQKA][cdhs]) ?){3})$")


def is_text(text: str) -> bool:
    """Tells whether a line of a text begins a hand."""
    return any(_FIRST.match(line) for line in text.splitlines())


def hands(text: str) -> Iterator[tuple[int, str]]:
    """Yields the first line, from 1, and the text of each hand; what stands before the first is passed over."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if _FIRST.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start + 1, "\n".join(lines[start:end])


def read(text: str, line: int) -> Dealt:
    """Reads one hand, whose text begins at a line of its file.

    Raises:
        HistoryError: there is no third street, or it is not told as rooms tell it.
        OtherGame: it is no stud.
    """
    lines = text.split("\n")
    first = _FIRST.match(lines[0])
    name = (first["number"] or first["uuid"] or "") if first else ""
    head = "\n".join(lines[:3])
    if not _STUD.search(head):
        other = _OTHER.search(head)
        raise OtherGame(other[0].lower() if other else "a game that is not named")
    room = (
        lines[0].partition("#")[0].removesuffix("Hand ").removesuffix("Game ").strip()
        if first and first["number"]
        else ""
    )
    at = next((number for number, each in enumerate(lines) if _STREET.match(each)), None)
    if at is None:
        raise HistoryError(line, "there is no third street")
    seats = []
    for number in range(at + 1, len(lines)):
        if _NEXT.match(lines[number]):
            break
        found = _DEALT.match(lines[number]) or _SEAT.match(lines[number])
        if found is not None:
            seats.append(_seat(found["name"], found["cards"], line + number))
        elif lines[number].startswith("Dealt to "):
            raise HistoryError(line + number, "these are not third street's cards of one seat: one, or three")
    return dealt(f"{room} {name}".strip(), seats, line + at)


def _seat(name: str, told: str, line: int) -> tuple[str, list[int], int]:
    cards = told.replace("[", " ").replace("]", " ").split()
    try:
        match cards:
            case [up] | ["??" | "Xx" | "xx", "??" | "Xx" | "xx", up]:
                return name, [], card_index(up)
            case [one, two, up]:
                return name, [card_index(one), card_index(two)], card_index(up)
            case _:
                raise HistoryError(line, f"{len(cards)} cards are not third street's")
    except ValueError as error:
        raise HistoryError(line, str(error)) from None
