"""How attacks are judged: the log is written, audited with both keys, and the names of what failed are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from audit.hand.escrow_keys import read_keys
from audit.logs.folder import FolderLog
from audit.logs.log import StaticLog
from audit.whole.judge import Judge
from audit.whole.report import Report
from audit.whole.verify import Options, verify
from tests.attacks.maker import Book, Entry, EscrowPair, Signer, log_files

ESCROW = read_keys([EscrowPair().private.hex()])


def audit(book: Book, folder: Path, **options: Any) -> Report:
    """Writes a log and audits it, with the pinned key and the escrow key unless told otherwise."""
    return audit_folder(book.write(folder), **{"key": book.signer.verifier, **options})


def audit_folder(folder: Path, **options: Any) -> Report:
    """Audits a log that is there."""
    return _audited(FolderLog(folder), Options(**{"escrow": ESCROW, **options}))


class MemoryLog(StaticLog):
    """A static log that lies in memory, by path."""

    address = "memory"

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def _read(self, where: str) -> bytes | None:
        return self._files.get(where)


def audit_entries(signer: Signer, raws: Sequence[bytes]) -> Report:
    """Audits a log of these entries, with both keys."""
    return _audited(MemoryLog(log_files(signer, raws)), Options(signer.verifier, ESCROW))


def _audited(log: StaticLog, options: Options) -> Report:
    with alone() as codes:
        report = verify(log, options)
    if not options.since and options.witnesses is None:
        # The judge by itself calls the same logs valid, whatever is found beside it (docs/trust-base.md).
        assert (codes == [0]) == (report.exit_code == 0), report.findings
    return report


@contextmanager
def alone() -> Iterator[list[int]]:
    """Gives, for each audit within, the exit code that the judge by itself has: as if nothing else had been found."""
    codes: list[int] = []
    verdict = Judge.verdict

    def watched(self: Judge, said: tuple[str, int], *rest: Any) -> tuple[str, int]:
        codes.append(verdict(self, ("valid", 0), *rest)[1])
        return verdict(self, said, *rest)

    with patch.object(Judge, "verdict", watched):
        yield codes


def failed(report: Report) -> set[str]:
    """The names of the checks that failed."""
    names = {check.name for check in report.checks if check.failed}
    assert names == {found.check for found in report.findings}
    return names


def assert_fails(report: Report, *checks: str) -> None:
    """Requires the verdict `invalid`, for these reasons and no others."""
    assert failed(report) == set(checks), report.findings
    assert (report.verdict, report.exit_code) == ("invalid", 1)


def find(book: Book, schema: str, label_hand: str) -> Entry:
    """The entry of a hand, by the last word of its schema and the hand's UUID text."""
    for entry in book.entries:
        if isinstance(entry, dict) and entry["schema"].endswith(schema) and entry["hand"] == label_hand:
            return entry
    raise LookupError((schema, label_hand))
