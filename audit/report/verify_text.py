"""An audit's report as text for people: of what it is, tables, each check made or not, what is wrong, the verdict.

The verdict stands last, where a terminal leaves the eye.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.findings import Finding
from audit.plural import counted
from audit.report import subject
from audit.report.subject import Subject
from audit.tlog.witnessed import Witnessed
from audit.whole.rates import SeatVoids, TableRates
from audit.whole.report import CheckCount, Report

TABLES_SHOWN = 30
LINES_SHOWN = 20

VERDICTS = {
    "valid": ("VALID", "green", "Every entry is accounted for and every check holds."),
    "invalid": ("INVALID", "red", "At least one check failed: this record is not what an honest dealer leaves."),
    "incomplete": ("INCOMPLETE", "yellow", "Nothing failed, but not everything could be checked: see what is missing."),
    "unreadable": (
        "UNREADABLE",
        "yellow",
        "Nothing failed, but some of the input cannot be read: see what is missing.",
    ),
    "test-record": ("TEST RECORD", "yellow", "Dealt from chosen decks by a test double: never to be taken for real."),
}

_WHY_NOT = {
    "append-only": "no earlier checkpoint or receipt was given (--since)",
    "schema": "no entry was read",
    "lifecycle": "no offer, commit or close was read",
    "entropy": "no hand was read",
    "seed": "no seed is known",
    "deck": "no seed is known",
    "opening": "no sealed hand was closed",
    "dealing": "no hand was closed",
    "reveal": "no hand was closed",
    "checkpoint": "there is no checkpoint",
    "witness": "no policy that asks for witnesses was given (--policy)",
}


def print_report(report: Report, about: Subject, out: Console, show: int, *, all_tables: bool = False) -> None:
    """Prints the report.

    Args:
        report: the result of the audit.
        about: what the report is about.
        out: where to print it.
        show: how many findings to print.
        all_tables: print every table; otherwise those of which there is something to say.
    """
    print_log(report, subject.rows(about), out, show, all_tables=all_tables)
    _print_verdict(report, out)


def print_log(
    report: Report, head: Iterable[tuple[str, str]], out: Console, show: int, *, all_tables: bool = False
) -> None:
    """Prints a report without its verdict; `head` are the first lines, label and value."""
    _print_head(report, head, out)
    _print_tables(report, out, all_tables)
    _print_checks(report, out)
    print_findings(report.findings[:show], sum(check.failed for check in report.checks), out)
    if report.missing:
        print_title("Missing", out)
        for text in report.missing:
            out.print(Text(f"  - {text}"))


def print_title(title: str, out: Console) -> None:
    """Prints the title of a part, after an empty line."""
    out.print()
    out.print(f"[bold]{title}[/bold]")


def _print_head(report: Report, head: Iterable[tuple[str, str]], out: Console) -> None:
    for label, value in head:
        out.print(Text(f"  {label:<12}{value}"))
    hands = report.hands
    lost = f", {hands.lost} lost" if hands.lost else ""
    ended = f"{hands.completed} completed, {hands.void} void{lost}, {hands.open} open"
    out.print(Text(f"  hands       {hands.total}: {ended}"))
    if hands.sealed_seats:
        seats = counted(hands.sealed_seats, "seat")
        out.print(Text(f"  seats       {seats} brought a key, in {counted(hands.with_sealed_seats, 'hand')}"))
    for end in report.ends:
        out.print(Text(f"  {end.kind:<12}{end}"))
    if bare := hands.without_contributions:
        decks, they = ("its deck was", "it was") if bare == 1 else ("their decks were", "they were")
        had = counted(bare, "hand had no contribution", "hands had no contribution")
        out.print(Text(f"  randomness  {had}: {decks} fixed before the deal,"))
        out.print(Text(f"              but that {they} drawn at random is the dealer's word and the statistics"))


def _print_verdict(report: Report, out: Console) -> None:
    verdict, colour, sentence = VERDICTS[report.verdict]
    if report.verdict == "test-record" and report.exit_code == 0:
        sentence = "Dealt from chosen decks by a test double; as such a record, every check holds."
    origin = report.checkpoint.origin if report.checkpoint is not None else None
    if report.verdict == "invalid" and report.key_name is not None and origin not in (None, report.key_name):
        other = f"This may be the wrong key: it is {report.key_name}'s, and the log says that it is {origin}'s."
        sentence = f"{other} {sentence}"
    out.print()
    out.print(Text.assemble((verdict, f"bold {colour}"), "  ", sentence))


def _print_checks(report: Report, out: Console) -> None:
    print_title("Checks", out)
    width = max(len(check.name) for check in report.checks)
    for check in report.checks:
        said = report.witnessed if check.name == "witness" else None
        out.print(_check_line(check, width) if said is None else _witness_line(check, said, width))


def _check_line(check: CheckCount, width: int) -> Text:
    name = f"{check.name:<{width}}"
    if check.failed:
        found = f"  {counted(check.failed, 'finding')}, made {_times(check.made)}"
        return Text.assemble(("  FAIL  ", "bold red"), name, found)
    if check.made:
        return Text.assemble(("  ok    ", "green"), name, f"  made {_times(check.made)}")
    return Text.assemble(("  -     ", "yellow"), name, f"  not made: {_WHY_NOT[check.name]}")


def _witness_line(check: CheckCount, said: Witnessed, width: int) -> Text:
    if check.failed:
        return _check_line(check, width)
    mark = ("  ok    ", "green") if said.holds else ("  -     ", "yellow")
    return Text.assemble(mark, f"{check.name:<{width}}  {said}")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def print_findings(shown: Sequence[Finding], total: int, out: Console) -> None:
    """Prints findings, the first ones of `total`; nothing where there are none."""
    if not total:
        return
    of = f", the first {len(shown)} of {total}" if len(shown) < total else ""
    out.print()
    out.print(f"[bold]Findings[/bold]{of}")
    for found in shown:
        where = "the log as a whole" if found.index is None else f"entry {found.index}"
        hand = f", hand {found.hand}" if found.hand else ""
        out.print(Text.assemble("  ", (found.check, "bold red"), f"  {where}{hand}"))
        out.print(Text(f"      {found.detail}"))
        for text in found.whole:
            for line in text.splitlines():
                out.print(Text(f"      | {line}"))


def _print_tables(report: Report, out: Console, all_tables: bool) -> None:
    if not report.tables:
        return
    print_title("Tables", out)
    shown, left_out = _choose_tables(report.tables, all_tables)
    if shown:
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        grid.add_column("  table")
        for name in ("hands", "completed", "void", "lost", "open", "void rate", "no contribution"):
            grid.add_column(name, justify="right")
        grid.add_column("void for")
        for name in shown:
            grid.add_row(f"  {name}", *_table_cells(report.tables[name]))
        out.print(grid)
    if left_out:
        rest = [report.tables[name] for name in left_out]
        also = "more " if shown else ""
        hands, done = sum(rates.life.hands for rates in rest), sum(rates.life.completed for rates in rest)
        ended = "all completed" if hands == done else f"{done:,} completed, the void rates lower"
        tables = counted(len(rest), f"{also}table", f"{also}tables")
        out.print(Text(f"  {tables}, {counted(hands, 'hand')}: {ended} (--tables lists them)"))
    _print_silence(report, out)
    _print_voids(report, out)


def _choose_tables(tables: dict[str, TableRates], all_tables: bool) -> tuple[list[str], list[str]]:
    """Returns which tables to print, in natural order, and which to count only."""
    names = sorted(tables, key=by_name)
    if all_tables:
        return names, []
    telling = [
        name for name in names if tables[name].life.completed < tables[name].life.hands or tables[name].life.withheld
    ]
    worst = sorted(telling, key=lambda name: (-tables[name].life.lost, -tables[name].void_rate))[:TABLES_SHOWN]
    shown = [name for name in names if name in worst]
    return shown, [name for name in names if name not in worst]


def by_name(name: str) -> list[tuple[int, str]]:
    """Sorts table-2 before table-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _table_cells(rates: TableRates) -> tuple[str, ...]:
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(rates.life.void.items()))
    counts = (rates.life.hands, rates.life.completed, rates.void, rates.life.lost, rates.open)
    return (*map(str, counts), f"{100 * rates.void_rate:.1f} %", str(rates.life.without_contributions), reasons)


