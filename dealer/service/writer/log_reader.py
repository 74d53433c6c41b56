"""Reads the log beside the writer, on a connection and a thread of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dealer.store.interface import LogStore

T = TypeVar("T")


class LogReader:
    """Reads the log for LogService and for publishing, in one thread."""

    def __init__(self, open_store: Callable[[], LogStore]) -> None:
        """Opens nothing yet; `open_store` opens a store for reading."""
        self._open = open_store
        self._store: LogStore | None = None
        self._thread = ThreadPoolExecutor(1, "log-reader")

    async def run(self, work: Callable[[LogStore], T]) -> T:
        """Has work done on the store; a store that failed is opened anew the next time."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[LogStore], T]) -> T:
        if self._store is None:
            self._store = self._open()
        try:
            return work(self._store)
        except Exception:
            self._store.close()
            self._store = None
            raise

    def close(self) -> None:
        """Ends the thread and lets go of the store."""
        self._thread.shutdown()
        if self._store is not None:
            self._store.close()
