"""A real dealer in another process, and a room's backend that talks to it over gRPC."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc, log_pb2_grpc
from dealer.v1 import types_pb2 as t

BIN = Path(sys.executable).parent
STREETS = (t.STREET_THIRD, t.STREET_FOURTH, t.STREET_FIFTH, t.STREET_SIXTH, t.STREET_SEVENTH)


def rid() -> str:
    return str(uuid.uuid4())


def run_tool(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Runs an entry point of the project to its end."""
    name, *rest = map(str, arguments)
    return subprocess.run([BIN / name, *rest], capture_output=True, text=True, timeout=120, **options)


@dataclass
class Running:
    """A `dealer serve` process on a data folder, to be killed and started again at will."""

    data: Path
    options: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[str] | None" = None
    address: str = ""

    def command(self) -> list[str | Path]:
        placed = any(pair[0] == "--listen" and pair[1].startswith("127.") for pair in pairwise(self.options))
        where = () if placed else ("--listen", "127.0.0.1:0")
        return [BIN / "dealer", "serve", "--data-dir", self.data, "--dev", *where, *self.options]

    def start(self) -> "Running":
        command = self.command()
        errors = (self.data.parent / f"{self.data.name}.stderr").open("a")
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **self.env}
        )
        errors.close()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), (line, self.log_lines())
        self.address = line.removeprefix("listening on ").strip()
        return self

    def log_lines(self) -> str:
        return (self.data.parent / f"{self.data.name}.stderr").read_text()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def room(self) -> "Room":
        return Room(self.address)

    def export(self, out: Path) -> Path:
        done = run_tool("dealer", "export", out, "--data-dir", self.data)
        assert done.returncode == 0, done.stderr
        return out

    def verifier_key(self) -> str:
        return run_tool("dealer", "key", "--data-dir", self.data).stdout.strip()

    def audit(self, out: Path, *options: str | Path) -> "subprocess.CompletedProcess[str]":
        self.export(out)
        return run_tool("audit", "verify", out, "--key", self.verifier_key(), *options)


@contextmanager
def running(data: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Running]:
    dealer = Running(data, options, env or {}).start()
    try:
        yield dealer
    finally:
        if dealer.process is not None and dealer.process.poll() is None:
            dealer.kill()


class Room:
    """A thin room's backend: every call with a request id of its own unless one is given."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)
        self.stub = dealer_pb2_grpc.DealerServiceStub(self.channel)
        self.log = log_pb2_grpc.LogServiceStub(self.channel)

    def open(self, table: str = "t1", **fields: Any) -> t.Hand:
        request = {"request_id": rid(), "game": t.GAME_SEVEN_CARD_STUD, "seats": range(1, 9), "reveal": t.REVEAL_PUBLIC}
        return self.stub.OpenHand(pb.OpenHandRequest(table=table, **{**request, **fields})).hand

    def deal(self, hand: str, street: t.Street.ValueType) -> pb.DealStreetResponse:
        return self.stub.DealStreet(pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=street))

    def draw(self, hand: str, *draws: tuple[int, t.Face.ValueType]) -> pb.DrawCardsResponse:
        wanted = [pb.Draw(seat=seat, face=face) for seat, face in draws]
        return self.stub.DrawCards(pb.DrawCardsRequest(request_id=rid(), hand_id=hand, draws=wanted))

    def fold(self, hand: str, seat: int) -> t.Hand:
        return self.stub.FoldSeat(pb.FoldSeatRequest(request_id=rid(), hand_id=hand, seat=seat)).hand

    def show(self, hand: str, *positions: int) -> pb.ShowCardsResponse:
        return self.stub.ShowCards(pb.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=positions))

    def close(self, hand: str) -> pb.CloseHandResponse:
        return self.stub.CloseHand(pb.CloseHandRequest(request_id=rid(), hand_id=hand))

    def void(self, hand: str, reason: t.VoidReason.ValueType = t.VOID_REASON_OPERATOR) -> pb.VoidHandResponse:
        return self.stub.VoidHand(pb.VoidHandRequest(request_id=rid(), hand_id=hand, reason=reason))

    def get(self, hand: str) -> pb.GetHandResponse:
        return self.stub.GetHand(pb.GetHandRequest(hand_id=hand))

    def play_out(self, hand: str) -> pb.CloseHandResponse:
        for street in STREETS:
            self.deal(hand, street)
        return self.close(hand)


def refusal(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    """Returns code and reason of a refused call."""
    return error.code(), error_info(error).reason  # type: ignore[attr-defined]


def error_info(error: grpc.RpcError) -> error_details_pb2.ErrorInfo:
    """Returns what a refused call says to programs; empty where the dealer did not speak."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    if status is not None:
        for detail in status.details:
            detail.Unpack(info)
        assert info.domain == "cutcard"
    return info
