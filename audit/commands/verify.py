"""`audit verify LOG`: check a whole log."""

from __future__ import annotations

import os

import click

from audit.commands.cluster import cluster_at, dask_option
from audit.commands.options import (
    LogType,
    allow_test_option,
    ca_option,
    demand,
    escrow_key_option,
    escrow_keys,
    format_option,
    keys_option,
    max_age_option,
    policy_option,
    since_option,
    trusting,
)
from audit.commands.progress import entries_bar
from audit.commands.run import command_line, inputs
from audit.commands.several import by_origin
from audit.logs.log import Log
from audit.report import several_json, several_text, verify_json, verify_text
from audit.report.console import console, print_json
from audit.report.subject import subject
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy
from audit.whole.several import verify_several
from audit.whole.verify import Options
from audit.whole.verify import verify as verify_log

EPILOG = """\b
Exit codes: 0 valid; 1 a check failed; 2 wrong usage; 3 nothing failed but the record is incomplete;
4 unreadable input, unknown schema, or a test record."""


def processes() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command(epilog=EPILOG)
@click.argument("logs", metavar="LOG...", type=LogType(), nargs=-1, required=True)
@keys_option
@escrow_key_option
@since_option
@policy_option
@max_age_option
@click.option("--ask-witnesses", is_flag=True, help="Hold LOG against what the policy's witnesses have seen.")
@ca_option
@allow_test_option
@click.option("--jobs", type=click.IntRange(min=1), default=processes, show_default="all cores", help="Processes.")
@dask_option
@click.option("--show", type=click.IntRange(min=0), default=20, show_default=True, help="Findings to print as text.")
@click.option("--tables", is_flag=True, help="Print every table, not only those of which there is something to say.")
@click.option("--add-tables", is_flag=True, help="Of several LOGs add the tables of one name, as shards of one room.")
@format_option
@click.pass_context
def verify(
    ctx: click.Context,
    logs: tuple[Log, ...],
    keys: tuple[VerifierKey, ...],
    escrow_key_files: tuple[tuple[str, bytes], ...],
    since: tuple[tuple[str, bytes], ...],
    policy: Policy | None,
    max_age: int | None,
    ask_witnesses: bool,
    ca: tuple[str, bytes] | None,
    allow_test: bool,
    jobs: int,
    dask: str | None,
    show: int,
    tables: bool,
    add_tables: bool,
    output: str,
) -> None:
    """Check every signature, hash, deck and deal of LOG.

    LOG is the folder of a static log, an http(s) address of one, or grpc(s)://host:port. Several LOGs are judged one by
    one; keys and earlier checkpoints go to the log of their origin. No two may share a seed, a hand's id or a deck.
    """
    if ask_witnesses and policy is None:
        raise click.UsageError("--ask-witnesses needs --policy")
    if add_tables and len(logs) == 1:
        raise click.UsageError("--add-tables needs several LOGs")
    escrow = escrow_keys(escrow_key_files)
    logs = tuple(trusting(log, ca) for log in logs)
    with cluster_at(dask, jobs) as cluster:
        each = []
        for log, (key, earlier) in zip(logs, by_origin(logs, keys, since), strict=True):
            if ask_witnesses and key is None and policy is not None and not policy.logs:
                raise click.UsageError("--ask-witnesses needs the log's key: --key, or a `log` line in the policy")
            asked = demand(policy, max_age, key)
            each.append((log, Options(key, escrow, earlier, allow_test, jobs, asked, ask_witnesses, cluster)))
        code = (
            _one(each[0], output, show, tables) if len(each) == 1 else _several(each, output, show, tables, add_tables)
        )
    ctx.exit(code)


def _one(log: tuple[Log, Options], output: str, show: int, tables: bool) -> int:
    with entries_bar() as progress:
        report = verify_log(*log, progress=progress)
    about = subject(command_line(), [report], inputs())
    if output == "json":
        print_json(verify_json.render(report, about))
    else:
        verify_text.print_report(report, about, console(), show, all_tables=tables)
    return report.exit_code


def _several(logs: list[tuple[Log, Options]], output: str, show: int, tables: bool, add_tables: bool) -> int:
    with entries_bar() as progress:
        several = verify_several(logs, progress=lambda log: progress)
    about = subject(command_line(), several.logs, inputs())
    if output == "json":
        print_json(several_json.render(several, about, add_tables=add_tables))
    else:
        several_text.print_reports(several, about, console(), show, all_tables=tables, add_tables=add_tables)
    return several.exit_code
