"""`audit explain LOG HAND`: one hand with the input of every hash, to be followed with other tools."""

from __future__ import annotations

import click

from audit.commands.options import (
    FileType,
    LogType,
    allow_test_option,
    ca_option,
    escrow_key_option,
    escrow_keys,
    format_option,
    key_option,
    key_text,
    since_option,
    trusting,
)
from audit.commands.progress import working
from audit.errors import FormatError, InputError
from audit.evidence import hand_file as hand_files
from audit.explain.seats import explain_seats
from audit.explain.steps import explain as explain_hand
from audit.hand.seat import OwnSeat, SeatKey
from audit.logs.log import Log
from audit.record.fields import hand_bytes
from audit.report import explain_json, explain_text
from audit.report.console import console, print_json
from audit.tlog.keys import VerifierKey
from audit.verdict import EXIT_CODES


@click.command()
@click.argument("log", type=LogType())
@click.argument("hand")
@key_option
@escrow_key_option
@click.option(
    "--show-sealed",
    is_flag=True,
    help="Give away a sealed hand's seed, deck and salts too (needs --escrow-key). They are private.",
)
@click.option(
    "--seat-key",
    "seat_key_files",
    type=FileType(),
    multiple=True,
    help="A player's private seat key (hex): names the seat whose digest is this key's; may be given more than once.",
)
@click.option("--hand-file", type=FileType(), help="A player's hand file, which opens the cards of its sealed seat.")
@since_option
@ca_option
@allow_test_option
@format_option
@click.pass_context
def explain(
    ctx: click.Context,
    log: Log,
    hand: str,
    key: VerifierKey | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    show_sealed: bool,
    seat_key_files: tuple[tuple[str, bytes], ...],
    hand_file: tuple[str, bytes] | None,
    since: tuple[tuple[str, bytes], ...],
    ca: tuple[str, bytes] | None,
    allow_test: bool,
    output: str,
) -> None:
    """Show HAND (its UUID) of LOG: what was dealt, and every hash with its input in hex.

    This explains one hand and does not audit the log: `audit verify` does. With --key it checks who signed the log,
    and leads from each of the hand's entries to the root under the signature. Exit codes: 0 the hand's own checks
    hold, 1 one failed, 3 the hand was lost, 4 it cannot be read or is a test record.
    """
    try:
        wanted = hand_bytes(hand)
    except FormatError as error:
        raise click.BadParameter(str(error), param_hint="HAND") from None
    if show_sealed and not escrow_key_files:
        raise click.UsageError("--show-sealed needs --escrow-key")
    keys = escrow_keys(escrow_key_files)
    seats, own = _seat_keys(seat_key_files), _own_seat(hand_file, hand)
    try:
        with working("looking for the hand"):
            told = explain_hand(trusting(log, ca), wanted, keys, key=key, since=since, show_sealed=show_sealed)
            explain_seats(told, seats, own)
    except InputError as error:
        if output != "json":
            raise
        print_json(explain_json.render_unreadable(hand, str(error)))
        ctx.exit(EXIT_CODES["unreadable"])
    if output == "json":
        print_json(explain_json.render(told, allow_test))
    else:
        explain_text.print_explanation(told, console())
    ctx.exit(told.judge(allow_test)[1])


def _seat_keys(files: tuple[tuple[str, bytes], ...]) -> list[SeatKey]:
    keys = []
    for path, data in files:
        try:
            keys.append(SeatKey.parse(key_text(data)))
        except FormatError as error:
            raise click.BadParameter(f"{path}: {error}", param_hint="--seat-key") from None
    return keys


def _own_seat(file: tuple[str, bytes] | None, hand: str) -> OwnSeat | None:
    if file is None:
        return None
    path, data = file
    try:
        content = hand_files.decode(data)
        if content is None:
            raise FormatError("no hand file")
        own = hand_files.own_seat(content)
    except FormatError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--hand-file") from None
    if content["hand"] != hand:
        raise click.BadParameter(f"{path} is of hand {content['hand']}", param_hint="--hand-file")
    return own
