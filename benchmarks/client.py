"""What the checking client costs a room: processor time of one process that plays hands through `dealer.client`."""

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks import servers
from benchmarks.row import Row

HANDS = 600
TABLES = 64
ROUNDS = 5
MILLISECONDS_A_HAND = 1.0


def rows() -> list[Row]:
    """Processor time a hand of the checking client beside a client that believes everything, on the same requests.

    By stream many tables are played at once, as a room would; by calls one hand after another, each of which needs two
    consistency proofs of its own. The least of several runs counts: whatever else the machine does only adds to it.
    """
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        running = stack.enter_context(servers.dealer(Path(name) / "data"))
        least: dict[str, float] = {}
        for _ in range(ROUNDS):
            for way in ("checking stream", "believing stream", "checking calls", "believing calls"):
                least[way] = min(_measure(running, way), least.get(way, float("inf")))
    checks = least["checking stream"] - least["believing stream"]
    by_calls = least["checking calls"] - least["believing calls"]
    return [
        Row.of("a hand's checks in the client, by stream, against 1 ms", checks, 1.0, "ms", MILLISECONDS_A_HAND),
        Row.of(
            "a hand by stream, the checking client against one that believes",
            least["checking stream"],
            least["believing stream"],
            "ms",
        ),
        Row.of("a hand's checks by calls of their own, against by stream", by_calls, checks, "ms"),
    ]


def _measure(running: servers.Running, way: str) -> float:
    """Milliseconds of processor time a hand, in a client process of its own."""
    command = [sys.executable, "-m", "benchmarks.client", running.address, running.key or "", *way.split(" ")]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


async def _main(address: str, key: str, client: str, way: str) -> None:
    import grpc

    from benchmarks.load import Room
    from dealer.client import Client
    from dealer.v1 import dealer_pb2_grpc as rpc

    tables = TABLES if way == "stream" else 1

    async def play(hands: int) -> None:
        room = Room(None)
        if client == "checking":
            async with Client(address, key, stream=way == "stream") as checking:
                await room.client(checking, hands, tables)
            return
        async with grpc.aio.insecure_channel(address) as channel:
            stub: rpc.DealerServiceAsyncStub = rpc.DealerServiceStub(channel)
            await (room.stream(stub, hands, tables) if way == "stream" else room.calls(stub, hands, tables))

    await play(tables)
    begin, hands = process_time(), HANDS if way == "stream" else HANDS // 4
    await play(hands)
    print(1e3 * (process_time() - begin) / hands)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
