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
from audit.stats.judging.laboratory import LEVEL, SEVEN
from audit.stats.judging.power import GRID, Ending, Power, examine_by_battery, examine_by_seven, measure

_MOST_WITHOUT_GOAL = 100_000

LABORATORY = (
    "swap-even-only", "keys-12", "seeds-24", "seeds-32", "ace-1", "win-3", "mt-device-repeats", "jitter-10",
)  # fmt: skip
"""The shufflers of `--laboratory` if none is named: what a laboratory's tests let pass, or see late."""


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
@click.option("--laboratory", is_flag=True, help="Beside ours, the seven tests of GLI-19 as a laboratory reads them.")
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
    laboratory: bool,
    form: str,
) -> None:
    """Show with how many decks the battery catches each SHUFFLER of the gallery (all if none is named).

    With --laboratory it tries the seven tests of GLI-19 beside ours, if no SHUFFLER is named on faults that pass them.

    Decks are simulated, on a grid of 100, 300, 1,000 … decks. Exit code 1 says that a shuffler was not caught within
    its goal, or that a fair one rang the alarm.
    """
    unknown = [name for name in names if name not in GALLERY]
    if unknown:
        raise click.UsageError(f"no shuffler {unknown[0]!r}; `audit power --list` shows them all")
    chosen = [GALLERY[name] for name in names or (LABORATORY if laboratory else GALLERY)]
    if listing:
        for shuffler in chosen:
            click.echo(f"{shuffler.name:<20} {shuffler.story}")
        return
    console = Console(stderr=True)
    measured, theirs = [], []
    with console.status("") as status:
        for shuffler in chosen:
            sizes = _sizes(shuffler, most)
            progress = partial(_tell, status)
            ours = examine_by_battery(alpha, jobs)
            measured.append(measure(shuffler, ours, grid=sizes, runs=runs, seed=seed, progress=progress))
            if laboratory:
                theirs.append(
                    measure(
                        shuffler,
                        examine_by_seven,
                        grid=_sizes_without_goal(most),
                        runs=runs,
                        seed=seed,
                        progress=progress,
                    )
                )
    if form == "json":
        members = [_member(each) for each in measured]
        for member, other in zip(members, theirs, strict=False):
            member["laboratory"] = {"decks": other.decks, "tried": other.most, "test": other.by, "p": other.p_adjusted}
        value = {"alpha": alpha, "runs": runs, "shufflers": members}
        if laboratory:
            value["laboratory"] = {"level": LEVEL, "tests": {test.name: test.read_as for test in SEVEN}}
        click.echo(json.dumps(value, indent=2))
    elif laboratory:
        for line in _against(theirs, measured, alpha, markdown=form == "markdown"):
            click.echo(line)
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


def _sizes_without_goal(most: int) -> list[int]:
    return [decks for decks in GRID if decks <= min(most, _MOST_WITHOUT_GOAL)]


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


def _against(theirs: Sequence[Power], ours: Sequence[Power], alpha: float, *, markdown: bool) -> Iterator[str]:
    """Yields theirs against ours, a line a shuffler, and how the texts of theirs were read."""
    head = ("shuffler", "their seven need", "ours needs", "ours first seen by")
    line = "| {} | {} | {} | {} |" if markdown else "{:<20} {:>22} {:>11}  {}"
    yield line.format(*head)
    if markdown:
        yield "|---|--:|--:|---|"
    for other, own in zip(theirs, ours, strict=True):
        need = _count(other.decks) if other.decks else f"not with {other.most:,}"
        yield line.format(own.shuffler.name, need, _count(own.decks), own.by if own.decks else "")
    yield ""
    yield f"Theirs: GLI-19 3.2.2 at {1 - LEVEL:.0%} collectively; ours: at most {odds(alpha)} false alarms."
    yield "How their texts were read:"
    if markdown:
        yield ""
    for test in SEVEN:
        yield f"- {test.name}: {test.read_as}" if markdown else f"  {test.name:<20} {test.read_as}"


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
