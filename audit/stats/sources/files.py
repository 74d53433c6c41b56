"""Decks from a text file, from standard input and from a `.npy` array."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from audit.errors import InputError
from audit.files import open_regular
from audit.stats.results import CHUNK, Chunk, LogSample
from audit.stats.sources.cards import STANDARD52, DeckKind, are_permutations, header_length, parse_block, what_repeats
from audit.stats.sources.order import read_indexes
from audit.whole.report import Report

_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK\x03\x04"
_ARCHIVE = "an archive (.npz or other .zip); give one .npy array of decks, as numpy.save writes it"


class Part(Protocol):
    """One of the sources that a run is given: can be read more than once, from the front."""

    name: str
    total: int | None
    notes: list[str]
    logs: list[LogSample]
    reports: list[Report]
    labelled: bool
    """Whether its chunks have labels of their own."""
    indexed: bool
    """Whether it names cards by indexes."""

    def __iter__(self) -> Iterator[Chunk]:
        """Yields its chunks; `first` counts from its own front."""
        ...


class _Unlabelled:
    """What files of decks have in common."""

    labelled = False
    indexed = False

    def __init__(self, name: str, kind: DeckKind, total: int | None) -> None:
        self.name = name
        self.total = total
        self.notes: list[str] = []
        self.logs: list[LogSample] = []
        self.reports: list[Report] = []
        self._kind = kind


class TextDecks(_Unlabelled):
    """A text file of one deck a line, top card first.

    Empty lines are allowed after the last deck and nowhere else.

    Args:
        path: The file.
        kind: The deck kind that every line is a permutation of.
        name: What it is called, the path if not given.
    """

    def __init__(self, path: Path, kind: DeckKind = STANDARD52, name: str | None = None) -> None:
        super().__init__(name or str(path), kind, _count_of_lines(path, kind, name or str(path)))
        self._path = path

    def __iter__(self) -> Iterator[Chunk]:
        """Yields chunks of up to `CHUNK` decks.

        Raises:
            InputError: For a file that cannot be read and for a line that is no deck.
        """
        with _opened(self._path, self.name) as stream:
            yield from _chunks_of_text(stream, self._kind, self.name, self.notes)


class StreamDecks(_Unlabelled):
    """Text as in `TextDecks` from what has no beginning to go back to: standard input, a pipe.

    It can be read once, unless `keep` was called before: then it goes through a temporary file.

    Args:
        stream: The bytes.
        name: What it is called.
        kind: The deck kind.
    """

    def __init__(self, stream: BinaryIO, name: str, kind: DeckKind = STANDARD52) -> None:
        super().__init__(name, kind, None)
        self._stream = stream
        self._kept = False

    def keep(self) -> None:
        """Copies everything to a temporary file without a name, so that it can be read again."""
        kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the source
        shutil.copyfileobj(self._stream, kept)
        self._stream, self._kept = kept, True

    def __iter__(self) -> Iterator[Chunk]:
        """Yields chunks of up to `CHUNK` decks; InputError for a line that is no deck."""
        if self._kept:
            self._stream.seek(0)
        yield from _chunks_of_text(self._stream, self._kind, self.name, self.notes)


class ArrayDecks(_Unlabelled):
    """A `.npy` array, shape (N, n), uint8: card indexes. It is mapped, not loaded.

    Args:
        path: The file.
        kind: The deck kind, n of it the array's width.
        indexes: In which order its indexes count the cards, `rank` or `suit`.

    Raises:
        InputError: For a file that is no `.npy` array of this shape and type.
    """

    indexed = True

    def __init__(self, path: Path, kind: DeckKind = STANDARD52, indexes: str = "rank") -> None:
        name = str(path)
        with _opened(path, name):
            pass
        try:
            array = load_array(path)
        except (ValueError, OSError, EOFError) as error:
            raise InputError(f"{name}: not a whole .npy array of card indexes: {_why_no_array(path)}") from error
        if not isinstance(array, np.ndarray):
            raise InputError(f"{name}: {_ARCHIVE}")
        if array.dtype != np.uint8:
            raise InputError(f"{name}: the array is of {array.dtype}; card indexes are uint8 (array.astype('uint8'))")
        if array.ndim != 2 or array.shape[1] != kind.size:
            raise InputError(f"{name}: the array's shape is {array.shape}; decks are (N, {kind.size})")
        super().__init__(name, kind, len(array))
        self._array = array
        self._card_of = None if indexes == "rank" else read_indexes(indexes, kind)

    def __iter__(self) -> Iterator[Chunk]:
        """Yields chunks of up to `CHUNK` decks; InputError for a row that is no permutation."""
        for first in range(0, len(self._array), CHUNK):
            decks: NDArray[np.uint8] = np.array(self._array[first : first + CHUNK])
            good = are_permutations(decks, self._kind.size)
            if not np.all(good):
                row = int(np.argmin(good))
                raise InputError(f"{self.name}: row {first + row} (from 0): {what_repeats(decks[row], self._kind)}")
            yield Chunk(decks if self._card_of is None else self._card_of[decks], first=first)


def load_array(path: Path) -> object:
    """Maps a `.npy` array, or whatever else NumPy takes the file for.

    Raises:
        OSError: it cannot be opened, or is no regular file.
        ValueError, EOFError: it is no array.
    """
    with open_regular(path):  # NumPy, which opens by name, would wait at a pipe
        try:
            loaded: object = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise
        except Exception as error:  # it reads the header as Python, and fails as Python's tokenizer and parser do
            raise ValueError(f"{path} has a header that NumPy cannot read: {type(error).__name__}") from error
        return loaded


def open_file(path: Path, kind: DeckKind, indexes: str = "rank") -> Part:
    """Opens a file of decks, by its first bytes and its name: a `.npy` array, whose indexes count so, or text."""
    with _opened(path, str(path)) as stream:
        magic = stream.read(len(_NPY_MAGIC))
    if magic.startswith(_ZIP_MAGIC):
        raise InputError(f"{path}: {_ARCHIVE}")
    if magic == _NPY_MAGIC or path.suffix == ".npy":
        return ArrayDecks(path, kind, indexes)
    return TextDecks(path, kind)


def _why_no_array(path: Path) -> str:
    """Explains in our words why a file is no array; NumPy's own advise loading what it calls unsafe."""
    with _opened(path, str(path)) as stream:
        begins = stream.read(len(_NPY_MAGIC))
    if begins != _NPY_MAGIC:
        return "it does not begin as one; text has a name without .npy"
    return "it is cut short, damaged or of Python objects; card indexes are uint8, shape (N, n)"


