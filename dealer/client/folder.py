"""What a client remembers between runs: the log's newest checkpoint, each table's last number, and its receipts.

```
FOLDER/seen.json                  key, newest checkpoint, last hand number of each table
FOLDER/receipts/HAND.commit.*     .entry: exact bytes; .receipt: tlog-proof; the same for .offer and .close
FOLDER/receipts/HAND.CONTRIBUTOR.acknowledgement
FOLDER/evidence/*.json            what failed, see dealer.client.evidence
```
"""

import json
import os
from pathlib import Path
from typing import Any

from dealer.client.errors import ClientError
from dealer.client.receipts import Proven


class FolderError(ClientError):
    """The client's folder cannot be read or written, or belongs to another log."""


class Folder:
    """A client's memory; without a path it forgets everything in the end.

    Attributes:
        checkpoint: signed note of the newest checkpoint seen; None: none yet.
        numbers: the last hand number of each table.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        """Reads what is there.

        Raises:
            FolderError: it cannot be read, or was written with another verifier key.
        """
        self._path, self._key = path, key
        self.checkpoint: str | None = None
        self.numbers: dict[str, int] = {}
        if path is not None:
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            content: dict[str, Any] = json.loads((path / "seen.json").read_text("ascii"))
            key, checkpoint, numbers = content["key"], content["checkpoint"], dict(content["numbers"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FolderError(f"{path / 'seen.json'} cannot be read: {type(error).__name__}") from None
        if key != self._key:
            raise FolderError(f"{path} remembers another log's key: give each log a folder of its own")
        self.checkpoint, self.numbers = checkpoint, numbers

    @property
    def evidence(self) -> Path | None:
        """Where evidence goes; None: to a temporary folder."""
        return None if self._path is None else self._path / "evidence"

    def save(self) -> None:
        """Writes checkpoint and numbers, whole or not at all.

        Raises:
            FolderError: they cannot be written.
        """
        if self._path is not None:
            content = {"key": self._key, "checkpoint": self.checkpoint, "numbers": self.numbers}
            write_whole(self._path / "seen.json", json.dumps(content, indent=1).encode("ascii"))

    def take_number(self, table: str, number: int) -> None:
        """Remembers that the log holds the table's hand of this number."""
        self.numbers[table] = max(self.numbers.get(table, 0), number)
        self.save()

    def keep(self, hand: str, name: str, proven: Proven) -> None:
        """Keeps an entry and its receipt, for `audit receipt`."""
        if self._path is not None:
            base = self._path / "receipts" / f"{hand}.{name}"
            write_whole(base.with_name(base.name + ".entry"), proven.entry)
            write_whole(base.with_name(base.name + ".receipt"), proven.receipt.encode())

    def keep_acknowledgement(self, hand: str, contributor: str, note: str) -> None:
        """Keeps the dealer's word that it took a value."""
        if self._path is not None:
            write_whole(self._path / "receipts" / f"{hand}.{contributor}.acknowledgement", note.encode())

    def kept(self, hand: str, name: str) -> bytes | None:
        """Returns an entry of a hand that was kept; None if none was, or it cannot be read any more."""
        if self._path is None:
            return None
        try:
            return (self._path / "receipts" / f"{hand}.{name}.entry").read_bytes()
        except OSError:
            return None

    def acknowledgements(self, hand: str) -> list[str]:
        """Returns the acknowledgements of a hand that were kept."""
        if self._path is None:
            return []
        return [path.read_text() for path in sorted((self._path / "receipts").glob(f"{hand}.*.acknowledgement"))]


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file that its owner alone reads, whole or not at all.

    Raises:
        FolderError: it cannot be written.
    """
    fresh = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(fresh, "wb", opener=_for_its_owner) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise FolderError(f"{path} cannot be written: {error.strerror}") from None


def _for_its_owner(path: str, flags: int) -> int:
    """Opens a file that nobody else reads: an acknowledgement holds a value that is not public before the commit."""
    return os.open(path, flags, 0o600)
