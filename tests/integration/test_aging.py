"""A dealer that forgets while it is played on and killed: what it keeps is repeated, and it does not grow."""

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, Running, rid

TABLES = 128
ASKED_AT_ONCE = 512


@dataclass
class ShortMemory(Running):
    """A dealer that keeps answers for seconds, and looks for what has expired every few."""

    keep: float = 60.0
    every: float = 5.0

    def command(self) -> list[str | Path]:
        return [sys.executable, "-m", "benchmarks.short_memory", str(int(self.keep)), self.data, str(self.every)]

    def memory(self) -> int:
        """Bytes of its resident memory."""
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def file(self) -> int:
        """Bytes of its database's files."""
        return sum(file.stat().st_size for file in (self.data / "db").iterdir())


@dataclass
class Played:
    """One hand: what was asked, in order, and the bytes of each answer; the last may be waited for."""

    asked: list[pb.PlayRequest] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    closed: float = 0.0

    def next(self, table: str) -> pb.PlayRequest:
        """Asks what comes next; what was never answered is asked again as it was."""
        if len(self.asked) == len(self.answers):
            request = pb.PlayRequest(correlation_id=table)
            if not self.answers:
                request.open_hand.MergeFrom(
                    pb.OpenHandRequest(
                        request_id=rid(), table=table, game=t.GAME_SEVEN_CARD_STUD, seats=[1, 2], reveal=t.REVEAL_PUBLIC
                    )
                )
            else:
                hand = pb.OpenHandResponse.FromString(self.answers[0]).hand.hand_id
                if len(self.answers) <= len(STREETS):
                    request.deal_street.MergeFrom(
                        pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=STREETS[len(self.answers) - 1])
                    )
                else:
                    request.close_hand.MergeFrom(pb.CloseHandRequest(request_id=rid(), hand_id=hand))
            self.asked.append(request)
        return self.asked[-1]


class Game:
    """Hands at many tables over one stream, which may break at any moment."""

    def __init__(self) -> None:
        self.playing = {f"t{number}": Played() for number in range(TABLES)}
        self.over: list[Played] = []

    async def play(self, address: str, hands: int) -> None:
        """Plays until so many hands are over, or the stream breaks."""
        outbox: asyncio.Queue[pb.PlayHandsRequest | None] = asyncio.Queue()
        outbox.put_nowait(pb.PlayHandsRequest(requests=[hand.next(table) for table, hand in self.playing.items()]))
        try:
            async with grpc.aio.insecure_channel(address) as channel:
                async for message in dealer_pb2_grpc.DealerServiceStub(channel).PlayHands(sent(outbox)):
                    asked = [self._answered(each) for each in message.responses]
                    outbox.put_nowait(pb.PlayHandsRequest(requests=asked) if len(self.over) < hands else None)
        finally:
            outbox.put_nowait(None)

    def _answered(self, response: pb.PlayResponse) -> pb.PlayRequest:
        table = response.correlation_id
        hand = self.playing[table]
        hand.answers.append(answer_of(response))
        if len(hand.answers) == len(STREETS) + 2:
            hand.closed = time.monotonic()
            self.over.append(hand)
            hand = self.playing[table] = Played()
        return hand.next(table)

    async def repeat(self, address: str, keep: float, most: int) -> int:
        """Asks again for what must be kept yet, of hands in play and over; returns how many answers it compared."""
        now = time.monotonic()
        kept = [hand for hand in self.over if now - hand.closed < keep / 2]
        chosen = [*self.playing.values(), *random.Random(most).sample(kept, min(most, len(kept)))]
        told = [(ask, answer) for hand in chosen for ask, answer in zip(hand.asked, hand.answers, strict=False)]
        async with grpc.aio.insecure_channel(address) as channel:
            for at in range(0, len(told), ASKED_AT_ONCE):
                part = told[at : at + ASKED_AT_ONCE]
                again = await ask_again(channel, [ask for ask, _ in part])
                assert again == [answer for _, answer in part]
        assert time.monotonic() - now < keep / 2, "the machine is too slow to tell what must be kept yet"
        return len(told)


async def sent(outbox: "asyncio.Queue[pb.PlayHandsRequest | None]") -> AsyncIterator[pb.PlayHandsRequest]:
    while (message := await outbox.get()) is not None:
        yield message


async def ask_again(channel: grpc.aio.Channel, asked: Sequence[pb.PlayRequest]) -> list[bytes]:
    message, found = pb.PlayHandsRequest(), dict[int, bytes]()
    for mark, each in enumerate(asked):
        copy = message.requests.add()
        copy.MergeFrom(each)
        copy.correlation_id = str(mark)
    outbox: asyncio.Queue[pb.PlayHandsRequest | None] = asyncio.Queue()
    outbox.put_nowait(message)
    async for answers in dealer_pb2_grpc.DealerServiceStub(channel).PlayHands(sent(outbox)):
        found |= {int(each.correlation_id): answer_of(each) for each in answers.responses}
        if len(found) == len(asked):
            outbox.put_nowait(None)
    return [found[mark] for mark in range(len(asked))]


def answer_of(response: pb.PlayResponse) -> bytes:
    kind = response.WhichOneof("response")
    assert kind is not None
    assert kind != "error", response.error.message
    return getattr(response, kind).SerializeToString(deterministic=True)


async def plays_forgets_and_is_killed(dealer: ShortMemory, hands: int, sessions: int, repeated: int) -> list[int]:
    """Plays in sessions, each ended by a kill under load and followed by repeats; returns its memory at each end."""
    game, memory = Game(), list[int]()
    for session in range(1, sessions + 1):
        playing = asyncio.ensure_future(game.play(dealer.address, hands))
        while len(game.over) < hands * session // sessions and not playing.done():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
        memory.append(dealer.memory())
        dealer.kill()
        (ended,) = await asyncio.gather(playing, return_exceptions=True)
        assert ended is None or isinstance(ended, grpc.RpcError), ended
        dealer.start()
        assert await game.repeat(dealer.address, dealer.keep, repeated) > TABLES
    return memory


async def its_file_shrinks(dealer: ShortMemory, hands: int) -> None:
    """Waits until all has expired and the space is given back, but for what a hand leaves for ever."""
    bound, deadline = 2500 * hands + 12_000_000, time.monotonic() + 2 * dealer.keep + 60
    while dealer.file() > bound:
        assert time.monotonic() < deadline, f"{dealer.file()} bytes after {hands} hands"
        await asyncio.sleep(0.5)


async def test_every_answer_is_repeated_after_kills_under_load(tmp_path: Path) -> None:
    dealer = ShortMemory(tmp_path / "data", keep=30, every=0.5)
    dealer.start()
    try:
        await plays_forgets_and_is_killed(dealer, 300, 2, 20)
    finally:
        dealer.kill()


@pytest.mark.soak
async def test_fifty_thousand_hands_leave_memory_and_file_level(tmp_path: Path) -> None:
    dealer = ShortMemory(tmp_path / "data", keep=60, every=5)
    dealer.start()
    try:
        memory = await plays_forgets_and_is_killed(dealer, 50_000, 10, 1000)
        assert max(memory[5:]) < 1.3 * max(memory[:5]) + 16_000_000, memory
        await its_file_shrinks(dealer, 50_000)
    finally:
        dealer.kill()
    verified = dealer.audit(tmp_path / "log")
    assert verified.returncode == 3, verified.stdout  # the hands that were in play are open
    assert "INVALID" not in verified.stdout
