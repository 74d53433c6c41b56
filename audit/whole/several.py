"""Several logs in one audit: each is judged by itself, then what they may not share (API.md, `audit`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.findings import Finding
from audit.logs.log import Log
from audit.tlog.ends import PREDECESSOR, contradiction
from audit.verdict import EXIT_CODES, judge
from audit.whole.rates import TableRates
from audit.whole.report import Report
from audit.whole.shared import Shared, SharedFinding
from audit.whole.verify import Options, Progress, verify


@dataclass(slots=True)
class TableSums:
    """Counts of the tables of one name, over the logs that have one."""

    logs: int = 0
    hands: int = 0
    completed: int = 0
    void: int = 0
    lost: int = 0
    open: int = 0

    @property
    def void_rate(self) -> float:
        """Void hands among those that ended."""
        ended = self.hands - self.open
        return self.void / ended if ended else 0.0

    def add(self, rates: TableRates) -> None:
        """Adds one log's table."""
        self.logs += 1
        self.hands += rates.life.hands
        self.completed += rates.life.completed
        self.void += rates.void
        self.lost += rates.life.lost
        self.open += rates.open


@dataclass(frozen=True, slots=True)
class SeveralReports:
    """The audit of several logs.

    Attributes:
        logs: each log's own report, in the order given.
        findings: what two of them share, or say of one another, at most `audit.whole.tally.KEPT` for each log.
        failed: how many such findings there are.
        verdict: of all together, as `Report.verdict`.
        exit_code: what the command ends with.
    """

    logs: tuple[Report, ...]
    findings: tuple[SharedFinding, ...]
    failed: int
    verdict: str
    exit_code: int

    def tables_by_name(self) -> list[tuple[str, TableSums]]:
        """Returns the tables' sums by name: shards of one room have a table each in turn."""
        sums: dict[str, TableSums] = {}
        for report in self.logs:
            for name, rates in report.tables.items():
                sums.setdefault(name, TableSums()).add(rates)
        return sorted(sums.items())


def verify_several(
    logs: Sequence[tuple[Log, Options]], progress: Callable[[Log], Progress | None] = lambda log: None
) -> SeveralReports:
    """Audits logs one after the other.

    Args:
        logs: where to read each, and what to verify it with.
        progress: asked, for each log, what to tell how far the audit is.
    """
    reports: list[Report] = []
    findings: list[SharedFinding] = []
    with Shared() as shared:
        for log, options in logs:
            reports.append(verify(log, options, progress=progress(log), shared=shared))
            findings += shared.findings()
        ends = _contradictions(reports)
        failed = shared.failed + len(ends)
        verdict, code = _judge(reports, logs[0][1].allow_test, failed)
        return SeveralReports(tuple(reports), (*findings, *ends), failed, verdict, code)


def _contradictions(reports: Sequence[Report]) -> list[SharedFinding]:
    """Holds each `predecessor` against the log that it names, where that one is among the logs."""
    found = []
    for report in reports:
        for end in report.ends:
            for other in reports if end.kind == PREDECESSOR else ():
                if other.checkpoint is not None and other.key_name == end.other.name == other.checkpoint.origin:
                    if other.key_id != end.other.key_id.hex():
                        detail = f"predecessor: {end.other.name} is named with another key than it was checked with"
                        found.append(SharedFinding(report.address, Finding("checkpoint", None, None, detail)))
                    elif (finding := contradiction(end, other.checkpoint)) is not None:
                        found.append(SharedFinding(report.address, finding))
    return found


def _judge(reports: Sequence[Report], allow_test: bool, shared: int) -> tuple[str, int]:
    codes = {report.exit_code for report in reports}
    return judge(
        is_test=any(report.verdict == "test-record" for report in reports),
        allow_test=allow_test,
        failed=shared > 0 or EXIT_CODES["invalid"] in codes,
        unreadable=any(report.verdict == "unreadable" for report in reports),
        incomplete=EXIT_CODES["incomplete"] in codes,
    )
