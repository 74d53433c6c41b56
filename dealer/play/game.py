"""A session: hand after hand of one person against simple seats, each seat with no more than its own view.

The person's seat is sealed: its down cards come encrypted to a key that this program draws for each hand.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from dealer.client import Client, Seat, SeatKey, Stakes
from dealer.core.hand import Game
from dealer.games.plans import SEVEN_CARD_STUD_HI_LO
from dealer.play.kept import Kept
from dealer.play.keyboard import aside
from dealer.play.screen import Screen
from dealer.play.seats import choose
from dealer.play.table import TableSeen
from dealer.v1 import table_pb2 as pb

PERSON = 1
STAKES = Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
BUY_IN = 4000
ACTION_SECONDS = 600

Ask = Callable[[TableSeen], pb.ActionOption | None]
"""Asks the person what to do; None: the person leaves."""


@dataclass(slots=True)
class Session:
    """One person's evening at a table.

    Attributes:
        game: stud or Hi/Lo.
        stacks: what each seat has; seat 1 is the person's.
        screen: where it is drawn.
        ask: asks the person.
        kept: what is kept of the hands.
    """

    game: Game
    stacks: dict[int, int]
    screen: Screen
    ask: Ask
    kept: Kept
    table: str = field(default_factory=lambda: f"play-{os.urandom(4).hex()}")
    number: int = 0
    left: bool = False

    async def hand(self, client: Client) -> None:
        """Plays one hand to its end; seats that have lost everything buy in again first.

        Args:
            client: lives as long as the session, and remembers the log from one hand to the next.

        Raises:
            CheckError: something that the dealer said does not hold.
            CallError: the dealer did not answer.
        """
        self.stacks = {seat: stack or BUY_IN for seat, stack in self.stacks.items()}
        self.number += 1
        key = SeatKey.draw()
        table = await client.start_hand(
            self.table,
            self.stacks,
            STAKES,
            game=self.game.name,
            action_seconds=ACTION_SECONDS,
            number=self.number,
            seat_keys={PERSON: key.public},
        )
        person = table.seat(PERSON, key=key, allow_test=True)  # a double's key was asked for by name
        seats = [_play(table.seat(seat)) for seat in self.stacks if seat != PERSON]
        tasks = [asyncio.create_task(each) for each in (self._follow(person), *seats)]
        try:
            await asyncio.gather(*tasks)  # what goes wrong at one seat ends the hand for all: nobody waits for it
        finally:
            for task in tasks:
                task.cancel()

    async def _follow(self, person: Seat) -> None:
        """Shows the person everything as it comes, checked, and acts as the person says."""
        seen = TableSeen(hi_lo=self.game is SEVEN_CARD_STUD_HI_LO)
        async for happened in person.events():
            event, cards = happened.event, happened.cards
            seen.take(event, cards)
            if happened.kind == "hand_started" and person.commit is not None:
                self.screen.started(event.hand_started, person.commit)
            elif happened.kind == "street_dealt":
                self.screen.cards(seen.street, cards)
            elif happened.kind == "seat_prompted" and person.options and not self.left:
                self.screen.table(seen)
                option = await aside(lambda: self.ask(seen))
                if option is None:
                    self.left = True
                    await person.leave()
                else:
                    await person.act(*person.options[list(seen.options).index(option)])
            elif happened.kind == "hand_finished" and person.closed is not None:
                self.kept.save(person)
                self.screen.finished(person.closed, person.deck is not None, self.kept.command(person.hand_id))
            else:
                self.screen.happened(event)
        self.stacks = person.stacks


async def _play(seat: Seat) -> None:
    """Plays a seat to the hand's end, as simple seats do."""
    async for happened in seat.events():
        if seat.options:
            cards = [str(card) for card in seat.cards_of(seat.seat)]
            options = happened.event.seat_prompted.options
            chosen = choose(options, cards)
            await seat.act(*seat.options[list(options).index(chosen)])
