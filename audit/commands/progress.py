"""How far a command is, on standard error and only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Rate(ProgressColumn):
    """Decks so far, and how many a second once that is known."""

    def render(self, task: Task) -> Text:
        """The column's text."""
        speed = "" if task.speed is None else f", {task.speed:,.0f} a second"
        return Text(f"{task.completed:,.0f} decks{speed}", justify="right")


@contextmanager
def decks_bar(total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar with decks a second; it is told how many more decks are done."""
    with _progress(TextColumn("counting"), BarColumn(), TaskProgressColumn(), _Rate(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=total)
        yield lambda decks: bar.advance(task, decks)


@contextmanager
def entries_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar of a log's entries; it is told how many are done, and how many there are."""
    entries = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TextColumn("entries"), TimeRemainingColumn())
    with _progress(*entries) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Says that something is being done whose end nobody knows, and for how long."""
    with _progress(SpinnerColumn(), TextColumn(doing), TimeElapsedColumn()) as bar:
        bar.add_task("", total=None)
        yield


@contextmanager
def _progress(*columns: ProgressColumn) -> Iterator[Progress]:
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield bar
