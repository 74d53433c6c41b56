"""Whole dealers on PostgreSQL: hands beside SQLite, two logs beside one, and a takeover with 20,000 hands in play."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from benchmarks import load, servers
from benchmarks.rounds import medians
from benchmarks.row import Row
from dealer.store.datadir import DataDir
from dealer.store.postgres.admin import init, join
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc as rpc
from tests.postgres import AS_SHIPPED, Postgres, server

ROUNDS = 5
STREAM = ("stream", 1000, 256)
IN_PLAY = 19_999
"""And the one by which it is asked who deals: as many as a dealer takes."""
AT_ONCE = 500
PROMISED_SECONDS = 3.0


def rows() -> list[Row]:
    """Hands a second of both stores and of two logs, in turn; then a dealer is killed."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, server(**AS_SHIPPED) as postgres:
        folder = Path(name)
        with ExitStack() as stack:
            one = stack.enter_context(servers.dealer(folder / "one"))
            two = stack.enter_context(servers.dealer(folder / "two"))
            shared = stack.enter_context(_dealers(postgres, folder / "shared", 1))[0]
            on_one, on_two, on_shared = medians(
                partial(one.rate, *STREAM),
                partial(_together, [one, two]),
                partial(shared.rate, *STREAM),
                rounds=ROUNDS,
            )
        alone, crowded = (_takeover(postgres, folder / f"taken{hands}", hands) for hands in (1, IN_PLAY))
    return [
        Row.of("hands by PlayHands, 256 tables, on PostgreSQL, against SQLite", on_shared, on_one, "hands/s"),
        Row.of("hands of two shards, each with a client, against one", on_two, on_one, "hands/s"),
        Row.of("takeover after a kill, two hands in play, against what is promised", alone, PROMISED_SECONDS, "s", 1.0),
        Row.of(
            "takeover after a kill, 20,000 hands in play, against what is promised", crowded, PROMISED_SECONDS, "s", 1.0
        ),
    ]


@contextmanager
def _dealers(postgres: Postgres, folder: Path, count: int) -> Iterator[list[servers.Running]]:
    """So many dealers on a database of their own, the first of which deals."""
    url, first = postgres.database(), DataDir.at(folder / "0")
    folder.mkdir()
    init(first, "benchmark.invalid/several", url)
    for number in range(1, count):
        join(DataDir.at(folder / str(number)), first.key, url)
    serve = [sys.executable, "-c", "from dealer.cli import main; main()", "serve", "--listen", "127.0.0.1:0"]
    with ExitStack() as stack:
        made = list[servers.Running]()
        for number in range(count):
            data = folder / str(number)
            command = [*serve, "--data-dir", str(data), "--store", url, "--replication", "none"]
            made.append(stack.enter_context(servers.dealer(data, command=command)))
            if number == 0:
                _first_answer(made[0], "OpenHand", load.opening("first"))
        yield made


def _first_answer(dealer: servers.Running, call: str, request: object, seconds: float = 60) -> object:
    """Asks until there is an answer."""
    until = time.monotonic() + seconds
    with grpc.insecure_channel(dealer.address) as channel:
        ask: Callable[[object], object] = getattr(rpc.DealerServiceStub(channel), call)
        while True:
            try:
                return ask(request)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > until:
                    raise
            time.sleep(0.01)


def _together(dealers: list[servers.Running]) -> float:
    """Hands a second of dealers that are played at the same time, each by a client process of its own."""
    with ThreadPoolExecutor(len(dealers)) as pool:
        rates: list[float] = list(pool.map(lambda dealer: dealer.rate(*STREAM), dealers))
    return sum(rates)


def _takeover(postgres: Postgres, folder: Path, hands: int) -> float:
    """Seconds from the death of a dealer to the other's first street, with so many hands and one more in play."""
    with _dealers(postgres, folder, 2) as (first, second):
        with grpc.insecure_channel(first.address) as channel:
            stub = rpc.DealerServiceStub(channel)
            for begun in range(0, hands, AT_ONCE):
                message = pb.PlayHandsRequest()
                for number in range(begun, min(begun + AT_ONCE, hands)):
                    message.requests.add(correlation_id=str(number), open_hand=load.opening(f"t{number}"))
                answers = [answer for part in stub.PlayHands(iter([message])) for answer in part.responses]
                if any(answer.WhichOneof("response") != "open_hand" for answer in answers):
                    raise RuntimeError("a hand was not opened")
        hand = answers[-1].open_hand.hand.hand_id
        log, until = (folder / "1.log"), time.monotonic() + 60
        while "every key at rest is there" not in log.read_text():
            if time.monotonic() > until:
                raise RuntimeError(f"the second dealer does not stand by: {log.read_text()}")
            time.sleep(0.1)
        os.kill(first.process, signal.SIGKILL)
        began = time.perf_counter()
        _first_answer(second, "DealStreet", load.street(hand, load.STREETS[0]))
        return time.perf_counter() - began
