"""No deck without a working CSPRNG: a source that fails is never replaced by another."""

import asyncio
import hashlib
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from dealer.service.writer.sources import Sources
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import refusal

ROOT = Path(__file__).resolve().parents[2]
FIXED = os.urandom(64)


def raising(length: int) -> bytes:
    raise OSError("no entropy")


FAULTS: dict[str, Callable[[int], bytes]] = {
    "short": lambda length: os.urandom(length - 1),
    "long": lambda length: os.urandom(length + 1),
    "empty": lambda length: b"",
    "all zero": bytes,
    "all ones": lambda length: b"\xff" * length,
    "the same block again and again": lambda length: os.urandom(8) * (length // 8),
    "raising": raising,
}


async def status(channel: grpc.aio.Channel) -> int:
    answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    return int(answer.status)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_source_that_fails_opens_no_hand_until_it_works_again(
    tmp_path: Path, fault: Callable[[int], bytes]
) -> None:
    entropy = [os.urandom]
    async with dealer_inside(tmp_path / "data", Sources(entropy=lambda n: entropy[0](n))) as (dealer, room):
        hand = (await room.open("before")).hand_id
        entropy[0] = fault
        size = dealer.engine.state.tree.size
        with pytest.raises(grpc.RpcError) as caught:
            await room.open("during")
        assert refusal(caught.value) == (grpc.StatusCode.UNAVAILABLE, "ENTROPY_SOURCE")
        await asyncio.sleep(0.1)
        assert await status(room.channel) == health_pb2.HealthCheckResponse.NOT_SERVING
        assert dealer.engine.state.tree.size == size
        await room.deal(hand, t.STREET_THIRD)  # what is committed goes on
        entropy[0] = os.urandom
        assert (await room.open("during")).number == 1
        await dealer.engine.probe()
        await asyncio.sleep(0.1)
        assert await status(room.channel) == health_pb2.HealthCheckResponse.SERVING


class Replayed:
    """A source whose state was copied with its machine: whoever goes on from the copy draws the same bytes again."""

    def __init__(self) -> None:
        self._drawn = 0

    def __call__(self, length: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(FIXED + self._drawn.to_bytes(8, "big")).digest(length)


async def test_a_restored_snapshot_is_found_by_the_digests_of_seeds_drawn(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data", Sources(entropy=Replayed())) as (dealer, room):
        await asyncio.gather(*(room.open(f"first-{number}") for number in range(40)))
    source = Replayed()
    async with dealer_inside(tmp_path / "data", Sources(entropy=source)) as (dealer, room):
        assert dealer.engine.health.serving, "nothing is wrong with the bytes themselves"
        size = dealer.engine.state.tree.size
        for attempt in range(3):
            with pytest.raises(grpc.RpcError) as caught:
                await room.open(f"again-{attempt}")
            assert refusal(caught.value) == (grpc.StatusCode.UNAVAILABLE, "ENTROPY_SOURCE")
            assert not dealer.engine.health.serving
            await dealer.engine.probe()
        assert dealer.engine.state.tree.size == size


async def test_the_alarm_is_a_metric_and_ends_with_the_failure(tmp_path: Path) -> None:
    entropy = [os.urandom]
    async with dealer_inside(tmp_path / "data", Sources(entropy=lambda n: entropy[0](n))) as (dealer, room):

        def seen() -> tuple[float | None, float | None]:
            value = dealer._metrics.registry.get_sample_value
            return value("cutcard_entropy_healthy"), value("cutcard_entropy_failures_total")

        await room.open("before")
        assert seen() == (1, 0)
        entropy[0] = bytes
        for table in ("during", "again"):
            with pytest.raises(grpc.RpcError):
                await room.open(table)
        assert seen() == (0, 1)
        entropy[0] = os.urandom
        await dealer.engine.probe()
        await asyncio.sleep(0)
        assert seen() == (1, 1)


async def test_a_source_that_fails_at_the_start_refuses_hands_and_lets_those_in_play_go_on(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        hand = (await room.open("before")).hand_id
    async with dealer_inside(tmp_path / "data", Sources(entropy=bytes)) as (_, room):
        assert await status(room.channel) == health_pb2.HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.RpcError) as caught:
            await room.open("during")
        assert refusal(caught.value) == (grpc.StatusCode.UNAVAILABLE, "ENTROPY_SOURCE")
        await room.play_out(hand)


async def test_seeding_the_global_generator_changes_nothing(tmp_path: Path) -> None:
    decks = set()
    async with dealer_inside(tmp_path / "data") as (_, room):
        for number in range(8):
            random.seed(0)
            hand = await room.open(f"t{number}")
            random.seed(0)
            cards = (await room.deal(hand.hand_id, t.STREET_THIRD)).cards
            decks.add(tuple(card.card for card in cards))
    assert len(decks) == 8


def test_no_global_generator_is_near_a_deck() -> None:
    generator = re.compile(r"^\s*(import|from)\s+(random|numpy)\b", re.MULTILINE)
    files = list((ROOT / "dealer").rglob("*.py"))
    assert len(files) > 100
    assert [path.name for path in files if generator.search(path.read_text())] == []
