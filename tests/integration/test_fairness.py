"""What each room may use, from its own use alone, and that a flood of one room is not another's (docs/access.md)."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from dealer.client import CallError, Client, Retry
from dealer.errors import Refused
from dealer.service.rpc.limits import RoomLimits, key_of, source_of
from dealer.service.rpc.roles import LOCAL, PUBLIC, Caller, Role
from dealer.service.settings import Limits, Settings, Tls
from dealer.service.writer.backlog import Backlog
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2, log_pb2_grpc, operator_pb2, operator_pb2_grpc
from tests.integration.access_room import DOMAIN, SERVER, Certificates
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import refusal

ALONE = [("grpc.use_local_subchannel_pool", 1)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(tmp_path_factory.mktemp("certificates") / "c")
    made.ca()
    made.issue("server", *SERVER)
    made.issue("a", "--room", "room-a")
    made.issue("b", "--room", "room-b")
    return made


@asynccontextmanager
async def two_rooms(
    tmp_path: Path, made: Certificates, limits: Limits
) -> AsyncIterator[tuple[Any, AsyncRoom, AsyncRoom]]:
    tls = Tls(made.path("server"), made.path("server", "key"), made.path("ca"), DOMAIN)
    settings = Settings(tls=tls, limits=limits, grace_seconds=1)
    async with (
        dealer_inside(tmp_path / "data", settings=settings) as (dealer, _),
        grpc.aio.secure_channel(dealer.address, made.credentials("a"), options=ALONE) as a,
        grpc.aio.secure_channel(dealer.address, made.credentials("b"), options=ALONE) as b,
    ):
        yield dealer, AsyncRoom(a), AsyncRoom(b)


async def refused(call: Any) -> tuple[grpc.RpcError, float]:
    """A refusal, and after how many seconds it says to ask again."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    retry = error_details_pb2.RetryInfo()
    for detail in rpc_status.from_call(caught.value).details:  # type: ignore[union-attr]
        detail.Unpack(retry)
    return caught.value, retry.retry_delay.ToMicroseconds() / 1e6


async def test_hands_and_tables_of_a_room_are_its_own(tmp_path: Path, certificates: Certificates) -> None:
    async with two_rooms(tmp_path, certificates, Limits(room_hands=2, room_tables=3)) as (_, a, b):
        hands = [(await a.open(f"a-{number}")).hand_id for number in range(2)]
        error, retry = await refused(a.open("a-2"))
        assert refusal(error) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_HANDS")
        assert retry > 0
        await b.open("b-0")
        await a.void(hands[0])
        await a.void((await a.open("a-2")).hand_id)
        error, _ = await refused(a.open("a-3"))
        assert refusal(error)[1] == "TOO_MANY_TABLES"
        await a.open("a-0")
        await b.open("b-1")


async def test_a_room_beyond_its_rate_is_told_when_to_come_back_and_another_is_not_held_up(
    tmp_path: Path, certificates: Certificates
) -> None:
    async with two_rooms(tmp_path, certificates, Limits(room_rate=20)) as (_, a, b):
        get = pb.GetTableRequest(table="t")
        found = await asyncio.gather(*(a.stub.GetTable(get) for _ in range(60)), return_exceptions=True)
        late = [each for each in found if isinstance(each, grpc.aio.AioRpcError)]
        assert 10 < len(late) <= 40
        assert {refusal(each)[1] for each in late} == {"TOO_MANY_REQUESTS"}
        await b.open("b")
        one = pb.PlayRequest(get_table=get)
        many = pb.PlayHandsRequest(requests=[pb.PlayRequest(correlation_id=str(n), get_table=get) for n in range(60)])
        call = b.stub.PlayHands()
        await call.write(many)
        await call.done_writing()
        answers = [each async for part in call for each in part.responses]
        assert len(answers) == 60
        assert sum(each.HasField("error") for each in answers) > 30
        assert one.WhichOneof("request") == "get_table"
        await asyncio.sleep(0.2)
        assert (await a.stub.GetTable(get)).next_number == 1


