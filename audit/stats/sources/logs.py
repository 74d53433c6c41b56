"""Decks from a dealer's log, through the auditor's verification: only hands that pass it, voids with the rest."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from audit.dealt import Dealt
from audit.errors import InputError
from audit.log import Log, open_log
from audit.stats.sources.cards import DeckKind
from audit.stats.sources.files import Part
from audit.stats.sources.opening import OpenLog
from audit.stats.types import CHUNK, Chunk
from audit.verify import Options, Report, verify

_NAMED_REASONS = 5


class _Labels:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []

    def number(self, text: str) -> int:
        """The text's number, a new one for a new text."""
        found = self._numbers.setdefault(text, len(self._texts))
        if found == len(self._texts):
            self._texts.append(text)
        return found

    def texts(self, numbers: NDArray[np.int32]) -> list[str]:
        """The texts of many numbers."""
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

    def leave_out(self, bad: set[bytes]) -> None:
        """Takes out hands by their ids."""
        if bad and self.hands:
            rows = self._rows()
            self._kept = np.array([hand.tobytes() not in bad for hand in rows["hand"]])

    @property
    def count(self) -> int:
        """How many hands there are to read."""
        return self.hands if self._kept is None else int(np.count_nonzero(self._kept))

    def chunks(self, dealer: str) -> Iterator[Chunk]:
        """Everything that was kept, in log order."""
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

    The log is verified, once, when the first deck is asked for. A hand counts if it passes every check that was made of
    it; what is wrong with the log besides is said in `notes`. Labels are `table`, `day` (of the commit's time),
    `dealer` (the log's origin) and `seats` (the hand's seat numbers in dealing order).

    Args:
        log: where to read it.
        options: what to verify it with.
        kind: the deck kind; hands with another are left out and counted in a note.
    """

    labelled = True

    def __init__(self, log: Log, options: Options, kind: DeckKind) -> None:
        self.name = log.address
        self.total: int | None = None
        self.notes: list[str] = []
        self._log = log
        self._options = options
        self._kind = kind
        self._spool: _Spool | None = None
        self._dealer = ""

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks of up to `CHUNK` decks.

        Raises:
            InputError: For a log that cannot be read in full, and for a test record unless these are allowed.
        """
        if self._spool is None:
            self._spool = self._verified()
        yield from self._spool.chunks(self._dealer)

    def _verified(self) -> _Spool:
        spool = _Spool(self._kind)
        report = verify(self._log, self._options, take_decks=spool.take)
        if report.exit_code == 4:
            why = "; ".join(report.missing[:_NAMED_REASONS]) or "a test record, which --allow-test would let in"
            raise InputError(why if self.name in why else f"{self.name}: {why}")
        # What a hand is by itself was checked before it was handed over; these failed for what stands around them.
        spool.leave_out({_id(finding.hand) for finding in report.findings if finding.hand is not None})
        self._dealer = report.checkpoint.origin if report.checkpoint else ""
        self.total = spool.count
        self.notes += [f"{self.name}: {text}" for text in self._what_to_know(report, spool)]
        return spool

    def _what_to_know(self, report: Report, spool: _Spool) -> Iterator[str]:
        hands = report.hands
        if report.verdict == "test-record":
            yield "a test record: whoever made it could choose its decks"
        if report.verdict == "invalid":
            failed = ", ".join(f"{check.name} ({check.failed:,})" for check in report.checks if check.failed)
            yield f"the log is not valid, failed are {failed}; only hands that pass are counted"
        yield from report.missing
        if spool.of_other_decks:
            yield f"{spool.of_other_decks:,} hands with other decks than {self._kind.name} are left out"
        left_out = hands.completed + hands.void - spool.count - spool.of_other_decks
        if left_out > 0:
            yield f"{left_out:,} closed hands are left out: they did not pass, or their decks are sealed"


def _id(hand: str) -> bytes:
    """The 16 bytes of a UUID; nothing for text that is none, which a finding may quote."""
    try:
        return UUID(hand).bytes
    except ValueError:
        return b""


def log_opener(options: Options) -> OpenLog:
    """Opens logs for `open_source`, all verified with the same options."""

    def opened(address: str, kind: DeckKind) -> Part:
        return LogDecks(open_log(address), options, kind)

    return opened
