"""Each storage failure, before and after the batch was durable: nothing is lost, doubled or shown too early."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.core.hand import Reveal, Status, VoidReason
from dealer.errors import CutcardError, Reason, Refused
from dealer.games.plans import SEVEN_CARD_STUD
from dealer.log.checkpoint import read_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.service import server
from dealer.service.settings import Limits, Settings
from dealer.service.writer import hands
from dealer.service.writer.change import HandAnswer, Unit
from dealer.service.writer.engine import Command, Engine
from dealer.service.writer.hands import Opening
from dealer.service.writer.live import LiveHand
from dealer.service.writer.observer import Observer
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.interface import Batch, StoreError, VaultError
from dealer.store.sqlite import SqliteStore
from dealer.store.vault import Purpose, Vault
from dealer.v1 import dealer_pb2 as dpb
from dealer.v1 import table_pb2 as pb
from tests.integration.inside import dealer_inside
from tests.integration.running import rid
from tests.integration.table_room import TableRoom

BEFORE, AFTER = "failed before", "failed though it persisted"


class FlakyStore(SqliteStore):
    """Fails at the commits that the plan names, for as long as the plan says."""

    plan: list[str | None] = []

    def commit(self, batch: Batch) -> None:
        step = self.plan.pop(0) if self.plan else None
        if step == BEFORE:
            raise StoreError("disk full")
        super().commit(batch)
        if step == AFTER:
            raise StoreError("no answer from the disk")


@pytest.fixture
async def engine(tmp_path: Path):
    data = DataDir.at(tmp_path / "data")
    data.init("flaky.invalid/dealer")
    FlakyStore.plan = []
    vault = Vault(data.at_rest, 3600)
    engine = Engine(lambda: FlakyStore(data.database, vault), data.signer(), vault, Sources(), Limits())
    engine.start()
    yield engine
    engine.stop()


@dataclass
class Said:
    """An answer's message: some bytes, and a receipt behind them."""

    said: bytes
    receipt: str = ""

    def SerializeToString(self, *, deterministic: bool) -> bytes:
        return self.said + self.receipt.encode()


def opening(table: str, request: bytes) -> Command:
    def run(unit: Unit) -> HandAnswer:
        live = hands.open_hand(unit, "room", Opening(table, SEVEN_CARD_STUD, "standard52", (1, 2), Reveal.PUBLIC))
        message = Said(live.state.hand)
        unit.receipt_into(message, "receipt", live.commit or 0)
        return HandAnswer(live.state.hand, message)

    return Command("room", run, request, sha256(table.encode()).digest())


def dealing(hand: bytes, request: bytes) -> Command:
    def run(unit: Unit) -> HandAnswer:
        live, event = hands.deal_street(unit, hand, "third")
        face = hands.faces_of(live)
        return HandAnswer(hand, Said(b"".join(face(card.position)[0].encode() for card in event.cards)))

    return Command("room", run, request, sha256(hand).digest())


def assert_log_is_whole(engine: Engine) -> None:
    tree = CompactRange()
    for entry in engine.state.store.entries(0, engine.state.store.size()):
        tree.append(leaf_hash(entry))
    shown = read_checkpoint(engine.state.note)
    assert (shown.size, shown.root) == (tree.size, tree.root())
    assert engine.state.tree.size == tree.size


@pytest.mark.parametrize("failure", [BEFORE, AFTER])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_retry_after_a_failure_gives_one_hand(engine: Engine, failure: str, times: int) -> None:
    told: list[bool] = []
    observer = Observer()
    observer.health_changed = lambda: told.append(engine.health.serving)  # type: ignore[method-assign]
    engine._observer = observer
    engine.state.store.plan[:] = [failure, *[BEFORE] * (times - 1)]
    command = opening("a", b"1" * 16)
    answer = None
    for _ in range(times + 1):
        try:
            answer = await engine.submit(command)
        except Refused as refused:
            assert refused.reason is Reason.STORAGE
    assert answer is not None
    assert await engine.submit(command) == answer
    assert engine.state.store.size() == 1
    assert told[0] is False
    assert engine.health.serving
    assert_log_is_whole(engine)


@pytest.mark.parametrize("failure", [BEFORE, AFTER])
async def test_a_street_is_dealt_once_whatever_fails(engine: Engine, failure: str) -> None:
    hand = (await engine.submit(opening("a", b"1" * 16)))[:16]
    engine.state.store.plan[:] = [failure]
    with pytest.raises(Refused):
        await engine.submit(dealing(hand, b"2" * 16))
    cards = await engine.submit(dealing(hand, b"2" * 16))
    assert len(cards) == 2 * 6
    assert await engine.submit(dealing(hand, b"2" * 16)) == cards
    assert len(engine.state.live[hand].state.dealt) == 6
    assert_log_is_whole(engine)


