"""What `dealer play` keeps of a hand for later: the log's key, its entries and receipts, and how they are checked."""

import shlex
import shutil
import sys
from pathlib import Path

from dealer.client.folder import Folder
from dealer.client.receipts import Proven
from dealer.errors import CutcardError


class Kept:
    """A session's memory of the log; with a folder it outlives the session.

    Attributes:
        folder: what was seen of the log, from one hand to the next.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        """Opens the folder; None: nothing is kept after the end.

        Raises:
            CutcardError: the folder cannot be written, or remembers another log's key.
        """
        self._path = None if path is None else path.resolve()
        self._key = key
        self._names: dict[str, list[str]] = {}
        self.folder = Folder(self._path, key)
        self.folder.save()
        if self._path is not None:
            try:
                (self._path / "key").write_text(key + "\n", "ascii")
            except OSError as error:
                raise CutcardError(f"{self._path / 'key'} cannot be written: {error.strerror}") from None

    def keep(self, hand: str, name: str, proven: Proven) -> None:
        """Keeps one entry of a hand ("commit", "close") with its receipt, as soon as it is proven."""
        self._names[hand] = [*self._names.get(hand, ()), name]
        self.folder.keep(hand, name, proven)

    def command(self, hand: str) -> str | None:
        """Returns the line for a shell that checks all that is kept of a hand; None: nothing is."""
        if self._path is None:
            return None
        key = ["--key", str(self._path / "key")]
        if self._key.startswith("test.invalid/"):
            key.append("--allow-test")  # a double's hand: without it there is no verdict
        base = str(self._path / "receipts" / hand)
        return " && ".join(
            shlex.join([_audit(), "receipt", f"{base}.{name}.receipt", "--entry", f"{base}.{name}.entry", *key])
            for name in self._names[hand]
        )


def _audit() -> str:
    """Returns how the auditor is called from here: by its name where the shell finds the one beside this program."""
    beside = Path(sys.executable).parent / "audit"
    found = shutil.which("audit")
    return "audit" if found is not None and Path(found).resolve() == beside.resolve() else str(beside)
