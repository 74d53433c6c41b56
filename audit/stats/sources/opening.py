"""Many sources as one stream of decks: labels put on, and a list that was given twice counted once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from audit.errors import InputError
from audit.stats.decks import whole_deck_keys
from audit.stats.results import Chunk, LogSample
from audit.stats.sources.cards import STANDARD52, DeckKind
from audit.stats.sources.copies import DeckLists
from audit.stats.sources.files import Part, StreamDecks, open_file
from audit.stats.sources.labels import LabelFile
from audit.whole.report import Report

OpenLog = Callable[[str, DeckKind], Part]
"""Opens a log by its address; handed in, so that files of decks need nothing of the verifier."""


def is_log(source: str) -> bool:
    """Checks if a SOURCE is a log: an address with a scheme, or a folder."""
    return "://" in source or Path(source).is_dir()


def _naming(part: Part) -> str:
    return "index" if part.indexed else "card"


class Decks:
    """All sources one after the other: the `Source` that the battery reads, once, from front to end.

    Attributes:
        samples: once they were read, the largest chunk of the sources that name cards by `index`, and by `card`.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        label_files: Sequence[LabelFile],
        notes: Sequence[str],
        compared: Callable[[int], None],
    ) -> None:
        self.name = ", ".join(part.name for part in parts)
        self.cards: int | None = None
        self.notes = list(notes)
        self.samples: dict[str, NDArray[np.uint8]] = {}
        self._parts = parts
        self._label_files = label_files
        self._compared = compared

    @property
    def total(self) -> int | None:
        """How many decks there will be at most, if that is known; a log's are once it is verified."""
        totals = [part.total for part in self._parts]
        return None if None in totals else sum(total for total in totals if total is not None)

    @property
    def logs(self) -> list[LogSample]:
        """For each log that was read, what of it is among the decks."""
        return [sample for part in self._parts for sample in part.logs]

    @property
    def named(self) -> frozenset[str]:
        """How the sources name cards: by `index`, by `card`, or both."""
        return frozenset(map(_naming, self._parts))

    @property
    def reports(self) -> list[Report]:
        """The audit of each log that was read."""
        return [report for part in self._parts for report in part.reports]

    def __iter__(self) -> Iterator[Chunk]:
        """Yields chunks in order, `first` through all sources; InputError (exit code 4) for what is unreadable."""
        first = 0
        again = _copies(self._parts, self._compared)
        seen: set[bytes] = set()
        for part, note in zip(self._parts, again, strict=True):
            if note:
                self.notes.append(note)
                if not self._label_files:
                    continue
            for chunk in part:
                # A source that is passed over has labels all the same, which must not fall to the next one's decks.
                labels = self._labels(part, chunk)
                if note:
                    continue
                fresh = self._once(part, replace(chunk, labels=labels), seen)
                if len(fresh.decks):
                    self.cards = fresh.decks.shape[1]
                    if len(fresh.decks) > len(self.samples.get(_naming(part), ())):
                        self.samples[_naming(part)] = fresh.decks
                    yield replace(fresh, first=first)
                    first += len(fresh.decks)
            self.notes.extend(part.notes)
        for file in self._label_files:
            file.finish()

    def _labels(self, part: Part, chunk: Chunk) -> dict[str, list[str]]:
        if part.labelled:
            return dict(chunk.labels)
        return {file.dimension: file.take(len(chunk.decks)) for file in self._label_files}

    def _once(self, part: Part, chunk: Chunk, seen: set[bytes]) -> Chunk:
        """Returns the chunk without hands that an earlier source had, by their ids."""
        if chunk.ids is None or sum(part.labelled for part in self._parts) < 2:
            return chunk
        keep = [row for row, hand in enumerate(chunk.ids) if hand not in seen]
        seen.update(chunk.ids)
        dropped = len(chunk.ids) - len(keep)
        if not dropped:
            return chunk
        self.notes.append(f"{part.name}: {dropped:,} hands were in an earlier source as well and are counted once")
        return Chunk(
            decks=chunk.decks[keep],
            labels={dimension: [labels[row] for row in keep] for dimension, labels in chunk.labels.items()},
            ids=[chunk.ids[row] for row in keep],
        )


def open_source(
    sources: Sequence[str],
    *,
    kind: DeckKind = STANDARD52,
    indexes: str = "rank",
    strata: Sequence[tuple[str, Path]] = (),
    open_log: OpenLog | None = None,
    stdin: BinaryIO | None = None,
    compared: Callable[[int], None] = lambda decks: None,
) -> Decks:
    """Opens the SOURCEs of a command line (API.md) as one stream.

    Args:
        sources: Logs, text files, `.npy` arrays, `-` for text on standard input.
        kind: The deck kind that every deck must be.
        indexes: In which order the indexes of arrays count the cards, `rank` or `suit`.
        strata: Dimensions with a file of labels each, one a line for each deck of the sources without labels of their
            own (all but logs), all such sources in the order given.
        open_log: Opens a log; without it a log is refused.
        stdin: Standard input's bytes, of this process if not given.
        compared: Told how many more decks were compared with other sources', which comes before the first is yielded.

    Returns:
        One stream. A file named twice is left out here, a copy of another source while reading.

    Raises:
        InputError: If a source cannot be opened.
    """
    parts: list[Part] = []
    notes: list[str] = []
    named: set[str] = set()
    for source in sources:
        key = source if source == "-" or "://" in source else str(Path(source).resolve())
        if key in named:
            notes.append(f"{source}: given twice, counted once")
            continue
        named.add(key)
        if source == "-":
            parts.append(StreamDecks(stdin or sys.stdin.buffer, "standard input", kind))
        elif is_log(source):
            if open_log is None:
                raise InputError(f"{source}: a log cannot be read here; give a file of decks")
            parts.append(open_log(source, kind))
        else:
            parts.append(open_file(Path(source), kind, indexes))
    if len(parts) > 1:
        for part in parts:
            if isinstance(part, StreamDecks):
                part.keep()
    return Decks(parts, [LabelFile(dimension, path) for dimension, path in strata], notes, compared)


def _copies(parts: Sequence[Part], compared: Callable[[int], None]) -> list[str]:
    """Returns for each source a note if it is a copy: all its decks, ten or more, stand in another source."""
    if len(parts) < 2:
        return [""] * len(parts)
    lists = DeckLists()
    for part in parts:
        lists.begin()
        for chunk in part:
            lists.add(whole_deck_keys(chunk.decks))
            compared(len(chunk.decks))
    copies = lists.copies([part.labelled for part in parts])
    notes = [""] * len(parts)
    for number, holder in copies.items():
        decks = f"all its {lists.decks[number]:,} decks"
        notes[number] = f"{parts[number].name}: {decks} stand in {parts[holder].name} as well, counted once"
    return notes
