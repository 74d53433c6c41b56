"""How counts are said to people."""

from __future__ import annotations


def raised(text: str) -> str:
    """Digits, signs and points raised, as an exponent is written.

    >>> raised("-300"), raised("18.7")
    ('⁻³⁰⁰', '¹⁸·⁷')
    """
    return text.translate(str.maketrans("-0123456789.", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·"))


def counted(count: int, one: str, many: str | None = None) -> str:
    """Returns a count with its noun, as people say it.

    >>> counted(1, "hand"), counted(2, "hand"), counted(1, "entry was", "entries were")
    ('1 hand', '2 hands', '1 entry was')
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"
