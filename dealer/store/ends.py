"""Ending a log, and beginning the one that follows it (WITNESS.md section 11)."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from dealer.errors import CutcardError
from dealer.files import read_text
from dealer.log.checkpoint import Checkpoint, open_checkpoint, read_checkpoint
from dealer.log.ends import PREDECESSOR, SUCCESSOR, predecessor, successor
from dealer.log.note import NoteVerifier
from dealer.log.tiles import publish, published_checkpoint, write_beside
from dealer.store.datadir import DataDir
from dealer.store.interface import RETIRED, LogStore
from dealer.store.newest import require_newest
from dealer.store.sqlite import SqliteStore


class EndError(CutcardError):
    """A log that cannot be ended, or cannot follow another one."""


def retire(data: DataDir, key: str | None, say: Callable[[str], None]) -> None:
    """Ends a log whose server is stopped; said again, it names the successor.

    Args:
        data: the log's folder, held by the caller.
        key: the new log's verifier key; None: not known yet.
        say: told what was done.

    Raises:
        EndError: hands are in play, or another successor was named.
        CutcardError: the database is older than what was published or signed, or another history; nothing was changed.
        LogError: the key does not decode, or is of this log's own origin; nothing was changed.
    """
    with closing(SqliteStore(data.database, writes_marks=True)) as store:
        if count := len(list(store.hands_in_play())):
            raise EndError(
                f"{count} {'hand is' if count == 1 else 'hands are'} in play: a log ends with every hand closed. "
                "Serve, `dealer drain`, and wait, or give them up with `dealer void`"
            )
        note = store.checkpoint()
        final = read_checkpoint(note)
        require_newest(data, store)
        text = None if key is None else successor(final, key, data.signer())
        if text is not None and store.mark(SUCCESSOR) not in (None, text):
            raise EndError("another successor was named already, and readers may have seen it: nothing was changed")
        store.set_mark(RETIRED, note)
        if published_checkpoint(data.public) != final:
            publish(data.public, 0, final.size, note, store.node, store.entries)
        say(f"the log {final.origin} has ended with {final.size} entries")
        if text is not None:
            store.set_mark(SUCCESSOR, text)
            say(f"its successor is {key}")
        publish_ends(store, data.public)


def read_ended(folder: Path, key: str) -> Checkpoint:
    """Reads the last state of an ended log from its static files.

    Raises:
        EndError: the files cannot be read.
        LogError: they are not that key's.
    """
    try:
        note = read_text(folder / "checkpoint")
    except (OSError, UnicodeDecodeError) as error:
        raise EndError(f"{folder} is no static log: its checkpoint cannot be read ({type(error).__name__})") from None
    return open_checkpoint(note, NoteVerifier.parse(key))


def begin_after(data: DataDir, final: Checkpoint, key: str) -> None:
    """Has a new log name the one that it follows."""
    with closing(SqliteStore(data.database, writes_marks=True)) as store:
        store.set_mark(PREDECESSOR, predecessor(final, key, data.signer()))
        publish_ends(store, data.public)


def publish_ends(store: LogStore, out: Path) -> None:
    """Writes `successor` and `predecessor` beside the published checkpoint, as far as there are any."""
    for name in (SUCCESSOR, PREDECESSOR):
        if (text := store.mark(name)) is not None:
            write_beside(out, name, text)