def _print_silence(report: Report, out: Console) -> None:
    silent = [
        (withheld, invited, name, contributor)
        for name, rates in report.tables.items()
        for contributor, (invited, withheld) in rates.contributors.items()
        if withheld
    ]
    silent.sort(key=lambda row: (-row[0], row[2], row[3]))
    for withheld, invited, name, contributor in silent[:LINES_SHOWN]:
        share = f"{withheld} of {counted(invited, 'value')} withheld ({100 * withheld / invited:.1f} %)"
        out.print(Text(f"  {name}: contributor {contributor}: {share}"))
    _print_more(len(silent), "contributor who withheld values", "contributors who withheld values", out)


def _print_voids(report: Report, out: Console) -> None:
    tested = [(rates.voids[0], name) for name, rates in report.tables.items() if rates.voids]
    tested.sort(key=lambda row: (row[0].p_adjusted, row[0].p, row[1]))
    for row, name in tested[:LINES_SHOWN]:
        for line in _void_lines(row, name):
            out.print(line)
    _print_more(len(tested), "table whose voids were tested", "tables whose voids were tested", out)


def _print_more(count: int, one: str, many: str, out: Console) -> None:
    if count > LINES_SHOWN:
        out.print(f"  and {counted(count - LINES_SHOWN, f'more {one}', f'more {many}')} (all in --format json)")


def _void_lines(first: SeatVoids, name: str) -> tuple[Text, Text]:
    hands = counted(first.hands, "void hand")
    best = f"seat {first.seat} would have been best in {first.best} of {hands}, {first.expected:.1f} expected"
    odds = f"p = {first.p:.2g} by {first.statistic}, {first.p_adjusted:.2g} adjusted for all seats"
    if first.notable:
        said = ("voids seem to depend on the deck", "bold yellow")
        return (
            Text.assemble(f"  {name}: ", said, f": {best}"),
            Text(f"      ({odds}). An observation, not a finding."),
        )
    return Text(f"  {name}: voids show no link with the deck; furthest off:"), Text(f"      {best} ({odds})")
