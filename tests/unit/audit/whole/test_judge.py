"""The judge: what is outside the trust base may fail as it likes, no log is called valid for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from audit.logs.log import Log
from audit.whole.course import Course
from audit.whole.lifecycle import Lifecycle
from audit.whole.pool import Workers
from audit.whole.tally import Tally
from audit.whole.traces import CloseTrace, SplitHand
from audit.whole.verify import Audit, Options, verify
from tests.attacks.judging import MemoryLog
from tests.attacks.maker import Book, Draft, contributors, log_files, many_at_once

Fault = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def book() -> Book:
    """A log of two stretches, between which hands are cut apart."""
    return many_at_once(1_200, 30)


@pytest.fixture(scope="module")
def log(book: Book) -> Log:
    return MemoryLog(log_files(book.signer, book.raws()))


def _forgets_hands(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Audit, "_hand_in", lambda self, workers, batch: None)


def _closes_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Lifecycle, "close", lambda self, trace: None)
    patch.setattr(Lifecycle, "finish", lambda self: iter(()))


def _checks_one_twice(patch: pytest.MonkeyPatch) -> None:
    """A hand that was cut apart is checked twice, and another one not at all."""
    check = Workers.check
    patch.setattr(Workers, "check", lambda self, batch: check(self, [batch[0]] * len(batch)))


def _turns_stretches_round(patch: pytest.MonkeyPatch) -> None:
    read = Workers.read

    def turned(self: Workers, stretches: Any) -> Iterator[Any]:
        return iter(list(read(self, stretches))[::-1])

    patch.setattr(Workers, "read", turned)


def _loses_a_stretch(patch: pytest.MonkeyPatch) -> None:
    read = Workers.read
    patch.setattr(Workers, "read", lambda self, stretches: iter(list(read(self, stretches))[:1]))


def _compares_no_seeds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Course, "find_duplicates", lambda self: None)


@pytest.mark.parametrize(
    "fault",
    [_forgets_hands, _closes_nothing, _checks_one_twice, _turns_stretches_round, _loses_a_stretch, _compares_no_seeds],
)
def test_no_fault_outside_makes_a_log_valid(
    book: Book, log: Log, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    fault(monkeypatch)
    monkeypatch.setattr(Tally, "judge", lambda self, allow_test: ("valid", 0))
    report = verify(log, Options(book.signer.verifier))
    assert (report.verdict, report.exit_code) == ("unreadable", 4), report.missing
    assert any("a fault of the auditor's own" in missing for missing in report.missing)


def test_without_a_fault_it_is_valid(book: Book, log: Log) -> None:
    assert verify(log, Options(book.signer.verifier)).exit_code == 0


def test_a_hand_is_checked_with_its_offer_whatever_somebody_else_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit with contributions that nobody invited, and a split hand that says that its offer is not asked after."""
    draft, book = Draft("uninvited", values=contributors("uninvited", "ann")).deal(), Book()
    book.add(draft.close(book.add(draft.commit(None))))
    close = Lifecycle.close

    def unasked(self: Lifecycle, trace: CloseTrace) -> SplitHand | None:
        split = close(self, trace)
        assert split is not None
        return split._replace(without_offer=True)

    monkeypatch.setattr(Lifecycle, "close", unasked)
    report = verify(MemoryLog(log_files(book.signer, book.raws())), Options(book.signer.verifier))
    assert (report.findings, report.exit_code) == ((), 4)
