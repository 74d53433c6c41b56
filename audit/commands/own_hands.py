"""`audit stats FOLDER` of a player's hand files: each verified, then third street against its exact odds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from audit.commands.options import read_file
from audit.errors import AuditError, InputError
from audit.evidence import hand_file
from audit.hand.escrow import EscrowKeys
from audit.record.events import Deal
from audit.report.console import console, print_json
from audit.stats.judging.own_hands import FEWEST, OwnTest, ThirdStreet, judge_own
from audit.tlog.keys import VerifierKey

CAN = (
    "Only third street counts: who is dealt later cards depends on how everybody played.",
    "A pass says that these hands are no evidence against the deal. So few cannot show a rig smaller than the last "
    "column says, and show nothing of cards that you did not see.",
    "All your hands belong into the folder: a choice of the unlucky ones makes any deal look rigged.",
)


def is_hand_folder(source: str) -> bool:
    """Tells a folder of hand files from a log's: it has JSON files and no checkpoint."""
    folder = Path(source)
    return folder.is_dir() and not (folder / "checkpoint").exists() and any(folder.glob("*.json"))


def own_hands(
    source: str, key: VerifierKey | None, escrow: EscrowKeys, alpha: float, output: str, allow_test: bool
) -> int:
    """Verifies and tests the hand files of a folder, prints the result and returns the exit code of `audit stats`.

    Raises:
        click.UsageError: no key is pinned.
        InputError: a file cannot be read, or a check of it fails; it is named.
    """
    if key is None:
        raise click.UsageError("--key is needed: a hand file's own key is not believed")
    hands: dict[bytes, ThirdStreet] = {}
    left_out = 0
    for path in sorted(Path(source).glob("*.json")):
        hand, street = _third_street(path, key, escrow, allow_test)
        if street is None:
            left_out += 1
        else:
            hands[hand] = street
    tests = judge_own(list(hands.values()), alpha)
    failed = any(test.verdict == "fail" for test in tests)
    verdict, code = ("insufficient", 3) if not tests else ("fail", 1) if failed else ("pass", 0)
    if output == "json":
        rows = [asdict(test) for test in tests]
        said = {"verdict": verdict, "hands": len(hands), "left_out": left_out, "alpha": alpha, "tests": rows}
        print_json(json.dumps(said))
    else:
        _print(verdict, len(hands), left_out, alpha, tests)
    return code


def _third_street(
    path: Path, key: VerifierKey, escrow: EscrowKeys, allow_test: bool
) -> tuple[bytes, ThirdStreet | None]:
    """Returns the hand's id and its third street; None for one where it was not dealt, or whose close is not there."""
    try:
        content = hand_file.decode(read_file(str(path)))
        if content is None:
            raise InputError("no hand file")
        checked = hand_file.check_hand(content, key, escrow)
    except AuditError as error:
        raise InputError(f"{path}: {error}") from None
    verdict, _ = checked.evidence.judge(allow_test)
    wrong = next((step for step in checked.evidence.steps if step.state == "fail"), None)
    if wrong is not None:
        raise InputError(f"{path}: {wrong.name}: {wrong.detail}")
    if verdict in ("unreadable", "test-record") and not (allow_test and verdict == "test-record"):
        raise InputError(f"{path}: {verdict}")
    commit, close = checked.commit, checked.close
    if commit is None:
        raise InputError(f"{path}: it has no proven commit")
    dealt = close is not None and any(isinstance(event, Deal) and event.street == "third" for event in close.events)
    seats = len(commit.seats)
    places = range(2 * seats, 3 * seats)
    if not dealt or any(position not in checked.cards for position in places):
        return commit.hand, None
    doors = tuple(checked.cards[position] for position in places)
    if checked.seat not in commit.seats:
        return commit.hand, ThirdStreet((), "", doors)
    at = commit.seats.index(checked.seat)
    down = tuple(checked.cards[position] for position in (at, seats + at) if position in checked.cards)
    return commit.hand, ThirdStreet(down if len(down) == 2 else (), doors[at], doors)


def _print(verdict: str, hands: int, left_out: int, alpha: float, tests: list[OwnTest]) -> None:
    out = console()
    out.print(
        f"{verdict.upper()}  a player's own hands: {hands}, each verified; {left_out} without third street left out"
    )
    if not tests:
        out.print(f"  too few for any test: each needs {FEWEST}")
    for test in tests:
        least = "none" if test.detectable is None else f"{100 * test.detectable:.0f} %"
        out.print(
            f"  {test.verdict:<5} {test.name:<32} {test.seen} of {test.hands}, {test.expected:.1f} expected; "
            f"p {test.p:.2g}, adjusted {test.p_adjusted:.2g}; would find {least}"
        )
    out.print(f"  An alarm over a fair deal has a chance of {alpha:g}, for all tests together.")
    for line in CAN:
        out.print(f"  {line}", soft_wrap=True)
