"""The forms of a client's evidence (docs/client.md) and of a hand file: one member out of form, and it is unreadable.

Of evidence, a member that is not there says nothing wrong, and one that is not known is passed over: later clients may
add some. A hand file has its members whole, and no others.
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


def check_hand_file(content: dict[str, Any]) -> None:
    """Requires a hand file's members, each in its form, and no others (API.md, `cutcard-hand/v1`).

    Raises:
        FormatError: one is malformed, missing or unknown; the message names it.
    """
    _members(content, "", _HAND_FORMS, needed=("format", "key", "hand", "commit"), only=True)
    if ("seat_key" in content) != ("seat" in content):
        fail("seat_key", "`seat` and `seat_key` come together")
    if "seat_key" not in content and ("envelope" in content or "sealed" in content):
        fail("seat_key", "it has no `seat_key`, which the envelope and the sealed cards are for")


def _members(
    value: Any, member: str, forms: Mapping[str, Form], needed: tuple[str, ...] = (), *, only: bool = False
) -> None:
    """Requires an object whose known members are in their forms, with those that are needed; `only` these or any."""
    if type(value) is not dict:
        fail(member, "not an object")
    if only and (unknown := sorted(set(value) - set(forms))):
        fail(f"{member}.{ascii(unknown[0])[1:-1][:80]}".removeprefix("."), "no member of it")
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


def _own_card(value: Any, member: str) -> None:
    forms = {"position": _position, "seat": _seat, "face": _face, "card": _text, "salt": _hex}
    _members(value, member, forms, needed=tuple(forms), only=True)


def _sealed_card(value: Any, member: str) -> None:
    _members(value, member, {"position": _position, "sealed": base64_bytes}, needed=("position", "sealed"), only=True)


def _position(value: Any, member: str) -> None:
    integer(value, member, most=63)


def _seat(value: Any, member: str) -> None:
    integer(value, member, most=255)


def _key_hex(value: Any, member: str) -> None:
    hex_bytes(value, member, 32)


def _whole_entry(value: Any, member: str) -> None:
    _members(value, member, {"entry": base64_bytes, "receipt": _text}, needed=("entry", "receipt"), only=True)


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
    "cosigned": _text,
    "consistency": _consistency,
    "acknowledgements": _each(_text),
    "answers": _each(base64_bytes),
}

_HAND_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("format", "key", "hand"), _text),
    **dict.fromkeys(("offer", "commit", "close"), _whole_entry),
    "cards": _each(_own_card),
    "seat": _seat,
    "seat_key": _key_hex,
    "envelope": base64_bytes,
    "sealed": _each(_sealed_card),
    "acknowledgements": _each(_text),
}
