"""The command `python -m benchmarks NAME [--json]`: runs one benchmark or all, and says which goals are met.

`python -m benchmarks --pictures FOLDER` draws how speed grows with load, age and size of the log.
"""

import importlib
import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine_facts
from benchmarks.row import Row

NAMES = (
    "deck",
    "verify",
    "log",
    "stats",
    "referee",
    "service",
    "latency",
    "table",
    "client",
    "aged",
    "peers",
    "cluster",
    "room",
    "machines",
    "witnesses",
    "sealed",
    "steady",
)


@click.command(name="python -m benchmarks")
@click.argument("name", type=click.Choice([*NAMES, "all"]), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print rows and machine facts as JSON.")
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Measure how speed and waits grow with load, age and size of the log, and draw it into this folder.",
)
def main(name: str | None, *, as_json: bool, pictures: Path | None) -> None:
    """Measures NAME beside its limit or peer; the exit status is 1 where a goal is missed."""
    if name is None and pictures is None:
        raise click.UsageError("give NAME, or --pictures FOLDER, or both")
    if pictures is not None:
        for path in importlib.import_module("benchmarks.curves").draw(pictures):
            click.echo(f"drawn: {path}", err=True)
    if name is not None:
        _report(name, as_json=as_json)


def _report(name: str, *, as_json: bool) -> None:
    """Runs one benchmark or all, and ends the command."""
    facts = machine_facts()
    rows = [row for each in (NAMES if name == "all" else (name,)) for row in _rows(each)]
    if as_json:
        click.echo(json.dumps({"machine": facts, "rows": [row.as_json() for row in rows]}, indent=2))
    else:
        _print(rows, facts)
    sys.exit(any(row.met is False for row in rows))


def _rows(name: str) -> list[Row]:
    """The rows of one benchmark; each is a module of that name with a function `rows`."""
    rows: list[Row] = importlib.import_module(f"benchmarks.{name}").rows()
    return rows


def _print(rows: list[Row], facts: dict[str, str | int | float]) -> None:
    """The rows as a table for people, the machine's facts below it."""
    table = Table()
    for title in ("what", "ours", "other", "unit", "ratio", "goal", "met"):
        table.add_column(title, justify="right" if title in ("ours", "other", "ratio", "goal") else "left")
    for row in rows:
        met = {True: "[green]yes", False: "[red]no", None: ""}[row.met]
        table.add_row(row.name, _figure(row.ours), _figure(row.other), row.unit, f"{row.ratio:.3g}", row.goal_text, met)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    console.print(", ".join(f"{name} {fact}" for name, fact in facts.items()), style="dim", highlight=False)


def _figure(value: float) -> str:
    """Four digits that count, thousands apart."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


if __name__ == "__main__":
    main()
