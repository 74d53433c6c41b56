"""Labels of strata from a file: one a line, one for each deck."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from audit.errors import InputError
from audit.files import open_regular


class LabelFile:
    """Reads the labels of one dimension in step with the decks.

    Args:
        dimension: The name of the dimension, such as `day`.
        path: A text file with one label a line.

    Raises:
        InputError: If the file cannot be read.
    """

    def __init__(self, dimension: str, path: Path) -> None:
        self.dimension = dimension
        self._path = path
        self._given = 0
        try:
            self._stream = open_regular(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error

    def _labels(self, count: int) -> Iterator[str]:
        for line in islice(self._stream, count):
            self._given += 1
            try:
                label = line.rstrip(b"\r\n").decode()
            except UnicodeDecodeError as error:
                raise InputError(f"{self._path}: line {self._given}: not text (UTF-8)") from error
            if not label.strip():
                raise InputError(f"{self._path}: line {self._given}: no label; every deck has one")
            yield label.strip()

    def take(self, count: int) -> list[str]:
        """Returns the next `count` labels; InputError if there are fewer."""
        labels = list(self._labels(count))
        if len(labels) < count:
            raise InputError(f"{self._path}: {self._given} labels for more decks; a line for each deck")
        return labels

    def finish(self) -> None:
        """Closes the file; InputError if labels are left over."""
        with self._stream:
            if any(line.strip() for line in self._stream):
                raise InputError(f"{self._path}: more labels than the {self._given} decks; a line for each deck")