async def test_calls_on_too_many_connections_at_once(tmp_path: Path, certificates: Certificates) -> None:
    async with two_rooms(tmp_path, certificates, Limits(room_connections=1)) as (dealer, a, b):
        async with grpc.aio.secure_channel(dealer.address, certificates.credentials("a"), options=ALONE) as more:
            second = AsyncRoom(more)
            held = threading.Event()  # calls are open at once, because the writer stands still
            standing = asyncio.ensure_future(dealer.engine.do(lambda unit: held.wait(30)))
            asked = [
                asyncio.ensure_future(room.stub.GetTable(pb.GetTableRequest(table="t"))) for room in (a, second) * 3
            ]
            done: set[Any] = set()
            while not any(each.exception() for each in done):
                done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            held.set()
            found = await asyncio.gather(*asked, return_exceptions=True)
            await standing
        reasons = {refusal(each)[1] for each in found if isinstance(each, grpc.aio.AioRpcError)}
        assert reasons == {"TOO_MANY_CONNECTIONS"}
        await b.open("b")


async def test_a_reader_that_does_not_read_is_let_go_and_goes_on_later(tmp_path: Path) -> None:
    settings = Settings(limits=Limits(slow_seconds=0.3), grace_seconds=1)
    async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, room):
        for number in range(400):
            await room.void((await room.open(f"t-{number}")).hand_id)
        options = [*ALONE, ("grpc.http2.lookahead_bytes", 65_536), ("grpc.http2.bdp_probe", 0)]
        async with grpc.aio.insecure_channel(dealer.address, options=options) as channel:
            log = log_pb2_grpc.LogServiceStub(channel)
            call = log.ListEntries(log_pb2.ListEntriesRequest())
            first = await call.read()
            await asyncio.sleep(1.5)
            got = len(first.entries)
            caught = None
            while caught is None:
                try:
                    part = await asyncio.wait_for(call.read(), 20)
                    assert part is not grpc.aio.EOF, f"the whole log came: {got} entries"
                    got += len(part.entries)
                except grpc.aio.AioRpcError as error:
                    caught = error
            assert refusal(caught) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_SLOW")
            rest = log.ListEntries(log_pb2.ListEntriesRequest(**{"from": got}))
            assert got + sum([len(part.entries) async for part in rest]) == 800


async def test_a_call_without_a_deadline_is_given_one(tmp_path: Path) -> None:
    settings = Settings(limits=Limits(call_seconds=0.2), grace_seconds=1)
    async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, room):
        taken = dealer.engine._backlog.take
        dealer.engine._backlog.take = lambda *limits: time.sleep(0.6) or taken(*limits)  # type: ignore[method-assign]
        with suppress(grpc.aio.AioRpcError):
            await room.open("t")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await room.open("u")
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        request = pb.GetTableRequest(table="x")
        assert (await room.stub.GetTable(request, timeout=20)).next_number == 1


def test_rooms_take_turns_however_many_connections_they_have() -> None:
    backlog: Backlog[str] = Backlog(1000, time.monotonic)
    for number in range(30):
        backlog.put(f"room a\n{number % 10}", f"a{number}")
    backlog.put("room b\n0", "b0")
    backlog.put("room b\n0", "b1")
    taken = backlog.take(100, 6)
    assert taken is not None
    assert (len(taken), [each for each in taken if each[0] == "b"]) == (6, ["b0", "b1"])
    assert len({each for each in taken if each[0] == "a"}) == 4
    alone: Backlog[str] = Backlog(1000, time.monotonic)
    for number in range(30):
        alone.put("room a\n0", f"a{number}")
    assert len(alone.take(100, 6) or ()) == 30


