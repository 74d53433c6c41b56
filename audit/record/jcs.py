"""Canonical JSON by exact bytes (RFC 8785): decodes what is canonical and refuses everything else.

An entry is accepted only if encoding what was decoded gives the same bytes again. That one comparison refuses spaces,
repeated members, members out of order, other spellings of numbers and text, and whatever else two readers could
disagree about.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson
import rfc8785

from audit.errors import FormatError

MAX_INTEGER = 2**53 - 1


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _number(text: str) -> int | float:
    value = int(text) if len(text) <= 17 else float(text)
    return value if abs(value) <= MAX_INTEGER else float(value)


_FULL = json.JSONDecoder(parse_int=_number, parse_constant=_refuse_constant)


def decode_in_order(raw: bytes) -> Any | None:
    """Decodes plain canonical JSON fast; None where that is not certain and `decode` has to look.

    The result re-encodes to exactly `raw` and is ASCII. Members are in the order of the bytes, and numbers may be
    floats in any spelling: the caller, who knows the names and types of members, compares them with a sorted list.
    """
    try:
        value = orjson.loads(raw)
        return value if orjson.dumps(value) == raw and raw.isascii() else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
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
