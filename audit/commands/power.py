"""`audit power`: what the battery catches, and with how many decks, tried on the gallery of shufflers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

import click
from rich.console import Console
from rich.status import Status

from audit.report.stats_words import odds, p_text
from audit.stats.gallery import GALLERY, Shuffler
from audit.stats.judging.battery import ALPHA
from audit.stats.judging.power import GRID, Ending, Power, measure

_MOST_WITHOUT_GOAL = 100_000


@click.command()
@click.argument("names", nargs=-1, metavar="[SHUFFLER]…")
@click.option("--list", "listing", is_flag=True, help="Show the shufflers and their stories, and measure nothing.")
@click.option("--most", type=click.IntRange(min=min(GRID)), default=max(GRID), show_default=True, help="Decks at most.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Corpora of a size; most must ring.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the simulation.")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=ALPHA, show_default=True,
              help="Chance of a false alarm, over everything.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), show_default="all cores", help="Processes.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@click.pass_context
def power(
    ctx: click.Context,
    names: tuple[str, ...],
    listing: bool,
    most: int,
    runs: int,
    seed: int,
    alpha: float,
    jobs: int | None,
    form: str,
) -> None:
    """Show with how many decks the battery catches each SHUFFLER of the gallery (all if none is named).

    Decks are simulated, on a grid of 100, 300, 1,000 … decks. Exit code 1 says that a shuffler was not caught within
    its goal, or that a fair one rang the alarm.
    """
    unknown = [name for name in names if name not in GALLERY]
    if unknown:
        raise click.UsageError(f"no shuffler {unknown[0]!r}; `audit power --list` shows them all")
    chosen = [GALLERY[name] for name in names or GALLERY]
    if listing:
        for shuffler in chosen:
            click.echo(f"{shuffler.name:<20} {shuffler.story}")
        return
    console = Console(stderr=True)
    measured = []
    with console.status("") as status:
        for shuffler in chosen:
            sizes = _sizes(shuffler, most)
            progress = partial(_tell, status)
            measured.append(
                measure(shuffler, alpha, grid=sizes, runs=runs, seed=seed, processes=jobs, progress=progress)
            )
    if form == "json":
        click.echo(
            json.dumps({"alpha": alpha, "runs": runs, "shufflers": [_member(each) for each in measured]}, indent=2)
        )
    else:
        for line in _markdown(measured, runs, alpha) if form == "markdown" else _text(measured):
            click.echo(line)
    bad = [each for each in measured if each.ending in (Ending.MISSED, Ending.FALSE_ALARM)]
    ctx.exit(1 if bad else 0)


def _sizes(shuffler: Shuffler, most: int) -> list[int]:
    """Returns the numbers of decks to try: up to the goal, which settles it, or to 100,000 if there is none."""
    goal = shuffler.goal or _MOST_WITHOUT_GOAL
    sizes = {decks for decks in (*GRID, goal) if decks <= min(goal, most)}
    return sorted(sizes) or [most]


def _tell(status: Status, what: str) -> None:
    status.update(what)


def _member(each: Power) -> dict[str, object]:
    return {
        "name": each.shuffler.name,
        "story": each.shuffler.story,
        "goal": each.shuffler.goal,
        "decks": each.decks,
        "tried": each.most,
        "outcome": each.ending.value,
        "test": each.by,
        "p_adjusted": each.p_adjusted,
    }


def _count(decks: int | None) -> str:
    return "—" if decks is None else f"{decks:,}"


def _text(measured: Sequence[Power]) -> Iterator[str]:
    yield f"{'shuffler':<20} {'goal':>8} {'needs':>8}  {'outcome':<28} {'p':>12}  first seen by"
    for each in measured:
        by = each.by if each.decks else ""
        yield (
            f"{each.shuffler.name:<20} {_count(each.shuffler.goal):>8} {_count(each.decks):>8}  "
            f"{each.ending.value:<28} {p_text(each.p_adjusted):>12}  {by}"
        ).rstrip()


def _markdown(measured: Sequence[Power], runs: int, alpha: float) -> Iterator[str]:
    yield "# What the battery catches, and with how many decks"
    yield ""
    yield f"Made with `audit power --runs {runs} --format markdown`: {_runs(runs)}, and an alarm only where all tests"
    yield f"together give a false one with a chance of {odds(alpha)}. *Needs* is the fewest decks of the grid 100, 300,"
    yield "1,000 … with which most runs rang; *goal* is what a reference battery needs. Shufflers without a goal are"
    yield "fair, or cannot be told from fair by any number of decks."
    yield ""
    yield "| shuffler | goal | needs | outcome | adjusted p | first seen by |"
    yield "|---|--:|--:|---|--:|---|"
    for each in measured:
        by = each.by if each.decks else ""
        yield (
            f"| {each.shuffler.name} | {_count(each.shuffler.goal)} | {_count(each.decks)} | {each.ending.value} "
            f"| {p_text(each.p_adjusted)} | {by} |"
        )
    yield ""
    yield "## The shufflers"
    yield ""
    for each in measured:
        yield f"- **{each.shuffler.name}**: {each.shuffler.story}"


def _runs(runs: int) -> str:
    return "one simulated corpus of each size" if runs == 1 else f"{runs} simulated corpora of each size"
