"""Decks from a dealer's log, which `audit verify`'s own verification has passed: closed hands, voids with the rest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from audit.errors import FormatError, InputError
from audit.findings import Finding
from audit.hand.verified_deck import Dealt
from audit.logs import open_log
from audit.logs.log import Log
from audit.stats.results import CHUNK, Chunk, LogSample
from audit.stats.sources.cards import DeckKind
from audit.stats.sources.files import Part
from audit.stats.sources.opening import OpenLog
from audit.tlog.earlier import origin_of
from audit.tlog.keys import VerifierKey
from audit.verdict import EXIT_CODES
from audit.whole.report import Report
from audit.whole.shared import Shared
from audit.whole.verify import Options, verify

_NAMED_REASONS = 5


class LogFailsError(InputError):
    """A log of which a check fails, and whose hands were not to be chosen by that.

    Attributes:
        sample: what there is of it; nothing is counted.
        report: the audit, with why it fails.
    """

    def __init__(self, message: str, sample: LogSample, report: Report) -> None:
        super().__init__(message)
        self.sample = sample
        self.report = report


class _Accused:
    """The ids of hands that findings name, 16 bytes each."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def take(self, finding: Finding) -> None:
        """Notes the finding's hand, if it names one."""
        if finding.hand is not None:
            self._bytes += _id(finding.hand)

    def ids(self) -> NDArray[np.void]:
        """Returns each hand once."""
        return np.unique(np.frombuffer(bytes(self._bytes), dtype="V16"))


class _Labels:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []

    def number(self, text: str) -> int:
        """Returns the text's number, a new one for a new text."""
        found = self._numbers.setdefault(text, len(self._texts))
        if found == len(self._texts):
            self._texts.append(text)
        return found

    def texts(self, numbers: NDArray[np.int32]) -> list[str]:
        """Returns the texts of many numbers."""
        return [self._texts[number] for number in numbers.tolist()]


class _Spool:
    """Hands in a temporary file, in the order in which processes hand them in; read back in log order.

    Memory grows by eight bytes a hand, for their order.
    """

    def __init__(self, kind: DeckKind) -> None:
        self._kind = kind
        self._row = np.dtype(
            [("at", "i8"), ("hand", "V16"), ("table", "i4"), ("day", "i4"), ("seats", "i4"), ("deck", "u1", kind.size)]
        )
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the source
        self._tables, self._days, self._seats = _Labels(), _Labels(), _Labels()
        self._kept: NDArray[np.bool_] | None = None
        self.hands = 0
        self.of_other_decks = 0

    def take(self, dealt: Sequence[Dealt]) -> None:
        """Keeps the hands of this kind of deck."""
        mine = [hand for hand in dealt if hand.deck_kind == self._kind.name]
        self.of_other_decks += len(dealt) - len(mine)
        rows = np.empty(len(mine), dtype=self._row)
        rows["at"] = [hand.at for hand in mine]
        rows["hand"] = np.frombuffer(b"".join(hand.hand for hand in mine), dtype="V16")
        rows["table"] = [self._tables.number(hand.table) for hand in mine]
        rows["day"] = [self._days.number(hand.time[:10]) for hand in mine]
        rows["seats"] = [self._seats.number(",".join(map(str, hand.seats))) for hand in mine]
        rows["deck"] = np.frombuffer(b"".join(hand.order for hand in mine), dtype=np.uint8).reshape(-1, self._kind.size)
        self._file.write(rows.tobytes())
        self.hands += len(mine)

    def leave_out(self, bad: NDArray[np.void]) -> None:
        """Removes hands by their ids, shape (k,), each once."""
        if len(bad) and self.hands:
            self._kept = ~np.isin(self._rows()["hand"], bad)

    @property
    def count(self) -> int:
        """How many hands there are to read."""
        return self.hands if self._kept is None else int(np.count_nonzero(self._kept))

    def chunks(self, dealer: str) -> Iterator[Chunk]:
        """Yields everything that was kept, in log order."""
        if not self.hands:
            return
        rows = self._rows()
        order = np.argsort(rows["at"], kind="stable")
        if self._kept is not None:
            order = order[self._kept[order]]
        for first in range(0, len(order), CHUNK):
            some = rows[order[first : first + CHUNK]]
            labels = {
                "table": self._tables.texts(some["table"]),
                "day": self._days.texts(some["day"]),
                "dealer": [dealer] * len(some),
                "seats": self._seats.texts(some["seats"]),
            }
            yield Chunk(np.ascontiguousarray(some["deck"]), labels, first, [hand.tobytes() for hand in some["hand"]])

    def _rows(self) -> NDArray[np.void]:
        self._file.flush()
        return np.memmap(self._file, dtype=self._row, mode="r", shape=(self.hands,))


