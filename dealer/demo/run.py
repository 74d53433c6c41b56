"""The demonstration from outside: starts the programs one after another, as an operator and an auditor would."""

import shutil
import subprocess
import sys
import tempfile
from http import HTTPStatus
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dealer.demo.forge import change_one_card
from dealer.demo.steps import DemoError, step, tool
from dealer.demo.witnesses import cosigned, policy, two_witnesses
from dealer.ending import orderly_end, own_dealer

_BIN = Path(sys.executable).parent
_SECONDS = 60
_WITH_ONE_MORE = 8
"""Entries of the log once a fourth hand is over."""


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
            _room(address, key)
        step(console, 3, "The auditor, who trusts nobody, gets the static log and the key")
        tool("dealer", "export", log, "--data-dir", data)
        _audit(log, key, folder, expected=0)
        step(console, 4, "Somebody changes one card in a copy of the log")
        shutil.copytree(log, copy)
        change = change_one_card(copy)
        console.print(f"hand {change.hand}: the card at position {change.position} was {change.was}, now {change.now}")
        _audit(copy, key, folder, expected=1, named=change.hand)
        _fork(console, folder, data, key)
        console.print(
            "\n[bold]The honest log is valid; the forged one is refused, and the hand is named; the forked one is "
            "cosigned by nobody, and both its faces are named.[/]"
        )


def _fork(console: Console, folder: Path, data: Path, key: Path) -> None:
    """Has the log cosigned, and tries to show somebody another one that its operator has made with the same key."""
    thief, fork, policy_file = folder / "other-data", folder / "fork", folder / "policy"
    shutil.copytree(data, thief)
    log_key = key.read_text().strip()
    step(console, 5, "Two witnesses start, run by others, and the dealer shows them its log")
    with two_witnesses(folder, log_key) as witnesses:
        policy_file.write_text(policy(log_key, witnesses))
        escrow = ("--escrow-public-key", str(folder / "auditor.pub"))
        with own_dealer(data, *escrow, "--witness-policy", str(policy_file), "--witness-seconds", "1") as address:
            _room(address, key, "--one")
            checkpoint = cosigned(data / "public" / "checkpoint", witnesses, _WITH_ONE_MORE)
        console.print(Text(f"\nthe log's checkpoint, with its signature and theirs:\n\n{checkpoint.rstrip()}"))
        step(
            console,
            6,
            "The operator deals another hand from a copy of the data folder: a second log with one key",
        )
        with own_dealer(thief, *escrow) as address:
            _room(address, key, "--one")
        tool("dealer", "export", fork, "--data-dir", thief)
        for witness in witnesses:
            status = witness.show(_WITH_ONE_MORE, (fork / "checkpoint").read_text("utf-8"))
            console.print(f"{witness.name} answers {status}: it does not sign a tree that is not the one it has seen")
            if status != HTTPStatus.UNPROCESSABLE_ENTITY:
                raise DemoError(f"the witness {witness.name} did not refuse the fork")
        step(console, 7, "The auditor asks both witnesses about either log")
        asking = ("--policy", str(policy_file), "--ask-witnesses")
        _audit(data / "public", key, folder, *asking, expected=0, named="2 of 2 (north, south)")
        _audit(fork, key, folder, *asking, expected=1, named="a fork, both notes stand below")


def _room(address: str, key: Path, *options: str) -> None:
    sys.stdout.flush()
    command = [sys.executable, "-m", "dealer.demo.room", address, str(key), *options]
    if subprocess.run(command, timeout=_SECONDS).returncode:
        raise DemoError("the room could not play its hands")


def _audit(log: Path, key: Path, folder: Path, *options: str, expected: int, named: str = "") -> None:
    sys.stdout.flush()
    command = [_BIN / "audit", "verify", log, "--key", key, "--escrow-key", folder / "auditor.key", *options]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=_SECONDS)
    print(done.stdout, flush=True)  # noqa: T201 - the auditor's own words
    if done.returncode != expected or named not in done.stdout:
        raise DemoError(f"the audit ended with {done.returncode}, not {expected}")