async def test_a_flood_waits_its_turn_once_another_room_is_there() -> None:
    limits = RoomLimits(Limits(room_pending=5))
    a, b = Caller(Role.ROOM, "a"), Caller(Role.ROOM, "b")
    running = asyncio.Semaphore(0)
    begun = []

    async def call(who: Caller, number: int) -> None:
        async with limits.turn(who, "peer"):
            begun.append((who.name, number))
            await running.acquire()

    flood = [asyncio.create_task(call(a, number)) for number in range(8)]
    await asyncio.sleep(0)
    other = asyncio.create_task(call(b, 0))
    await asyncio.sleep(0)
    late = [asyncio.create_task(call(a, number)) for number in range(8, 16)]
    await asyncio.sleep(0)
    assert begun == [("a", number) for number in range(8)] + [("b", 0)]
    done, _ = await asyncio.wait(late, timeout=0.05)
    assert len(done) == 3  # beyond those that may wait
    for _ in range(20):
        running.release()
    await asyncio.wait([*flood, other, *late])
    assert len(begun) == 14


async def test_the_public_as_a_whole_is_one_room_in_the_turn_and_its_addresses_take_turns() -> None:
    limits = RoomLimits(Limits(address_pending=5))
    room, leave, begun = Caller(Role.ROOM, "a"), asyncio.Semaphore(0), list[str]()

    async def call(who: Caller, address: str) -> None:
        async with limits.turn(who, f"ipv4:{address}:7"):
            begun.append(address)
            await leave.acquire()

    tasks = [asyncio.create_task(call(room, "10.0.0.1"))]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(call(PUBLIC, f"192.0.2.{number % 4}")) for number in range(8)]
    await asyncio.sleep(0)
    assert len(begun) == 9
    flood = [asyncio.create_task(call(PUBLIC, "192.0.2.66")) for _ in range(7)]  # their own, but the public's turn
    await asyncio.sleep(0)
    other = asyncio.create_task(call(PUBLIC, "192.0.2.77"))
    done, _ = await asyncio.wait(flood, timeout=0.05)
    assert (len(begun), len(done)) == (9, 2)  # beyond what may wait of one address
    assert {type(each.exception()) for each in done} == {Refused}
    leave.release()
    leave.release()
    leave.release()
    for _ in range(10):
        await asyncio.sleep(0)
    assert "192.0.2.77" in begun
    assert begun[9:].count("192.0.2.66") <= 2  # the other address did not wait behind all of the flood
    for _ in range(20):
        leave.release()
    await asyncio.wait([*tasks, *flood, other])
    assert (begun.count("192.0.2.66"), len(begun)) == (5, 15)


