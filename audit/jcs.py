"""Canonical JSON by exact bytes (RFC 8785): decodes what is canonical and refuses everything else.

An entry is accepted only if encoding what was decoded gives the same bytes again. That one comparison refuses spaces,
repeated members, members out of order, other spellings of numbers and text, and whatever else two readers could
disagree about.
"""

from __future__ import annotations

import json
from typing import NoReturn

import rfc8785

from audit.errors import FormatError

MAX_INTEGER = 2**53 - 1


class _Odd:
    """Stands for a number that no entry may hold, so that no comparison with an integer can succeed by accident."""


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _odd(_text: str) -> _Odd:
    return _Odd()


def _number(text: str) -> int | float:
    value = int(text) if len(text) <= 17 else float(text)
    return value if abs(value) <= MAX_INTEGER else float(value)


_FAST = json.JSONDecoder(parse_float=_odd, parse_constant=_refuse_constant)
_FULL = json.JSONDecoder(parse_int=_number, parse_constant=_refuse_constant)
# Keeps the order of what was decoded: whether the members stand in order is for `entries`, which knows their names.
_IN_ORDER = json.JSONEncoder(separators=(",", ":"), check_circular=False)


def decode_in_order(raw: bytes) -> object | None:
    """Decodes plain canonical JSON fast; None where that is not certain and `decode` has to look.

    The result re-encodes to exactly `raw`, is ASCII, and holds no number but integers. Members are in the order of the
    bytes: the caller compares them with a sorted list of names.
    """
    try:
        value: object = _FAST.decode(raw.decode("ascii"))
        return value if _IN_ORDER.encode(value).encode("ascii") == raw else None
    except (ValueError, TypeError, RecursionError):
        return None


def decode(raw: bytes) -> object:
    """Decodes canonical JSON of any content.

    Raises:
        FormatError: not UTF-8, not JSON, or not the one canonical encoding of what it says.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 (byte {error.start})") from None
    try:
        value: object = _FULL.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON ({error.msg} at character {error.pos})") from None
    except RecursionError:
        raise FormatError("nested too deeply to be read") from None
    except (ValueError, OverflowError):
        raise FormatError("not JSON (a number that cannot be)") from None
    try:
        again = rfc8785.dumps(value)  # type: ignore[arg-type]  # what the decoder gives is JSON by construction
    except (ValueError, RecursionError):  # rfc8785's own errors and lone surrogates are ValueErrors
        raise FormatError("not canonical JSON (a value that RFC 8785 cannot encode)") from None
    if again != raw:
        at = next((i for i, (a, b) in enumerate(zip(again, raw, strict=False)) if a != b), min(len(again), len(raw)))
        raise FormatError(f"not canonical JSON (byte {at} differs from RFC 8785)")
    return value
