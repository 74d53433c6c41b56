"""The forms that members of entries take: each function gives the value or says why it is not in its form.

Decoding is strict everywhere (PROTOCOL.md section 1): what is read is written again and compared where there could be
two spellings, and no type is taken for another (`true` is no number).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NoReturn

from audit.errors import FormatError
from audit.record import jcs

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
RESERVED = "operator."


class SchemaError(FormatError):
    """An entry that fails `schema`.

    Attributes:
        test: whether it nevertheless says that it is a test record.
        hand: the hand that it names, as text, where that much can be read.
    """

    def __init__(self, detail: str, *, test: bool = False, hand: str | None = None) -> None:
        super().__init__(detail)
        self.test = test
        self.hand = hand


def hand_text(hand: bytes) -> str:
    """Returns the usual lower-case text of a hand's 16 bytes."""
    text = hand.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def hand_bytes(text: str) -> bytes:
    """Reads the 16 bytes of a hand's UUID.

    Raises:
        FormatError: not lower-case text of a version 7 UUID with RFC 9562's variant.
    """
    if not UUID.fullmatch(text):
        raise FormatError("not the lower-case text of a version 7 UUID")
    return bytes.fromhex(text.replace("-", ""))


def fail(member: str, why: str) -> NoReturn:
    """Refuses a member."""
    raise SchemaError(f"`{member}`: {why}")


def hex_bytes(value: Any, member: str, length: int) -> bytes:
    """Reads `length` bytes from lower-case hex."""
    if type(value) is str and len(value) == 2 * length:
        try:
            data = bytes.fromhex(value)
        except ValueError:
            data = b""
        if data.hex() == value:
            return data
    fail(member, f"not {2 * length} digits of lower-case hex")


def base64_bytes(value: Any, member: str) -> bytes:
    """Bytes from canonical base64, at least one."""
    if type(value) is str:
        try:
            data = binascii.a2b_base64(value, strict_mode=True)
        except (binascii.Error, ValueError):
            data = b""
        if value and binascii.b2a_base64(data, newline=False).decode("ascii") == value:
            return data
    fail(member, "not canonical base64")


def integer(value: Any, member: str, least: int = 0, most: int = jcs.MAX_INTEGER) -> int:
    """Reads an integer in a range, both ends included."""
    if type(value) is int and least <= value <= most:
        return value
    fail(member, f"not an integer from {least} to {most}")


def identifier(value: Any, member: str) -> str:
    """Reads a table or contributor id."""
    if type(value) is str and ID.fullmatch(value):
        return value
    fail(member, "not 1 to 64 characters of A-Z a-z 0-9 . _ -")


def contributor(value: Any, member: str) -> str:
    """Reads a contributor id that is not reserved."""
    name = identifier(value, member)
    if name.startswith(RESERVED):
        fail(member, f"ids that begin with {RESERVED} are reserved")
    return name


def one_of(value: Any, member: str, known: Iterable[str]) -> str:
    """Reads one of the texts that are known."""
    if type(value) is str and value in known:
        return value
    fail(member, f"not one of {', '.join(sorted(known))}")


def hand_id(value: Any) -> bytes:
    """Reads the 16 bytes of the member `hand`."""
    if type(value) is str and UUID.fullmatch(value):
        return bytes.fromhex(value.replace("-", ""))
    fail("hand", "not the lower-case text of a version 7 UUID")


def time_text(value: Any) -> str:
    """Reads a time as text: kept as it is, since it is for people."""
    if type(value) is str and len(value) == 24:
        try:
            if datetime.fromisoformat(value[:-1]).isoformat(timespec="milliseconds") + "Z" == value:
                return value
        except ValueError:
            pass
    fail("time", "not a real date and time of day as YYYY-MM-DDThh:mm:ss.sssZ")


def list_of(value: Any, member: str) -> list[Any]:
    """Reads a list of anything."""
    if type(value) is list:
        return value
    fail(member, "not a list")


def members(value: Any, member: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Reads an object with exactly these members, which are given, and stand, in sorted order."""
    if type(value) is dict and tuple(value) == names:
        return value
    fail(member, f"not an object of exactly {', '.join(names)}")


def integers(values: tuple[Any, ...]) -> bool:
    """Tells whether these (one at least) are all integers from 0 to 2^53 - 1."""
    return set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= jcs.MAX_INTEGER
