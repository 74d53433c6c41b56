"""Runs a server as a process: until it is told to stop, on the quickest event loop that is there."""

import asyncio
import signal
import sys
from typing import Protocol

import click

from dealer.ending import ending_signals


class Server(Protocol):
    """What can be run: it listens once it is started."""

    address: str

    async def start(self) -> None:
        """Opens what it needs, listens and serves."""

    async def stop(self) -> None:
        """Lets calls under way end, and lets go."""


def run_until_stopped(server: Server, *more: str) -> None:
    """Runs a server until SIGTERM, SIGINT or SIGHUP, and says on standard output where it listens, and `more`."""
    try:
        import uvloop
    except ImportError:
        loop_factory = None
    else:
        loop_factory = uvloop.new_event_loop

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (*ending_signals(), signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await server.start()
        try:
            click.echo("\n".join([f"listening on {server.address}", *more]))
            sys.stdout.flush()
            await stopped.wait()
        finally:
            await server.stop()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(run())
