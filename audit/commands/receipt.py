"""`audit receipt`: check a receipt, acknowledgement, client's evidence or hand file, offline; or make a receipt."""

from __future__ import annotations

from pathlib import Path

import click

from audit.commands.options import (
    FileType,
    LogType,
    allow_test_option,
    ca_option,
    demand,
    escrow_key_option,
    escrow_keys,
    format_option,
    key_option,
    max_age_option,
    policy_option,
    trusting,
)
from audit.commands.progress import working
from audit.errors import FormatError, InputError
from audit.evidence import client, hand_file
from audit.evidence.make_receipt import make_receipt
from audit.evidence.receipt import Evidence, Step, check_evidence
from audit.logs.log import Log
from audit.report import evidence_text
from audit.report.console import console, print_json
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy


@click.command()
@click.argument("file", type=FileType(), required=False)
@key_option
@policy_option
@max_age_option
@click.option("--entry", type=FileType(), help="The exact bytes of the receipt's entry.")
@click.option("--log", type=LogType(), help="A log to take the entry from instead, or to make a receipt from.")
@click.option("--index", type=click.IntRange(min=0), help="The entry of --log to make a receipt of, instead of FILE.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the receipt that is made: a new file.")
@ca_option
@escrow_key_option
@allow_test_option
@format_option
@click.pass_context
def receipt(
    ctx: click.Context,
    file: tuple[str, bytes] | None,
    key: VerifierKey | None,
    policy: Policy | None,
    max_age: int | None,
    entry: tuple[str, bytes] | None,
    log: Log | None,
    index: int | None,
    out: Path | None,
    ca: tuple[str, bytes] | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    allow_test: bool,
    output: str,
) -> None:
    """Check FILE: a receipt (tlog-proof) with its entry, an acknowledgement, a client's evidence, or a hand file.

    Or make a receipt: `--log LOG --index N --out FILE` writes that of one entry from a log's static files, under its
    newest checkpoint, and checks it as any other.

    With --policy, a receipt's checkpoint must be cosigned as the policy asks. Exit codes are those of `audit verify`; a
    receipt without its entry, or without --key, is incomplete (3).
    """
    asked = demand(policy, max_age, key)
    log = None if log is None else trusting(log, ca)
    raw = entry[1] if entry is not None else None
    if index is not None or out is not None:
        if file is not None or entry is not None or log is None or index is None or out is None:
            raise click.UsageError("to make a receipt give --log, --index and --out, and neither FILE nor --entry")
        data, raw = make_receipt(log, index)
        log = None
    elif file is None:
        raise click.UsageError("give a FILE to check, or --log, --index and --out to make a receipt")
    elif entry is not None and log is not None:
        raise click.UsageError("give --entry or --log, not both")
    else:
        data = file[1]
    keys = escrow_keys(escrow_key_files)
    try:
        with working("checking"):
            kept = client.decode(data)
            played = hand_file.decode(data) if kept is None else None
            if kept is not None:
                evidence = client.check(kept, _only_key(key, policy), keys, asked)
            elif played is not None:
                evidence = hand_file.check(played, _only_key(key, policy), keys)
            else:
                evidence = check_evidence(data, key, entry=raw, log=log, witnesses=asked)
    except (InputError, FormatError) as error:
        evidence = Evidence("no evidence that can be read", steps=[Step("file", "unknown", str(error))])
    verdict, code = evidence.judge(allow_test)
    if out is not None:
        _keep(evidence, verdict, out, data)
    if output == "json":
        print_json(evidence_text.render(evidence, verdict))
    else:
        evidence_text.print_evidence(evidence, verdict, console())
    ctx.exit(code)


def _only_key(key: VerifierKey | None, policy: Policy | None) -> VerifierKey | None:
    """Returns the pinned key, for which a policy of one log stands in."""
    return policy.logs[0] if key is None and policy is not None and len(policy.logs) == 1 else key


def _keep(evidence: Evidence, verdict: str, out: Path, data: bytes) -> None:
    """Writes a receipt that was made; one that proves nothing is not worth keeping."""
    if verdict == "invalid":
        evidence.facts["written"] = "nothing: a check failed"
        return
    try:
        with out.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written: {error.strerror}", param_hint="--out") from None
    evidence.facts["written"] = str(out)
