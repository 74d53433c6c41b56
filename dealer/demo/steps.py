"""What the demonstrations share: numbered steps, and the programs that they run."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console

from dealer.errors import CutcardError

_BIN = Path(sys.executable).parent
_SECONDS = 60


class DemoError(CutcardError):
    """Something did not go as the demonstration says it should."""


def step(console: Console, number: int, text: str) -> None:
    """Prints the title of a step."""
    console.print()
    console.print(f"[bold]{number}. {text}[/]\n[dim]{'─' * 80}[/]")


def tool(name: str, *arguments: str | Path) -> str:
    """Runs one of the programs and returns what it printed.

    Raises:
        DemoError: it failed.
    """
    done = subprocess.run([_BIN / name, *map(str, arguments)], capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise DemoError(f"{name} {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
