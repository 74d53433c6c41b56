"""The report of a whole log's audit: verdict, counts, findings, and what could not be checked."""

from __future__ import annotations

from dataclasses import dataclass

from audit.findings import Finding
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.ends import End
from audit.tlog.witnessed import Witnessed
from audit.whole.lost import LostHand
from audit.whole.rates import TableRates


@dataclass(frozen=True, slots=True)
class CheckCount:
    """One check of section 10: how often it was made, and how many findings there are."""

    name: str
    made: int
    failed: int


@dataclass(frozen=True, slots=True)
class HandCounts:
    """How a log's hands ended, how many went without contributions, and how many had seats that brought a key."""

    total: int
    completed: int
    void: int
    lost: int
    open: int
    without_contributions: int
    with_sealed_seats: int
    sealed_seats: int


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an audit.

    Attributes:
        address: where the log was read from.
        checkpoint: the log's state as audited, None where there is none that decodes.
        verdict: `valid`, `invalid`, `incomplete`, `unreadable` or `test-record`.
        exit_code: what the command ends with.
        hands: how the hands ended.
        entries: how many entries were read.
        checks: all checks, in section 10's order.
        findings: what is wrong, in log order; at most `audit.whole.tally.KEPT` of each check.
        missing: what could not be checked or read, and why.
        unread: that of it which could not be read; the verdict says so only where nothing is wrong.
        tables: rates by table, in the order of their ids.
        key_name: whose log the verifier key is for that was pinned; None where none was.
        key_id: its id, in hex.
        checkpoint_sha256: of the checkpoint's bytes, in hex; None where there is none.
        first: the earliest time that an entry says, as the log has it; None where no entry was read.
        last: the latest.
        lost: the lost hands, in the order of their closes; at most `audit.whole.tally.KEPT`.
        ends: what the log says, signed, of the log after it and of the one before.
        witnessed: the result of the check `witness`, None where it was not made.
        words_used: words that swaps of derived decks took.
        words_refused: words that these decks refused, so that no card is favoured.
    """

    address: str
    checkpoint: Checkpoint | None
    verdict: str
    exit_code: int
    hands: HandCounts
    entries: int
    checks: tuple[CheckCount, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    tables: dict[str, TableRates]
    key_name: str | None = None
    key_id: str | None = None
    checkpoint_sha256: str | None = None
    first: str | None = None
    last: str | None = None
    lost: tuple[LostHand, ...] = ()
    witnessed: Witnessed | None = None
    words_used: int = 0
    words_refused: int = 0
    ends: tuple[End, ...] = ()
    unread: tuple[str, ...] = ()
