"""`audit stats SOURCE…`: test decks for randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from audit.commands.deck_options import (
    EPILOG,
    DeckOptions,
    alpha_option,
    collected,
    count_decks,
    deck_options,
    json_option,
    note_files,
    open_decks,
    report_option,
    show,
    understood,
)
from audit.commands.options import format_option
from audit.commands.own_hands import is_hand_folder, own_hands
from audit.commands.progress import working
from audit.errors import InputError
from audit.stats.judging.battery import judge, no_decks, unreadable
from audit.stats.judging.sequential import watch
from audit.stats.judging.views import VIEWS, view_of
from audit.stats.results import BatteryResult
from audit.stats.sources.logs import LogFailsError
from audit.whole.report import Report

view_option = click.option(
    "--view",
    "views",
    type=click.Choice(list(VIEWS)),
    multiple=True,
    help="Name the tests as a laboratory does, at its levels; decides no exit code. May be given more than once.",
)


@click.command(epilog=EPILOG)
@deck_options
@alpha_option
@click.option(
    "--sequential", is_flag=True, help="Watch deck after deck: an alarm is as rare as alpha says at every look."
)
@view_option
@report_option
@format_option
@json_option
@click.pass_context
def stats(
    ctx: click.Context,
    /,
    alpha: float,
    sequential: bool,
    views: tuple[str, ...],
    report: Path | None,
    output: str,
    as_json: bool,
    **decks: Any,
) -> None:
    """Test the decks of every SOURCE, all together, for randomness.

    SOURCE is a log (a folder, an http(s) address, grpc://host:port), a text file of one deck a line, a .npy array of
    card indexes in the reference order, a folder of a player's hand files (tested by third street alone), or - for text
    on standard input. A log is verified first, as
    `audit verify` does; if it holds, all its closed hands count, void ones as well.
    """
    options = collected(**decks)
    if sequential and options.dimensions:
        raise click.UsageError("--sequential watches all decks together; leave out --by and --strata")
    if sequential and views:
        raise click.UsageError("--view names tests of a whole battery, which --sequential does not make")
    form = "json" if as_json else output
    if any(is_hand_folder(source) for source in options.sources):
        if len(options.sources) > 1 or len(options.keys) > 1 or sequential or views or report or options.dimensions:
            raise click.UsageError("a folder of hand files is tested alone, with one --key, by its own few tests")
        key = options.keys[0] if options.keys else None
        ctx.exit(own_hands(options.sources[0], key, options.escrow, alpha, form, options.allow_test))
    reports: Sequence[Report] = ()
    note_files([*options.sources, *(path for _, path in options.strata), options.order])
    try:
        result, reports = _tested(options, alpha, sequential)
    except LogFailsError as error:
        reports, findings = [error.report], error.report.findings
        result = unreadable(alpha, options.sources, why=str(error), findings=findings, logs=[error.sample])
    except InputError as error:
        if form == "text":
            raise
        result = unreadable(alpha, options.sources, why=str(error))
    result = replace(result, views=tuple(view_of(VIEWS[name], result.tests) for name in dict.fromkeys(views)))
    ctx.exit(show(result, form, report, reports))


def _tested(options: DeckOptions, alpha: float, sequential: bool) -> tuple[BatteryResult, Sequence[Report]]:
    if sequential:
        with open_decks(options) as opened:
            result = watch(opened.source, alpha, order=opened.order, names=options.tests, progress=opened.counted)
        read_as, hints = understood(options, opened.source)
        return replace(result, read_as=read_as, notes=(*result.notes, *hints)), opened.source.reports
    corpus, source = count_decks(options)
    with working("judging"):
        result = judge(corpus, alpha) if corpus is not None else no_decks(alpha, source)
    return result, source.reports
