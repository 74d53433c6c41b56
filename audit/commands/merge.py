"""`audit merge PART…`: judge parts that `audit count` made, as one corpus."""

from __future__ import annotations

from pathlib import Path

import click

from audit.commands.deck_options import EPILOG, alpha_option, json_option, note_files, report_option, show
from audit.commands.options import format_option
from audit.commands.progress import working
from audit.stats.counting.parts import merge_parts, write_part
from audit.stats.judging.battery import judge


@click.command(epilog=EPILOG)
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=click.Path(path_type=Path))
@alpha_option
@click.option(
    "-o", "--output", "merged", type=click.Path(dir_okay=False, path_type=Path), help="Write the merged part as well."
)
@report_option
@format_option
@json_option
@click.pass_context
def merge(
    ctx: click.Context,
    parts: tuple[Path, ...],
    alpha: float,
    merged: Path | None,
    report: Path | None,
    output: str,
    as_json: bool,
) -> None:
    """Judge PARTs as one corpus, in the order given.

    The verdict is that of one run of `audit stats` over all their sources, to the last digit.
    """
    note_files(parts)
    with working("merging"):
        corpus = merge_parts(list(parts))
    if merged is not None:
        write_part(corpus, merged)
    with working("judging"):
        result = judge(corpus, alpha)
    ctx.exit(show(result, "json" if as_json else output, report))
