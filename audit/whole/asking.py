"""Holding a log against what witnesses have seen: each is asked first, and then the log (WITNESS.md section 7)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from audit.errors import AuditError, CheckError, InputError
from audit.logs.log import Log
from audit.logs.witnesses import held_checkpoint
from audit.tlog import note
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.cosignature import cosigned_at
from audit.tlog.earlier import Earlier
from audit.tlog.earlier import read as read_earlier
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy, Witness
from audit.tlog.witnessed import time_text

PUBLISH_SECONDS = 60.0
"""So long a log may take to publish what a witness has seen (PROTOCOL.md section 9)."""
LOOK_SECONDS = 2.0
AT_ONCE = 16
"""How many witnesses are asked at a time."""


@dataclass(slots=True)
class Asked:
    """What witnesses answered.

    Attributes:
        seen: the checkpoints that they hold.
        unreadable: answers that are no checkpoint of this log by its key and that witness.
        missing: witnesses with whom the log could not be compared, and why.
        answered: when the last of them answered, on the monotonic clock.
    """

    seen: list[Earlier] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    answered: float = 0.0


def ask_witnesses(policy: Policy, key: VerifierKey) -> Asked:
    """Asks every witness of a policy for the checkpoint that it holds of the log with this key."""
    asked = Asked()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda witness: _ask(witness, key), policy.witnesses.values())
        for witness, answer in zip(policy.witnesses.values(), answers, strict=True):
            if isinstance(answer, str):
                asked.missing.append(f"the log was not compared with {witness.name}: {answer}")
                continue
            try:
                asked.seen.append(_read(witness, answer, key))
            except AuditError as error:
                asked.unreadable.append(f"what {witness.name} holds cannot be read: {error}")
    asked.answered = time.monotonic()
    return asked


def _ask(witness: Witness, key: VerifierKey) -> bytes | str:
    """Returns the checkpoint that a witness holds, or why there is none to compare with."""
    if witness.url is None:
        return "the policy does not say where it is"
    try:
        data = held_checkpoint(witness.url, key.name)
    except InputError as error:
        return str(error)
    return "it has no checkpoint of this log, or shows none" if data is None else data


def _read(witness: Witness, data: bytes, key: VerifierKey) -> Earlier:
    earlier = read_earlier(witness.name, data, key)
    seconds = cosigned_at(note.decode(data), witness.key)
    if seconds is None:
        raise CheckError("it is not cosigned by the witness itself")
    return replace(earlier, cosigned=time_text(seconds))


def newest_checkpoint(log: Log, asked: Asked, key: VerifierKey) -> bytes | None:
    """Returns the log's checkpoint, read again while it is behind what witnesses hold and may still be published."""
    most = max((earlier.checkpoint.size for earlier in asked.seen), default=0)
    end = asked.answered + PUBLISH_SECONDS
    while True:
        data = log.checkpoint()
        left = end - time.monotonic()
        if data is None or left <= 0 or _size(data, key) >= most:
            return data
        time.sleep(min(LOOK_SECONDS, left))


def _size(data: bytes, key: VerifierKey) -> float:
    """Returns the size that a checkpoint says; of one that is no good no more is to be expected."""
    try:
        signed = note.decode(data)
        note.check_signed(signed, key)
        return read_checkpoint(signed).size
    except AuditError:
        return float("inf")
