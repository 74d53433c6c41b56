"""Canonical JSON by exact bytes (RFC 8785): decodes what is canonical and refuses everything else.

An entry is accepted only if encoding what was decoded gives the same bytes again. That one comparison refuses spaces,
repeated members, members out of order, other spellings of numbers and text, and whatever else two readers could
disagree about.
"""

from __future__ import annotations

from typing import Any

import orjson

MAX_INTEGER = 2**53 - 1


def decode_in_order(raw: bytes) -> Any | None:
    """Decodes plain canonical JSON fast; None where that is not certain and `reading.decode` has to look.

    The result re-encodes to exactly `raw` and is ASCII. Members are in the order of the bytes, and numbers may be
    floats in any spelling: the caller, who knows the names and types of members, compares them with a sorted list.
    """
    try:
        value = orjson.loads(raw)
        return value if orjson.dumps(value) == raw and raw.isascii() else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