async def test_an_address_of_the_public_has_limits_of_its_own(tmp_path: Path, certificates: Certificates) -> None:
    tls = Tls(certificates.path("server"), certificates.path("server", "key"), certificates.path("ca"), DOMAIN)
    limits = Limits(address_rate=8, address_streams=2)
    settings = Settings(tls=tls, limits=limits, public="127.0.0.1:0", grace_seconds=1)
    async with AsyncExitStack() as held:
        dealer, _ = await held.enter_async_context(dealer_inside(tmp_path / "data", settings=settings))

        async def connected(address: str, name: str | None) -> grpc.aio.Channel:
            credentials = certificates.credentials(name)
            return await held.enter_async_context(grpc.aio.secure_channel(address, credentials, options=ALONE))

        first, second = [await connected(str(dealer.public_address), None) for _ in range(2)]
        room = AsyncRoom(await connected(dealer.address, "a"))
        watching = [health_pb2_grpc.HealthStub(each).Watch(health_pb2.HealthCheckRequest()) for each in (first, second)]
        for stream in watching:
            await stream.read()
        error, retry = await refused(health_pb2_grpc.HealthStub(second).Watch(health_pb2.HealthCheckRequest()).read())
        assert (refusal(error)[1], retry) == ("TOO_MANY_STREAMS", 1)
        log = log_pb2_grpc.LogServiceStub(first)
        asked = [log.GetCheckpoint(log_pb2.GetCheckpointRequest()) for _ in range(20)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        late = [refusal(each)[1] for each in found if isinstance(each, grpc.aio.AioRpcError)]
        assert (set(late), len(late) >= 10) == ({"TOO_MANY_REQUESTS"}, True)
        for number in range(20):  # no room is an address
            await room.void((await room.open(f"a-{number}")).hand_id)


async def test_the_client_comes_back_when_the_dealer_says(tmp_path: Path) -> None:
    settings = Settings(limits=Limits(room_rate=10), grace_seconds=1)
    async with dealer_inside(tmp_path / "data", settings=settings) as (dealer, _):
        async with Client(dealer.address, dealer.engine.state.signer.verifier_key) as client:
            opened = await asyncio.gather(*(client.open_hand(f"t-{number}", [1, 2]) for number in range(14)))
            assert len({hand.hand_id for hand in opened}) == 14
        async with Client(dealer.address, dealer.engine.state.signer.verifier_key, retry=Retry(attempts=1)) as client:
            with pytest.raises(CallError) as caught:
                await asyncio.gather(*(client.open_hand(f"u-{number}", [1, 2]) for number in range(14)))
            assert (caught.value.reason, caught.value.retry_seconds > 0) == ("TOO_MANY_REQUESTS", True)


def test_whose_use_a_call_counts_as() -> None:
    assert key_of(LOCAL, "ipv4:127.0.0.1:5") == "local"
    assert key_of(PUBLIC, "ipv4:192.0.2.7:5") == "public 192.0.2.7"
    one, other = (key_of(PUBLIC, f"ipv6:%5B2001:db8::{end}%5D:7") for end in ("1", "2:3"))
    assert one == other
    assert one != key_of(PUBLIC, "ipv6:%5B2001:db8:0:1::1%5D:7")


def test_in_whose_line_a_call_waits_for_the_writer() -> None:
    def lines(who: Caller, *peers: str) -> int:
        return len({source_of(who, SimpleNamespace(peer=lambda peer=peer: peer)) for peer in peers})

    connections = ("ipv4:192.0.2.7:5", "ipv4:192.0.2.7:6")
    assert lines(Caller(Role.ROOM, "a"), *connections) == 2
    assert lines(PUBLIC, *connections) == 1, "no address has more turns, or more that waits, by more connections"
    assert lines(PUBLIC, *connections, "ipv4:192.0.2.8:5") == 2


async def test_a_turn_that_comes_to_a_call_that_was_cancelled_goes_to_the_next() -> None:
    limits = RoomLimits(Limits())
    a, b = Caller(Role.ROOM, "a"), Caller(Role.ROOM, "b")
    leave, begun = asyncio.Event(), list[str]()

    async def call(who: Caller, name: str) -> None:
        async with limits.turn(who, "peer"):
            begun.append(name)
            await leave.wait()

    first = [asyncio.create_task(call(a, "first")) for _ in range(8)]
    other = asyncio.create_task(call(b, "other"))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(call(a, f"waiting {number}")) for number in range(9)]
    await asyncio.sleep(0)
    leave.set()
    await asyncio.sleep(0)  # the first ones end and give their turns away, and nobody has taken his yet
    for task in waiting[:8]:
        task.cancel()
    await asyncio.wait([other, *first, *waiting], timeout=5)
    assert begun[-1] == "waiting 8"


async def test_calls_that_are_not_for_a_role_count_as_well(tmp_path: Path, certificates: Certificates) -> None:
    async with two_rooms(tmp_path, certificates, Limits(room_rate=2)) as (_, a, _other):
        stub = operator_pb2_grpc.OperatorServiceStub(a.channel)
        status = operator_pb2.GetStatusRequest()
        answers = await asyncio.gather(*(stub.GetStatus(status) for _ in range(6)), return_exceptions=True)
        reasons = {refusal(each)[1] for each in answers if isinstance(each, grpc.aio.AioRpcError)}
        assert reasons == {"NOT_YOUR_ROLE", "TOO_MANY_REQUESTS"}


async def test_a_message_over_four_mebibytes_is_refused(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (_, room):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await room.open("t" * (4 << 20))
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await room.open()
