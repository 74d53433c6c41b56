"""The battery's answer as text for people at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from audit.outside import plain
from audit.report import subject
from audit.report.stats_words import (
    ASK_VERIFY,
    number_text,
    odds,
    p_text,
    verdict_sentence,
    view_sentence,
    what_is_left_out,
)
from audit.report.subject import Subject
from audit.stats.results import BatteryResult, TestResult, ViewResult, most_telling

_STYLES = {"pass": "bold green", "fail": "bold red", "insufficient": "bold yellow", "unreadable": "bold red"}
_SHOWN = 8


def print_result(result: BatteryResult, console: Console, about: Subject | None = None) -> None:
    """Prints the verdict, then what speaks loudest, what could not be tested, and what could not have been seen."""
    console.print(f"[{_STYLES[result.verdict]}]{result.verdict.upper()}[/]  {escape(plain(verdict_sentence(result)))}")
    if result.read_as:
        console.print(f"Read as: {escape(plain(result.read_as))}")
    for log in result.logs:
        if text := what_is_left_out(log):
            console.print(escape(plain(text)))
    for found in result.findings[:_SHOWN]:
        where = "the log as a whole" if found.index is None else f"entry {found.index}"
        console.print(f"  [bold red]{found.check}[/]  {escape(where)}: {escape(plain(found.detail))}")
    if result.findings:
        console.print(ASK_VERIFY)
    if result.alarm:
        console.print(
            f"The alarm rang after {result.alarm.decks:,} decks: {escape(result.alarm.name)} "
            f"({result.alarm.kind} {result.alarm.value:.3g})."
        )
    made = [test for test in result.tests if test.verdict != "insufficient"]
    if made:
        console.print(
            f"{len(made):,} tests made, {result.looks:,} looks paid for; "
            f"a false alarm has a chance of at most {odds(result.alpha)}."
        )
        failed = [test for test in made if test.verdict == "fail"]
        title = f"{len(failed)} tests fail; the clearest:" if failed else "Nearest to an alarm:"
        console.print(_table(most_telling(tuple(failed or made), _SHOWN), title))
    _print_insufficient(result, console)
    for view in result.views:
        console.print(_view_table(view))
    for dimension, labels in result.strata.items():
        console.print(f"By {escape(dimension)}: {_counted(labels.items())}")
    for note in result.notes:
        console.print(f"Note: {escape(note)}")
    if result.detectable:
        console.print("What could not have been seen:")
        for effect in result.detectable:
            console.print(f"  {escape(effect.sentence)}")
    if about is not None:
        console.print("This report:")
        for label, value in subject.rows(about):
            console.print(f"  {label:<8} {escape(plain(value))}")


def _table(tests: Iterable[TestResult], title: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading, justify in (("test", "left"), ("statistic", "right"), ("p", "right"), ("paid", "right")):
        table.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    table.add_column("found", overflow="fold")
    for test in tests:
        style = "red" if test.verdict == "fail" else None
        table.add_row(
            escape(test.name),
            number_text(test.statistic),
            p_text(test.p),
            p_text(test.p_adjusted),
            escape(test.detail),
            style=style,
        )
    return table


def _view_table(view: ViewResult) -> Table:
    table = Table(title=escape(view_sentence(view)), title_justify="left", box=None, pad_edge=False)
    table.add_column("as named there", overflow="fold")
    table.add_column("p", justify="right")
    table.add_column("below", justify="right")
    table.add_column("sides")
    table.add_column("cannot see", overflow="fold")
    for row in view.rows:
        style = "red" if row.verdict == "fail" else None
        sides = "two" if row.two_sided else "one"
        table.add_row(row.name, p_text(row.p), p_text(row.level), sides, escape(row.blind), style=style)
    return table


def _print_insufficient(result: BatteryResult, console: Console) -> None:
    """Prints the tests that were not made: each of all decks, those of strata by number."""
    missing = [test for test in result.tests if test.verdict == "insufficient"]
    for test in missing:
        if not test.dimension:
            console.print(f"Not made: {escape(test.name)}: {escape(test.detail)}")
    small = Counter(test.dimension for test in missing if test.dimension)
    for dimension, count in small.items():
        labels = {test.stratum for test in missing if test.dimension == dimension}
        console.print(f"Not made: {count} tests of {len(labels)} strata of {escape(dimension)} with too few decks")


def _counted(labels: Iterable[tuple[str, int]], most: int = 12) -> str:
    listed = [f"{escape(label)} {decks:,}" for label, decks in labels]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
