"""The forms of a client's evidence (docs/client.md): a member that is out of form makes the whole of it unreadable.

A member that is not there says nothing wrong, and one that is not known is passed over: later clients may add some.
Texts that a dealer gave (hand, card, salt) may be wrong ones; that is for the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from audit import protocol
from audit.record.fields import base64_bytes, fail, hex_bytes, integer, list_of

Form = Callable[[Any, str], object]
"""Takes a value and the name of its member, and fails where it is out of form."""

_MOST = 2**32 - 1
"""Of what an answer says as a number (uint32)."""
_FACES = (None, "down", "up")


def check_forms(content: dict[str, Any]) -> None:
    """Requires every member that is there to be in its form.

    Raises:
        FormatError: one is not; the message names it.
    """
    _members(content, "", _FORMS)


def _members(value: Any, member: str, forms: Mapping[str, Form], needed: tuple[str, ...] = ()) -> None:
    """Requires an object whose known members are in their forms, with those that the checks cannot do without."""
    if type(value) is not dict:
        fail(member, "not an object")
    for name in needed:
        if name not in value:
            fail(member, f"it has no `{name}`")
    for name, form in forms.items():
        if name in value:
            form(value[name], f"{member}.{name}".removeprefix("."))


def _text(value: Any, member: str) -> None:
    if type(value) is not str:
        fail(member, "not a text")


def _hex(value: Any, member: str) -> None:
    """Requires lower-case hex of any length: how long it should be is for the checks."""
    _text(value, member)
    hex_bytes(value, member, len(value) // 2)


def _face(value: Any, member: str) -> None:
    if value not in _FACES:
        fail(member, "neither null nor one of down, up")


def _uint32(value: Any, member: str) -> None:
    integer(value, member, most=_MOST)


def _entry(value: Any, member: str) -> None:
    _members(value, member, {"entry": base64_bytes, "receipt": _text}, needed=("entry", "receipt"))


def _card(value: Any, member: str) -> None:
    forms = {"position": _uint32, "seat": _uint32, "face": _face, "card": _text, "salt": _hex}
    _members(value, member, forms, needed=("position", "card", "salt"))


def _hash(value: Any, member: str) -> None:
    hex_bytes(value, member, protocol.HASH_BYTES)


def _hashes(value: Any, member: str) -> None:
    if value is not None:
        _each(_hash)(value, member)


def _consistency(value: Any, member: str) -> None:
    _members(value, member, {"from": integer, "to": integer, "hashes": _hashes}, needed=("hashes",))


def _each(form: Form, count: int | None = None) -> Callable[[Any, str], None]:
    """Returns the form of a list whose elements have one form, and are exactly `count` where that is given."""

    def check(value: Any, member: str) -> None:
        elements = list_of(value, member)
        if count is not None and len(elements) != count:
            fail(member, f"{len(elements)} of them: expected {count}")
        for number, element in enumerate(elements):
            form(element, f"{member}[{number}]")

    return check


_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("format", "check", "detail", "key", "hand"), _text),
    **dict.fromkeys(("offer", "commit", "close"), _entry),
    "card_commitments": base64_bytes,
    "cards": _each(_card),
    "checkpoints": _each(_text, 2),
    "consistency": _consistency,
    "acknowledgements": _each(_text),
    "answers": _each(base64_bytes),
}
