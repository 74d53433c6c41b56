"""`audit gallery`: the crooked and the fair shufflers, and decks of one for whoever wants to try another tool."""

from __future__ import annotations

import io
from pathlib import Path

import click
import numpy as np

from audit.report.stderr import say
from audit.stats.cards.names import card_name
from audit.stats.gallery import GALLERY, Decks, Shuffler
from audit.stats.gallery.shuffler import CARDS
from audit.stats.judging.power import generator

_DECKS = 10_000
"""Made of a shuffler that no number of decks gives away."""


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option("-o", "out", type=click.Path(path_type=Path, dir_okay=False), help="Where to; .npy, else text.")
@click.option("--decks", type=click.IntRange(min=1), help="How many. [default: with so many it must be caught; 10,000]")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the simulation.")
def gallery(name: str | None, out: Path | None, decks: int | None, seed: int) -> None:
    """Write decks of the shuffler NAME, or list all shufflers, each with the decks that it takes to catch it.

    A file that ends in .npy is an array of card indexes, (decks, 52), any other has a deck a line; `audit stats` reads
    both. A shuffler that is to be seen by strata has their labels written beside, to OUT.day. The decks are those that
    `audit power NAME` tries first with this number and seed. Nothing is overwritten.
    """
    if name is None:
        if out is not None or decks is not None:
            raise click.UsageError("say which shuffler: `audit gallery` shows them all")
        for shuffler in GALLERY.values():
            click.echo(f"{shuffler.name:<20} {verdict(shuffler):<24} {shuffler.story}")
        return
    if name not in GALLERY:
        raise click.UsageError(f"no shuffler {name!r}; `audit gallery` shows them all")
    if out is None:
        raise click.UsageError("say where the decks go: -o FILE.npy")
    shuffler = GALLERY[name]
    count = decks or shuffler.goal or _DECKS
    made = shuffler.make(generator(seed, count), count)
    labels = shuffler.labels(count) if shuffler.labels else {}
    files = {dimension: out.with_name(f"{out.name}.{dimension}") for dimension in labels}
    _write(out, _as_array(made) if out.suffix == ".npy" else _as_text(made))
    for dimension, path in files.items():
        _write(path, "".join(f"{label}\n" for label in labels[dimension]).encode())
    say(f"audit: {out}: {count:,} decks of {name}: {verdict(shuffler)}. Test them with")
    say(f"audit:   audit stats {out}" + "".join(f" --strata {label}={path}" for label, path in files.items()))


def _as_array(decks: Decks) -> bytes:
    stream = io.BytesIO()
    np.save(stream, decks, allow_pickle=False)
    return stream.getvalue()


def _as_text(decks: Decks) -> bytes:
    """A deck a line, cards as they are written everywhere else, from the top."""
    cards = np.array([card_name(card, CARDS) for card in range(CARDS)])
    return "".join(" ".join(row) + "\n" for row in cards[decks].tolist()).encode()


def _write(path: Path, content: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}", param_hint="-o") from None


def verdict(shuffler: Shuffler) -> str:
    """Says what it takes to catch a shuffler."""
    if shuffler.goal:
        return f"caught by {shuffler.goal:,} decks"
    return "fair" if shuffler.fair else "not by decks alone"