def _opened(path: Path, name: str) -> BinaryIO:
    try:
        return open_regular(path)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from error


def _count_of_lines(path: Path, kind: DeckKind, name: str) -> int | None:
    """Counts a file's decks by its size and first line; None if lines differ in length."""
    with _opened(path, name) as stream:
        first = len(stream.readline(4 * kind.size))
        size = os.fstat(stream.fileno()).st_size
    if first not in (3 * kind.size, 3 * kind.size + 1):
        return None
    return (size + 2) // first if size % first in (0, first - 1, first - 2) else None


def _blocks_of_lines(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yields blocks of whole lines, about `size` bytes, each ended by a line feed, added to the last if need be."""
    rest = b""
    while block := stream.read(size):
        head, feed, tail = block.rpartition(b"\n")
        if feed:
            yield rest + head + feed
            rest = tail
        else:
            rest += tail
            if len(rest) > 16 * size:
                # Something without lines, such as a binary file: what it is wrong with shows in its beginning.
                break
    if rest:
        yield rest + b"\n"


def _chunks_of_text(stream: BinaryIO, kind: DeckKind, name: str, notes: list[str]) -> Iterator[Chunk]:
    """Yields chunks of up to `CHUNK` decks; skips a line of column names in front, and notes that in `notes`."""
    line, first = 1, 0
    blanks = b""
    for block in _blocks_of_lines(stream, CHUNK * 3 * kind.size):
        # Empty lines at a block's end are held back: if a deck follows, they are no longer at the text's end.
        whole = blanks + block
        kept = whole.rstrip(b" \t\r\n")
        end = whole.find(b"\n", len(kept)) + 1 if kept else 0
        text, blanks = whole[:end], whole[end:]
        if not text:
            continue
        if line == 1 and (header := header_length(text, kind)):
            note = f"{name}: its first line is no deck but names of columns, and is passed over"
            notes[:] = [note]  # once, however often the source is read
            text, line = text[header:], 2
        decks = parse_block(text, kind, name, line)
        line += len(decks)
        for start in range(0, len(decks), CHUNK):
            yield Chunk(decks[start : start + CHUNK], first=first + start)
        first += len(decks)
