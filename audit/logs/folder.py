"""A log of static files in a folder."""

from __future__ import annotations

from pathlib import Path

from audit.errors import InputError
from audit.files import open_regular
from audit.logs.log import MOST_BYTES, StaticLog


class FolderLog(StaticLog):
    """A log in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def address(self) -> str:
        """See `Log.address`."""
        return str(self._folder)

    def elsewhere(self) -> FolderLog:
        """See `Log.elsewhere`."""
        return FolderLog(self._folder.absolute())

    def why_no_checkpoint(self) -> str:
        """See `Log.why_no_checkpoint`."""
        folder = self._folder
        if folder.is_file():
            what = "is a file, and a log is a folder (`audit receipt` checks a single receipt)"
        elif not folder.exists():
            what = "is not there"
        elif (folder / "public" / "checkpoint").is_file():
            what = f"is a data folder: its log is in {folder / 'public'}"
        elif (folder / "public").is_dir():
            what = f"is a data folder whose log, in {folder / 'public'}, has no checkpoint yet"
        elif above := [up for up in folder.absolute().parents if (up / "checkpoint").is_file()]:
            what = f"has no checkpoint: it lies in the log {above[0]}"
        else:
            what = "has no checkpoint: it is no log's folder"
        return f"{self.address} {what}"

    def _read(self, where: str) -> bytes | None:
        try:
            with open_regular(self._folder / where) as file:
                return file.read(MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise InputError(f"{self._folder / where} cannot be read: {error.strerror}") from None
