"""What must look alike to whoever may not know: the same bytes, and by 2,000 calls of each kind the same time.

Times are compared within a round, by their ranks: a round's noise is common to what is asked in it, and an order that
changes from round to round favours none.
"""

import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status

from dealer.service.rpc.unary import ALIKE_SECONDS
from dealer.v1 import dealer_pb2, dealer_pb2_grpc, table_pb2, table_pb2_grpc, types_pb2
from tests.integration.access_room import SERVER, Certificates, behind_tls, channel_to
from tests.integration.running import rid
from tests.integration.table_room import STAKES

Call = Callable[[], Any]
CALLS, FEWER = 2_000, 1_200
LANES = 8
"""So many rounds at a time: what looks alike waits most of its time."""
BOUND = 0.13
"""One is slower than another in half of the rounds, give or take so much. Of 1,000 rounds chance alone strays by 0.016,
of 330 by 0.028; a difference of a third of the noise shows."""


def refusal_of(call: Call) -> tuple[float, bytes]:
    """Seconds, and everything that a refusal says."""
    start = time.perf_counter()
    with pytest.raises(grpc.RpcError) as caught:
        call()
    seconds = time.perf_counter() - start
    told: Any = caught.value
    status = rpc_status.from_call(told)
    trailing = sorted((key, value) for key, value in told.trailing_metadata() if key != "date")
    return seconds, repr((told.code(), told.details(), status, trailing)).encode()


