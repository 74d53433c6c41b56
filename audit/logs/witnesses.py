"""What witnesses hold of a log: the checkpoint that each of them serves (WITNESS.md section 6)."""

from __future__ import annotations

from audit.errors import InputError
from audit.logs import open_log
from audit.protocol import sha256


def held_checkpoint(url: str, origin: str) -> bytes | None:
    """Returns the checkpoint that a witness holds of a log, None if it says that it has none.

    Args:
        url: the witness's submission prefix.
        origin: the log's.

    Raises:
        InputError: the address is not one of http or https, or nothing there answers.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is no address of http or https")
    place = open_log(f"{url.rstrip('/')}/{sha256(origin.encode('utf-8')).hex()}")
    try:
        return place.checkpoint()
    finally:
        place.close()
