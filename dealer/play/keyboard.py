"""Waits for a person at the keyboard without holding up anything else."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from rich.console import Console
from rich.prompt import Prompt

T = TypeVar("T")
LEAVE = "q"


def line(console: Console, text: str) -> str:
    """Asks for a line, and returns it in small letters; the keyboard's end is a wish to leave."""
    try:
        return Prompt.ask(text, console=console, default="", show_default=False).strip().lower()
    except EOFError:
        return LEAVE


async def aside(ask: Callable[[], T]) -> T:
    """Has a person asked on a thread that nobody waits for, so that an interrupt ends the program at once."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def give(value: T) -> None:
        if not answer.done():
            answer.set_result(value)

    def run() -> None:
        value = ask()
        with suppress(RuntimeError):  # the loop has ended: the answer comes too late
            loop.call_soon_threadsafe(give, value)

    threading.Thread(target=run, daemon=True).start()
    return await answer
