"""Strict decoding of the log's text forms: what decodes is exactly what encoding gives (PROTOCOL.md section 1)."""

import base64
import binascii
import re

_HASH = re.compile(r"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")  # exactly the canonical base64 of 32 bytes

MAX_NUMBER = 2**64 - 1
"""The greatest tree size or index that C2SP's formats hold."""


def encode_base64(data: bytes) -> str:
    """Encodes in the standard alphabet, padded."""
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    """Returns the bytes of canonical base64.

    Raises:
        ValueError: another alphabet, no padding, stray characters or set bits after the end.
    """
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError("not base64") from error
    if encode_base64(data) != text:
        raise ValueError("not canonical base64")
    return data


def decode_hash(text: str) -> bytes:
    """Returns the 32 bytes of a SHA-256 value in canonical base64.

    Raises:
        ValueError: no base64, or another length.
    """
    if _HASH.fullmatch(text):
        return binascii.a2b_base64(text)
    raise ValueError(f"{len(decode_base64(text))} bytes where a hash has 32")


def decode_number(text: str) -> int:
    """A size or an index: ASCII digits, no sign, no leading zero, at most 2^64-1.

    Raises:
        ValueError: anything else.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 20) or (text[0] == "0" and text != "0"):
        raise ValueError("not a decimal number without sign or leading zeros")
    number = int(text)
    if number > MAX_NUMBER:
        raise ValueError("a number above 2^64-1")
    return number
