"""Parts: a counted corpus as a file, so that any cluster can do the counting (`audit count`, `audit merge`).

A part is a ZIP archive: `part.json` says what was counted, and `.npy` members hold counts, first and last decks, and
keys. All counts are whole numbers that add up, so parts put together give the verdict of one run to the last digit.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.errors import InputError
from audit.files import open_regular
from audit.stats.batch import Batch
from audit.stats.counting.corpus import Corpus, Plan
from audit.stats.counting.tally import Tally
from audit.stats.families import Family
from audit.stats.families.duplicates import key_kinds
from audit.stats.results import LogSample
from audit.stats.sources.copies import DeckLists

FORMAT = "cutcard-part/v1"

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same counts give the same bytes


def write_part(corpus: Corpus | None, path: Path) -> None:
    """Writes a corpus to a file; None, no deck at all, is a part as well.

    Raises:
        InputError: if the file cannot be written.
    """
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            head: dict[str, Any] = {"format": FORMAT, "plan": None}
            if corpus is not None:
                head |= _write_corpus(archive, corpus)
            _write(archive, "part.json", json.dumps(head, indent=1).encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _write_corpus(archive: zipfile.ZipFile, corpus: Corpus) -> dict[str, Any]:
    plan = corpus.plan
    tallies = [("", "", corpus.whole)] + [
        (dimension, label, tally)
        for dimension, strata in corpus.strata.items()
        for label, tally in sorted(strata.items())
    ]
    described = []
    for number, (dimension, label, tally) in enumerate(tallies):
        described.append({"dimension": dimension, "label": label, "decks": tally.decks})
        for name, array in _arrays(tally):
            _write_array(archive, f"tally/{number}/{name}.npy", array)
    blocks = 0
    for blocks, keys in enumerate(corpus.keys.blocks(), start=1):
        _write_array(archive, f"keys/{blocks}.npy", np.asarray(keys))
    return {
        "plan": {
            "n": plan.n,
            "order": None if plan.order is None else plan.order.tolist(),
            "tests": None if plan.names is None else list(plan.names),
            "dimensions": list(plan.dimensions),
        },
        "tallies": described,
        "key_blocks": blocks,
        "sources": corpus.sources,
        "notes": corpus.notes,
        "read_as": corpus.read_as,
        "logs": [asdict(sample) for sample in corpus.logs],
        "digests": corpus.digests,
    }


def _arrays(tally: Tally) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "head", tally.head
    yield "tail", tally.tail
    for family, counts in tally.counts.items():
        for key, array in counts.items():
            yield f"counts/{family}/{key}", array


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    _write(archive, name, stream.getvalue())


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=1)


def read_part(path: Path) -> Corpus | None:
    """Reads what `write_part` wrote.

    Raises:
        InputError: for a file that is no part, or a damaged one (every member has a checksum).
    """
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            head = json.loads(archive.read("part.json"))
            if head.get("format") != FORMAT:
                raise InputError(f"{path}: not a part of this version ({FORMAT}); count again")
            return None if head["plan"] is None else _read_corpus(archive, head)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a part made by `audit count`, or damaged: {error}") from error


def _read_corpus(archive: zipfile.ZipFile, head: Mapping[str, Any]) -> Corpus:
    told = head["plan"]
    order = None if told["order"] is None else np.array(told["order"], np.uint8)
    names = None if told["tests"] is None else tuple(told["tests"])
    plan = Plan(int(told["n"]), order, names, tuple(told["dimensions"]))
    corpus = Corpus.empty(plan)
    for number, described in enumerate(head["tallies"]):
        whole = not described["dimension"]
        tally = corpus.whole if whole else corpus.stratum(described["dimension"], described["label"])
        tally.decks = int(described["decks"])
        families = plan.families if whole else plan.stratum_families(described["dimension"])
        prefix = f"tally/{number}/"
        members = {
            name.removeprefix(prefix).removesuffix(".npy"): _read_array(archive, name)
            for name in archive.namelist()
            if name.startswith(prefix)
        }
        tally.head, tally.tail = members.pop("head"), members.pop("tail")
        for name, array in members.items():
            _, family, key = name.split("/", 2)
            tally.counts.setdefault(family, {})[key] = array
        _check_counts(tally, families)
    rows = sum(len(kind.rows) for kind in key_kinds(plan.n))
    for block in range(1, int(head["key_blocks"]) + 1):
        keys = _read_array(archive, f"keys/{block}.npy")
        if keys.dtype != np.uint64 or keys.ndim != 2 or len(keys) != rows:
            raise ValueError("keys of another kind")
        corpus.keys.add(keys)
    corpus.sources, corpus.notes = list(head["sources"]), list(head["notes"])
    corpus.read_as = list(head.get("read_as", ()))  # parts of before have none, and no logs either
    corpus.logs = [LogSample(**sample) for sample in head.get("logs", ())]
    corpus.digests = list(head["digests"])
    return corpus


def _check_counts(tally: Tally, families: Sequence[Family]) -> None:
    """Checks a tally against what this version counts.

    Raises:
        ValueError: a family is missing, is not known, or counts otherwise.
    """
    if tally.decks == 0:
        return
    if tally.head.shape[1:] != (tally.n,) or tally.tail.shape[1:] != (tally.n,):
        raise ValueError("decks of another size")
    one_deck = np.arange(tally.n, dtype=np.uint8)[None]
    batch = Batch(one_deck, seats=np.array([[1, 2]], np.uint8))
    expected = {family.name: {key: array.shape for key, array in family.count(batch).items()} for family in families}
    found = {name: {key: array.shape for key, array in counts.items()} for name, counts in tally.counts.items()}
    if found != expected:
        names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        raise ValueError(f"another version counts {', '.join(names)} otherwise; count again")


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
    return array


def merge_parts(paths: list[Path]) -> Corpus | None:
    """Merges parts to one corpus, in the order given; a part whose decks all stand in another one is counted once.

    Raises:
        InputError: for a part that cannot be read, or that was counted otherwise than the first.
    """
    merged: Corpus | None = None
    plan: Plan | None = None
    notes = []
    copies = _copies(paths)
    for number, path in enumerate(paths):
        part = read_part(path)
        if part is None:
            continue
        plan = plan or part.plan
        difference = _difference(plan, part.plan)
        if difference:
            raise InputError(f"{path}: counted with another {difference} than the parts before it; count them alike")
        if number in copies:
            notes.append(f"{path}: all its decks stand in {paths[copies[number]]} as well, counted once")
            continue
        if merged is None:
            merged = part
            continue
        again = set(part.digests) & set(merged.digests)
        if again == set(part.digests):
            notes.append(f"{path}: the same decks as in an earlier part, counted once")
            continue
        if again:
            raise InputError(f"{path}: holds decks that an earlier part holds as well; leave one of the two out")
        merged.append(part)
    if merged is not None:
        merged.notes += notes
    return merged


def _copies(paths: Sequence[Path]) -> dict[int, int]:
    """Returns for each part that is a copy the one it copies, as far as parts have the keys of their decks."""
    if len(paths) < 2:
        return {}
    lists = DeckLists()
    for path in paths:
        lists.begin()
        part = read_part(path)
        if part is not None:
            for keys in part.keys.blocks():
                if len(keys):
                    lists.add(np.asarray(keys[:2]))
    return lists.copies()


def _difference(one: Plan, other: Plan) -> str:
    """Returns what two plans do not have in common, or nothing."""
    if one.n != other.n:
        return "number of cards"
    same_order = one.order is other.order or (
        one.order is not None and other.order is not None and np.array_equal(one.order, other.order)
    )
    if not same_order:
        return "--order"
    if one.names != other.names:
        return "--tests"
    return "" if one.dimensions == other.dimensions else "--by"
