"""How attacks are judged: the log is written, audited with both keys, and the names of what failed are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit.hand.escrow import EscrowKeys
from audit.logs.folder import FolderLog
from audit.logs.log import StaticLog
from audit.whole.report import Report
from audit.whole.verify import Options, verify
from tests.attacks.maker import Book, Entry, EscrowPair, Signer, log_files

ESCROW = EscrowKeys.parse([EscrowPair().private.hex()])


def audit(book: Book, folder: Path, **options: Any) -> Report:
    """Writes a log and audits it, with the pinned key and the escrow key unless told otherwise."""
    return audit_folder(book.write(folder), **{"key": book.signer.verifier, **options})


def audit_folder(folder: Path, **options: Any) -> Report:
    """Audits a log that is there."""
    return verify(FolderLog(folder), Options(**{"escrow": ESCROW, **options}))


class MemoryLog(StaticLog):
    """A static log that lies in memory, by path."""

    address = "memory"

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def _read(self, where: str) -> bytes | None:
        return self._files.get(where)


def audit_entries(signer: Signer, raws: Sequence[bytes]) -> Report:
    """Audits a log of these entries, with both keys."""
    return verify(MemoryLog(log_files(signer, raws)), Options(signer.verifier, ESCROW))


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
