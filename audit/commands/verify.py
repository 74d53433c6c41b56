"""`audit verify LOG`: check a whole log."""

from __future__ import annotations

import os

import click

from audit.commands.options import (
    LogType,
    allow_test_option,
    demand,
    escrow_key_option,
    escrow_keys,
    format_option,
    key_option,
    max_age_option,
    policy_option,
    since_option,
)
from audit.commands.progress import entries_bar
from audit.commands.run import command_line, inputs
from audit.logs.log import Log
from audit.report import verify_json, verify_text
from audit.report.console import console, print_json
from audit.report.subject import subject
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy
from audit.whole.verify import Options
from audit.whole.verify import verify as verify_log

EPILOG = """\b
Exit codes: 0 valid; 1 a check failed; 2 wrong usage; 3 nothing failed but the record is incomplete;
4 unreadable input, unknown schema, or a test record."""


def processes() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command(epilog=EPILOG)
@click.argument("log", type=LogType())
@key_option
@escrow_key_option
@since_option
@policy_option
@max_age_option
@click.option("--ask-witnesses", is_flag=True, help="Hold LOG against what the policy's witnesses have seen.")
@allow_test_option
@click.option("--jobs", type=click.IntRange(min=1), default=processes, show_default="all cores", help="Processes.")
@click.option("--show", type=click.IntRange(min=0), default=20, show_default=True, help="Findings to print as text.")
@click.option("--tables", is_flag=True, help="Print every table, not only those of which there is something to say.")
@format_option
@click.pass_context
def verify(
    ctx: click.Context,
    log: Log,
    key: VerifierKey | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    since: tuple[tuple[str, bytes], ...],
    policy: Policy | None,
    max_age: int | None,
    ask_witnesses: bool,
    allow_test: bool,
    jobs: int,
    show: int,
    tables: bool,
    output: str,
) -> None:
    """Check every signature, hash, deck and deal of LOG.

    LOG is the folder of a static log, an http(s) address of one, or grpc://host:port.
    """
    if ask_witnesses and policy is None:
        raise click.UsageError("--ask-witnesses needs --policy")
    if ask_witnesses and key is None and policy is not None and not policy.logs:
        raise click.UsageError("--ask-witnesses needs the log's key: --key, or a `log` line in the policy")
    asked = demand(policy, max_age, key)
    options = Options(key, escrow_keys(escrow_key_files), since, allow_test, jobs, asked, ask_witnesses)
    with entries_bar() as progress:
        report = verify_log(log, options, progress=progress)
    about = subject(command_line(), [report], inputs())
    if output == "json":
        print_json(verify_json.render(report, about))
    else:
        verify_text.print_report(report, about, console(), show, all_tables=tables)
    ctx.exit(report.exit_code)
