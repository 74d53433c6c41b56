"""`dealer` as it is, but that it stops itself, by SIGSTOP, at the point that the file named by `STOP_AT` names."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from dealer.cli import main
from dealer.store.interface import Batch
from dealer.store.postgres.store import PostgresStore

_FILE = Path(os.environ["STOP_AT"])
_commit, _fenced = PostgresStore.commit, PostgresStore.fenced


def _is_here(label: str) -> bool:
    try:
        if _FILE.read_text() != label:
            return False
        _FILE.unlink()
    except FileNotFoundError:
        return False
    return True


def stop(label: str) -> None:
    if _is_here(label):
        os.kill(os.getpid(), signal.SIGSTOP)


def commit(store: PostgresStore, batch: Batch) -> None:
    """Commits a batch, by a socket that takes little at once: so the statement can be sent by half."""
    stop("before")
    buffer = socket.socket(fileno=os.dup(store.link.fileno()))
    buffer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 11)
    buffer.close()
    store.link.on_wait = lambda unsent: stop("half" if unsent else "sent")
    try:
        _commit(store, batch)
    finally:
        if not store.link.closed:
            store.link.on_wait = None
    stop("answers")


@contextmanager
def fenced(store: PostgresStore, change: str = "", **values: object) -> Iterator[datetime]:
    """Makes housekeeping's transaction, and stops within it, or within a COPY of it."""
    with _fenced(store, change, **values) as now:
        stop("housekeeping")
        if _is_here("copy"):
            with store.link.cursor().copy("COPY seen FROM STDIN") as copy:
                copy.write_row((os.urandom(32),))
                os.kill(os.getpid(), signal.SIGSTOP)
                copy.write_row((os.urandom(32),))
        yield now


if __name__ == "__main__":
    PostgresStore.commit = commit  # type: ignore[method-assign, assignment]
    PostgresStore.fenced = fenced  # type: ignore[method-assign, assignment]
    sys.argv[0] = "dealer"
    main()
