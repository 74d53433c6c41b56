"""What `dealer play` keeps of a hand for later: the log's key, its entries and receipts, and one file with them all."""

import shlex
import shutil
import sys
from pathlib import Path

from dealer.client import evidence
from dealer.client.folder import Folder
from dealer.client.receipts import Proven
from dealer.errors import CutcardError


class Kept:
    """A sitting's memory of the log; with a folder it outlives the sitting.

    Attributes:
        folder: what was seen of the log, from one hand to the next.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        """Takes where to keep; None: nowhere.

        Raises:
            CutcardError: the folder cannot be written, or remembers another log's key.
        """
        self._path = None if path is None else path.resolve()
        self._key = key
        self._hand = evidence.Evidence(key)
        self.folder = Folder(self._path, key)
        self.folder.save()
        if self._path is not None:
            try:
                (self._path / "key").write_text(key + "\n", "ascii")
            except OSError as error:
                raise CutcardError(f"{self._path / 'key'} cannot be written: {error.strerror}") from None

    def keep(self, hand: str, name: str, proven: Proven) -> None:
        """Keeps one entry of a hand ("commit", "close"), as soon as it is proven."""
        if self._hand.hand != hand:
            self._hand = evidence.Evidence(self._key, hand)
        self._hand.entries[name] = proven.entry, proven.receipt
        self.folder.keep(hand, name, proven)

    def command(self) -> str | None:
        """Writes the file of the last hand, and returns the command that checks all of it; None: nothing is kept.

        Raises:
            CutcardError: the file cannot be written.
        """
        if self._path is None:
            return None
        content = self._hand.content("hand", "kept by who played it; no check had failed")
        file = evidence.write(content, self._path)
        if file is None:
            raise CutcardError(f"the hand cannot be kept: {self._path} cannot be written")
        test = ["--allow-test"] if self._key.startswith("test.invalid/") else []  # a double's: or it is no verdict
        return shlex.join([_audit(), "receipt", str(file), "--key", str(self._path / "key"), *test])


def _audit() -> str:
    """Returns how the auditor is called from here: by its name where the shell finds the one beside this program."""
    beside = Path(sys.executable).parent / "audit"
    found = shutil.which("audit")
    return "audit" if found is not None and Path(found).resolve() == beside.resolve() else str(beside)
