"""Who uses a simulated dealer: rooms, tables with players and watchers, an auditor, an operator; each a coroutine."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol
from uuid import UUID

import grpc

from dealer.client.calls import Caller, Retry
from dealer.client.errors import CallError
from dealer.core.seed import contribution_commitment
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2, operator_pb2, table_pb2
from dealer.v1 import types_pb2 as t

_STREETS = (t.STREET_THIRD, t.STREET_FOURTH, t.STREET_FIFTH, t.STREET_SIXTH, t.STREET_SEVENTH)
_PAUSE = 0.2


class Ask(Protocol):
    """What people know of the world: a dealer that may answer, and when to go home."""

    rng: random.Random
    home: bool

    async def call(self, method: str, request: Any, seconds: float = 30.0) -> Any:
        """Sends a request; raises `grpc.aio.AioRpcError`."""

    async def watch(self, request: table_pb2.WatchHandRequest, seen: Callable[[int], None]) -> None:
        """Watches a hand until it ends or the watcher is sent away; `seen` is given each event's number."""

    def finished(self, hand: str) -> None:
        """Notes that a hand is over."""


class Person:
    """Somebody with the client kit's retries and request ids from the world's chance."""

    def __init__(self, world: Ask, name: str) -> None:
        self.world, self.name = world, name
        self.rng = random.Random(world.rng.random())
        self._kit = Caller(Retry(seconds=10.0), self._id)

    async def live(self) -> None:
        """Does what such people do, until the world goes home."""
        raise NotImplementedError

    def _id(self) -> UUID:
        return UUID(int=self.rng.getrandbits(128), version=4)

    async def pause(self, seconds: float = _PAUSE) -> None:
        """Does nothing for a while."""
        await asyncio.sleep(seconds * (0.5 + self.rng.random()))

    async def change(self, method: str, request: Any) -> Any:
        """Has something changed, however long the dealer is away; now and then asks again under the same id."""
        while True:
            try:
                answer = await self._kit.change(method, self._calling(method), request)
            except CallError as error:
                if error.code is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await self.pause()
            else:
                break
        if self.rng.random() < 0.1:
            await self.again(method, request)
        return answer

    async def again(self, method: str, request: Any) -> None:
        """Asks the same under the same id, once; whoever holds the promises compares."""
        with suppress(grpc.aio.AioRpcError):
            await self.world.call(method, request)

    async def look(self, method: str, request: Any) -> Any:
        """Asks for something, however long the dealer is away."""
        while True:
            try:
                return await self._kit.ask(method, self._calling(method), request)
            except CallError as error:
                if error.code is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await self.pause()

    def _calling(self, method: str) -> Any:
        return lambda request, timeout: self.world.call(method, request, timeout)


