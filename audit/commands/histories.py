"""`audit histories FILE…`: what hand histories of any room show of its dealing."""

from __future__ import annotations

from collections.abc import Iterator

import click

from audit.commands.deck_options import alpha_option, json_option
from audit.commands.options import format_option, read_file
from audit.commands.progress import working
from audit.commands.run import command_line, inputs
from audit.histories.judging import judge
from audit.histories.reading import read_files
from audit.report import histories_text
from audit.report.console import console, print_json
from audit.report.subject import subject

MOST_BYTES = 1 << 30
EXIT_CODES = {"pass": 0, "fail": 1, "insufficient": 3, "unreadable": 4}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--player", help="Whose down cards count; without it, those of whoever kept the histories.")
@alpha_option
@format_option
@json_option
@click.pass_context
def histories(
    ctx: click.Context, files: tuple[str, ...], player: str | None, alpha: float, output: str, *, as_json: bool
) -> None:
    """Test the dealing of any room by hand histories of seven card stud, without trusting the room.

    FILEs are PHH (.phh, .phhs) or the text that rooms write for their players; `-` is standard input. Only third street
    counts: every seat's door card, and the down cards of whoever kept the histories. Later cards are selected by play.
    Exit codes: 0 no evidence, 1 evidence, 3 too few hands, 4 a place that cannot be read.
    """

    def read() -> Iterator[tuple[str, bytes]]:
        for name in files:
            yield name, read_file(name, MOST_BYTES)

    with working("reading the histories"):
        found = read_files(read())
        judgement = judge(found, alpha, player)
    about = subject(command_line(), (), inputs(), alpha)
    if as_json or output == "json":
        print_json(histories_text.as_json(found, judgement, about))
    else:
        histories_text.print_judgement(found, judgement, about, console())
    ctx.exit(EXIT_CODES[judgement.verdict])
