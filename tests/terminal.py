"""Runs a program as somebody at a terminal does: its three streams are a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def on_terminal(*words: object) -> tuple[int, str]:
    """Runs an entry point of the project on a terminal; its exit code, and all that the terminal was sent."""
    name, *rest = map(str, words)
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen([BIN / name, *rest], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        sent = bytearray()
        with contextlib.suppress(OSError):  # how a terminal says that nobody is left at its other end
            while data := os.read(ours, 65_536):
                sent += data
        code = process.wait(120)
    os.close(ours)
    return code, sent.decode("utf-8", "replace")
