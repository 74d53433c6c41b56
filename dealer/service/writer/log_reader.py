"""Reads the log beside the writer, on a connection and a thread of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dealer.log.merkle import CompactRange, consistency_proof
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

    async def newest(self) -> str:
        """Returns the newest signed checkpoint that is durable."""
        return await self.run(lambda store: store.checkpoint())

    async def published(self) -> str:
        """Returns the checkpoint that readers of static files may be shown."""
        return await self.run(lambda store: store.published())

    async def root(self, size: int) -> bytes:
        """Returns the root of the log's first entries."""
        return await self.run(lambda store: CompactRange.load(size, store.node).root())

    async def proof(self, old: int, new: int) -> list[bytes]:
        """Returns the consistency proof between two sizes of the log."""
        return await self.run(lambda store: consistency_proof(old, new, store.node))

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
