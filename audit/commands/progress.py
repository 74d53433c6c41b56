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
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Rate(ProgressColumn):
    """How many are done so far, and how many a second once that is known."""

    def render(self, task: Task) -> Text:
        """Returns the column's text."""
        speed = "" if task.speed is None else f", {task.speed:,.0f} a second"
        return Text(f"{task.completed:,.0f} {task.fields['unit']}{speed}", justify="right")


class DeckBars:
    """A line for each thing that is done with decks, which appears with the first news of it.

    Args:
        bar: where the lines are shown.
    """

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._lines: dict[str, TaskID] = {}

    def verified(self, done: int, total: int) -> None:
        """Shows how many entries of a log are verified, and how many there are; the next log takes the same line."""
        self._bar.update(self._line("verifying", "entries"), completed=done, total=total)

    def compared(self, decks: int) -> None:
        """Shows that more decks were compared with other sources' decks."""
        self._bar.advance(self._line("comparing", "decks"), decks)

    def counted(self, decks: int, total: int | None) -> None:
        """Shows that more decks were counted, and how many there are, if that is known."""
        line = self._line("counting", "decks")
        self._bar.update(line, advance=decks, total=total)

    def _line(self, doing: str, unit: str) -> TaskID:
        if doing not in self._lines:
            self._lines[doing] = self._bar.add_task(doing, total=None, unit=unit)
        return self._lines[doing]


@contextmanager
def deck_bars() -> Iterator[DeckBars]:
    """Shows lines with bars and rates for verifying logs, comparing sources and counting decks."""
    doing = TextColumn("{task.description}")
    with _progress(doing, BarColumn(), TaskProgressColumn(), _Rate(), TimeRemainingColumn()) as bar:
        yield DeckBars(bar)


@contextmanager
def entries_bar() -> Iterator[Callable[[int, int], None]]:
    """Shows a bar of a log's entries; yields what is told how many are done, and how many there are."""
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
