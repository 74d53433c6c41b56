"""The demonstration from outside: starts the programs one after another, as an operator and an auditor would."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from dealer.demo.forge import change_one_card
from dealer.ending import orderly_end, own_dealer
from dealer.errors import CutcardError

_BIN = Path(sys.executable).parent
_SECONDS = 60


class DemoError(CutcardError):
    """Something did not go as the demonstration says it should."""


def run() -> None:
    """Runs the demonstration in a temporary folder.

    Raises:
        DemoError: a step did not end as it should.
    """
    console = Console(highlight=False, soft_wrap=True)
    with orderly_end(), tempfile.TemporaryDirectory(prefix="cutcard-demo-") as name:
        folder = Path(name)
        data, log, copy, key = folder / "data", folder / "log", folder / "copy", folder / "key"
        _step(console, 1, "A dealer starts, with keys of its own and an auditor's public key for sealed hands")
        _tool("dealer", "escrow-keygen", folder / "auditor")
        key.write_text(_tool("dealer", "init", "--data-dir", data, "--origin", "demo.invalid/room"))
        with own_dealer(data, "--escrow-public-key", str(folder / "auditor.pub")) as address:
            console.print(f"verifier key  {key.read_text().strip()}\nlistening on  {address}")
            _step(console, 2, "A room's backend, another process, has three hands dealt over gRPC")
            if subprocess.run([sys.executable, "-m", "dealer.demo.room", address, key], timeout=_SECONDS).returncode:
                raise DemoError("the room could not play its hands")
        _step(console, 3, "The auditor, who trusts nobody, gets the static log and the key")
        _tool("dealer", "export", log, "--data-dir", data)
        _audit(log, key, folder / "auditor.key", expected=0)
        _step(console, 4, "Somebody changes one card in a copy of the log")
        shutil.copytree(log, copy)
        change = change_one_card(copy)
        console.print(f"hand {change.hand}: the card at position {change.position} was {change.was}, now {change.now}")
        _audit(copy, key, folder / "auditor.key", expected=1, named=change.hand)
        console.print("\n[bold]The honest log is valid; the forged one is refused, and the hand is named.[/]")


def _step(console: Console, number: int, text: str) -> None:
    console.print()
    console.print(f"[bold]{number}. {text}[/]\n[dim]{'─' * 80}[/]")


def _tool(name: str, *arguments: str | Path) -> str:
    done = subprocess.run([_BIN / name, *map(str, arguments)], capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise DemoError(f"{name} {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _audit(log: Path, key: Path, escrow_key: Path, *, expected: int, named: str = "") -> None:
    sys.stdout.flush()
    command = [_BIN / "audit", "verify", log, "--key", key, "--escrow-key", escrow_key]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=_SECONDS)
    print(done.stdout, flush=True)  # noqa: T201 - the auditor's own words
    if done.returncode != expected or named not in done.stdout:
        raise DemoError(f"the audit ended with {done.returncode}, not {expected}")
