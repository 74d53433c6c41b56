"""Runs a server as a process: until it is told to stop, on the quickest event loop that is there."""

import asyncio
import gc
import resource
import signal
import sys
from contextlib import suppress
from typing import Protocol

import click

from dealer.ending import ending_signals
from dealer.errors import CutcardError


class Server(Protocol):
    """What can be run: it listens once it is started."""

    addresses: list[str]
    public_address: str | None
    log_address: str | None
    failed: asyncio.Event

    async def start(self) -> None:
        """Opens what it needs, listens and serves."""

    async def stop(self) -> None:
        """Lets calls under way end, and lets go."""


_OPEN_FILES = 65_536
_COLLECT_AFTER = (50_000, 20, 100)
"""Objects made, young and middle collections: a busy dealer makes little that only the collector could free."""


def _settle_collector() -> None:
    """Has the collector look at what was there at the start no more, and at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


def _raise_open_files() -> None:
    """Allows as many open files as may be: connections are files, and so is what the store opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run_until_stopped(server: Server, *more: str) -> None:
    """Runs a server until SIGTERM, SIGINT or SIGHUP, and says on standard output where it listens, and `more`.

    Raises:
        CutcardError: it failed for good meanwhile.
    """
    _raise_open_files()
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
        _settle_collector()
        try:
            public = [] if server.public_address is None else [f"the public calls {server.public_address}"]
            where = [f"listening on {address}" for address in server.addresses]
            static = [] if server.log_address is None else [f"the log is at http://{server.log_address}"]
            click.echo("\n".join([*where, *public, *static, *more]))
            sys.stdout.flush()
            ends = [asyncio.ensure_future(event.wait()) for event in (stopped, server.failed)]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
        finally:
            await server.stop()
        if server.failed.is_set():
            raise CutcardError("the dealer's writer has ended: start it again; its log lines say more")

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(run())