async def test_a_batch_fails_or_persists_as_one(engine: Engine) -> None:
    engine.state.store.plan[:] = [BEFORE]
    commands = [opening(f"t{i}", bytes([i]) * 16) for i in range(20)]
    first = await asyncio.gather(*map(engine.submit, commands), return_exceptions=True)
    assert any(isinstance(answer, Refused) for answer in first)
    second = await asyncio.gather(*map(engine.submit, commands))
    assert len({answer[:16] for answer in second}) == 20
    assert engine.state.store.size() == 20
    assert_log_is_whole(engine)


async def test_a_refused_command_leaves_no_trace_in_its_batch(engine: Engine) -> None:
    def spoil(unit: Unit) -> HandAnswer:
        hands.open_hand(unit, "room", Opening("spoilt", SEVEN_CARD_STUD, "standard52", (1, 2), Reveal.PUBLIC))
        raise Refused(Reason.TABLE_BUSY, "after it had changed something")

    commands = [opening("t1", b"1" * 16), Command("room", spoil, b"s" * 16), opening("t2", b"2" * 16)]
    answers = await asyncio.gather(*map(engine.submit, commands), return_exceptions=True)
    assert isinstance(answers[1], Refused)
    assert engine.state.store.size() == 2
    assert engine.state.store.table("spoilt") is None
    assert_log_is_whole(engine)


async def test_a_request_id_is_held_to_its_request_within_a_batch_too(engine: Engine) -> None:
    commands = [opening("t1", b"1" * 16), opening("t2", b"1" * 16), opening("t1", b"1" * 16)]
    first, reused, repeated = await asyncio.gather(*map(engine.submit, commands), return_exceptions=True)
    assert isinstance(first, bytes)
    assert repeated == first
    assert isinstance(reused, Refused)
    assert reused.reason is Reason.REQUEST_ID_REUSED
    assert engine.state.store.size() == 1


class Unwritable(Said):
    """A message that cannot be encoded."""

    def SerializeToString(self, *, deterministic: bool) -> bytes:
        raise ValueError("a fault of the dealer's own")


def _raise(unit: Unit) -> HandAnswer:
    raise ValueError("a fault of the dealer's own")


@pytest.mark.parametrize(
    "build",
    [
        _raise,
        lambda unit: HandAnswer(bytes(16), Unwritable(b"")),
        lambda unit: unit.receipt_into(dpb.CloseHandResponse(), "no_such_field", 0),
        lambda unit: unit.receipt_into(dpb.CloseHandResponse(), "receipt", unit.start + 5),
        lambda unit: None,
    ],
    ids=["building", "encoding", "no such field", "no such entry", "no answer"],
)
async def test_an_answer_that_cannot_be_built_fails_for_its_own_caller_alone(
    engine: Engine, build: Callable[[Unit], Any]
) -> None:
    def fail(unit: Unit) -> HandAnswer:
        hands.open_hand(unit, "room", Opening("spoilt", SEVEN_CARD_STUD, "standard52", (1, 2), Reveal.PUBLIC))
        return build(unit)

    commands = [opening("t1", b"1" * 16), Command("room", fail, b"f" * 16), opening("t2", b"2" * 16)]
    first, failed, third = await asyncio.gather(*map(engine.submit, commands), return_exceptions=True)
    assert isinstance(first, bytes)
    assert isinstance(third, bytes)
    assert isinstance(failed, CutcardError)
    assert engine.health.serving
    assert engine.state.store.size() == 2
    assert engine.state.store.table("spoilt") is None
    assert_log_is_whole(engine)
    assert await engine.submit(opening("t1", b"1" * 16)) == first


async def test_housekeeping_leaves_the_key_of_what_the_same_batch_keeps(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "kept")
    data.init("kept.invalid/dealer")
    vault = Vault(data.at_rest, 3600)
    engine = Engine(lambda: SqliteStore(data.database, vault), data.signer(), vault, Sources(), Limits())

    def keep(unit: Unit) -> HandAnswer:
        live = hands.open_hand(unit, "room", Opening("t", SEVEN_CARD_STUD, "standard52", (1, 2), Reveal.PUBLIC))
        unit.record(live.state.hand, b"the record", "made")
        return HandAnswer(live.state.hand, Said(live.state.hand))

    waiting = [asyncio.ensure_future(engine.submit(Command("room", keep, b"1" * 16)))]
    waiting.append(asyncio.ensure_future(engine.forget_expired()))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    engine.start()
    hand, _ = await asyncio.gather(*waiting)

    assert await engine.do(lambda unit: unit.record_of(hand, b"".join)) == "made"
    assert engine.state.store.record(hand) == [b"the record"]
    engine.stop()


async def test_limits_are_held(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "small")
    data.init("small.invalid/dealer")
    limits = Limits(hands_in_play=2, pending=3)
    vault = Vault(data.at_rest, 3600)
    engine = Engine(lambda: SqliteStore(data.database, vault), data.signer(), vault, Sources(), limits)
    waiting = [asyncio.ensure_future(engine.submit(opening(f"t{i}", bytes([i]) * 16))) for i in range(4)]
    await asyncio.sleep(0)
    engine.start()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    reasons = [answer.reason for answer in answers if isinstance(answer, Refused)]
    assert reasons == [Reason.TOO_MANY_HANDS, Reason.TOO_MANY_REQUESTS]
    engine.stop()


