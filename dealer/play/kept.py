"""What `dealer play` keeps of a hand for later: the log's key, entries, receipts, hand files; how they are checked."""

import shlex
import shutil
import sys
from pathlib import Path

from dealer.client.folder import Folder
from dealer.client.seat import Seat
from dealer.errors import CutcardError


class Kept:
    """A session's memory of the log; with a folder it outlives the session.

    Attributes:
        path: the folder of a client that keeps what it sees from one hand to the next; None: it forgets.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        """Opens the folder; None: nothing is kept after the end.

        Raises:
            CutcardError: the folder cannot be written, or remembers another log's key.
        """
        self.path = None if path is None else path.resolve()
        self._key = key
        Folder(self.path, key).save()
        if self.path is not None:
            try:
                (self.path / "key").write_text(key + "\n", "ascii")
            except OSError as error:
                raise CutcardError(f"{self.path / 'key'} cannot be written: {error.strerror}") from None

    def save(self, seat: Seat) -> None:
        """Writes the hand file of a seat whose hand is over, if anything is kept.

        Raises:
            FolderError: it cannot be written.
        """
        if self.path is not None:
            seat.save(self._hand_file(self.path, seat.hand_id))

    def _hand_file(self, path: Path, hand: str) -> Path:
        return path / "hands" / f"{hand}.json"

    def command(self, hand: str) -> str | None:
        """Returns the line for a shell that checks all that is kept of a hand; None: nothing is."""
        if self.path is None:
            return None
        key = ["--key", str(self.path / "key")]
        if self._key.startswith("test.invalid/"):
            key.append("--allow-test")  # a double's hand: without it there is no verdict
        base = str(self.path / "receipts" / hand)
        lines = [[f"{base}.{name}.receipt", "--entry", f"{base}.{name}.entry"] for name in ("commit", "close")]
        lines.append([str(self._hand_file(self.path, hand))])
        return " && ".join(shlex.join([_audit(), "receipt", *line, *key]) for line in lines)


def _audit() -> str:
    """Returns how the auditor is called from here: by its name where the shell finds the one beside this program."""
    beside = Path(sys.executable).parent / "audit"
    found = shutil.which("audit")
    return "audit" if found is not None and Path(found).resolve() == beside.resolve() else str(beside)
