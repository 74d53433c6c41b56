"""Makes a hand file from a log's static files: the hand's entries, each with a receipt under the newest checkpoint."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from audit.errors import InputError
from audit.evidence.hand_file import FORMAT
from audit.evidence.make_receipt import make_receipt
from audit.logs.log import Log
from audit.record.fields import hand_text
from audit.tlog.keys import VerifierKey


def make_hand_file(log: Log, hand: bytes, key: VerifierKey, entries: Mapping[str, int]) -> dict[str, Any]:
    """Returns the members of a hand file, with nobody's own cards; nothing in it is checked yet.

    Args:
        log: where to take the hand from.
        hand: its 16 bytes.
        key: the log's verifier key.
        entries: the log indexes of its `offer`, `commit` and `close`, as far as there are any.

    Raises:
        InputError: the log cannot be read, is no static log, or has no commit of this hand.
        CheckError: its files do not decode.
    """
    if "commit" not in entries:
        raise InputError(f"{log.address} has no commit of hand {hand_text(hand)} yet, only its offer")
    content: dict[str, Any] = {"format": FORMAT, "key": str(key), "hand": hand_text(hand)}
    for name, index in entries.items():
        receipt, entry = make_receipt(log, index)
        content[name] = {"entry": base64.b64encode(entry).decode(), "receipt": receipt.decode()}
    return content | {"cards": []}