async def test_callers_who_have_gone_away_still_count_for_the_limit(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "gone")
    data.init("gone.invalid/dealer")
    limits = Limits(pending=3)
    vault = Vault(data.at_rest, 3600)
    engine = Engine(lambda: SqliteStore(data.database, vault), data.signer(), vault, Sources(), limits)
    for number in range(3):
        engine.enqueue(opening(f"t{number}", bytes([number]) * 16)).cancel()
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="3 requests are waiting"):
        engine.enqueue(opening("t3", b"3" * 16))
    carried_out, observer = asyncio.Event(), Observer()
    observer.committed = lambda changed, commands, seconds: carried_out.set()  # type: ignore[method-assign]
    engine.start(observer)
    await carried_out.wait()
    await engine.submit(opening("t3", b"3" * 16))
    engine.stop()


class StuckVault(Vault):
    """Cannot destroy a key for as long as it is stuck."""

    stuck = False

    def destroy_unused(self, purpose: Purpose, used: Iterable[int]) -> None:
        if self.stuck:
            raise VaultError("read-only file system")
        super().destroy_unused(purpose, used)

    def give_back(self, keys: Iterable[int], used: Iterable[int]) -> None:
        if self.stuck:
            raise VaultError("read-only file system")
        super().give_back(keys, used)


async def test_a_hand_whose_seed_cannot_be_erased_is_closed_and_answered_and_no_other_is_opened(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path / "stuck")
    data.init("stuck.invalid/dealer")
    vault = StuckVault(data.at_rest, 3600)
    engine = Engine(lambda: SqliteStore(data.database, vault), data.signer(), vault, Sources(), Limits())
    engine.start()
    hand = (await engine.submit(opening("a", b"1" * 16)))[:16]

    def void(unit: Unit) -> HandAnswer:
        hands.void_hand(unit, hand, VoidReason.OPERATOR)
        return HandAnswer(hand, Said(b"void"))

    key = engine.state.live[hand].key
    assert key is not None
    vault.stuck = True
    assert await engine.submit(Command("room", void, b"2" * 16)) == b"void"
    assert not engine.health.serving
    with pytest.raises(Refused) as error:
        await engine.submit(opening("a", b"3" * 16))
    assert error.value.reason is Reason.STORAGE
    assert vault.slots.secret(key) is not None

    vault.stuck = False
    await engine.probe()
    assert engine.health.serving
    assert vault.slots.secret(key) is None
    await engine.submit(opening("a", b"3" * 16))
    engine.stop()


async def test_watchers_and_clocks_go_on_after_a_step_that_failed_though_it_persisted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FlakyStore.plan = []
    monkeypatch.setattr(server, "SqliteStore", FlakyStore)
    async with dealer_inside(tmp_path / "dealer") as (_, room):
        started = await TableRoom(room.channel).start({1: 1000, 2: 1000}, action_seconds=2)
        rail = started.watch()
        seen = started.hand.sequence
        for _ in range(seen):
            await rail.read()
        FlakyStore.plan[:] = [AFTER]
        request = started.act_request(pb.ACTION_COMPLETE, 100, request_id=rid())
        with pytest.raises(grpc.aio.AioRpcError):
            await started.stub.Act(request)
        acted = (await asyncio.wait_for(rail.read(), 5)).event
        assert (acted.sequence, acted.seat_acted.action) == (seen + 1, pb.ACTION_COMPLETE)
        assert (await rail.read()).event.HasField("seat_prompted")
        timed_out = (await asyncio.wait_for(rail.read(), 5)).event
        assert timed_out.seat_acted.cause == pb.CAUSE_TIMEOUT


async def test_an_offer_that_failed_though_it_persisted_has_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FlakyStore.plan = []
    monkeypatch.setattr(server, "SqliteStore", FlakyStore)
    settings = Settings(contribution_seconds=0.2, grace_seconds=1)
    async with dealer_inside(tmp_path / "dealer", settings=settings) as (dealer, room):
        locked, told = asyncio.Event(), dealer._housekeeping.committed

        def tell(changed: Sequence[LiveHand], commands: int, seconds: float) -> None:
            told(changed, commands, seconds)
            if [hand.state.status for hand in changed] == [Status.COMMITTED]:
                locked.set()

        monkeypatch.setattr(dealer._housekeeping, "committed", tell)
        FlakyStore.plan[:] = [AFTER]
        with pytest.raises(grpc.aio.AioRpcError):
            await room.open(contributors=[dpb.Contributor(id="alice", commitment=bytes(32))])
        await asyncio.wait_for(locked.wait(), 5)
