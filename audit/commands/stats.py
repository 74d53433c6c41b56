"""`audit stats SOURCE…`: test decks for randomness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from audit.commands.decks import (
    EPILOG,
    alpha_option,
    collected,
    count_decks,
    deck_options,
    json_option,
    open_decks,
    progress_bar,
    report_option,
    show,
)
from audit.commands.options import format_option
from audit.stats.battery import judge, no_decks
from audit.stats.sequential import watch


@click.command(epilog=EPILOG)
@deck_options
@alpha_option
@click.option(
    "--sequential", is_flag=True, help="Watch deck after deck: an alarm is as rare as alpha says at every look."
)
@report_option
@format_option
@json_option
@click.pass_context
def stats(
    ctx: click.Context, /, alpha: float, sequential: bool, report: Path | None, output: str, as_json: bool, **decks: Any
) -> None:
    """Test the decks of every SOURCE, all together, for randomness.

    SOURCE is a log (a folder, an http(s) address, grpc://host:port), a text file of one deck a line, a .npy array of
    card indexes in the reference order, or - for text on standard input. Of a log every hand counts that passes
    `audit verify`, void ones as well.
    """
    options = collected(**decks)
    if sequential:
        if options.dimensions:
            raise click.UsageError("--sequential watches all decks together; leave out --by and --strata")
        source, order = open_decks(options)
        with progress_bar(source.total) as progress:
            result = watch(source, alpha, order=order, names=options.tests, progress=progress)
    else:
        corpus, source = count_decks(options)
        result = judge(corpus, alpha) if corpus is not None else no_decks(alpha, [source.name], source.notes)
    ctx.exit(show(result, "json" if as_json else output, report))
