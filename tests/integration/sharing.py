"""Several real dealers on one real PostgreSQL, each a process of its own, and a caller that asks whichever deals."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import grpc
from click.testing import CliRunner

from dealer.cli import main
from tests.integration.running import Running
from tests.postgres import Postgres

T = TypeVar("T")
ORIGIN = "shared.invalid/room"


class Shared(Running):
    """One of several `dealer serve` on a database."""

    def command(self) -> list[str | Path]:
        return [part for part in super().command() if part != "--dev"]


@contextmanager
def sharing(postgres: Postgres, folder: Path, count: int = 2, *options: str) -> Iterator[list[Shared]]:
    """Makes so many dealers' folders for one log, starts the dealers one after the other, and ends them."""
    url = postgres.database()
    dealers = make(url, folder, count, *options)
    try:
        for dealer in dealers:
            dealer.start()
        yield dealers
    finally:
        end(dealers)


def make(url: str, folder: Path, count: int, *options: str) -> list[Shared]:
    """Makes the folders of dealers on a database; the first one makes the log."""
    first = folder / "dealer0"
    _run("init", "--data-dir", first, "--origin", ORIGIN, "--store", url)
    for number in range(1, count):
        _run("join", "--data-dir", folder / f"dealer{number}", "--store", url, "--log-key", first / "log.key")
    shared = ("--store", url, "--replication", "none", *options)
    return [Shared(folder / f"dealer{number}", shared) for number in range(count)]


def _run(*command: str | Path) -> None:
    """Runs a command in this process: a new one costs a second, and these are many."""
    done = CliRunner().invoke(main, list(map(str, command)))
    assert done.exit_code == 0, done.output


def end(dealers: list[Shared]) -> None:
    for dealer in dealers:
        if dealer.process is not None and dealer.process.poll() is None:
            dealer.kill()


def asked(call: Callable[[], T], seconds: float = 30) -> T:
    """Repeats a call while its dealer does not deal."""
    until = time.monotonic() + seconds
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > until:
                raise
        time.sleep(0.02)


def is_ready(dealer: Shared, seconds: float = 30) -> None:
    """Waits until a standby has opened every data key: before that it is none."""
    until = time.monotonic() + seconds
    while "every key at rest is there" not in dealer.log_lines():
        assert time.monotonic() < until, dealer.log_lines()
        time.sleep(0.05)
