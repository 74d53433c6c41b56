"""A course as bytes, and back: the standard library's pickle, which may name the course's own classes and no others.

The bytes are read again by the very code that wrote them (`Memory.course`, `basis`), so that they have no format to be
kept up; and a monitor's folder, if somebody else has written it, can at most hold a wrong course.
"""

from __future__ import annotations

import array
import collections
import io
import pickle
from typing import Any

from audit.whole.course import Course
from audit.whole.lifecycle import NO_COUNTS
from audit.whole.repeats import Repeats

_ROOMS = ("audit.findings", "audit.tlog.merkle", "audit.tlog.tiles", "audit.whole.")
_OTHERS = {
    ("array", "_array_reconstructor"): getattr(array, "_array_reconstructor"),  # noqa: B009 - typeshed has no such name
    ("array", "array"): array.array,
    ("collections", "Counter"): collections.Counter,
    ("builtins", "set"): set,
}
"""What pickle names of the standard library for the values of a course."""


def packed(course: Course) -> bytes:
    """Returns a course as bytes, but for the records of `Repeats`, which lie elsewhere."""
    data = io.BytesIO()
    _Pickler(data, course).dump(course)
    return data.getvalue()


def unpacked(data: bytes, repeats: dict[str, Repeats]) -> Course:
    """Returns the course that `packed` gave the bytes of, with the records that belong to it."""
    course = _Unpickler(io.BytesIO(data), repeats).load()
    assert isinstance(course, Course)
    return course


class _Pickler(pickle.Pickler):
    def __init__(self, data: io.BytesIO, course: Course) -> None:
        super().__init__(data, protocol=5)
        self._outside = {id(course.judge.seeds): "seeds", id(course.judge.ids): "ids", id(NO_COUNTS): "no counts"}

    def persistent_id(self, obj: Any) -> str | None:
        return self._outside.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, repeats: dict[str, Repeats]) -> None:
        super().__init__(data)
        self._outside: dict[str, Any] = {**repeats, "no counts": NO_COUNTS}

    def persistent_load(self, pid: str) -> Any:
        return self._outside[pid]

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(_ROOMS):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        try:
            return _OTHERS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"a monitor's memory names {module}.{name}, which no course has") from None
