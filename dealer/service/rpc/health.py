"""grpc.health.v1 whose watchers are sent away when the dealer shuts down: none of them holds up its end."""

import asyncio
from typing import Any

from grpc_health.v1 import health, health_pb2

from dealer.service.rpc.status import abort
from dealer.service.writer.health import draining


class HealthServicer(health.aio.HealthServicer):  # type: ignore[misc]  # the library has no types
    """Serves health; a watcher is told each status until the dealer drains."""

    def __init__(self) -> None:
        super().__init__()
        self._watches: set[asyncio.Task[None]] = set()
        self._draining = False

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:  # noqa: N802 - as in the proto
        """Tells a watcher each status of a service; see the library."""
        if not self._draining:
            watch = asyncio.create_task(super().Watch(request, context))
            self._watches.add(watch)
            try:
                await asyncio.wait([watch])
            finally:
                self._watches.discard(watch)
                watch.cancel()
            if not watch.cancelled():
                watch.result()  # raises what went wrong: of itself it never ends
        await context.write(health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING))
        await abort(context, draining())

    async def drain(self) -> None:
        """Sets every status to NOT_SERVING for good, and sends the watchers away with it."""
        self._draining = True
        for watch in self._watches:
            watch.cancel()
        await self.enter_graceful_shutdown()
