"""Logs that are changed at random and signed again: what is still judged valid differs only in what nothing binds."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from tests.attacks.judging import audit_entries
from tests.attacks.maker import Entry, canonical, honest
from tests.attacks.mutating import found_at, places

UNBOUND = {"time", "events", "outcome", "reason", "history", "game", "seats", "contributors"}
"""Members that no hash is over: only whoever was there, and keeps receipts, knows them to be others.

How a hand was played is one, as long as it is a legal hand. The commitment of a contributor who stayed silent is
another, and its place in the offer; those of the others are bound by their values.
"""
_PALETTE: list[Any] = [
    None,
    True,
    0,
    1,
    51,
    52,
    255,
    -1,
    1.5,
    "",
    "down",
    "up",
    "third",
    "void",
    "00" * 32,
    "00" * 64,
    [],
    {},
]
_ALPHABET = "0123456789abcdefTJQKAcdhs-.:Z=+/"


def mutate(entries: list[Entry], rng: random.Random) -> None:
    """Changes one place in one way."""
    entry = rng.choice(entries)
    place = rng.choice(list(places(entry)))
    holder, key = found_at(entry, place[:-1]), place[-1]
    old = holder[key]
    kind = rng.choice(["transplant", "palette", "nudge", "delete", "double", "swap items", "borrow", "swap entries"])
    if kind == "transplant":
        other = rng.choice(entries)
        holder[key] = copy.deepcopy(found_at(other, rng.choice(list(places(other)))))
    elif kind == "palette":
        holder[key] = rng.choice(_PALETTE)
    elif kind == "nudge" and isinstance(old, str) and old:
        at = rng.randrange(len(old))
        holder[key] = old[:at] + rng.choice(_ALPHABET) + old[at + 1 :]
    elif kind == "nudge" and isinstance(old, int):
        holder[key] = old + rng.choice([-1, 1, 2, 7])
    elif kind == "nudge" and isinstance(old, list):
        rng.shuffle(old)
    elif kind == "double" and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(old))
    elif kind == "swap items" and isinstance(holder, list):
        other_key = rng.randrange(len(holder))
        holder[key], holder[other_key] = holder[other_key], old
    elif kind == "borrow":
        # The member of the same name and place from another entry: another hand's commitment, say.
        lender = rng.choice(entries)
        if place in set(places(lender)):
            holder[key] = copy.deepcopy(found_at(lender, place))
    elif kind == "swap entries":
        a, b = rng.randrange(len(entries)), rng.randrange(len(entries))
        entries[a], entries[b] = entries[b], entries[a]
    else:
        del holder[key]


def _differences(changed: list[Entry], whole: list[Entry]) -> set[str]:
    """The members, of whatever entry, that differ."""
    return {
        name
        for entry, was in zip(changed, whole, strict=True)
        for name in {*entry, *was}
        if entry.get(name) != was.get(name)
    }


def _taken(entries: list[Entry]) -> list[list[Entry]]:
    """For each offer what it says of contributors whose values were taken, in its order."""
    values = {entry["hand"]: entry["contributions"] for entry in entries if "contributions" in entry}
    names = {hand: {row["contributor"] for row in rows} for hand, rows in values.items()}
    return [
        [row for row in entry["contributors"] if row["contributor"] in names[entry["hand"]]]
        for entry in entries
        if "contributors" in entry
    ]


def _check(seed: int, mutants: int) -> None:
    book = honest()
    whole: list[Entry] = [json.loads(raw) for raw in book.raws()]
    rng = random.Random(seed)
    for _ in range(mutants):
        entries = copy.deepcopy(whole)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutate(entries, rng)
        report = audit_entries(book.signer, [canonical(entry) for entry in entries])
        if report.exit_code == 0:
            assert _differences(entries, whole) <= UNBOUND
            assert _taken(entries) == _taken(whole)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_passes_differs_only_in_what_nothing_binds(seed: int) -> None:
    _check(seed, 250)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 14))
def test_what_passes_differs_only_in_what_nothing_binds_at_length(seed: int) -> None:
    _check(seed, 10_000)