class LogDecks:
    """The decks of a log's closed hands, in the order of their closes.

    The log is verified, once, when the first deck is asked for. If a check fails, nothing is counted: the maker of a
    log would else choose the sample that it is judged by. With `only_passing` each hand counts that no finding names,
    and `logs` says how many do not. Labels are `table`, `day` (of the commit's time), `dealer` (the log's origin) and
    `seats` (the hand's seat numbers in dealing order).

    Args:
        log: where to read it.
        options: what to verify it with.
        keys: of the logs; this one's is that of its origin, or the only one.
        shared: what the logs that were read before have, which this one may not have as well.
        kind: the deck kind; hands with another are left out and counted in a note.
        only_passing: count the hands that pass of a log that does not verify.
        progress: told how many entries are verified, and how many there are.
    """

    labelled = True
    indexed = False

    def __init__(
        self,
        log: Log,
        options: Options,
        kind: DeckKind,
        *,
        keys: Sequence[VerifierKey] = (),
        shared: Shared | None = None,
        only_passing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.name = log.address
        self.total: int | None = None
        self.notes: list[str] = []
        self.logs: list[LogSample] = []
        self.reports: list[Report] = []
        self._log = log
        self._options = options
        self._keys = keys
        self._shared = shared
        self._kind = kind
        self._only_passing = only_passing
        self._progress = progress
        self._spool: _Spool | None = None
        self._dealer = ""

    def __iter__(self) -> Iterator[Chunk]:
        """Yields chunks of up to `CHUNK` decks.

        Raises:
            LogFailsError: For a log of which a check fails, unless `only_passing`.
            InputError: For a log that cannot be read in full, and for a test record unless these are allowed.
        """
        if self._spool is None:
            self._spool = self._verified()
        yield from self._spool.chunks(self._dealer)

    def _verified(self) -> _Spool:
        spool, accused = _Spool(self._kind), _Accused()
        self._options = replace(self._options, key=self._key())
        report = verify(
            self._log,
            self._options,
            progress=self._progress,
            take_decks=spool.take,
            take_finding=accused.take,
            shared=self._shared,
        )
        report = self._with_shared(report, accused)
        if report.exit_code == EXIT_CODES["unreadable"]:
            why = "; ".join(report.missing[:_NAMED_REASONS]) or "a test record, which --allow-test would let in"
            raise InputError(why if self.name in why else f"{self.name}: {why}")
        bad = accused.ids()
        if report.exit_code == EXIT_CODES["invalid"] and not self._only_passing:
            raise LogFailsError(self._why_not(report), self._sample(report, spool, len(bad), 0), report)
        # What a hand is by itself was checked before it was handed over; these failed for what stands around them.
        spool.leave_out(bad)
        self._dealer = report.checkpoint.origin if report.checkpoint else ""
        self.total = spool.count
        self.reports = [report]
        self.logs = [self._sample(report, spool, len(bad), spool.count)]
        if report.verdict == "test-record":
            self.notes.append(f"{self.name}: a test record: whoever made it could choose its decks")
        self.notes += [f"{self.name}: {text}" for text in report.missing]
        return spool

    def _key(self) -> VerifierKey | None:
        if len(self._keys) < 2:
            return self._keys[0] if self._keys else self._options.key
        try:
            data = self._log.checkpoint()
            origin = None if data is None else origin_of(data)
        except FormatError:
            return None  # what is wrong with it is for the check `checkpoint`
        return next((key for key in self._keys if key.name == origin), None)

    def _with_shared(self, report: Report, accused: _Accused) -> Report:
        """Returns the report with what the log shares with one that was read before: a failed check `seed`."""
        if self._shared is None or report.exit_code == EXIT_CODES["unreadable"]:
            return report
        found = [finding for _, finding in self._shared.findings()]
        if not found:
            return report
        for finding in found:
            accused.take(finding)
        checks = [
            replace(check, failed=check.failed + len(found)) if check.name == "seed" else check
            for check in report.checks
        ]
        return replace(
            report,
            verdict="invalid",
            exit_code=EXIT_CODES["invalid"],
            findings=(*report.findings, *found),
            checks=tuple(checks),
        )

    def _why_not(self, report: Report) -> str:
        failed = ", ".join(f"{check.name} ({check.failed:,})" for check in report.checks if check.failed)
        first = report.findings[0]
        where = "the log as a whole" if first.index is None else f"entry {first.index}"
        return (
            f"{self.name} does not verify, failed are {failed}; the first: {where}: {first.detail}. Its decks were not "
            "tested, since whoever makes a log would choose the sample. `audit verify` names every finding; "
            "--only-hands-that-pass tests the other hands"
        )

    def _sample(self, report: Report, spool: _Spool, failed: int, tested: int) -> LogSample:
        hands = report.hands
        closed = hands.completed + hands.void
        return LogSample(
            name=self.name,
            counted=tested,
            open=hands.open,
            lost=hands.lost,
            failed=failed,
            unknown=max(0, closed - spool.count - spool.of_other_decks - failed),
            of_other_decks=spool.of_other_decks,
            checks={check.name: check.failed for check in report.checks if check.failed},
            unsigned=self._options.key is None,
        )


def _id(hand: str) -> bytes:
    """Returns the 16 bytes of a UUID; nothing for text that is none, which a finding may quote."""
    try:
        return UUID(hand).bytes
    except ValueError:
        return b""


def log_opener(
    options: Options,
    keys: Sequence[VerifierKey] = (),
    ca: bytes | None = None,
    *,
    only_passing: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> OpenLog:
    """Returns what opens logs for `open_source`, all verified with the same options.

    `ca` are CA certificates (PEM) for logs over gRPC with TLS; for the others see `LogDecks`.
    """
    shared = Shared()

    def opened(address: str, kind: DeckKind) -> Part:
        log = open_log(address)
        if ca is not None:
            log.trust(ca)
        return LogDecks(log, options, kind, keys=keys, shared=shared, only_passing=only_passing, progress=progress)

    return opened
