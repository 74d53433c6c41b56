"""Ids and times as the log writes them: UUID version 7, table and contributor ids, timestamps."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from dealer.errors import Reason, Refused

MAX_INTEGER = 2**53 - 1
RESERVED_CONTRIBUTOR = "operator."
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def uuid7(milliseconds: int, randomness: bytes) -> bytes:
    """Returns the 16 bytes of a version 7 UUID (RFC 9562) from Unix time and 10 bytes of randomness."""
    value = (milliseconds & (2**48 - 1)) << 80 | int.from_bytes(randomness, "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return value.to_bytes(16, "big")


def uuid7_milliseconds(hand: bytes) -> int:
    """Returns the Unix time in milliseconds that a UUID version 7 begins with."""
    return int.from_bytes(hand[:6], "big")


@lru_cache(maxsize=4096)
def hand_text(hand: bytes) -> str:
    """Returns a hand's UUID as the usual lower-case text."""
    text = hand.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def parse_uuid(text: str, reason: Reason, what: str) -> bytes:
    """Reads a UUID in its usual text form, any version, either case.

    Raises:
        Refused: with `reason`, where the text is anything else.
    """
    if _UUID.fullmatch(text) is None:
        raise Refused(reason, f"{what} is not a UUID in its usual form of 36 characters")
    return bytes.fromhex(text.replace("-", ""))


def is_id(text: str) -> bool:
    """Tells whether text may be a table's or contributor's id (PROTOCOL.md, section 1)."""
    return _ID.fullmatch(text) is not None


@lru_cache(maxsize=64)  # a batch has one time
def timestamp(milliseconds: int) -> str:
    """Returns Unix time in the log's form, `YYYY-MM-DDThh:mm:ss.sssZ`."""
    time = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"
