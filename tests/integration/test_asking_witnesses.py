"""Every answer that a witness may give, and what the dealer makes of it (WITNESS.md sections 4 and 5).

The dealer is real, in this process; the witnesses are servers that answer as the test says, and sign with real keys.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import grpc
import pytest

from dealer.log.checkpoint import Checkpoint, read_checkpoint, sign_checkpoint
from dealer.log.note import signature_lines
from dealer.log.policy import parse
from dealer.service.server import Dealer
from dealer.service.settings import Settings, Witnessing
from dealer.service.witnesses.conflict import RolledBackError
from dealer.store.datadir import DataDir
from tests.attacks.cosigning import ONE, THREE, TWO, Cosigner
from tests.integration.cosigning_room import Answer, Liar
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import refusal, run_tool

TEXT = "text/plain; charset=utf-8"
PACE = 0.1


def text_of(body: str) -> str:
    """The checkpoint's text in a request."""
    return body.partition("\n\n")[2].rpartition("\n\n")[0] + "\n"


def old_of(body: str) -> int:
    return int(body.splitlines()[0].removeprefix("old "))


def size_of(body: str) -> int:
    return int(text_of(body).splitlines()[1])


def sign(who: Cosigner, body: str, seconds: float = 0) -> Answer:
    return 200, TEXT, who.line(text_of(body), int(time.time() + seconds)).encode()


def honest(who: Cosigner) -> Callable[[str], Answer]:
    return lambda body: sign(who, body)


def size_is(size: int) -> Answer:
    return 409, "text/x.tlog.size", f"{size}\n".encode()


@dataclass
class Cast:
    """A dealer with its witnesses."""

    dealer: Dealer
    room: AsyncRoom
    data: DataDir

    def count(self, witness: str, status: str) -> float:
        labels = {"witness": witness, "status": status}
        return self.dealer._metrics.registry.get_sample_value("cutcard_witness_requests_total", labels) or 0.0

    def measure(self, name: str) -> float | None:
        return self.dealer._metrics.registry.get_sample_value(name)

    def signers(self) -> list[str]:
        note = (self.data.public / "checkpoint").read_text()
        return [name for name, _ in signature_lines(note)[1]][1:]

    def size(self) -> int:
        return read_checkpoint((self.data.public / "checkpoint").read_text()).size


@asynccontextmanager
async def cast(
    folder: Path, liars: Sequence[tuple[Cosigner, Liar]], needed: int = 1, **pace: float
) -> AsyncIterator[Cast]:
    async with AsyncExitStack() as stack:
        lines, names = [], []
        for who, liar in liars:
            url = stack.enter_context(liar.serve())
            lines.append(f"witness {who.name} {who.key} {url}")
            names.append(who.name)
        policy = parse("\n".join([*lines, f"group g {needed} {' '.join(names)}", "quorum g"]).encode())
        witnessing = Witnessing(policy, **{"seconds": PACE, "timeout": 2.0, **pace})
        settings = Settings(grace_seconds=1, witnesses=witnessing)
        dealer, room = await stack.enter_async_context(dealer_inside(folder, settings=settings))
        yield Cast(dealer, room, DataDir.at(folder))


