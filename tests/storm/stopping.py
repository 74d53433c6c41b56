"""`dealer` as it is, but that it stops itself, by SIGSTOP, at the point that the file named by `STOP_AT` names.

Each of its transactions leaves the epoch under which it writes in the table `written`, whose trigger holds that against
the lease at the very end of the commit. With `FENCE=plain` its fence is a plain SELECT.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from dealer.cli import main
from dealer.store.interface import Batch
from dealer.store.postgres.contender import Contender
from dealer.store.postgres.store import PostgresStore
from tests.storm.plain_fence import make_plain

_FILE = Path(os.environ["STOP_AT"])
_commit, _fenced, _statement = PostgresStore.commit, PostgresStore.fenced, PostgresStore._fenced_statement
_open_store = Contender.open_store


def _is_here(label: str) -> bool:
    try:
        if _FILE.read_text() != label:
            return False
        _FILE.unlink()
    except FileNotFoundError:
        return False
    return True


def stop_here() -> None:
    """Stops the process at this very line: a signal to the process may reach another thread, and this one goes on."""
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def stop(label: str) -> None:
    if _is_here(label):
        stop_here()


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


def fenced_statement(store: PostgresStore, statement: str, values: Mapping[str, object]) -> None:
    head, last, _ = statement.rpartition("\nSELECT beat, now FROM f")
    _statement(store, f"{head}, w AS (INSERT INTO written SELECT %(epoch)s FROM f){last}", values)


@contextmanager
def fenced(store: PostgresStore, change: str = "", **values: object) -> Iterator[datetime]:
    """Makes housekeeping's transaction, and stops within it, or within a COPY of it."""
    with _fenced(store, change, **values) as now:
        store.link.execute("INSERT INTO written VALUES (%s)", (store.epoch,))
        stop("housekeeping")
        if _is_here("copy"):
            with store.link.cursor().copy("COPY seen FROM STDIN") as copy:
                copy.write_row((os.urandom(32),))
                stop_here()
                copy.write_row((os.urandom(32),))
        yield now


def open_plain(contender: Contender) -> PostgresStore:
    store = _open_store(contender)
    make_plain(store)
    return store


if __name__ == "__main__":
    PostgresStore.commit = commit  # type: ignore[method-assign, assignment]
    PostgresStore.fenced = fenced  # type: ignore[method-assign, assignment]
    PostgresStore._fenced_statement = fenced_statement  # type: ignore[method-assign, assignment]
    if os.environ.get("FENCE") == "plain":
        Contender.open_store = open_plain  # type: ignore[method-assign, assignment]
    sys.argv[0] = "dealer"
    main()
