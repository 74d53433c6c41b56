"""Many tables at once: the stacks add up, and the log passes the auditor. And a referee that is killed goes on."""

import asyncio
from pathlib import Path

import grpc
import pytest

from tests.integration.running import Running, running
from tests.integration.table_room import TableRoom, play_hands

CLIENTS = 10
TABLES = 8


async def crowd(dealer: Running, hands: int) -> None:
    """Ten clients, each on a connection of its own, sit at eight tables at once."""
    channels = [grpc.aio.insecure_channel(dealer.address) for _ in range(CLIENTS)]
    try:
        clients = [TableRoom(channel) for channel in channels]
        await asyncio.gather(*[play_hands(clients, f"t{table}", hands // TABLES, table) for table in range(TABLES)])
    finally:
        for channel in channels:
            await channel.close()


async def _played_and_audited(tmp_path: Path, hands: int) -> None:
    with running(tmp_path / "dealer") as dealer:
        await crowd(dealer, hands)
        verdict = dealer.audit(tmp_path / "log")
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr


async def test_hands_at_eight_tables_at_once_pass_the_auditor(tmp_path: Path) -> None:
    await _played_and_audited(tmp_path, 48)


@pytest.mark.soak
async def test_a_thousand_hands_at_eight_tables_at_once_pass_the_auditor(tmp_path: Path) -> None:
    await _played_and_audited(tmp_path, 1000)
