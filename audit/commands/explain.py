"""`audit explain LOG HAND`: one hand with the input of every hash, to be followed with other tools."""

from __future__ import annotations

import click

from audit.commands.options import LogType, escrow_key_option, escrow_keys, format_option
from audit.errors import FormatError
from audit.explain import explain as explain_hand
from audit.forms import hand_bytes
from audit.log import Log
from audit.report import explain_report
from audit.report.text_report import console


@click.command()
@click.argument("log", type=LogType())
@click.argument("hand")
@escrow_key_option
@click.option(
    "--show-sealed",
    is_flag=True,
    help="Give away a sealed hand's seed, deck and salts too (needs --escrow-key). They are private.",
)
@format_option
@click.pass_context
def explain(
    ctx: click.Context,
    log: Log,
    hand: str,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    show_sealed: bool,
    output: str,
) -> None:
    """Show HAND (its UUID) of LOG: what was dealt, and every hash with its input in hex.

    This explains one hand and does not audit the log: `audit verify` does. Exit codes: 0 the hand's own checks hold,
    1 one failed, 4 the hand cannot be read.
    """
    try:
        wanted = hand_bytes(hand)
    except FormatError as error:
        raise click.BadParameter(str(error), param_hint="HAND") from None
    if show_sealed and not escrow_key_files:
        raise click.UsageError("--show-sealed needs --escrow-key")
    told = explain_hand(log, wanted, escrow_keys(escrow_key_files), show_sealed=show_sealed)
    if output == "json":
        click.echo(explain_report.render(told))
    else:
        explain_report.print_explanation(told, console())
    ctx.exit(1 if told.outcome.findings else 0)
