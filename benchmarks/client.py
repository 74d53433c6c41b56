"""What the checking client costs a room: processor time of one process that plays hands through `dealer.client`."""

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks import servers
from benchmarks.row import Row

HANDS = 300
ROUNDS = 3
MILLISECONDS_A_HAND = 1.0


def rows() -> list[Row]:
    """Processor time a hand of the checking client beside a client that believes everything, on the same calls."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, ExitStack() as stack:
        running = stack.enter_context(servers.dealer(Path(name) / "data"))
        figures = {way: median(_measure(running, way) for _ in range(ROUNDS)) for way in ("checking", "believing")}
    checks = figures["checking"] - figures["believing"]
    return [
        Row.of("a hand's checks in the client, against 1 ms", checks, 1.0, "ms", MILLISECONDS_A_HAND),
        Row.of(
            "a hand, the checking client against one that believes", figures["checking"], figures["believing"], "ms"
        ),
    ]


def _measure(running: servers.Running, way: str) -> float:
    """Milliseconds of processor time a hand, in a client process of its own."""
    command = [sys.executable, "-m", "benchmarks.client", running.address, running.key or "", way]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


async def _checking(address: str, key: str, hands: int) -> None:
    from dealer.client import Client

    async with Client(address, key) as client:
        for _ in range(hands):
            hand = await client.open_hand("checked", seats=[1, 2, 3, 4, 5, 6, 7, 8])
            for street in ("third", "fourth", "fifth", "sixth", "seventh"):
                await hand.deal_street(street)
            await hand.close()


async def _believing(address: str, key: str, hands: int) -> None:
    import grpc

    from benchmarks.load import Room
    from dealer.v1 import dealer_pb2_grpc as rpc

    async with grpc.aio.insecure_channel(address) as channel:
        stub: rpc.DealerServiceAsyncStub = rpc.DealerServiceStub(channel)
        room = Room(None)
        for _ in range(hands):
            await room.hand_by_calls(stub, "believed")


async def _main(address: str, key: str, way: str) -> None:
    play = {"checking": _checking, "believing": _believing}[way]
    await play(address, key, 20)
    begin = process_time()
    await play(address, key, HANDS)
    print(1e3 * (process_time() - begin) / HANDS)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
