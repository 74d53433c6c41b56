"""Waits for a person at the keyboard without holding up anything else."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from rich.console import Console

T = TypeVar("T")
LEAVE = "q"
HELP = "?"


class Keyboard:
    """Lines of standard input, read without Python's own buffer, whose lock an interrupted program would wait for."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor, self._unread = descriptor, b""

    def line(self) -> str:
        """Waits for a line and returns it without its end; the last one may have none.

        Raises:
            EOFError: there is none any more.
        """
        while b"\n" not in self._unread:
            more = os.read(self._descriptor, 4096)
            if not more and not self._unread:
                raise EOFError
            self._unread += more or b"\n"
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode("utf-8", "replace")


_keyboard = Keyboard()


def line(console: Console, text: str) -> str:
    """Asks for a line, and returns it in small letters; the keyboard's end, or the terminal's, is a wish to leave."""
    console.print(f"{text}: ", end="")
    try:
        return _keyboard.line().strip().lower()
    except (EOFError, OSError):
        return LEAVE


async def aside(ask: Callable[[], T]) -> T:
    """Has a person asked on a thread that nobody waits for, so that an interrupt ends the program at once."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def give(value: T | None, error: Exception | None = None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(cast(T, value))

    def run() -> None:
        given: tuple[T | None, Exception | None]
        try:
            given = ask(), None
        except Exception as error:  # nobody waits for this thread: what goes wrong on it is the asker's
            given = None, error
        with suppress(RuntimeError):  # the loop has ended: the answer comes too late
            loop.call_soon_threadsafe(give, *given)

    threading.Thread(target=run, daemon=True).start()
    return await answer
