"""What happened in a hand: the events of a close entry (PROTOCOL.md section 6 for their form)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, cast

from audit.record import fields, jcs

STREETS = ("third", "fourth", "fifth", "sixth", "seventh")
CACHED_BYTES = 1024
"""Events longer than this (no street of stud is) are read each time, so that what is kept stays small."""

_FACES = frozenset({"down", "up"})
_BEFORE = b',"events":['
_AFTER = b'],"hand":"'
_OBJECT = re.compile(rb"\{[^{}]*\}")


class Cards(NamedTuple):
    """Dealt cards as columns of equal length, and the positions dealt up.

    Attributes:
        positions: in the order dealt.
        seats: who gets them; 0 is the board.
        faces: `down` or `up`.
        up: the positions dealt up.
    """

    positions: tuple[int, ...]
    seats: tuple[int, ...]
    faces: tuple[str, ...]
    up: tuple[int, ...]

    def rows(self) -> Iterator[tuple[int, int, str]]:
        """Yields position, seat and face of each card."""
        return zip(self.positions, self.seats, self.faces, strict=True)


def dealt_cards(positions: tuple[int, ...], seats: tuple[int, ...], faces: tuple[str, ...]) -> Cards:
    """Cards from their three columns."""
    up = tuple([position for position, face in zip(positions, faces, strict=True) if face == "up"])
    return Cards(positions, seats, faces, up)


class Deal(NamedTuple):
    """A street that was dealt."""

    street: str
    cards: Cards


class Draw(NamedTuple):
    """Cards dealt in free-draw."""

    cards: Cards


class Fold(NamedTuple):
    """A seat that folded."""

    seat: int


class Show(NamedTuple):
    """Down cards that were turned up."""

    positions: tuple[int, ...]


Event = Deal | Draw | Fold | Show


def _cards(value: Any, member: str) -> Cards:
    rows = fields.list_of(value, member)
    if not rows:
        return dealt_cards((), (), ())
    try:
        positions, seats, faces = zip(*rows, strict=True)
        fits = (
            set(map(type, rows)) == {list}
            and fields.integers(positions)
            and fields.integers(seats)
            and _FACES.issuperset(faces)
        )
    except (TypeError, ValueError):
        fits = False
    if not fits:
        fields.fail(member, "not a list of [position, seat, down or up]")
    return dealt_cards(positions, seats, faces)


def _deal(event: dict[str, Any]) -> Deal:
    cards = _cards(event["cards"], "events.cards")
    return Deal(fields.one_of(event["deal"], "events.deal", STREETS), cards)


def _draw(event: dict[str, Any]) -> Draw:
    return Draw(_cards(event["draw"], "events.draw"))


def _fold(event: dict[str, Any]) -> Fold:
    return Fold(fields.integer(event["fold"], "events.fold"))


def _show(event: dict[str, Any]) -> Show:
    positions = tuple(fields.list_of(event["show"], "events.show"))
    if positions and not fields.integers(positions):
        fields.fail("events.show", "not a list of positions")
    return Show(positions)


_EVENTS: dict[tuple[str, ...], Callable[[dict[str, Any]], Event]] = {
    ("cards", "deal"): _deal,
    ("draw",): _draw,
    ("fold",): _fold,
    ("show",): _show,
}


def _event(value: Any) -> Event:
    read = _EVENTS.get(tuple(value)) if type(value) is dict else None
    if read is None:
        fields.fail("events", "an event that is neither deal with cards, nor draw, fold or show")
    return read(value)


def read_events(value: Any) -> tuple[Event, ...]:
    """The events of a close entry, from decoded JSON (or as `split_events` gave them, which are checked already).

    Raises:
        SchemaError: an event out of form.
    """
    if type(value) is tuple:
        return value
    return tuple([_event(event) for event in fields.list_of(value, "events")])


@lru_cache(maxsize=8192)
def _event_from_text(text: bytes) -> Event | None:
    value = jcs.decode_in_order(text)
    try:
        return _event(value)
    except fields.SchemaError:
        return None


def split_events(raw: bytes) -> tuple[bytes, tuple[Event, ...]] | None:
    """Takes the events out of a close entry's bytes, each read once for all hands that were dealt alike.

    A street dealt to the same seats is the same bytes in every hand, and streets are most of an entry: reading them
    again each time would be most of an audit's work.

    Returns:
        The entry with an empty list for its events, and the events; None where they have to be read the plain way.
        If the entry that is left is canonical, so is `raw`: the events are, one by one, and commas join them.
    """
    start = raw.find(_BEFORE)
    end = raw.find(_AFTER, start)
    if start < 0 or end < 0:
        return None
    start += len(_BEFORE)
    texts = _OBJECT.findall(raw, start, end)
    if b",".join(texts) != raw[start:end]:
        return None
    events = tuple([_event_from_text(text) if len(text) <= CACHED_BYTES else None for text in texts])
    if None in events:
        return None
    return raw[:start] + raw[end:], cast("tuple[Event, ...]", events)
