"""The TypeScript package of players: its packages installed, and its tests' work run in Node or headless Chromium."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAYER = ROOT / "player"
SECONDS = 120
"""For a run that takes two or three of them on a machine that has nothing else to do."""


def installed() -> None:
    """Installs the package's tools."""
    install(PLAYER)


def install(folder: Path) -> None:
    """Installs a folder's packages, once for all workers; its lock file says which, to the byte. Skips without Node."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed: the players' package was not run")
    with (folder / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "node_modules" / ".package-lock.json"
        if done.exists() and done.stat().st_mtime >= (folder / "package-lock.json").stat().st_mtime:
            return
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        npm = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if "EAI_AGAIN" in npm.stderr or "ENOTFOUND" in npm.stderr or "ECONNREFUSED" in npm.stderr:
            pytest.skip("npm reaches no registry: the players' package was not run")
        assert npm.returncode == 0, npm.stderr


def chromium() -> str:
    """Returns the browser's place, or skips the test."""
    place = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if place is None:
        pytest.skip("Chromium is not installed: the players' package was not run in a browser")
    return place


def node(*words: str, **environment: str) -> Any:
    """Runs a script of the package in Node and reads the JSON that it prints."""
    done = subprocess.run(
        ["node", *words],
        cwd=PLAYER,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_in(where: str, what: str, given: str) -> Any:
    """Runs the tests' work where it is to run: `node` or `chromium`."""
    return node("test/run.mjs", where, what, given, CHROMIUM=chromium() if where == "chromium" else "")
