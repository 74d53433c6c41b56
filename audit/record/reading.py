"""Reading any entry: where the quick way is not certain, what it is, or the reason why it is refused.

Nothing that is read here is a proper entry of a known schema, so no log in which it stands is valid.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import rfc8785

from audit.errors import FormatError
from audit.record.entries import SHAPES, TEST, Entry, Unknown, familiar
from audit.record.fields import SchemaError
from audit.record.jcs import MAX_INTEGER


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _number(text: str) -> int | float:
    value = int(text) if len(text) <= 17 else float(text)
    return value if abs(value) <= MAX_INTEGER else float(value)


_FULL = json.JSONDecoder(parse_int=_number, parse_constant=_refuse_constant)


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


def parse(raw: bytes) -> Entry:
    """Reads one entry from the exact bytes stored.

    Raises:
        SchemaError: anything that section 10 lists under `schema`.
    """
    return familiar(raw) or parse_unfamiliar(raw)


def parse_unfamiliar(raw: bytes) -> Unknown:
    """Reads what the fast way could not: an unknown schema, or something to refuse with the right reason."""
    try:
        value: Any = decode(raw)
    except FormatError as error:
        raise SchemaError(str(error), test=TEST.encode("ascii") in raw) from None
    if type(value) is not dict:
        raise SchemaError("not a JSON object")
    schema = value.get("schema")
    if type(schema) is not str:
        raise SchemaError("`schema` is missing" if "schema" not in value else "`schema`: not text")
    test = schema.startswith(TEST)
    if schema not in SHAPES:
        return Unknown(schema, test)
    # A known schema that the fast way would not take: text that is not ASCII, or a number that is no integer.
    raise SchemaError("text that is not ASCII, or a number that is no integer", test=test)
