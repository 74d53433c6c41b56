"""Raw output of the seed source in the forms that batteries and laboratories take."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

FORMS = ("raw", "ascii", "words")


def in_form(parts: Iterable[bytes], form: str) -> Iterator[bytes]:
    """Yields bytes in a form.

    Args:
        parts: the bytes.
        form: `raw`; `ascii`, a 0 or 1 for each bit, highest first, without line feeds (NIST SP 800-22's suite); or
            `words`, 32-bit words in decimal, first byte highest, one a line (dieharder below its head).
            Up to three bytes at the very end that fill no word are left out.
    """
    rest = b""
    for part in parts:
        if form == "ascii":
            yield f"{int.from_bytes(part, 'big'):0{8 * len(part)}b}".encode() if part else b""
        elif form == "words":
            data = rest + part
            whole = len(data) // 4
            rest = data[4 * whole :]
            yield b"".join(b"%d\n" % word for word in struct.unpack_from(f">{whole}I", data))
        else:
            yield part
