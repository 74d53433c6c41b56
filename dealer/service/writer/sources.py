"""What is handed in to the dealer: entropy, time, ids, and the auditor's key."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dealer.core.entries import CERTIFIED
from dealer.core.hand import Deal, HandState
from dealer.core.ids import uuid7
from dealer.core.seed import Entropy
from dealer.core.shards import Shards
from dealer.store.escrow import EscrowKey


def _system_entropy(length: int) -> bytes:
    return os.urandom(length)


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _hand_id(milliseconds: int) -> bytes:
    return uuid7(milliseconds, os.urandom(10))


@dataclass(frozen=True, slots=True)
class Sources:
    """Where things come from. The defaults are production's; only the test double and tests hand in others.

    Attributes:
        entropy: gives bytes of a CSPRNG, for seeds; the engine draws them through a `WatchedSource`.
        secrets: gives bytes of a CSPRNG, for seats' tokens and for keys, nonces and ids at rest. On any thread.
        clock: Unix time in milliseconds, for the log's times and for expiries.
        monotonic: seconds that never go back, for what is waited for. On any thread.
        hand_ids: makes a hand's id from Unix time.
        escrow: the auditor's key; None: sealed hands are refused.
        shards: which tables are this log's; None: all are.
        family: schema family of the log's entries.
        stacked: names the deck for a hand that is about to be committed, in the test double; None: it is shuffled.
        check_street: refuses a street that a stacked deck was not made for, in the test double; None: none is.
    """

    entropy: Entropy = field(default=_system_entropy)
    secrets: Entropy = field(default=_system_entropy)
    clock: Callable[[], int] = field(default=_unix_milliseconds)
    monotonic: Callable[[], float] = field(default=time.monotonic)
    hand_ids: Callable[[int], bytes] = field(default=_hand_id)
    escrow: EscrowKey | None = None
    shards: Shards | None = None
    family: str = CERTIFIED
    stacked: Callable[[HandState], tuple[str, ...] | None] | None = None
    check_street: Callable[[HandState, Deal], None] | None = None
