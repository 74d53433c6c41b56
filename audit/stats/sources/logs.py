"""Decks from a dealer's log, through the auditor's verification: only hands that pass it, voids with the rest."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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

    def chunks(self, bad: set[bytes], dealer: str) -> Iterator[Chunk]:
        """Everything kept but for the hands named bad, in log order."""
        if not self.hands:
            return
        self._file.flush()
        rows = np.memmap(self._file, dtype=self._row, mode="r", shape=(self.hands,))
        order = np.argsort(rows["at"], kind="stable")
        first = 0
        for start in range(0, self.hands, CHUNK):
            some = rows[order[start : start + CHUNK]]
            ids = [bytes(hand) for hand in some["hand"]]
            if bad:
                keep = [row for row, hand in enumerate(ids) if hand not in bad]
                some, ids = some[keep], [ids[row] for row in keep]
            labels = {
                "table": self._tables.texts(some["table"]),
                "day": self._days.texts(some["day"]),
                "dealer": [dealer] * len(some),
                "seats": self._seats.texts(some["seats"]),
            }
            yield Chunk(np.ascontiguousarray(some["deck"]), labels, first, ids)
            first += len(some)


class _Verified(NamedTuple):
    spool: _Spool
    report: Report
    bad: set[bytes]


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
        self._verified: _Verified | None = None

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks of up to `CHUNK` decks.

        Raises:
            InputError: For a log that cannot be read in full, and for a test record unless these are allowed.
        """
        if self._verified is None:
            self._verified = self._verify()
        spool, report, bad = self._verified
        yield from spool.chunks(bad, report.checkpoint.origin if report.checkpoint else "")

    def _verify(self) -> _Verified:
        spool = _Spool(self._kind)
        report = verify(self._log, self._options, take_decks=spool.take)
        if report.exit_code == 4:
            why = "; ".join(report.missing[:_NAMED_REASONS]) or "a test record, which --allow-test would let in"
            raise InputError(why if self.name in why else f"{self.name}: {why}")
        bad = {_id(finding.hand) for finding in report.findings if finding.hand is not None}
        self.total = spool.hands
        self.notes += [f"{self.name}: {text}" for text in self._what_to_know(report, spool)]
        return _Verified(spool, report, bad)

    def _what_to_know(self, report: Report, spool: _Spool) -> Iterator[str]:
        hands = report.hands
        if report.verdict == "invalid":
            failed = ", ".join(f"{check.name} ({check.failed:,})" for check in report.checks if check.failed)
            yield f"the log is not valid, failed are {failed}; only hands that pass are counted"
        yield from report.missing
        if spool.of_other_decks:
            yield f"{spool.of_other_decks:,} hands with other decks than {self._kind.name} are left out"
        left_out = hands.completed + hands.void - spool.hands - spool.of_other_decks
        if left_out > 0:
            yield f"{left_out:,} closed hands are left out: they did not pass, or their decks are sealed"


def _id(hand: str) -> bytes:
    return bytes.fromhex(hand.replace("-", ""))


def log_opener(options: Options) -> OpenLog:
    """Opens logs for `open_source`, all verified with the same options."""

    def opened(address: str, kind: DeckKind) -> Part:
        return LogDecks(open_log(address), options, kind)

    return opened
