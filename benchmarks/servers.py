"""Starts the servers that benchmarks play against, each in a process of its own, and a client process for them."""

import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import grpc

from benchmarks import load
from dealer.v1 import dealer_pb2_grpc as rpc
from tests.integration.access_room import SERVER, Certificates

RELEASE = "3cd44ef6a5f13b42c45ffd13b495a6e19fa4eaa7"
"""The release that speed is compared with; its code comes from the repository's history."""
_ROOT = Path(__file__).resolve().parents[1]
_PROGRAM = "from dealer.cli import main; main()"


@dataclass(frozen=True)
class Running:
    """A server that listens.

    Attributes:
        address: HOST:PORT.
        key: the log's verifier key; None for a server that has no log.
        process: its process id.
        certificates: a folder of a CA's and a room's, where it is called over TLS.
    """

    address: str
    key: str | None = None
    process: int = 0
    certificates: Path | None = None

    def play(self, way: str, hands: int, tables: int, *, rate: float = 100.0) -> load.Played:
        """Has a client process of its own play hands, and returns what it measured."""
        command = [sys.executable, "-m", "benchmarks.load", self.address, way, str(hands), str(tables)]
        command += ["--rate", str(rate), *(["--key", self.key] if self.key else [])]
        command += [] if self.certificates is None else ["--certificates", str(self.certificates)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        return load.Played(**json.loads(done.stdout))

    def written(self) -> int:
        """Bytes that the server has written to files since its start."""
        lines = Path(f"/proc/{self.process}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["wchar"])

    def processor_seconds(self) -> float:
        """Processor time that the server has taken since its start, all threads together, to the nanosecond."""
        return time.clock_gettime(~self.process << 3 | 2)  # Linux's clock of another process (CPUCLOCK_SCHED)

    def rate(self, way: str, hands: int, tables: int) -> float:
        """Hands a second of one run."""
        played = self.play(way, hands, tables)
        return played.hands / played.seconds


def release(folder: Path) -> Path | None:
    """Unpacks the release's code below `folder` and returns where; None where the history is not here."""
    packed = subprocess.run(["git", "archive", RELEASE, "dealer"], check=False, capture_output=True, cwd=_ROOT)
    if packed.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder / "release", filter="data")
    return folder / "release"


@contextmanager
def dealer(data: Path, *, code: Path | None = None, command: Sequence[str] | None = None) -> Iterator[Running]:
    """A dealer on a data folder, made if there is none, as a user starts it.

    Args:
        data: the folder.
        code: where the package `dealer` lies; None: this checkout's.
        command: what to run in place of `dealer serve`.
    """
    environment = {**os.environ, "PYTHONPATH": str(code or _ROOT)}
    program = [sys.executable, "-c", _PROGRAM]
    serve = [*program, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data), "--dev"]
    with server(command or serve, data.with_suffix(".log"), environment) as running:
        key = subprocess.run(
            [*program, "key", "--data-dir", str(data)],
            check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=data.parent,
        )  # fmt: skip
        yield Running(running.address, key.stdout.strip(), running.process)


@contextmanager
def over_tls(data: Path) -> Iterator[Running]:
    """A dealer behind TLS, with a room's certificate beside the data folder."""
    made = Certificates(data.with_name("certificates"))
    made.ca()
    made.issue("server", *SERVER)
    made.issue("room", "--room", "bench")
    serve = [sys.executable, "-c", _PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data), "--dev"]
    with dealer(data, command=[*serve, *made.options()]) as running:
        yield replace(running, certificates=made.folder)


@contextmanager
def bare(folder: Path, like: Running) -> Iterator[Running]:
    """The bare durable server, with answers recorded of a dealer; its client checks them as it does the dealer's."""
    answers = folder.with_suffix(".json")
    answers.write_text(json.dumps(_record(like.address)))
    with server(
        [sys.executable, "-m", "benchmarks.bare", "bare", str(folder), str(answers)], folder.with_suffix(".log")
    ) as it:
        yield Running(it.address, like.key, it.process)


@contextmanager
def naive(folder: Path) -> Iterator[Running]:
    """A naive room's own service."""
    with server([sys.executable, "-m", "benchmarks.bare", "naive", str(folder)], folder.with_suffix(".log")) as running:
        yield running


@contextmanager
def server(command: Sequence[str], errors: Path, environment: dict[str, str] | None = None) -> Iterator[Running]:
    """Runs a server until the end of the block; it says on its first line where it listens."""
    with errors.open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            cwd=errors.parent if environment else _ROOT,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError(f"{' '.join(command[:4])} did not start: {errors.read_text()}")
        yield Running(line.removeprefix("listening on ").strip(), process=process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _record(address: str) -> dict[str, str]:
    """Plays one hand and keeps its answers."""
    with grpc.insecure_channel(address) as channel:
        stub = rpc.DealerServiceStub(channel)
        opened = stub.OpenHand(load.opening("recorded"))
        answers = {"OpenHand": opened.SerializeToString()}
        for name in load.STREETS:
            dealt = stub.DealStreet(load.street(opened.hand.hand_id, name))
            answers[f"DealStreet.{name}"] = dealt.SerializeToString()
        answers["CloseHand"] = stub.CloseHand(load.closing(opened.hand.hand_id)).SerializeToString()
    return {name: answer.hex() for name, answer in answers.items()}
