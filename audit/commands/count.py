"""`audit count SOURCE… -o PART`: count decks where they are, to be judged elsewhere by `audit merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from audit.commands.deck_options import collected, count_decks, deck_options
from audit.outside import shown
from audit.stats.counting.parts import write_part


@click.command()
@deck_options
@click.option(
    "-o", "--output", "part", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The part to write."
)
def count(part: Path, **decks: Any) -> None:
    """Count the decks of every SOURCE into a part that `audit merge` takes.

    Parts of shards, merged in the order of the shards, give the verdict of `audit stats` over all of them, to the last
    digit. All shards are counted with the same --order, --by, --tests and --deck.
    """
    corpus, _ = count_decks(collected(**decks), for_merging=True)
    write_part(corpus, part)
    decks_counted = 0 if corpus is None else corpus.whole.decks
    click.echo(shown(f"{part}: {decks_counted:,} decks counted"))
