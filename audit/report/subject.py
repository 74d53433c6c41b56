"""What a report is about (API.md, `of`): the same for `verify` and `stats`, in text, JSON and HTML.

A report that names neither its log nor the auditor's own code cannot be filed: a reader a year later must be
able to make it again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.files import open_regular
from audit.outside import without_password
from audit.report.code_digest import code_digest
from audit.whole.report import Report

DISTRIBUTION = "cutcard"


@dataclass(frozen=True, slots=True)
class Input:
    """Something that was read: its name on the command line, and the SHA-256 of its bytes in hex.

    Of a log these are the bytes of its checkpoint, which stand for all the rest.
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LogSubject:
    """One log as it was read; what is not known is None.

    Attributes:
        log: its address.
        origin: as its checkpoint has it.
        size: of its tree, in entries.
        root: of its tree, in hex.
        key_id: of the verifier key that was pinned, in hex.
        first: the earliest time that an entry says.
        last: the latest.
        tables: how many there are.
        hands: how many there are.
        words_used: words that swaps of derived decks took.
        words_refused: words that these decks refused, so that no card is favoured.
    """

    log: str
    origin: str | None
    size: int | None
    root: str | None
    key_id: str | None
    first: str | None
    last: str | None
    tables: int
    hands: int
    words_used: int = 0
    words_refused: int = 0


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report is about.

    Attributes:
        logs: the logs that were read, none if decks came from files alone.
        alpha: of the statistics; None if none were made.
        command: the command line, to be pasted into a shell; addresses in it without their passwords.
        version: of the installed package.
        code_digest: of the package `audit`, in hex.
        date: when the report was made, UTC.
        inputs: digests of what was read.
    """

    logs: tuple[LogSubject, ...]
    alpha: float | None
    command: str
    version: str
    code_digest: str
    date: str
    inputs: tuple[Input, ...]


def subject(
    command: str, reports: Sequence[Report] = (), inputs: Sequence[Input] = (), alpha: float | None = None
) -> Subject:
    """Returns what a report made now is about.

    Args:
        command: the command line.
        reports: the audit of each log that was read.
        inputs: files that were read besides; the logs' checkpoints are added.
        alpha: the chance of a false alarm that the statistics were made with.
    """
    logs = tuple(_log_subject(report) for report in reports)
    checkpoints = [
        Input(report.address, report.checkpoint_sha256) for report in reports if report.checkpoint_sha256 is not None
    ]
    return Subject(
        logs=logs,
        alpha=alpha,
        command=without_password(command),
        version=_version(),
        code_digest=code_digest(),
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        inputs=tuple(dict.fromkeys((*checkpoints, *inputs))),
    )


def _version() -> str:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _log_subject(report: Report) -> LogSubject:
    tree = report.checkpoint
    return LogSubject(
        log=report.address,
        origin=tree.origin if tree is not None else None,
        size=tree.size if tree is not None else None,
        root=tree.root.hex() if tree is not None else None,
        key_id=report.key_id,
        first=report.first,
        last=report.last,
        tables=len(report.tables),
        hands=report.hands.total,
        words_used=report.words_used,
        words_refused=report.words_refused,
    )


def file_digest(path: Path, name: str | None = None) -> Input:
    """Returns a file's digest, however large the file is.

    Raises:
        OSError: it cannot be read.
    """
    with open_regular(path) as file:
        return Input(name or str(path), hashlib.file_digest(file, "sha256").hexdigest())


def bytes_digest(name: str, data: bytes) -> Input:
    """Returns the digest of what was read already."""
    return Input(name, hashlib.sha256(data).hexdigest())


def as_json(about: Subject) -> dict[str, Any]:
    """Returns API.md's `of`; with several logs their members stand in `logs` instead."""
    logs = [_log_json(log) for log in about.logs]
    one = logs[0] if len(logs) == 1 else dict.fromkeys(_LOG_MEMBERS)
    return {
        **one,
        "alpha": about.alpha,
        "command": about.command,
        "version": about.version,
        "code_digest": about.code_digest,
        "date": about.date,
        "inputs": [{"name": each.name, "sha256": each.sha256} for each in about.inputs],
        **({"logs": logs} if len(logs) > 1 else {}),
    }


_LOG_MEMBERS = (
    "log",
    "origin",
    "size",
    "root",
    "key_id",
    "from",
    "to",
    "tables",
    "hands",
    "words_used",
    "words_refused",
)


def _log_json(log: LogSubject) -> dict[str, Any]:
    values = (
        log.log, log.origin, log.size, log.root, log.key_id, log.first, log.last, log.tables, log.hands, log.words_used,
        log.words_refused,
    )  # fmt: skip
    return dict(zip(_LOG_MEMBERS, values, strict=True))


def rows(about: Subject) -> Iterator[tuple[str, str]]:
    """Yields label and value of each line for people: each log, then how and when the report was made, and of what."""
    for log in about.logs:
        yield "log", log.log
        yield from log_rows(log)
    yield from making_rows(about)


def log_rows(log: LogSubject) -> Iterator[tuple[str, str]]:
    """Yields label and value of each line about one log."""
    yield "origin", log.origin or "unknown"
    yield "key id", log.key_id or "no key was given"
    if log.size is not None:
        yield "tree", f"{log.size:,} {'entry' if log.size == 1 else 'entries'}, root {log.root}"
    if log.first is not None:
        yield "period", f"{log.first} to {log.last}"
    yield "tables", f"{log.tables:,}"
    if log.words_used:
        yield "words", f"{log.words_used:,} used by shuffles, {log.words_refused:,} refused so that no card is favoured"


def making_rows(about: Subject) -> Iterator[tuple[str, str]]:
    """Yields label and value of each line about how and when the report was made, and of what."""
    if about.alpha is not None:
        yield "alpha", f"{about.alpha:g}"
    yield "command", about.command
    yield "auditor", f"{DISTRIBUTION} {about.version}, code digest {about.code_digest}"
    yield "date", about.date
    for each in about.inputs:
        yield "input", f"sha256 {each.sha256}  {each.name}"
