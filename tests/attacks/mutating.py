"""Finding one's way through an entry, to change it in every place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Place = tuple[Any, ...]
"""The names and indexes that lead to a member or item."""


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The place of every member and item, the containers included."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def found_at(value: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        value = value[key]
    return value
