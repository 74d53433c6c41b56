"""Every field of every entry is deleted and changed in turn, the log signed again: none is judged valid."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacks.judging import audit_entries
from tests.attacks.maker import Book, canonical, honest
from tests.attacks.mutating import found_at, places


def _changed(value: Any) -> Any:
    """Another value of the same type, as near as can be."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        if value == "":
            return "a"
        last = value[-1]
        swapped = {"0": "1", "1": "0", "c": "d", "d": "c", "=": "A"}.get(last, "0" if last.isalnum() else "a")
        return value[:-1] + swapped
    if isinstance(value, list):
        return [*value, value[-1]] if value else [1]
    return {**value, "more": 1}


def _mutants(book: Book) -> Iterator[tuple[str, list[bytes]]]:
    raws = book.raws()
    for index, entry in enumerate(book.entries):
        assert isinstance(entry, dict)
        for place in places(entry):
            for kind in ("delete", "change"):
                mutant = copy.deepcopy(entry)
                holder = found_at(mutant, place[:-1])
                if kind == "delete":
                    del holder[place[-1]]
                else:
                    holder[place[-1]] = _changed(holder[place[-1]])
                name = f"entry {index}, {kind} {'.'.join(map(str, place))}"
                yield name, [*raws[:index], canonical(mutant), *raws[index + 1 :]]


ONLY_A_WITNESS_KNOWS = re.compile(
    r"entry (1|6|8|10), (delete|change) events\..*"  # how a public hand was played, where it stays a legal hand
    r"|entry (4|11|14), change contributors\.\d\.commitment"  # a commitment whose contributor stayed silent
)
"""Mutants that are honest logs of other hands: only whoever was there, and keeps receipts, can tell."""


# Two parts, so that two workers share the work.
@pytest.mark.parametrize("part", [0, 1])
def test_no_mutant_is_valid(part: int) -> None:
    book = honest()
    accepted = []
    for number, (name, raws) in enumerate(_mutants(book)):
        if number % 2 != part:
            continue
        if audit_entries(book.signer, raws).exit_code in (0, 3):
            accepted.append(name)
    assert [name for name in accepted if not ONLY_A_WITNESS_KNOWS.fullmatch(name)] == []


def test_no_entry_can_be_dropped_doubled_or_moved() -> None:
    book = honest()
    raws = book.raws()
    last = len(raws) - 1
    for index in range(len(raws)):
        changed = {
            "dropped": raws[:index] + raws[index + 1 :],
            "doubled": raws[: index + 1] + raws[index:],
            "moved": raws[:index] + raws[index + 1 :] + [raws[index]],
        }
        for name, others in changed.items():
            if others == raws:
                continue
            report = audit_entries(book.signer, others)
            # Without its last entry the last hand is open: that is no lie yet, and not valid either.
            expected = {1, 3} if name == "dropped" and index == last else {1}
            assert report.exit_code in expected, (name, index, report)
