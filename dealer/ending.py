"""Ends a command in order when its terminal closes or it is told to stop: what it started and made goes with it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from dealer.errors import CutcardError

_SECONDS = 20


def ending_signals() -> list[signal.Signals]:
    """Returns the signals that end a program: SIGTERM, and SIGHUP unless it was started with that ignored (nohup)."""
    hung_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [*hung_up, signal.SIGTERM]


@contextmanager
def orderly_end() -> Iterator[None]:
    """Ends the program at SIGHUP and SIGTERM by `SystemExit`, so that `with` and `finally` clean up after it.

    The exit code is 128 and the signal's number, as a shell says it. A terminal that closes sends SIGHUP more than once
    and cannot be written to: from the first signal on, no further one interrupts the clean-up.
    """

    def end(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {each: signal.signal(each, end) for each in ending_signals()}
    try:
        yield
    finally:
        for each, handler in before.items():
            if signal.getsignal(each) is end:
                signal.signal(each, handler)


class Addresses(NamedTuple):
    """Where a dealer listens, and where the public calls; "" if it has no public listener."""

    rooms: str
    public: str


@contextmanager
def own_dealer(data: Path, *options: str) -> Iterator[str]:
    """Serves a data folder in a process beside this one, yields its address, and ends the process.

    Raises:
        CutcardError: it did not start; its own words are on standard error.
    """
    with own_listeners(data, "--listen", "127.0.0.1:0", *options) as addresses:
        yield addresses.rooms


@contextmanager
def own_listeners(data: Path, *options: str) -> Iterator[Addresses]:
    """Does the same where the options say where to listen, for rooms and for the public.

    Raises:
        CutcardError: it did not start; its own words are on standard error.
    """
    tool = Path(sys.executable).parent / "dealer"
    command = [str(tool), "serve", "--data-dir", str(data), "--grace-seconds", "1"]
    command += ["--log-level", "warning", *options]
    # In a session of its own the terminal's signals do not reach it: it ends after the program that uses it.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            said = {"listening on": "", "the public calls": ""}
            for line in process.stdout or ():
                words, _, where = line.strip().rpartition(" ")
                if words not in said:
                    break
                said[words] = said[words] or where
            if not said["listening on"]:
                raise CutcardError("the dealer did not start")
            yield Addresses(*said.values())
        finally:
            process.terminate()
            try:
                process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
