"""Receipts with cosignatures: asked for, and checked against the client's own policy (WITNESS.md section 7)."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dealer.client.errors import CallError, CheckError, UsageError
from dealer.client.evidence import Evidence, write
from dealer.client.log import LogView
from dealer.client.receipts import Proven
from dealer.files import read_text
from dealer.log.cosignature import CosignatureError, cosigned
from dealer.log.policy import Policy, parse

NO, CLOSE, COMMIT = "no", "close", "commit"
NOT_YET = "NOT_WITNESSED_YET"
_PUBLISH_SECONDS = 60.0
_LONGEST_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client wants of witnesses.

    Attributes:
        policy: who is believed.
        mode: "close" or "commit".
        seconds: how long a receipt may take to get its cosignatures: the dealer's 60, and two of its paces.
        on_unwitnessed: told of a hand whose close has none by then.
    """

    policy: Policy
    mode: str
    seconds: float
    on_unwitnessed: Callable[[Any], object]


def read_wanted(
    policy: Path | str | None,
    mode: str | None,
    pace: float,
    on_unwitnessed: Callable[[Any], object] | None,
    key: str,
) -> Wanted | None:
    """Reads what a client is told about witnesses; None where it asks for none.

    Raises:
        UsageError: there is no such mode, no policy for it, or the policy is another log's.
        PolicyError: the policy does not decode.
        OSError: its file cannot be read.
    """
    if mode not in (None, NO, CLOSE, COMMIT):
        raise UsageError(f"witnessed={mode!a}: it is 'no', 'close' or 'commit'")
    if policy is None:
        if mode in (CLOSE, COMMIT):
            raise UsageError(f"witnessed={mode!a} needs a policy: it says whose cosignatures count")
        return None
    parsed = parse((read_text(policy) if isinstance(policy, Path) else policy).encode())
    if parsed.logs and key not in parsed.logs:
        raise UsageError("the policy's log lines name other logs than this client's key")
    if mode == NO:
        return None
    return Wanted(parsed, mode or CLOSE, _PUBLISH_SECONDS + 2 * pace, on_unwitnessed or (lambda hand: None))


async def cosigned_receipt(log: LogView, wanted: Wanted, entry: Proven, seconds: float) -> Proven | None:
    """Asks for an entry's receipt until witnesses enough have cosigned it.

    Args:
        log: the log as this client has seen it: each cosigned checkpoint has to extend that.
        wanted: who is believed.
        entry: proven before, without them.
        seconds: how long to ask.

    Returns:
        The entry with the receipt; None where none came in time: the dealer may be honest, and the network not.

    Raises:
        CheckError: `witness` if a cosignature is wrong; or what else does not hold.
        CallError: the dealer refused otherwise, or did not answer.
    """
    end, pause = time.monotonic() + seconds, 0.05
    while True:
        try:
            found = await log.receipt(entry.index, witnessed=True)
            if found.entry != entry.entry:
                raise CheckError("checkpoint", f"entry {entry.index} is another under a cosigned checkpoint")
            if _holds(log, wanted.policy, found):
                return found
        except CallError as error:
            if error.reason != NOT_YET:
                raise
        if (left := end - time.monotonic()) <= 0:
            return None
        await asyncio.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _holds(log: LogView, policy: Policy, found: Proven) -> bool:
    try:
        return policy.time(cosigned(found.note, policy.witnesses)) is not None
    except CosignatureError as error:
        content = Evidence(log.key).content("witness", str(error), cosigned=found.note)
        raise CheckError("witness", str(error), write(content, log.folder.evidence)) from error
