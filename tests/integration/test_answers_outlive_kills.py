"""Killed in the middle of its load, again and again, the dealer gives every answer that it ever gave once more."""

import random
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import table_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, Running, run_tool, running

ROOMS = 6


class Line:
    """The way to a dealer that is killed and started again, for many threads."""

    def __init__(self, address: str) -> None:
        self._changed = threading.Condition()
        self.channel = grpc.insecure_channel(address)
        self.closing = False

    def connect(self, address: str) -> None:
        """Says where the dealer is now."""
        with self._changed:
            self.channel.close()
            self.channel = grpc.insecure_channel(address)
            self._changed.notify_all()

    def ask(self, method: str, data: bytes) -> bytes:
        """Asks until there is an answer, whoever has been killed meanwhile."""
        while True:
            channel = self.channel
            try:
                return bytes(channel.unary_unary(method)(data, timeout=60))
            except (grpc.RpcError, ValueError) as error:  # a channel that was closed says so by a ValueError
                code = error.code() if isinstance(error, grpc.RpcError) else grpc.StatusCode.UNAVAILABLE
                assert code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED), error
            with self._changed:
                self._changed.wait_for(lambda before=channel: self.channel is not before, 0.2)


class Teller:
    """A room that plays hand after hand, and keeps every request with the bytes of its answer."""

    def __init__(self, line: Line, number: int) -> None:
        self.line, self.rng, self.number = line, random.Random(number), number
        self.given: list[tuple[str, bytes, bytes]] = []

    def play(self) -> None:
        """Plays until the line closes, and its last hand to its end."""
        while not self.line.closing:
            if self.number % 3:
                self._by_hand()
            else:
                self._refereed()

    def _by_hand(self) -> None:
        rng = self.rng
        hand = self._ask(
            pb, "OpenHand", table=f"t{self.number}", game=rng.choice([1, 2]), seats=[1, 2, 3], reveal=rng.choice([1, 2])
        )
        name = hand.hand.hand_id
        for street in STREETS:
            dealt = self._ask(pb, "DealStreet", hand_id=name, street=street)
            if rng.random() < 0.1 and len(dealt.hand.live_seats) > 2:
                self._ask(pb, "FoldSeat", hand_id=name, seat=dealt.hand.live_seats[0])
        self._ask(pb, "CloseHand", hand_id=name)

    def _refereed(self) -> None:
        started = self._ask(
            table_pb2,
            "StartHand",
            table=f"t{self.number}",
            game=t.GAME_SEVEN_CARD_STUD,
            stakes=table_pb2.Stakes(ante=5, bring_in=10, small_bet=20, big_bet=40),
            seats=[table_pb2.SeatStack(seat=seat, stack=500) for seat in (1, 2, 3)],
            reveal=t.REVEAL_PUBLIC,
            action_seconds=600,
        )
        view, tokens = started.table_hand, {each.seat: each.token for each in started.tokens}
        while not view.finished:
            option = self.rng.choice(list(view.options))
            chosen = {"action": option.action, "amount": option.amount}
            seat = view.to_act
            view = self._ask(table_pb2, "Act", hand_id=view.hand_id, seat=seat, token=tokens[seat], **chosen).table_hand

    def _ask(self, module: Any, name: str, **fields: Any) -> Any:
        request_id = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        data = getattr(module, f"{name}Request")(request_id=request_id, **fields).SerializeToString()
        service = "DealerService" if module is pb else "TableService"
        method = f"/dealer.v1.{service}/{name}"
        answer = self.line.ask(method, data)
        self.given.append((method, data, answer))
        return getattr(module, f"{name}Response").FromString(answer)


def hold_again(line: Line, given: list[tuple[str, bytes, bytes]]) -> None:
    """Asks again: each answer must be the one that was given, to the byte."""
    for method, data, answer in given:
        assert line.ask(method, data) == answer, method


def kill_and_compare(dealer: Running, folder: Path, kills: int) -> None:
    line = Line(dealer.address)
    tellers = [Teller(line, number) for number in range(ROOMS)]
    failed: list[BaseException] = []

    def playing(teller: Teller) -> None:
        try:
            teller.play()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=playing, args=(teller,)) for teller in tellers]
    for thread in threads:
        thread.start()
    chance = random.Random(kills)
    try:
        for _ in range(kills):
            known, deadline = sum(len(teller.given) for teller in tellers), time.monotonic() + 60
            while sum(len(teller.given) for teller in tellers) < known + 10 * ROOMS and time.monotonic() < deadline:
                assert not failed, failed
                time.sleep(0.005)
            dealer.kill()
            line.connect(dealer.start().address)
            before = [each for teller in tellers for each in list(teller.given)]
            hold_again(line, chance.sample(before, min(20, len(before))))
    finally:
        line.closing = True
        for thread in threads:
            thread.join(120)
    assert not failed, failed
    given = [each for teller in tellers for each in teller.given]
    assert len(given) > 10 * ROOMS * kills
    hold_again(line, given)
    done = dealer.audit(folder / "log", "--escrow-key", folder / "auditor.key")
    assert done.returncode == 0, done.stdout
    print(f"{kills} kills, {len(given)} answers, each given twice")


@pytest.fixture
def dealer(tmp_path: Path):
    run_tool("dealer", "escrow-keygen", tmp_path / "auditor")
    with running(tmp_path / "data", "--escrow-public-key", str(tmp_path / "auditor.pub")) as dealer:
        yield dealer


def test_every_answer_outlives_three_kills(dealer: Running, tmp_path: Path) -> None:
    kill_and_compare(dealer, tmp_path, 3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_answer_outlives_two_hundred_kills(dealer: Running, tmp_path: Path) -> None:
    kill_and_compare(dealer, tmp_path, 200)