async def until(true: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to be so"
        await asyncio.sleep(0.02)


async def play(room: AsyncRoom, table: str = "t") -> None:
    await room.play_out((await room.open(table)).hand_id)


async def test_200_is_published_and_its_size_is_remembered(tmp_path: Path) -> None:
    liar = Liar()
    liar.on_post = honest(ONE)
    async with cast(tmp_path / "data", [(ONE, liar)]) as all_:
        await play(all_.room)
        await until(lambda: all_.size() == 2 and all_.signers() == [ONE.key.name])
        await play(all_.room)
        await until(lambda: all_.size() == 4)
        assert [old_of(body) for body in liar.asked] == [0, *map(size_of, liar.asked[:-1])]
        assert size_of(liar.asked[-1]) == 4
        assert len(liar.asked[-1].partition("\n\n")[0].splitlines()) > 1
        assert all(len(signature_lines(f"{body.partition(chr(10) * 2)[2]}")[1]) == 1 for body in liar.asked)
        assert all_.measure("cutcard_witnessed_entries") == 4
        assert 0 <= (all_.measure("cutcard_witness_quorum_age_seconds") or -1) < 30
        assert all_.measure("cutcard_witness_conflict") == 0


async def test_409_with_a_size_is_asked_again_at_once_three_times(tmp_path: Path) -> None:
    liar, stubborn = Liar(), Liar()
    liar.on_post, stubborn.on_post = honest(ONE), honest(TWO)
    async with cast(tmp_path / "data", [(ONE, liar), (TWO, stubborn)]) as all_:
        liar.on_post = lambda body: sign(ONE, body) if old_of(body) == 1 else size_is(1)
        stubborn.on_post = lambda body: size_is((old_of(body) + 1) % 2)
        await play(all_.room)
        await until(lambda: all_.size() == 2 and ONE.key.name in all_.signers())
        sizes = [old_of(body) for body in stubborn.asked if text_of(body) == text_of(liar.asked[-1])]
        assert sizes[:4] in ([0, 1, 0, 1], [1, 0, 1, 0])
        assert all_.count("one", "409") >= 1


@pytest.mark.parametrize("needed", [2, 1])
async def test_a_number_alone_stops_a_room_only_where_a_quorum_says_it(tmp_path: Path, needed: int) -> None:
    honest_one, liar = Liar(), Liar()
    honest_one.on_post, liar.on_post = honest(ONE), honest(TWO)
    async with cast(tmp_path / "data", [(ONE, honest_one), (TWO, liar)], needed) as all_:
        liar.on_post = lambda body: size_is(1_000)
        await play(all_.room)
        await until(lambda: all_.count("two", "409") and all_.size() == 2)
        if needed == 2:
            await play(all_.room)
            assert all_.measure("cutcard_witness_conflict") == 0
            return
        await until(lambda: all_.measure("cutcard_witness_conflict"))
        with pytest.raises(grpc.RpcError) as refused:
            await all_.room.open("another")
        assert refusal(refused.value) == (grpc.StatusCode.UNAVAILABLE, "LOG_CONFLICT")


@pytest.mark.parametrize("status", [422, 409])
async def test_another_tree_that_the_log_has_signed_stops_new_hands_alone(tmp_path: Path, status: int) -> None:
    data = DataDir.at(tmp_path / "data")
    liar = Liar()
    liar.on_post = honest(ONE)
    async with cast(data.root, [(ONE, liar)]) as all_:
        await play(all_.room)
        playing = await all_.room.open("playing")
        await until(lambda: all_.size() == 3)
        fork = sign_checkpoint(Checkpoint("inside.invalid/dealer", 2, bytes(32)), data.signer())
        liar.on_get = lambda path: (200, TEXT, fork.encode())
        liar.on_post = lambda body: (status, TEXT, b"\n") if size_of(body) > 3 else sign(ONE, body)
        waiting = await all_.room.open("waiting")
        await until(lambda: all_.measure("cutcard_witness_conflict"))
        assert liar.got[-1] == f"/{sha256(b'inside.invalid/dealer').hexdigest()}/checkpoint"
        with pytest.raises(grpc.RpcError) as refused:
            await all_.room.open("another")
        assert refusal(refused.value) == (grpc.StatusCode.UNAVAILABLE, "LOG_CONFLICT")
        assert all_.measure("cutcard_serving") == 0
        for hand in (playing, waiting):
            await all_.room.play_out(hand.hand_id)
        (kept,) = data.conflicts.iterdir()
        evidence = json.loads(kept.read_text())
        assert fork in evidence["checkpoints"]
        assert len(evidence["checkpoints"]) == 2
    judged = await asyncio.to_thread(run_tool, "audit", "receipt", kept, "--key", data.signer().verifier_key)
    assert judged.returncode == 1, judged.stdout + judged.stderr
    assert "append-only" in judged.stdout


@pytest.mark.parametrize("status", [404, 403])
async def test_a_witness_that_does_not_know_the_log_is_left_alone_for_long(tmp_path: Path, status: int) -> None:
    liar, other = Liar(), Liar()
    other.on_post = honest(TWO)
    async with cast(tmp_path / "data", [(ONE, liar), (TWO, other)]) as all_:
        liar.on_post = lambda body: (status, TEXT, b"")
        for number in range(3):
            await play(all_.room)
            await until(lambda: all_.size() == 2 * number + 2)  # noqa: B023
        assert all_.count("one", f"{status}") <= 2


UNSEEN: dict[str, tuple[Callable[[str], Answer], str]] = {
    "a fault of ours": (lambda body: (400, TEXT, b"what?"), "400"),
    "too large": (lambda body: (413, TEXT, b""), "413"),
    "too often": (lambda body: (429, TEXT, b""), "429"),
    "its storage": (lambda body: (503, TEXT, b""), "503"),
    "elsewhere": (lambda body: (302, TEXT, b"http://127.0.0.1:1/"), "302"),
    "no text": (lambda body: (200, TEXT, b"\xff\xff"), "unreadable"),
    "no line": (lambda body: (200, TEXT, b"fine\n"), "unreadable"),
    "no newline": (lambda body: (200, TEXT, ONE.line(text_of(body), int(time.time())).encode()[:-1]), "unreadable"),
    "too long": (lambda body: (200, TEXT, b"x" * 70_000), "none"),
    "another's": (lambda body: sign(TWO, body), "dropped"),
    "another text": (lambda body: (200, TEXT, ONE.line("other\n1\n", int(time.time())).encode()), "dropped"),
    "too early": (lambda body: sign(ONE, body, -400), "dropped"),
    "too late": (lambda body: sign(ONE, body, 400), "dropped"),
    "twice": (lambda body: (200, TEXT, 2 * ONE.line(text_of(body), int(time.time())).encode()), "dropped"),
}


@pytest.mark.parametrize("case", UNSEEN)
async def test_what_is_no_cosignature_is_counted_and_never_published(tmp_path: Path, case: str) -> None:
    answer, status = UNSEEN[case]
    liar, other = Liar(), Liar()
    liar.on_post, other.on_post = answer, honest(TWO)
    async with cast(tmp_path / "data", [(ONE, liar), (TWO, other)], 2) as all_:
        await play(all_.room)
        await until(lambda: all_.size() == 2 and all_.count("one", status))
        await until(lambda: all_.signers() == [TWO.key.name])
        assert all_.measure("cutcard_witnessed_entries") == 0


async def test_base64_with_unused_bits_set_is_dropped(tmp_path: Path) -> None:
    liar = Liar()

    def loose(body: str) -> Answer:
        line = ONE.line(text_of(body), int(time.time()))
        head, _, encoded = line.strip().rpartition(" ")
        assert encoded.endswith("==")
        loosened = encoded[:-3] + chr(ord(encoded[-3]) + 1) + "=="
        assert base64.b64decode(loosened) == base64.b64decode(encoded)
        return 200, TEXT, f"{head} {loosened}\n".encode()

    liar.on_post = loose
    async with cast(tmp_path / "data", [(ONE, liar)]) as all_:
        await until(lambda: all_.count("one", "unreadable"))
        assert all_.signers() == []


async def test_after_three_failures_the_pauses_double(tmp_path: Path) -> None:
    liar, asked = Liar(), list[float]()

    def broken(body: str) -> Answer:
        asked.append(time.monotonic())
        return 500, TEXT, b""

    liar.on_post = broken
    async with cast(tmp_path / "data", [(ONE, liar)]):
        await until(lambda: len(asked) >= 6)
    gaps = [after - before for before, after in pairwise(asked)]
    assert gaps[-1] >= 4 * PACE


async def test_a_witness_that_does_not_answer_holds_up_no_call_and_no_checkpoint(tmp_path: Path) -> None:
    slow, other = Liar(), Liar()
    slow.on_post = lambda body: time.sleep(30) or sign(ONE, body)  # type: ignore[func-returns-value]
    other.on_post = honest(TWO)
    async with cast(tmp_path / "data", [(ONE, slow), (TWO, other)], timeout=0.5) as all_:
        began = time.monotonic()
        await play(all_.room)
        assert time.monotonic() - began < 10
        await until(lambda: all_.size() == 2 and all_.signers() == [TWO.key.name])
        assert all_.count("one", "none") >= 1


async def test_an_idle_log_is_refreshed_without_a_new_signature_of_its_own(tmp_path: Path) -> None:
    liar = Liar()
    liar.on_post = honest(ONE)
    async with cast(tmp_path / "data", [(ONE, liar)], refresh=1.0) as all_:
        await play(all_.room)
        await until(lambda: all_.size() == 2)
        before = (all_.data.public / "checkpoint").read_text()
        await until(lambda: (all_.data.public / "checkpoint").read_text() != before)
        after = (all_.data.public / "checkpoint").read_text()
        assert signature_lines(after)[1][0] == signature_lines(before)[1][0]
        liar.on_post = lambda body: (503, TEXT, b"")
        await asyncio.sleep(1.5)
        assert all_.signers() == [ONE.key.name]


async def test_the_dealer_does_not_start_where_a_witness_holds_what_the_log_has_signed(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "data")
    liar = Liar()
    liar.on_post = honest(ONE)
    async with cast(data.root, [(ONE, liar)]) as all_:
        await play(all_.room)
        await until(lambda: all_.size() == 2)
    for size in (2, 7):
        held = sign_checkpoint(Checkpoint("inside.invalid/dealer", size, bytes(32)), data.signer())
        liar.on_get = lambda path, held=held: (200, TEXT, held.encode())  # type: ignore[misc]
        with pytest.raises(RolledBackError, match=f"the witness one holds .*{size} entries.*/conflicts$"):
            async with cast(data.root, [(ONE, liar)]):
                pass
    assert len(list(data.conflicts.iterdir())) == 2
    liar.on_get = lambda path: (200, TEXT, b"not a checkpoint")
    async with cast(data.root, [(ONE, liar)]) as all_:
        await play(all_.room)


async def test_at_the_start_a_number_alone_stops_only_by_a_quorum(tmp_path: Path) -> None:
    one, two = Liar(), Liar()
    one.on_post = two.on_post = lambda body: size_is(50)
    async with cast(tmp_path / "one-lies", [(ONE, one), (TWO, Liar())], 2) as all_:
        await play(all_.room)
    with pytest.raises(RolledBackError, match="says that it holds 50 entries, and the log has 0") as refused:
        async with cast(tmp_path / "both", [(ONE, one), (TWO, two)], 2):
            pass
    assert "show no checkpoint" in str(refused.value)  # and names no folder: nothing was kept
    assert "conflicts" not in str(refused.value)


async def test_with_one_slow_one_dead_and_one_lying_the_alarms_are_right(tmp_path: Path) -> None:
    slow, lying = Liar(), Liar()
    slow.on_post = lambda body: time.sleep(0.3) or sign(ONE, body)  # type: ignore[func-returns-value]
    with Liar().serve() as dead:
        pass
    places = [(ONE, slow), (TWO, lying)]
    async with AsyncExitStack() as stack:
        urls = [stack.enter_context(liar.serve()) for _, liar in places]
        lines = [f"witness {who.name} {who.key} {url}" for (who, _), url in zip(places, urls, strict=True)]
        lines += [f"witness three {THREE.key} {dead}", "group g 1 one two three", "quorum g"]
        witnessing = Witnessing(parse("\n".join(lines).encode()), PACE, 2.0)
        settings = Settings(grace_seconds=1, witnesses=witnessing)
        lying.on_post = honest(TWO)
        dealer, room = await stack.enter_async_context(dealer_inside(tmp_path / "data", settings=settings))
        all_ = Cast(dealer, room, DataDir.at(tmp_path / "data"))
        lying.on_post = lambda body: (200, TEXT, ONE.line(text_of(body), int(time.time())).encode())
        for number in range(1, 6):
            await play(room)
            await until(lambda: all_.size() == 2 * number == all_.measure("cutcard_witnessed_entries"))  # noqa: B023
        assert all_.signers() == [ONE.key.name]
        assert all_.measure("cutcard_witness_conflict") == 0  # CutcardWitnessConflict
        assert all_.count("two", "dropped") > 0  # CutcardWitnessContradicts
        assert all_.count("three", "none") > 0
        assert (all_.measure("cutcard_witness_quorum_age_seconds") or 0) < 60  # CutcardNotWitnessed
        assert all_.measure("cutcard_serving") == 1
