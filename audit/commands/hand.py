"""`audit hand LOG HAND --out FILE`: one hand of a log as a hand file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from audit.commands.options import (
    LogType,
    allow_test_option,
    escrow_key_option,
    escrow_keys,
    format_option,
    needed_key_option,
)
from audit.commands.progress import working
from audit.errors import FormatError
from audit.evidence import hand_file
from audit.evidence.make_hand_file import make_hand_file
from audit.explain.find import find_hand
from audit.logs.log import Log
from audit.record.fields import hand_bytes
from audit.report import evidence_text
from audit.report.console import console, print_json
from audit.tlog.keys import VerifierKey


@click.command()
@click.argument("log", type=LogType())
@click.argument("hand")
@needed_key_option
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where to write it: a new file.")
@escrow_key_option
@allow_test_option
@format_option
@click.pass_context
def hand(
    ctx: click.Context,
    log: Log,
    hand: str,
    key: VerifierKey,
    out: Path,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    allow_test: bool,
    output: str,
) -> None:
    """Write HAND (its UUID) of LOG to FILE: its entries and their receipts, for `audit receipt` or a player's page.

    The file is checked as any other, and written whatever the verdict: a hand that does not hold is worth keeping. LOG
    is a static log; the file holds nobody's own cards. Exit codes are those of `audit verify`.
    """
    try:
        wanted = hand_bytes(hand)
    except FormatError as error:
        raise click.BadParameter(str(error), param_hint="HAND") from None
    keys = escrow_keys(escrow_key_files)
    with working("looking for the hand"):
        found = find_hand(log, wanted, None)
        places = (("offer", found.offer), ("commit", found.commit), ("close", found.close))
        content = make_hand_file(log, wanted, key, {name: at[0] for name, at in places if at is not None})
        evidence = hand_file.check(content, key, keys)
    try:
        with out.open("x", encoding="ascii") as file:
            file.write(json.dumps(content) + "\n")
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written: {error.strerror}", param_hint="--out") from None
    evidence.facts["written"] = str(out)
    verdict, code = evidence.judge(allow_test)
    if output == "json":
        print_json(evidence_text.render(evidence, verdict))
    else:
        evidence_text.print_evidence(evidence, verdict, console())
    ctx.exit(code)
