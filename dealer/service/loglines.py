"""Log lines: structured, on standard error, without local variables, so that no secret can slip into one.

A line is the means of saying that something failed, so it may fail as well, and nobody who logs may notice. Standard
error may be a full disk, a pipe whose reader has died, or one whose reader has stopped reading: lines are written by a
thread of their own, and those that cannot be written are dropped.
"""

import atexit
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog

from dealer.service.tracing import add_trace_id

_MOST_LINES = 10_000
_LAST_SECONDS = 1.0
_REMIND_SECONDS = 60.0


class LineWriter:
    """Writes lines to a file descriptor from a thread of its own; a logger for structlog."""

    def __init__(self, descriptor: int) -> None:
        """Starts the thread, and has the last lines written when the process ends."""
        self._descriptor = descriptor
        self._lines: queue.Queue[str | None] = queue.Queue(_MOST_LINES)
        self._thread = threading.Thread(target=self._work, name="log-lines", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def msg(self, line: str) -> None:
        """Has a line written; it is dropped if too many wait."""
        with suppress(queue.Full):
            self._lines.put_nowait(line)

    debug = info = warning = error = critical = msg

    def close(self) -> None:
        """Gives the lines that wait a moment to be written."""
        with suppress(queue.Full):
            self._lines.put_nowait(None)
        self._thread.join(_LAST_SECONDS)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(Exception):
                left = f"{line}\n".encode(errors="backslashreplace")
                while left:
                    left = left[os.write(self._descriptor, left) :]


class Lasting:
    """What is wrong for a while, and tried again many times a second: when a line of it is due.

    When it begins, when its reason changes, and once a minute.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Takes a clock that never goes back, in seconds."""
        self._clock = clock
        self._said: dict[str, tuple[str, float]] = {}

    def is_due(self, what: str, why: str) -> bool:
        """Tells whether it is to be logged, and takes it as logged then."""
        reason, at = self._said.get(what, ("", 0.0))
        now = self._clock()
        if reason == why and now - at < _REMIND_SECONDS:
            return False
        self._said[what] = why, now
        return True

    def over(self, what: str) -> None:
        """Notes that it is well again: the next time is a new one."""
        self._said.pop(what, None)


class Unfailing(structlog.make_filtering_bound_logger(logging.INFO)):  # type: ignore[misc]  # a class made at run time
    """A logger whose calls never raise, whatever is wrong with the line or with where it goes."""

    def _proxy_to_logger(self, method_name: str, event: str | None = None, **values: Any) -> Any:
        with suppress(Exception):
            return super()._proxy_to_logger(method_name, event, **values)


class _FromLibraries(logging.Handler):
    """Has what libraries say of trouble written as a line like any other, by the same thread."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line; of an exception its traceback, which has no local variables."""
        more = {} if record.exc_info is None else {"exception": self.format(record).partition("\n")[2]}
        log = structlog.get_logger()
        say = log.warning if record.levelno < logging.ERROR else log.error
        say(record.getMessage(), logger=record.name, **more)


def _only_trouble(logger: Any, name: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if name in ("debug", "info"):
        raise structlog.DropEvent
    return line


def configure(form: str, level: str = "info") -> None:
    """Sets log lines up as `text` for people or `json` for machines, from `info` or `warning` on."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr is not None and sys.stderr.isatty(),
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    try:
        lines = LineWriter(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or no file: there is nowhere to write lines to
        lines = LineWriter(os.open(os.devnull, os.O_WRONLY))
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            add_trace_id,
            *([_only_trouble] if level == "warning" else []),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=Unfailing,
        logger_factory=lambda *arguments: lines,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_FromLibraries(logging.WARNING)], force=True)
