"""The demonstration from outside: starts the programs one after another, as an operator and an auditor would."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from dealer.demo.forge import change_one_card
from dealer.demo.steps import DemoError, step, tool
from dealer.ending import orderly_end, own_dealer

_BIN = Path(sys.executable).parent
_SECONDS = 60


def run() -> None:
    """Runs the demonstration in a temporary folder.

    Raises:
        DemoError: a step did not end as it should.
    """
    console = Console(highlight=False, soft_wrap=True)
    with orderly_end(), tempfile.TemporaryDirectory(prefix="cutcard-demo-") as name:
        folder = Path(name)
        data, log, copy, key = folder / "data", folder / "log", folder / "copy", folder / "key"
        step(console, 1, "A dealer starts, with keys of its own and an auditor's public key for sealed hands")
        tool("dealer", "escrow-keygen", folder / "auditor")
        key.write_text(tool("dealer", "init", "--data-dir", data, "--origin", "demo.invalid/room"))
        with own_dealer(data, "--escrow-public-key", str(folder / "auditor.pub")) as address:
            console.print(f"verifier key  {key.read_text().strip()}\nlistening on  {address}")
            step(console, 2, "A room's backend, another process, has three hands dealt over gRPC")
            if subprocess.run([sys.executable, "-m", "dealer.demo.room", address, key], timeout=_SECONDS).returncode:
                raise DemoError("the room could not play its hands")
        step(console, 3, "The auditor, who trusts nobody, gets the static log and the key")
        tool("dealer", "export", log, "--data-dir", data)
        _audit(log, key, folder / "auditor.key", expected=0)
        step(console, 4, "Somebody changes one card in a copy of the log")
        shutil.copytree(log, copy)
        change = change_one_card(copy)
        console.print(f"hand {change.hand}: the card at position {change.position} was {change.was}, now {change.now}")
        _audit(copy, key, folder / "auditor.key", expected=1, named=change.hand)
        console.print("\n[bold]The honest log is valid; the forged one is refused, and the hand is named.[/]")


def _audit(log: Path, key: Path, escrow_key: Path, *, expected: int, named: str = "") -> None:
    sys.stdout.flush()
    command = [_BIN / "audit", "verify", log, "--key", key, "--escrow-key", escrow_key]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=_SECONDS)
    print(done.stdout, flush=True)  # noqa: T201 - the auditor's own words
    if done.returncode != expected or named not in done.stdout:
        raise DemoError(f"the audit ended with {done.returncode}, not {expected}")
