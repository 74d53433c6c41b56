"""Finding one's way through an entry, to change it in every place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.attacks.maker import Book, canonical

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


def changed(value: Any) -> Any:
    """Another value of the same type, as near as can be."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        if value == "":
            return "a"
        last = value[-1]
        swapped = {"0": "1", "1": "0", "c": "d", "d": "c", "=": "A"}.get(last, "0" if last.isalnum() else "a")
        return value[:-1] + swapped
    if isinstance(value, list):
        return [*value, value[-1]] if value else [1]
    return {**value, "more": 1}


def mutants(book: Book) -> Iterator[tuple[str, list[bytes]]]:
    """Every entry with every member and item deleted and changed in turn: a name, and the bytes of all entries."""
    raws = book.raws()
    for index, entry in enumerate(book.entries):
        assert isinstance(entry, dict)
        for place in places(entry):
            for kind in ("delete", "change"):
                mutant = copy.deepcopy(entry)
                holder = found_at(mutant, place[:-1])
                if kind == "delete":
                    del holder[place[-1]]
                else:
                    holder[place[-1]] = changed(holder[place[-1]])
                name = f"entry {index}, {kind} {'.'.join(map(str, place))}"
                yield name, [*raws[:index], canonical(mutant), *raws[index + 1 :]]
