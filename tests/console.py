"""Runs the `console` blocks of a page as one shell: `python -m tests.console PAGE` writes real output into it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "--- the next command ---"


def commands(page: str) -> list[str]:
    """The commands of all `console` blocks: lines after `$ `, with the lines that a backslash carries on."""
    found = []
    for block in FENCE.finditer(page):
        lines = iter(block[1].splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command += "\n" + next(lines)
                found.append(command)
    return found


def outputs(lines: list[str]) -> list[str]:
    """What each command prints (both streams), run one after another in one shell at the project's root."""
    script = "\n".join(f"{line}\necho '{MARK}'" for line in lines)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split(f"{MARK}\n")[:-1]


def filled(page: str) -> str:
    """The page with the output of each command under it."""
    printed = iter(outputs(commands(page)))

    def fill(block: re.Match[str]) -> str:
        rows = [f"$ {command}\n{next(printed)}" for command in commands(block[0])]
        return "```console\n" + "".join(rows) + "```"

    return FENCE.sub(fill, page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(filled(Path(name).read_text("utf-8")), "utf-8")
