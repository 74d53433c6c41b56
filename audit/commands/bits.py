"""`audit bits`: exactly uniform bits from decks, for bit batteries that know nothing of cards."""

from __future__ import annotations

import sys

import click

from audit.commands.deck_options import deck_kind, indexes_option, only_passing_option
from audit.commands.options import escrow_key_option, escrow_keys, key_option
from audit.commands.progress import deck_bars
from audit.errors import InputError
from audit.report.stats_words import what_is_left_out
from audit.report.stderr import say
from audit.stats.bits import FORMS, in_form, uniform_bits
from audit.stats.sources import DECK_KINDS, log_opener, open_source
from audit.tlog.keys import VerifierKey
from audit.whole.verify import Options

FINAL_DECKS = (
    "these are bits of final decks, extracted after seed, words, refusals and swaps; the generator's raw output, "
    "before any card, is what `dealer entropy` writes"
)
"""So that nobody files the one for the other."""


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--deck", type=click.Choice(sorted(DECK_KINDS)), help="The deck kind. [default: as SOURCE shows]")
@indexes_option
@click.option(
    "--form",
    type=click.Choice(FORMS),
    default="raw",
    show_default=True,
    help="raw bytes; ascii, a 0 or 1 for each bit (NIST SP 800-22); words, 32 bits in decimal, one a line.",
)
@key_option
@escrow_key_option
@click.option("--allow-test", is_flag=True, help="Read a test double's record as any other log.")
@only_passing_option
@click.option("--force", is_flag=True, help="Write to a terminal all the same.")
def bits(
    sources: tuple[str, ...],
    deck: str | None,
    indexes: str,
    form: str,
    key: VerifierKey | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    allow_test: bool,
    only_passing: bool,
    force: bool,
) -> None:
    """Write the bits of all decks to standard output: about 224 for each deck of 52 cards.

    If every order of the deck is equally likely, then so is every sequence of these bits (Elias's extraction). They go
    to dieharder, PractRand, rngtest or ent; docs/external-batteries.md says how, and why none of those tests a shuffle.

    SOURCE is a log, a text file of one deck a line, a .npy array, or - for text on standard input.
    """
    output = sys.stdout.buffer
    if output.isatty() and not force:
        raise click.UsageError("these are bytes for programs: send them to a file or a program, or say --force")
    options = Options(key, escrow_keys(escrow_key_files), allow_test=allow_test)
    written = 0
    with deck_bars() as bars:
        opener = log_opener(options, only_passing=only_passing, progress=bars.verified)
        kind = deck_kind(sources, deck)
        source = open_source(sources, kind=kind, indexes=indexes, open_log=opener, compared=bars.compared)
        for packed in in_form(uniform_bits(chunk.decks for chunk in source), form):
            output.write(packed)
            written += len(packed)
    output.flush()
    for note in (*source.notes, *map(what_is_left_out, source.logs)):
        if note:
            say(f"audit: {note}")
    if written:
        say(f"audit: {FINAL_DECKS}")
    else:
        raise InputError(f"{source.name}: no decks, no bits")
