"""`audit verify LOG`: check a whole log."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from audit.commands.options import (
    LogType,
    allow_test_option,
    escrow_key_option,
    escrow_keys,
    format_option,
    key_option,
    since_option,
)
from audit.commands.run import command_line, inputs
from audit.keys import VerifierKey
from audit.log import Log
from audit.report import json_report, text_report
from audit.report.console import console
from audit.report.subject import subject
from audit.verify import Options
from audit.verify import Progress as Told
from audit.verify import verify as verify_log

EPILOG = """\b
Exit codes: 0 valid; 1 a check failed; 2 wrong usage; 3 nothing failed but the record is incomplete;
4 unreadable input, unknown schema, or a test record."""


class _Bar(AbstractContextManager["Told"]):
    """A progress bar on standard error."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TextColumn("entries"))
        self._progress = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        self._task = self._progress.add_task("verify", total=None)

    def __enter__(self) -> Told:
        self._progress.start()
        return self._update

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def _update(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)


def _bar() -> AbstractContextManager[Told | None]:
    console = Console(stderr=True)
    return _Bar(console) if console.is_terminal else nullcontext()


def processes() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command(epilog=EPILOG)
@click.argument("log", type=LogType())
@key_option
@escrow_key_option
@since_option
@allow_test_option
@click.option("--jobs", type=click.IntRange(min=1), default=processes, show_default="all cores", help="Processes.")
@click.option("--show", type=click.IntRange(min=0), default=20, show_default=True, help="Findings to print as text.")
@format_option
@click.pass_context
def verify(
    ctx: click.Context,
    log: Log,
    key: VerifierKey | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    since: tuple[tuple[str, bytes], ...],
    allow_test: bool,
    jobs: int,
    show: int,
    output: str,
) -> None:
    """Check every signature, hash, deck and deal of LOG.

    LOG is the folder of a static log, an http(s) address of one, or grpc://host:port.
    """
    options = Options(key, escrow_keys(escrow_key_files), since, allow_test, jobs)
    with _bar() as progress:
        report = verify_log(log, options, progress=progress)
    about = subject(command_line(), [report], inputs())
    if output == "json":
        click.echo(json_report.render(report, about))
    else:
        text_report.print_report(report, about, console(), show)
    ctx.exit(report.exit_code)