def strays(calls: Sequence[Call], count: int) -> float:
    """How far the worst of the calls is from being slower than the first in half of the rounds.

    Raises:
        AssertionError: two of them say something else.
    """
    said = {refusal_of(call)[1] for call in calls}
    assert len(said) == 1, said

    def rounds(seed: int) -> list[list[bool]]:
        order, rng, slower = list(range(len(calls))), random.Random(seed), []
        for _ in range(count // len(calls) // LANES):
            rng.shuffle(order)
            taken = {}
            for which in order:
                taken[which], text = refusal_of(calls[which])
                assert text in said
            slower.append([taken[which] > taken[0] for which in range(1, len(calls))])
        return slower

    with ThreadPoolExecutor(LANES) as lanes:
        found = [each for part in lanes.map(rounds, range(LANES)) for each in part]
    return max(abs(sum(column) / len(found) - 0.5) for column in zip(*found, strict=True))


def alike(*calls: Call, count: int = CALLS) -> None:
    """Requires calls to be told apart by nothing. A machine's other work may upset one run, not two."""
    assert strays(calls, count) < BOUND or strays(calls, count) < BOUND


class Caller:
    def __init__(self, channel: grpc.Channel) -> None:
        self.dealer, self.table = dealer_pb2_grpc.DealerServiceStub(channel), table_pb2_grpc.TableServiceStub(channel)

    def open(self, table: str) -> types_pb2.Hand:
        request = dealer_pb2.OpenHandRequest(request_id=rid(), table=table, game=1, seats=[1, 2], reveal=1)
        return self.dealer.OpenHand(request).hand  # type: ignore[no-any-return]

    def start(self, table: str) -> table_pb2.StartHandResponse:
        seats = [table_pb2.SeatStack(seat=seat, stack=1000) for seat in (1, 2)]
        request = table_pb2.StartHandRequest(
            request_id=rid(), table=table, game=1, stakes=STAKES, reveal=types_pb2.REVEAL_PUBLIC, seats=seats
        )
        return self.table.StartHand(request)  # type: ignore[no-any-return]


class Setting:
    def __init__(self, a: Caller, b: Caller, public: Caller) -> None:
        self.b, self.public = b, public
        self.hand, self.started = a.open("busy").hand_id, a.start("busy-too")
        over = a.open("idle").hand_id
        a.dealer.VoidHand(dealer_pb2.VoidHandRequest(request_id=rid(), hand_id=over, reason=1))
        self.over = over
        self.finished = a.start("idle-too")
        void = table_pb2.VoidTableHandRequest(request_id=rid(), hand_id=self.finished.table_hand.hand_id, reason=1)
        a.table.VoidTableHand(void)
        self.token = self.started.tokens[0]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    made = Certificates(tmp_path_factory.mktemp("certificates") / "c")
    made.ca()
    made.issue("server", *SERVER)
    made.issue("a", "--room", "room-a")
    made.issue("b", "--room", "room-b")
    data: Path = tmp_path_factory.mktemp("dealer") / "data"
    with (
        behind_tls(data, made, "--address-rate", "100000") as dealer,
        channel_to(dealer.address, made.credentials("a")) as a,
        channel_to(dealer.address, made.credentials("b")) as b,
        channel_to(dealer.public, made.credentials(None)) as public,
    ):
        yield Setting(Caller(a), Caller(b), Caller(public))


def test_a_difference_of_two_milliseconds_is_caught_and_so_is_another_word(setting: Setting) -> None:
    get = dealer_pb2.GetHandRequest(hand_id=str(uuid.uuid4()))

    def slow() -> None:
        time.sleep(2e-3)
        setting.b.dealer.GetHand(get)

    assert strays([lambda: setting.b.dealer.GetHand(get), slow], 480) > BOUND
    with pytest.raises(AssertionError):
        alike(lambda: setting.b.dealer.GetHand(get), lambda: setting.b.open("busy"), count=4)


def test_another_room_s_hand_is_like_one_that_never_was(setting: Setting) -> None:
    requests = [dealer_pb2.GetHandRequest(hand_id=hand) for hand in (str(uuid.uuid4()), setting.hand, setting.over)]
    alike(*(lambda request=request: setting.b.dealer.GetHand(request) for request in requests))  # type: ignore[misc]


def test_another_room_s_referee_hand_is_like_one_that_never_was(setting: Setting) -> None:
    hands = (str(uuid.uuid4()), setting.started.table_hand.hand_id, setting.finished.table_hand.hand_id, setting.hand)
    seat, token = setting.token.seat, setting.token.token
    acts = [
        table_pb2.ActRequest(request_id=rid(), hand_id=hand, seat=seat, token=token, action=7, amount=0)
        for hand in hands
    ]
    alike(*(lambda request=request: setting.b.table.Act(request) for request in acts), count=FEWER)  # type: ignore[misc]
    watches = [table_pb2.WatchHandRequest(hand_id=hand, seat=seat, token=token) for hand in hands]
    alike(*(lambda request=request: next(setting.b.table.WatchHand(request)) for request in watches), count=FEWER)  # type: ignore[misc]


def test_another_room_s_table_says_nothing_of_what_goes_on_at_it(setting: Setting) -> None:
    alike(*(lambda table=table: setting.b.start(table) for table in ("busy", "busy-too", "idle", "idle-too")))  # type: ignore[misc]


@pytest.mark.parametrize("method", ["Act", "WatchHand"])
def test_on_the_public_listener_everything_wrong_is_one_answer(setting: Setting, method: str) -> None:
    right, seat, token = setting.started.table_hand.hand_id, setting.token.seat, setting.token.token
    wrong = [
        (right, seat, bytes(32)),
        (str(uuid.uuid4()), seat, token),
        (setting.hand, seat, token),
        (setting.finished.table_hand.hand_id, seat, bytes(32)),
        (right, 9, token),
        (right, seat, b""),
    ]

    def call(hand: str, seat: int, token: bytes) -> Call:
        if method == "WatchHand":
            watch = table_pb2.WatchHandRequest(hand_id=hand, seat=seat, token=token)
            return lambda: next(setting.public.table.WatchHand(watch))
        act = table_pb2.ActRequest(request_id=rid(), hand_id=hand, seat=seat, token=token, action=7, amount=0)
        return lambda: setting.public.table.Act(act)

    alike(*(call(*each) for each in wrong), count=CALLS if method == "Act" else FEWER)


def test_over_a_stream_as_well(setting: Setting) -> None:
    """What is refused for a hand of another's leaves no earlier than the time that hides the look."""
    hands = [str(uuid.uuid4()), setting.hand, setting.over] * 10
    one = [
        dealer_pb2.PlayRequest(correlation_id=str(number), get_hand=dealer_pb2.GetHandRequest(hand_id=hand))
        for number, hand in enumerate(hands)
    ]
    start = time.perf_counter()
    told = list(setting.b.dealer.PlayHands(iter([dealer_pb2.PlayHandsRequest(requests=one)])))
    assert time.perf_counter() - start >= ALIKE_SECONDS
    errors = {part.error.SerializeToString() for message in told for part in message.responses}
    assert len(errors) == 1
    assert sum(len(message.responses) for message in told) == len(hands)
