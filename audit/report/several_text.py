"""The audit of several logs as text for people: each log's own report, what two of them share, and the verdict last."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.plural import counted
from audit.report import subject
from audit.report.subject import Subject
from audit.report.verify_text import VERDICTS, by_name, print_findings, print_log, print_title
from audit.whole.several import SeveralReports


def print_reports(
    several: SeveralReports, about: Subject, out: Console, show: int, *, all_tables: bool, add_tables: bool
) -> None:
    """Prints the reports.

    Args:
        several: the result of the audit.
        about: what it is about.
        out: where to print it.
        show: how many findings to print of each log.
        all_tables: print every table of each log.
        add_tables: add the tables of one name.
    """
    for report, log in zip(several.logs, about.logs, strict=True):
        out.print(Text(report.address, style="bold underline"))
        print_log(report, subject.log_rows(log), out, show, all_tables=all_tables)
        out.print()
    out.print(Text("all logs", style="bold underline"))
    for label, value in subject.making_rows(about):
        out.print(Text(f"  {label:<12}{value}"))
    if add_tables:
        _print_tables(several, out)
    _print_shared(several, out, show)
    _print_verdict(several, out)


def _print_tables(several: SeveralReports, out: Console) -> None:
    print_title("Tables by name, over all logs", out)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("  table")
    for name in ("logs", "hands", "completed", "void", "lost", "open", "void rate"):
        grid.add_column(name, justify="right")
    for name, sums in sorted(several.tables_by_name(), key=lambda row: by_name(row[0])):
        counts = (sums.logs, sums.hands, sums.completed, sums.void, sums.lost, sums.open)
        grid.add_row(f"  {name}", *map(str, counts), f"{100 * sums.void_rate:.1f} %")
    out.print(grid)


def _print_shared(several: SeveralReports, out: Console, show: int) -> None:
    print_title("Between the logs", out)
    if not several.failed:
        out.print(Text("  no seed, hand id or deck is in two of them, as far as they are known"))
        return
    shown = [replace(found, detail=f"{log}: {found.detail}") for log, found in several.findings[:show]]
    print_findings(shown, several.failed, out)


def _print_verdict(several: SeveralReports, out: Console) -> None:
    out.print()
    for report in several.logs:
        word, colour, _ = VERDICTS[report.verdict]
        out.print(Text.assemble((f"  {word:<11}", colour), "  ", report.address))
    word, colour, sentence = VERDICTS[several.verdict]
    if several.failed:
        what = "a seed, a hand id or a deck is in two logs"
        sentence = f"{counted(several.failed, 'finding', 'findings')} between the logs: {what}."
    out.print(Text.assemble((word, f"bold {colour}"), f"  {len(several.logs)} logs. ", sentence))
