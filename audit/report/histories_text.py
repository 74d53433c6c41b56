"""What hand histories show, for people and as JSON (API.md: `audit histories`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.histories.judging import Judgement
from audit.histories.reading import Histories
from audit.plural import counted
from audit.report.subject import Subject

_HEADLINES = {
    "pass": "NO EVIDENCE against the dealing",
    "fail": "EVIDENCE against the dealing",
    "insufficient": "TOO FEW HANDS for any test",
    "unreadable": "UNREADABLE in places; no evidence in the rest",
}
_LATER = (
    "Left out of every hand: fourth street and later, cards that were shown, who won. Whoever folds decides which of "
    "these are seen, so fair dealing makes no promise about them."
)
_ALL = (
    "All of this holds only if the files hold every hand that was dealt while they were kept: whoever leaves hands out "
    "can make any dealing look wrong, or right."
)
_MOST_PROBLEMS = 100


def print_judgement(histories: Histories, judgement: Judgement, subject: Subject, console: Console) -> None:
    """Prints the verdict, the tests, what they could have shown, what was left out, and what could not be read."""
    hands = counted(len(histories.hands), "hand")
    console.print(Text(f"{_HEADLINES[judgement.verdict]}: third street of {hands} of stud", style="bold"))
    console.print(f"own down cards of {counted(judgement.own, 'hand')}; alpha {judgement.alpha:g} over all tests")
    console.print("")
    table = Table(box=None, pad_edge=False)
    for column in ("test", "verdict", "p", "adjusted", "found"):
        table.add_column(column)
    for test in judgement.tests:
        ps = ["-" if value != value else f"{value:.3g}" for value in (test.p, test.p_adjusted)]
        table.add_row(*(Text(cell) for cell in (test.name, test.verdict, *ps, test.detail)))
    console.print(table)
    for test in judgement.tests:
        if test.verdict == "fail":
            console.print(Text(f"{test.name}: {test.sees}"))
    if judgement.detectable:
        console.print("")
        console.print("What so many hands would have shown:")
        for each in judgement.detectable:
            console.print(Text(f"  {each.sentence}"))
    console.print("")
    console.print(_LATER)
    for reason, count in sorted(judgement.left_out.items()):
        console.print(Text(f"Left out, {counted(count, 'hand')}: {reason}"))
    console.print(_ALL)
    for problem in histories.problems[:_MOST_PROBLEMS]:
        console.print(Text(f"unreadable: {problem.file}, line {problem.line}: {problem.detail}"))
    if len(histories.problems) > _MOST_PROBLEMS:
        console.print(f"and {len(histories.problems) - _MOST_PROBLEMS} more places")
    for name, count in histories.files.items():
        console.print(Text(f"{name}: {counted(count, 'hand')}"))
    console.print(Text(f"audit {subject.version}, code {subject.code_digest}, {subject.date}"))


def as_json(histories: Histories, judgement: Judgement, subject: Subject) -> str:
    """Returns the same as JSON."""
    content: dict[str, Any] = {
        "verdict": judgement.verdict,
        "hands": len(histories.hands),
        "own": judgement.own,
        "alpha": judgement.alpha,
        "tests": [asdict(test) for test in judgement.tests],
        "detectable": [asdict(each) for each in judgement.detectable],
        "left_out": dict(sorted(judgement.left_out.items())),
        "files": [{"name": name, "hands": count} for name, count in histories.files.items()],
        "problems": [asdict(problem) for problem in histories.problems],
        "of": {
            "command": subject.command,
            "version": subject.version,
            "code_digest": subject.code_digest,
            "date": subject.date,
            "inputs": [asdict(each) for each in subject.inputs],
        },
    }
    return json.dumps(_numbers(content), indent=2)


def _numbers(value: Any) -> Any:
    """JSON has no NaN: what could not be worked out is null."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(each) for each in value]
    return None if isinstance(value, float) and value != value else value