class Room(Person):
    """A room that deals by hand at a table of its own."""

    async def live(self) -> None:
        number = 0
        while not self.world.home:
            number += 1
            try:
                await self._play(number)
            except CallError as error:
                if error.reason not in ("HAND_LOST", "HAND_CLOSED", "ANSWER_LOST", "TOO_MANY_HANDS"):
                    raise
                number = await self._next_number() - 1

    async def _next_number(self) -> int:
        """Clears the table of a hand that this room cannot go on with, and says which number comes next."""
        probe = pb.OpenHandRequest(table=self.name, game=t.GAME_FREE_DRAW, seats=[1], reveal=t.REVEAL_PUBLIC)
        while True:
            try:
                opened = await self.change("OpenHand", probe)
            except CallError as error:
                if error.reason == "TABLE_BUSY":
                    await self._void(error.metadata["hand_id"])
                    continue
                if error.reason == "ANSWER_LOST":
                    continue
                raise
            await self._void(opened.hand.hand_id)
            return int(opened.hand.number) + 1

    async def _void(self, hand: str) -> None:
        try:
            await self.change("VoidHand", pb.VoidHandRequest(hand_id=hand, reason=t.VOID_REASON_FAILURE))
        except CallError as error:
            if error.reason not in ("HAND_LOST", "HAND_CLOSED", "ANSWER_LOST"):
                raise

    async def _play(self, number: int) -> None:
        rng = self.rng
        stud = rng.random() < 0.8
        seats = rng.sample(range(1, 256), rng.randint(2, 8) if stud else rng.randint(1, 5))
        game = rng.choice([t.GAME_SEVEN_CARD_STUD, t.GAME_SEVEN_CARD_STUD_HI_LO]) if stud else t.GAME_FREE_DRAW
        values = {f"seat-{n}": rng.randbytes(32) for n in range(rng.randint(1, 3))} if rng.random() < 0.4 else {}
        opening = pb.OpenHandRequest(
            table=self.name,
            game=game,
            seats=seats,
            number=number,
            reveal=rng.choice([t.REVEAL_PUBLIC, t.REVEAL_SEALED]),
            contributors=[
                pb.Contributor(id=n, commitment=contribution_commitment(self.name, number, n, v))
                for n, v in values.items()
            ],
        )
        hand = (await self.change("OpenHand", opening)).hand.hand_id
        if values:
            await self._contribute(hand, values)
        if stud:
            await self._stud(hand, list(seats))
        else:
            await self._draw(hand, list(seats))
        if rng.random() < 0.3:
            await self.look("GetHand", pb.GetHandRequest(hand_id=hand))
        self.world.finished(hand)

    async def _contribute(self, hand: str, values: dict[str, bytes]) -> None:
        try:
            for name, value in values.items():
                if self.rng.random() < 0.8:
                    request = pb.SubmitEntropyRequest(hand_id=hand, contributor=name, value=value)
                    await self.change("SubmitEntropy", request)
            if self.rng.random() < 0.3:
                await self.change("LockDeck", pb.LockDeckRequest(hand_id=hand))
                return
        except CallError as error:
            if error.reason != "HAND_LOCKED":  # its deadline came first
                raise
        while (await self.look("GetHand", pb.GetHandRequest(hand_id=hand))).hand.state == t.HAND_STATE_OFFERED:
            await self.pause(4)

    async def _stud(self, hand: str, seats: list[int]) -> None:
        rng, dealt = self.rng, []
        for street in _STREETS:
            if len(seats) == 1:
                break
            if rng.random() < 0.03:
                await self._void(hand)
                return
            dealt += (await self.change("DealStreet", pb.DealStreetRequest(hand_id=hand, street=street))).cards
            while len(seats) > 1 and rng.random() < 0.25:
                seat = seats.pop(rng.randrange(len(seats)))
                await self.change("FoldSeat", pb.FoldSeatRequest(hand_id=hand, seat=seat))
            if rng.random() < 0.1:
                await self.look("GetHand", pb.GetHandRequest(hand_id=hand))
        down = [card.position for card in dealt if card.seat in seats and card.face == t.FACE_DOWN]
        if down and rng.random() < 0.5:
            await self.change("ShowCards", pb.ShowCardsRequest(hand_id=hand, positions=sorted(rng.sample(down, 1))))
        await self.change("CloseHand", pb.CloseHandRequest(hand_id=hand))

    async def _draw(self, hand: str, seats: list[int]) -> None:
        for _ in range(self.rng.randint(0, 3)):
            draws = [pb.Draw(seat=self.rng.choice(seats), face=self.rng.choice([t.FACE_DOWN, t.FACE_UP]))]
            await self.change("DrawCards", pb.DrawCardsRequest(hand_id=hand, draws=draws))
        await self.change("CloseHand", pb.CloseHandRequest(hand_id=hand))


