"""Witnesses to test with: real servers, in this process with a clock of the test's or `audit witness serve`."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from audit.tlog.keys import base64_encode
from audit.witness.keeper import Keeper
from audit.witness.server import WitnessServer
from audit.witness.store import Store
from tests.attacks.maker import Signer, root


@dataclass(frozen=True)
class Reply:
    """What a witness answered."""

    status: int
    content_type: str
    body: str
    headers: http.client.HTTPMessage


def ask(port: int, body: bytes, path: str = "/add-checkpoint", method: str = "POST") -> Reply:
    """One request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body or None)
        got = connection.getresponse()
        return Reply(got.status, got.getheader("Content-Type", ""), got.read().decode(), got.headers)
    finally:
        connection.close()


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: a kill of a process takes nothing from any kind of file system."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def consistency(raws: Sequence[bytes], old: int) -> list[bytes]:
    """The consistency proof of RFC 6962, section 2.1.2, by its recursive definition."""

    def subproof(size: int, part: Sequence[bytes], whole: bool) -> list[bytes]:
        if size == len(part):
            return [] if whole else [root(part)]
        split = 1 << (len(part) - 1).bit_length() - 1
        if size <= split:
            return [*subproof(size, part[:split], whole), root(part[split:])]
        return [*subproof(size - split, part[split:], False), root(part[:split])]

    return subproof(old, raws, True) if old else []


def request(signer: Signer, raws: Sequence[bytes], old: int) -> bytes:
    """An honest request: from a tree of `old` entries to one of all of them."""
    proof = "".join(f"{base64_encode(each)}\n" for each in consistency(raws, old))
    return f"old {old}\n{proof}\n".encode() + signer.checkpoint(raws)


@contextmanager
def inside(folder: Path, clock: Callable[[], float], rate: float = 1e6) -> Iterator[int]:
    """A witness that serves in this process, on a real port."""
    store = Store(folder)
    keeper = Keeper(store, clock=clock, rate=rate)
    said: list[str] = []
    with WitnessServer("127.0.0.1", 0, keeper, said.append) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            keeper.close()
            store.close()
    assert not [line for line in said if line.startswith("500")], said


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """`audit witness serve` in a process of its own; ended by SIGTERM, if the test has not killed it."""
    command = [sys.executable, "-m", "audit.cli", "witness", "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(folder), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("witness listens on http://127.0.0.1:"), line
        yield int(line.rsplit(":", 1)[1]), process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
