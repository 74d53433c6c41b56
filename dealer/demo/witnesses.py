"""The demonstration's witnesses: two programs of somebody else's, which cosign one log and refuse any other."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from dealer.demo.steps import DemoError, tool

_BIN = Path(sys.executable).parent
_SECONDS = 60
_LISTENS = "witness listens on http://127.0.0.1:"


@dataclass(frozen=True, slots=True)
class Witness:
    """A witness that serves: its name in the policy, its verifier key, its folder and port."""

    name: str
    key: str
    folder: Path
    port: int

    def show(self, old: int, checkpoint: str) -> int:
        """Shows a checkpoint to it, with the size that it has seen last; returns the status of its answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        try:
            connection.request("POST", "/add-checkpoint", f"old {old}\n\n{checkpoint}".encode())
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def two_witnesses(folder: Path, log_key: str) -> Iterator[list[Witness]]:
    """Starts two witnesses of the log with this verifier key, and ends them.

    Raises:
        DemoError: one did not start.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(_witness(folder / name, name, log_key)) for name in ("north", "south")]


@contextmanager
def _witness(folder: Path, name: str, log_key: str) -> Iterator[Witness]:
    key = tool("audit", "witness", "init", "--data-dir", folder, "--name", f"{name}.invalid/witness").strip()
    tool("audit", "witness", "add-log", log_key, "--data-dir", folder)
    command = [str(_BIN / "audit"), "witness", "serve", "--data-dir", str(folder), "--listen", "127.0.0.1:0"]
    errors = (folder / "said").open("w")
    with errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            if not line.startswith(_LISTENS):
                raise DemoError(f"the witness {name} did not start: {(folder / 'said').read_text()}")
            yield Witness(name, key, folder, int(line.removeprefix(_LISTENS)))
        finally:
            process.terminate()


def policy(log_key: str, witnesses: list[Witness]) -> str:
    """Returns a policy that asks for all of these witnesses."""
    lines = [f"witness {each.name} {each.key} http://127.0.0.1:{each.port}" for each in witnesses]
    names = " ".join(each.name for each in witnesses)
    return "\n".join([f"log {log_key}", *lines, f"group both all {names}", "quorum both", ""])


def cosigned(checkpoint: Path, witnesses: list[Witness], size: int) -> str:
    """Waits until a published checkpoint of at least this size bears the cosignature of every witness; returns it.

    Raises:
        DemoError: it does not come to that.
    """
    end = time.monotonic() + _SECONDS
    names = [f"\u2014 {each.key.partition('+')[0]} " for each in witnesses]
    while time.monotonic() < end:
        text = checkpoint.read_text("utf-8") if checkpoint.exists() else ""
        if all(name in text for name in names) and int(text.splitlines()[1]) >= size:
            return text
        time.sleep(0.1)
    raise DemoError("the log was not cosigned")