class Table(Person):
    """A referee's table: its room, its players, and somebody who watches."""

    async def live(self) -> None:
        while not self.world.home:
            try:
                await self._play()
            except CallError as error:
                if error.reason not in ("HAND_LOST", "HAND_CLOSED", "ANSWER_LOST", "TABLE_BUSY", "HAND_NOT_FOUND"):
                    raise
                await self.pause(12)  # whoever sits at a hand that was left behind runs out of time

    async def _play(self) -> None:
        rng = self.rng
        seats = rng.sample(range(1, 256), rng.randint(2, 5))
        started = await self.change(
            "StartHand",
            table_pb2.StartHandRequest(
                table=self.name,
                game=rng.choice([t.GAME_SEVEN_CARD_STUD, t.GAME_SEVEN_CARD_STUD_HI_LO]),
                stakes=table_pb2.Stakes(ante=5, bring_in=10, small_bet=20, big_bet=40),
                seats=[table_pb2.SeatStack(seat=seat, stack=rng.choice([5, 60, 1000])) for seat in seats],
                reveal=rng.choice([t.REVEAL_PUBLIC, t.REVEAL_SEALED]),
                action_seconds=10,
            ),
        )
        view, tokens = started.table_hand, {each.seat: each.token for each in started.tokens}
        eyes = rng.choice([0, *seats])
        watcher = asyncio.ensure_future(self._watch(view.hand_id, eyes, tokens.get(eyes, b"")))
        try:
            await self._act(view, tokens)
        except CallError:
            watcher.cancel()
            raise
        await asyncio.wait([watcher], timeout=60)
        watcher.cancel()
        self.world.finished(view.hand_id)

    async def _act(self, view: Any, tokens: dict[int, bytes]) -> None:
        hand, rng = view.hand_id, self.rng
        while not view.finished:
            seat = view.to_act
            choice = rng.random()
            try:
                if choice < 0.03:
                    await self.pause(12)  # too long
                elif choice < 0.06:
                    leaving = table_pb2.LeaveHandRequest(hand_id=hand, seat=seat, token=tokens[seat])
                    view = (await self.change("LeaveHand", leaving)).table_hand
                    continue
                else:
                    option = rng.choice(list(view.options))
                    acting = table_pb2.ActRequest(hand_id=hand, seat=seat, token=tokens[seat])
                    acting.action, acting.amount = option.action, option.amount
                    view = (await self.change("Act", acting)).table_hand
                    continue
            except CallError as error:
                if error.reason not in ("OUT_OF_TURN", "ACTION_NOT_ALLOWED", "SEAT_FOLDED"):
                    raise
            view = (await self.look("GetTableHand", table_pb2.GetTableHandRequest(hand_id=hand))).table_hand

    async def _watch(self, hand: str, seat: int, token: bytes) -> None:
        after = 0

        def seen(sequence: int) -> None:
            nonlocal after
            after = sequence

        while True:
            request = table_pb2.WatchHandRequest(hand_id=hand, seat=seat, token=token, after=after)
            try:
                return await self.world.watch(request, seen)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    return None  # given up, or lost
            await self.pause()


class Auditor(Person):
    """Reads the log beside everybody."""

    async def live(self) -> None:
        while not self.world.home:
            await self.look("GetCheckpoint", log_pb2.GetCheckpointRequest())
            await self.pause(1.5)


class Operator(Person):
    """Looks after the dealer: asks how it is, voids a hand now and then, drains it and lets it go on."""

    async def live(self) -> None:
        while not self.world.home:
            await self.pause(1.5)
            choice = self.rng.random()
            if choice < 0.3:
                await self._void_one()
            elif choice < 0.4:
                await self.look("Drain", operator_pb2.DrainRequest())
                await self.pause(2)
                await self.look("Resume", operator_pb2.ResumeRequest())
            else:
                await self.look("GetStatus", operator_pb2.GetStatusRequest())

    async def clear(self) -> None:
        """Voids every hand that is left."""
        while await self._void_one():
            pass

    async def _void_one(self) -> bool:
        """Voids a hand, and says whether there was one."""
        listed = (await self.look("ListAllHands", operator_pb2.ListAllHandsRequest())).hands
        if not listed:
            return False
        chosen = self.rng.choice(list(listed)).hand_id
        try:
            await self.change("VoidAnyHand", operator_pb2.VoidAnyHandRequest(hand_id=chosen, note="a simulated reason"))
        except CallError as error:
            if error.reason not in ("HAND_LOST", "HAND_CLOSED", "ANSWER_LOST"):
                raise
        return True
