"""The demonstration over a network: a room on another host deals over TLS, another finds nothing, an operator voids.

The room's host is a network namespace of this machine where one may be made (root, `ip`); otherwise it is another
loopback address, and the demonstration says so.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from dealer.demo.steps import DemoError, step, tool
from dealer.ending import orderly_end, own_listeners

_SECONDS = 60
_DOMAIN = "demo.invalid"
_DEALER, _ROOM = "10.203.113.1", "10.203.113.2"
_OTHER_LOOPBACK = "127.0.0.2"


@dataclass(frozen=True)
class Host:
    """Where the room's programs run: words to put before a command, and the address at which they reach the dealer."""

    before: tuple[str, ...]
    dealer: str
    name: str


def run() -> None:
    """Runs the demonstration in a temporary folder.

    Raises:
        DemoError: a step did not end as it should.
    """
    console = Console(highlight=False, soft_wrap=True)
    with orderly_end(), tempfile.TemporaryDirectory(prefix="cutcard-demo-") as name, _other_host() as host:
        folder = Path(name)
        data, key = folder / "data", folder / "key"
        step(console, 1, "A trial CA issues certificates: for the dealer, two rooms and an operator")
        _certificates(folder, host.dealer)
        key.write_text(tool("dealer", "init", "--data-dir", data, "--origin", "demo.invalid/tls"))
        console.print(f"the rooms' host  {host.name}")
        options = ["--listen", f"{host.dealer}:0", "--public-listen", f"{host.dealer}:0", *_tls(folder)]
        with own_listeners(data, *options) as (address, public):
            console.print(f"listening on  {address}, for the public on {public}")
            step(console, 2, "Room A, on its own host and with its own certificate, has a hand dealt over TLS")
            hand = _room(host, "deal", address, folder, key, "room-a").splitlines()[-1].strip()
            step(console, 3, "Room B asks for room A's hand: for it, there is no such hand")
            _room(host, "look", address, folder, key, "room-b", hand)
            step(console, 4, "An operator finds the hand that room A has left alone, and voids it")
            own = [word for each in _own(folder, "olga") for word in each]
            console.print(tool("dealer", "hands", "--connect", address, *own).rstrip())
            console.print(tool("dealer", "void", hand, "--note", "room A is gone", "--connect", address, *own).rstrip())
            step(console, 5, "An auditor reads the log from the public listener, and shows no certificate")
            _audit(host, public, folder, key)
    console.print("\n[bold]Dealt over TLS, hidden from another room, voided by an operator, and valid.[/]")


def _certificates(folder: Path, dealer: str) -> None:
    ca = folder / "ca"
    tool("dealer", "certs", "ca", ca)
    for name, words in (
        ("server", ["--server", dealer]),
        ("room-a", ["--room", "room-a", "--trust-domain", _DOMAIN]),
        ("room-b", ["--room", "room-b", "--trust-domain", _DOMAIN]),
        ("olga", ["--operator", "olga", "--trust-domain", _DOMAIN]),
    ):
        tool("dealer", "certs", "issue", folder / name, "--ca", ca, *words)


def _tls(folder: Path) -> list[str]:
    files = {"--tls-cert": "server.pem", "--tls-key": "server.key", "--client-ca": "ca.pem"}
    return [word for option, file in files.items() for word in (option, str(folder / file))] + [
        "--trust-domain",
        _DOMAIN,
    ]


def _own(folder: Path, name: str) -> list[tuple[str, str]]:
    files = (("--tls-ca", "ca.pem"), ("--tls-cert", f"{name}.pem"), ("--tls-key", f"{name}.key"))
    return [(option, str(folder / file)) for option, file in files]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    sys.stdout.flush()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=_SECONDS)
    print(done.stdout, end="", flush=True)  # noqa: T201 - the program's own words
    return done


def _room(host: Host, what: str, address: str, folder: Path, key: Path, name: str, hand: str = "") -> str:
    words = [
        what,
        address,
        str(folder / "ca.pem"),
        str(folder / f"{name}.pem"),
        str(folder / f"{name}.key"),
        str(key),
        hand,
    ]
    done = _run([*host.before, sys.executable, "-m", "dealer.demo.tls_room", *words])
    if done.returncode:
        raise DemoError(f"{name} did not find what it should")
    return done.stdout


def _audit(host: Host, public: str, folder: Path, key: Path) -> None:
    audit = shutil.which("audit", path=str(Path(sys.executable).parent)) or "audit"
    log = ["verify", f"grpcs://{public}", "--ca", str(folder / "ca.pem"), "--key", str(key)]
    done = _run([*host.before, audit, *log])
    if done.returncode:
        raise DemoError(f"the audit ended with {done.returncode}, not 0")


@contextmanager
def _other_host() -> Iterator[Host]:
    """Makes a network namespace with a cable to this machine, or takes another loopback address where it may not."""
    space, ours, theirs = f"cutcard{os.getpid()}", f"cc{os.getpid()}a", f"cc{os.getpid()}b"
    made = False
    try:
        made = _ip("netns", "add", space) and _wired(space, ours, theirs)
        if made:
            yield Host(("ip", "netns", "exec", space), _DEALER, f"network namespace {space}, {_ROOM}")
        else:
            yield Host((), _OTHER_LOOPBACK, f"no network namespace may be made here: {_OTHER_LOOPBACK} on the loopback")
    finally:
        _ip("link", "del", ours)
        _ip("netns", "del", space)


def _wired(space: str, ours: str, theirs: str) -> bool:
    return all(
        _ip(*words.split())
        for words in (
            f"link add {ours} type veth peer name {theirs}",
            f"link set {theirs} netns {space}",
            f"addr add {_DEALER}/30 dev {ours}",
            f"link set {ours} up",
            f"-n {space} addr add {_ROOM}/30 dev {theirs}",
            f"-n {space} link set {theirs} up",
        )
    )


def _ip(*words: str) -> bool:
    try:
        return subprocess.run(["ip", *words], capture_output=True, timeout=_SECONDS).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    run()
