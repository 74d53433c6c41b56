"""`audit receipt FILE`: check one receipt, acknowledgement or client's evidence, offline."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.text import Text

from audit.commands.options import (
    FileType,
    LogType,
    allow_test_option,
    escrow_key_option,
    escrow_keys,
    format_option,
    key_option,
)
from audit.commands.progress import working
from audit.errors import FormatError, InputError
from audit.evidence import client
from audit.evidence.receipt import Evidence, Step, check_evidence
from audit.logs.log import Log
from audit.report.console import console, print_json
from audit.tlog.keys import VerifierKey

_COLOURS = {"valid": "green", "invalid": "red"}
_MARKS = {"ok": ("ok    ", "green"), "fail": ("FAIL  ", "bold red")}


def _print(evidence: Evidence, verdict: str, out: Console) -> None:
    colour = _COLOURS.get(verdict, "yellow")
    out.print(Text.assemble((verdict.upper().replace("-", " "), f"bold {colour}"), f"  {evidence.kind}"))
    out.print()
    for name, value in evidence.facts.items():
        out.print(Text(f"  {name:<12}{value}"))
    out.print()
    for step in evidence.steps:
        mark = _MARKS.get(step.state, ("-     ", "yellow"))
        out.print(Text.assemble("  ", mark, f"{step.name:<15}  {step.detail}"))


@click.command()
@click.argument("file", type=FileType())
@key_option
@click.option("--entry", type=FileType(), help="The exact bytes of the receipt's entry.")
@click.option("--log", type=LogType(), help="A log to take the entry from instead.")
@escrow_key_option
@allow_test_option
@format_option
@click.pass_context
def receipt(
    ctx: click.Context,
    file: tuple[str, bytes],
    key: VerifierKey | None,
    entry: tuple[str, bytes] | None,
    log: Log | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    allow_test: bool,
    output: str,
) -> None:
    """Check FILE: a receipt (tlog-proof) with its entry, an acknowledgement of a value, or a client's evidence.

    Exit codes are those of `audit verify`; a receipt without its entry, or without --key, is incomplete (3).
    """
    if entry is not None and log is not None:
        raise click.UsageError("give --entry or --log, not both")
    keys = escrow_keys(escrow_key_files)
    try:
        with working("checking"):
            kept = client.decode(file[1])
            if kept is not None:
                evidence = client.check(kept, key, keys)
            else:
                evidence = check_evidence(file[1], key, entry=entry[1] if entry else None, log=log)
    except (InputError, FormatError) as error:
        evidence = Evidence("no evidence that can be read", steps=[Step("file", "unknown", str(error))])
    verdict, code = evidence.judge(allow_test)
    if output == "json":
        steps = [{"name": step.name, "state": step.state, "detail": step.detail} for step in evidence.steps]
        print_json(
            json.dumps({"verdict": verdict, "kind": evidence.kind, "facts": evidence.facts, "steps": steps}, indent=2)
        )
    else:
        _print(evidence, verdict, console())
    ctx.exit(code)
