"""What one room's flood costs another: the median wait for a street, alone and beside 200 players of another room.

The rooms call over TLS with certificates of their own, each from a process of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import grpc

from benchmarks.row import Row
from tests.integration.access_room import SERVER, Certificates, behind_tls
from tests.integration.inside import AsyncRoom

STREETS = 300
FLOODERS = 200
FLOOD_SECONDS = 10.0
GOAL = 2.0


def rows() -> list[Row]:
    """Milliseconds of a street, beside the flood and alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates = Certificates(folder / "certificates")
        certificates.ca()
        certificates.issue("server", *SERVER)
        for room in ("a", "b"):
            certificates.issue(room, "--room", room)
        with behind_tls(folder / "data", certificates) as dealer:
            loud, quiet = asyncio.run(_measure(dealer.address, certificates))
    return [Row.of("a street of one room beside another's flood, against alone", loud, quiet, "ms", GOAL)]


async def _measure(address: str, certificates: Certificates) -> tuple[float, float]:
    async with grpc.aio.secure_channel(address, certificates.credentials("b")) as channel:
        room = AsyncRoom(channel)
        quiet = await _median(room)
        command = (sys.executable, "-m", "benchmarks.room", address, str(certificates.folder))
        flood = await asyncio.create_subprocess_exec(*command)
        await asyncio.sleep(FLOOD_SECONDS / 4)
        loud = await _median(room)
        await flood.wait()
    return loud, quiet


async def _median(room: AsyncRoom) -> float:
    times = []
    for _ in range(STREETS):
        hand = (await room.open("b")).hand_id
        start = time.perf_counter()
        await room.deal(hand, 1)
        times.append(1000 * (time.perf_counter() - start))
        await room.void(hand)
    return statistics.median(times)


async def _flood(address: str, certificates: Certificates) -> None:
    end = time.monotonic() + FLOOD_SECONDS
    async with grpc.aio.secure_channel(address, certificates.credentials("a")) as channel:
        room = AsyncRoom(channel)

        async def play(table: str) -> None:
            while time.monotonic() < end:
                with suppress(grpc.aio.AioRpcError):
                    hand = (await room.open(table)).hand_id
                    await room.deal(hand, 1)
                    await room.void(hand)

        await asyncio.gather(*(play(f"a-{number}") for number in range(FLOODERS)))


if __name__ == "__main__":
    asyncio.run(_flood(sys.argv[1], Certificates(Path(sys.argv[2]))))
