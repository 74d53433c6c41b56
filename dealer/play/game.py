"""A session: hand after hand of one person against simple seats, each seat with no more than its own view."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import grpc

from dealer.client.calls import Caller, Retry
from dealer.client.channel import OPTIONS
from dealer.client.checks import Asked
from dealer.client.log import LogView
from dealer.client.watched import WatchedHand
from dealer.core.hand import Game, Reveal
from dealer.games.plans import SEVEN_CARD_STUD_HI_LO
from dealer.play.kept import Kept
from dealer.play.keyboard import aside
from dealer.play.screen import Screen
from dealer.play.seats import choose
from dealer.play.table import TableSeen
from dealer.v1 import log_pb2_grpc, table_pb2_grpc, types_pb2
from dealer.v1 import table_pb2 as pb

PERSON = 1
STAKES = pb.Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
BUY_IN = 4000
ACTION_SECONDS = 600

Ask = Callable[[TableSeen], pb.ActionOption | None]
"""Asks the person what to do; None: the person leaves."""


@dataclass(slots=True)
class Session:
    """One person's evening at a table.

    Attributes:
        address: where the dealer is.
        key: the log's verifier key, which every check is made against.
        game: stud or Hi/Lo.
        stacks: what each seat has; seat 1 is the person's.
        screen: where it is drawn.
        ask: asks the person.
        kept: what is kept of the hands, and what was seen of the log from one to the next.
    """

    address: str
    key: str
    game: Game
    stacks: dict[int, int]
    screen: Screen
    ask: Ask
    kept: Kept
    table: str = field(default_factory=lambda: f"play-{os.urandom(4).hex()}")
    number: int = 0
    left: bool = False

    async def hand(self) -> None:
        """Plays one hand to its end; seats that have lost everything buy in again first.

        Raises:
            CheckError: something that the dealer said does not hold.
            CallError: the dealer did not answer.
        """
        self.stacks = {seat: stack or BUY_IN for seat, stack in self.stacks.items()}
        self.number += 1
        async with grpc.aio.insecure_channel(self.address, options=OPTIONS) as channel:
            stub: Any = table_pb2_grpc.TableServiceStub(channel)
            calls = Caller(Retry(), uuid4)
            log = LogView(log_pb2_grpc.LogServiceStub(channel), calls, self.key, self.kept.folder)
            started = await calls.change("StartHand", stub.StartHand, self._request())
            hand, tokens = started.table_hand.hand_id, {each.seat: each.token for each in started.tokens}
            players = [_Player(stub, calls, hand, seat, token) for seat, token in tokens.items()]
            seats = [asyncio.create_task(player.play()) for player in players if player.seat != PERSON]
            person = next(player for player in players if player.seat == PERSON)
            try:
                await self._follow(person, WatchedHand(log, self._asked()))
                await asyncio.gather(*seats)
            finally:
                for task in seats:
                    task.cancel()

    async def _follow(self, person: "_Player", checked: WatchedHand) -> None:
        """Shows the person everything as it comes, checked, and acts as the person says."""
        seen = TableSeen(hi_lo=self.game is SEVEN_CARD_STUD_HI_LO)
        async for event in person.events():
            cards = await checked.take(event)
            seen.take(event, cards)
            kind = event.WhichOneof("event")
            if kind == "hand_started" and checked.commit is not None:
                self.kept.keep(person.hand, "commit", checked.commit)
                self.screen.started(event.hand_started, checked.commit)
            elif kind == "street_dealt":
                self.screen.cards(seen.street, cards)
            elif kind == "seat_prompted" and seen.to_act == PERSON and not self.left:
                self.screen.table(seen)
                option = await aside(lambda: self.ask(seen))
                if option is None:
                    self.left = True
                    await person.leave()
                else:
                    await person.act(option)
            elif kind == "hand_finished" and checked.closed is not None:
                self.kept.keep(person.hand, "close", checked.closed)
                self.screen.finished(checked.closed, checked.deck is not None, self.kept.command(person.hand))
            else:
                self.screen.happened(event)
        self.stacks = {number: seat.stack for number, seat in seen.seats.items()}

    def _request(self) -> pb.StartHandRequest:
        hi_lo = self.game is SEVEN_CARD_STUD_HI_LO
        return pb.StartHandRequest(
            table=self.table,
            game=types_pb2.GAME_SEVEN_CARD_STUD_HI_LO if hi_lo else types_pb2.GAME_SEVEN_CARD_STUD,
            stakes=STAKES,
            seats=[pb.SeatStack(seat=seat, stack=stack) for seat, stack in self.stacks.items()],
            reveal=types_pb2.REVEAL_PUBLIC,
            action_seconds=ACTION_SECONDS,
        )

    def _asked(self) -> Asked:
        seats = tuple(self.stacks)
        return Asked(self.table, self.number, 0, self.game, "standard52", seats, Reveal.PUBLIC, ())


@dataclass(frozen=True, slots=True)
class _Player:
    """One seat at the service: it watches with its own token, and acts with it."""

    stub: Any
    calls: Caller
    hand: str
    seat: int
    token: bytes = field(repr=False)

    async def events(self) -> Any:
        """Everything that this seat may see."""
        async for response in self.stub.WatchHand(
            pb.WatchHandRequest(hand_id=self.hand, seat=self.seat, token=self.token)
        ):
            yield response.event

    async def act(self, option: pb.ActionOption) -> None:
        """Does one of the seat's options."""
        await self.calls.change(
            "Act",
            self.stub.Act,
            pb.ActRequest(
                hand_id=self.hand, seat=self.seat, token=self.token, action=option.action, amount=option.amount
            ),
        )

    async def leave(self) -> None:
        """Leaves the hand."""
        request = pb.LeaveHandRequest(hand_id=self.hand, seat=self.seat, token=self.token)
        await self.calls.change("LeaveHand", self.stub.LeaveHand, request)

    async def play(self) -> None:
        """Plays the seat to the hand's end, as simple seats do."""
        cards: list[str] = []
        async for event in self.events():
            cards += [card.card for card in event.street_dealt.cards if card.seat == self.seat]
            if event.seat_prompted.seat == self.seat:
                await self.act(choose(event.seat_prompted.options, cards))
