"""Many doubles in one process, started and stopped by lines of JSON on standard input: what the pytest plugin runs.

A process of its own keeps the doubles' event loop away from the tests' loops, and one process for many of them makes a
fresh double cheap: a few milliseconds each. It ends, with everything in it, when its input ends.
"""

import asyncio
import contextlib
import json
import sys
from typing import Any

from dealer.double.server import Double, double_settings, temporary_folder
from dealer.errors import CutcardError
from dealer.service.loglines import configure


class Host:
    """The doubles that run at the moment, each with a store of its own, by number."""

    def __init__(self) -> None:
        self._running: dict[int, contextlib.AsyncExitStack] = {}
        self._doubles: dict[int, Double] = {}
        self._count = 0

    async def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """Carries out `{"do": "start", ...settings}`, or `{"do": "stop", "double": number}`, or "complain".

        A double's complaint is what the test at its end has to be told; empty: nothing (`dealer.double.use`).
        """
        try:
            match order.pop("do"):
                case "stop":
                    del self._doubles[order["double"]]
                    await self._running.pop(order["double"]).aclose()
                    return {}
                case "complain":
                    return {"complaint": (await self._doubles[order["double"]].ask_use()).complaint()}
                case _:
                    return await self._start(order)
        except CutcardError as error:
            return {"error": str(error)}

    async def _start(self, settings: dict[str, Any]) -> dict[str, Any]:
        async with contextlib.AsyncExitStack() as stack:
            folder = stack.enter_context(temporary_folder())
            double = Double(folder, double_settings("127.0.0.1:0", **settings))
            await double.start()
            stack.push_async_callback(double.stop)
            self._count += 1
            self._running[self._count] = stack.pop_all()
            self._doubles[self._count] = double
        return {"double": self._count, "address": double.address, "key": double.verifier_key}

    async def stop(self) -> None:
        """Stops all."""
        while self._running:
            await self._running.popitem()[1].aclose()


async def _run() -> None:
    host, loop = Host(), asyncio.get_running_loop()
    try:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            sys.stdout.write(json.dumps(await host.answer(json.loads(line))) + "\n")
            sys.stdout.flush()
    finally:
        await host.stop()


if __name__ == "__main__":
    configure("text")
    asyncio.run(_run())
