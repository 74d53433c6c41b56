"""Starts the servers that benchmarks play against, the dealer and the bare one, and a client process for them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from benchmarks import load
from dealer.v1 import dealer_pb2_grpc as rpc


@dataclass(frozen=True)
class Servers:
    """Where the dealer and the bare server listen."""

    dealer: str
    bare: str


@contextmanager
def servers() -> Iterator[Servers]:
    """A dealer on a fresh data folder, as a user starts it, and the bare server with answers recorded of it."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        program = str(Path(sys.executable).with_name("dealer"))
        listen = ("--listen", "127.0.0.1:0", "--data-dir", str(folder / "data"), "--dev")
        dealer = stack.enter_context(_server([program, "serve", *listen], folder / "dealer.log"))
        answers = folder / "answers.json"
        answers.write_text(json.dumps(_record(dealer)))
        command = [sys.executable, "-m", "benchmarks.bare", str(answers), str(folder / "journal")]
        yield Servers(dealer, stack.enter_context(_server(command, folder / "bare.log")))


def play(address: str, way: str, hands: int, tables: int) -> load.Played:
    """Has a client process of its own play hands, and returns what it measured."""
    command = [sys.executable, "-m", "benchmarks.load", address, way, str(hands), str(tables)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return load.Played(**json.loads(done.stdout))


@contextmanager
def _server(command: list[str], errors: Path) -> Iterator[str]:
    """Runs a server until the end of the block, and gives the address that it says it listens on."""
    with errors.open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError(f"{' '.join(command[:3])} did not start: {errors.read_text()}")
        yield line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        process.wait(30)


def _record(address: str) -> dict[str, str]:
    """Plays one hand and keeps its answers: the fullest street stands for all."""
    with grpc.insecure_channel(address) as channel:
        stub = rpc.DealerServiceStub(channel)
        opened = stub.OpenHand(load.opening("recorded"))
        streets = [stub.DealStreet(load.street(opened.hand.hand_id, name)) for name in load.STREETS]
        closed = stub.CloseHand(load.closing(opened.hand.hand_id))
    answers = {"OpenHand": opened, "DealStreet": streets[1], "CloseHand": closed}
    return {name: answer.SerializeToString().hex() for name, answer in answers.items()}
