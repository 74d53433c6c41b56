"""A room that has the referee run its hands, and simple seats that play them."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from dealer.v1 import table_pb2 as pb
from dealer.v1 import table_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.integration.running import rid

STAKES = pb.Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
Choice = Callable[[list[pb.ActionOption]], pb.ActionOption]


def check_or_call(options: list[pb.ActionOption]) -> pb.ActionOption:
    return next(o for o in options if o.action in (pb.ACTION_BRING_IN, pb.ACTION_CHECK, pb.ACTION_CALL))


def at_random(rng: random.Random, folds: float = 0.1) -> Choice:
    """A seat that does anything that it may, and folds seldom."""

    def choose(options: list[pb.ActionOption]) -> pb.ActionOption:
        stays = [o for o in options if o.action != pb.ACTION_FOLD]
        return options[-1] if rng.random() < folds and options[-1].action == pb.ACTION_FOLD else rng.choice(stays)

    return choose


@dataclass
class Started:
    """A hand under way, and its seats' tokens."""

    stub: Any
    hand: pb.TableHand
    tokens: Mapping[int, bytes]

    @property
    def id(self) -> str:
        return self.hand.hand_id

    def act_request(self, action: int, amount: int = 0, **fields: Any) -> pb.ActRequest:
        seat = fields.pop("seat", self.hand.to_act)
        token = fields.pop("token", self.tokens.get(seat, b""))
        request_id = fields.pop("request_id", rid())
        return pb.ActRequest(
            request_id=request_id, hand_id=self.id, seat=seat, token=token, action=action, amount=amount, **fields
        )

    async def act(self, choose: Choice = check_or_call) -> pb.TableHand:
        option = choose(list(self.hand.options))
        answer = await self.stub.Act(self.act_request(option.action, option.amount))
        self.hand = answer.table_hand
        return self.hand

    async def play_out(self, choose: Choice = check_or_call) -> pb.TableHand:
        while not self.hand.finished:
            await self.act(choose)
        return self.hand

    async def get(self) -> pb.TableHand:
        return (await self.stub.GetTableHand(pb.GetTableHandRequest(hand_id=self.id))).table_hand

    async def leave(self, seat: int) -> pb.TableHand:
        request = pb.LeaveHandRequest(request_id=rid(), hand_id=self.id, seat=seat, token=self.tokens[seat])
        self.hand = (await self.stub.LeaveHand(request)).table_hand
        return self.hand

    def watch(self, seat: int = 0, after: int = 0, token: bytes | None = None) -> Any:
        token = self.tokens.get(seat, b"") if token is None else token
        return self.stub.WatchHand(pb.WatchHandRequest(hand_id=self.id, seat=seat, token=token, after=after))

    async def seen(self, seat: int = 0, after: int = 0) -> list[pb.TableEvent]:
        """Everything that a seat sees of a hand to its end."""
        return [response.event async for response in self.watch(seat, after)]


@dataclass
class TableRoom:
    channel: grpc.aio.Channel
    stub: Any = field(init=False)

    def __post_init__(self) -> None:
        self.stub = table_pb2_grpc.TableServiceStub(self.channel)

    def request(self, stacks: Mapping[int, int] | None = None, **fields: Any) -> pb.StartHandRequest:
        stacks = stacks or dict.fromkeys((1, 2, 3), 1000)
        usual: dict[str, Any] = {
            "request_id": rid(),
            "table": "t",
            "game": t.GAME_SEVEN_CARD_STUD,
            "stakes": STAKES,
            "seats": [pb.SeatStack(seat=seat, stack=stack) for seat, stack in stacks.items()],
            "reveal": t.REVEAL_PUBLIC,
        }
        return pb.StartHandRequest(**{**usual, **fields})

    async def start(self, stacks: Mapping[int, int] | None = None, **fields: Any) -> Started:
        answer = await self.stub.StartHand(self.request(stacks, **fields))
        return Started(self.stub, answer.table_hand, {token.seat: token.token for token in answer.tokens})


async def play_hands(clients: Sequence[TableRoom], table: str, hands: int, seed: int) -> int:
    """Plays hands at one table, every seat by a client of its own, with the stacks carried on.

    Returns:
        How many chips there are at the end.
    """
    rng = random.Random(seed)
    room, *players = rng.sample(list(clients), len(clients))
    stacks = {seat: rng.randint(200, 3000) for seat in rng.sample(range(1, 9), rng.randint(2, 8))}
    for number in range(hands):
        stacks = {seat: stack or 1000 for seat, stack in stacks.items()}
        brought = sum(stacks.values())
        game = rng.choice([t.GAME_SEVEN_CARD_STUD, t.GAME_SEVEN_CARD_STUD_HI_LO])
        started = await room.start(stacks, table=table, game=game)
        assert started.hand.hand.number == number + 1
        watcher = asyncio.create_task(started.seen(rng.choice([0, *stacks])))
        while not started.hand.finished:
            started.stub = players[started.hand.to_act % len(players)].stub
            await started.act(at_random(rng))
        over = started.hand
        events = await watcher
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert events[-1].WhichOneof("event") == "hand_finished"
        stacks = {seat.seat: seat.stack for seat in over.seats}
        assert sum(stacks.values()) == brought
        assert sum(pot.amount for pot in over.pots) == sum(payout.amount for payout in over.payouts)
    return sum(stacks.values())
