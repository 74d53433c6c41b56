"""The hands that the referee runs: what is done to them, who watches them, and their action clocks.

What is done to a hand happens on the writer's thread, in a unit of change. Once it is durable the loop wakes the
watchers and sets the clocks.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

import structlog

from dealer.core.hand import Status, VoidReason, over
from dealer.errors import CutcardError, Reason, Refused
from dealer.service.referee import record, steps
from dealer.service.referee.clocks import Clocks, seconds_left
from dealer.service.referee.record import RefereedHand
from dealer.service.referee.watchers import Watcher, Watchers
from dealer.service.writer import hands
from dealer.service.writer.change import Unit
from dealer.service.writer.engine import Engine
from dealer.service.writer.health import draining
from dealer.service.writer.live import LiveHand
from dealer.table.betting import Turn

_log = structlog.get_logger()
_AGAIN_SECONDS = 1.0


class Tables:
    """What the referee's hands need beside their pure course. Made on the loop that it lives on."""

    def __init__(self, engine: Engine) -> None:
        """Starts with no watcher and no clock; `recover` reads the hands in play."""
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._watchers = Watchers()
        self._clocks = Clocks(self._loop, self._time_is_up)
        self._tasks: set[asyncio.Task[None]] = set()

    async def recover(self) -> None:
        """Reads the hands in play back, sets their clocks, and shows watchers what they missed meanwhile."""
        known = self._watchers.hands() | self._clocks.hands()

        def run(unit: Unit) -> None:
            in_play = {live.state.hand for live in self._engine.state.live.values() if live.referee}
            for hand in known | in_play:
                try:
                    refereed = self.load(unit, hand)
                except Refused as refused:
                    if hand in in_play:  # its seed can be read, but its record is gone
                        _log.error("a referee's hand cannot go on and is void", error=str(refused))
                        hands.void_hand(unit, hand, VoidReason.FAILURE)
                    else:
                        unit.on_loop.append(partial(self.give_up, hand, refused))
                else:
                    unit.on_loop.append(partial(self._show, refereed))

        await self._engine.do(run)

    def load(self, unit: Unit, hand: bytes) -> RefereedHand:
        """Returns a hand as it stands now. On the writer's thread.

        Raises:
            Refused: the referee runs no such hand, its answers have expired, it was given up or is lost, or its record
                cannot be read any more.
        """
        live = unit.hand(hand)
        state = live.state
        if state.status is Status.LOST:
            raise over(state)
        refereed = unit.record_of(hand, record.read_record) if live.referee else None
        if not isinstance(refereed, RefereedHand):
            raise Refused(Reason.HAND_NOT_FOUND, "the referee runs no such hand")
        if refereed.state.waits_for is not None and not state.in_play:
            raise over(state)
        return refereed

    def recorded(self, unit: Unit, hand: bytes) -> RefereedHand:
        """Returns a hand as its record has it, in whatever state it is. On the writer's thread.

        Raises:
            Refused: there is no such hand, the referee does not run it, or its record is not kept any more.
        """
        live = unit.hand(hand)
        refereed = unit.record_of(hand, record.read_record) if live.referee else None
        if not isinstance(refereed, RefereedHand):
            raise Refused(Reason.HAND_NOT_FOUND, "the referee runs no such hand")
        return refereed

    def save(self, unit: Unit, refereed: RefereedHand) -> None:
        """Makes a hand's new state part of a unit of change. On the writer's thread."""
        kept = replace(refereed, fresh=())
        before = unit.known_record(refereed.hand)
        if not isinstance(before, RefereedHand) or before.prompt != refereed.prompt:
            unit.asked.add(refereed.hand)
        unit.record(refereed.hand, b"".join(refereed.fresh), kept)
        unit.on_loop.append(partial(self._show, kept))

    def change(self, unit: Unit, hand: bytes, step: Callable[[RefereedHand], RefereedHand]) -> RefereedHand:
        """Carries out a step of a hand and everything that follows from it. On the writer's thread."""
        before = self.load(unit, hand)
        refereed = steps.follow(unit, before, step(before))
        self.save(unit, refereed)
        return refereed

    def lock(self, unit: Unit, hand: bytes) -> RefereedHand:
        """Locks an offered hand's deck and runs the hand to the first prompt. On the writer's thread.

        Raises:
            Refused: it is locked already, or over.
        """
        return self.change(unit, hand, partial(steps.lock, unit))

    def lock_any(self, unit: Unit, hand: bytes) -> None:
        """Locks an offered hand's deck, whoever runs it. On the writer's thread.

        Raises:
            Refused: it is locked already, or over.
        """
        if unit.hand(hand).referee:
            self.lock(unit, hand)
        else:
            hands.lock_deck(unit, hand)

    def void_any(self, unit: Unit, hand: bytes, reason: VoidReason) -> LiveHand:
        """Gives a hand up, whoever runs it, and returns it. On the writer's thread.

        Raises:
            Refused: it is over.
        """
        if unit.hand(hand).referee:
            self.void(unit, hand, reason)
            return unit.hand(hand)
        return hands.void_hand(unit, hand, reason)

    def void(self, unit: Unit, hand: bytes, reason: VoidReason) -> RefereedHand:
        """Gives a hand up: every seat has what it brought. On the writer's thread.

        Raises:
            Refused: it is over.
        """
        refereed = steps.void(unit, self.load(unit, hand), reason)
        self.save(unit, refereed)
        return refereed

    def milliseconds_left(self, refereed: RefereedHand) -> int:
        """Returns what the seat to act has left: all of its time if its clock is not set yet. On any thread."""
        left = self._clocks.milliseconds_left(refereed.hand, refereed.prompt)
        return 1000 * refereed.action_seconds if left is None else left

    def has_clock(self, hand: bytes) -> bool:
        """Tells whether the time of the seat to act runs. On the loop."""
        return hand in self._clocks.hands()

    @property
    def watched(self) -> int:
        """How many watch."""
        return self._watchers.count

    def watching(self, hand: bytes) -> AbstractContextManager[Watcher]:
        """Yields a watcher that is shown everything that happens to a hand from now on."""
        return self._watchers.watching(hand)

    def close(self) -> None:
        """Stops the clocks and sends the watchers away."""
        self._clocks.stop_all()
        self._watchers.end_all(draining())

    def stand_down(self, why: Refused) -> None:
        """Stops the clocks and sends the watchers away: another dealer writes, or may."""
        self._clocks.stop_all()
        self._watchers.end_all(why)

    def give_up(self, hand: bytes, why: Refused) -> None:
        """Stops the clock of a hand that is void or lost, and sends its watchers away."""
        self._clocks.stop(hand)
        self._watchers.end(hand, why)

    def hasten(self, seconds: float) -> None:
        """Shortens what every seat to act has left by so much; only the test double does that."""
        self._clocks.hasten(seconds)

    def _show(self, refereed: RefereedHand) -> None:
        """Wakes the watchers and sets the clock. On the loop, once the hand's state is durable."""
        self._watchers.show(refereed)
        hand, prompt = refereed.hand, refereed.prompt
        if self._clocks.runs(hand, prompt) and refereed.state.waits_for is not None:
            return  # the same seat is asked the same: its time runs on
        self._clocks.stop(hand)
        if isinstance(refereed.state.waits_for, Turn) and not self._engine.health.draining:
            full = refereed.action_seconds
            asked = self._engine.state.waited.pop(hand, None)  # what was read at the start is true of that prompt alone
            self._clocks.set(hand, prompt, seconds_left(full, asked, self._engine.state.sources.monotonic()))

    def _time_is_up(self, hand: bytes, prompt: int) -> None:
        task = self._loop.create_task(self._time_out(hand, prompt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _time_out(self, hand: bytes, prompt: int) -> None:
        """Acts for the seat whose time ran out, unless it has acted meanwhile; if that fails, soon again."""

        def run(unit: Unit) -> None:
            refereed = self.load(unit, hand)
            turn = refereed.state.waits_for
            if isinstance(turn, Turn) and refereed.prompt == prompt:
                self.change(unit, hand, lambda refereed: record.time_out(refereed, turn.seat))

        try:
            await self._engine.do(run)
        except CutcardError as error:
            ended = isinstance(error, Refused) and error.reason in (Reason.HAND_CLOSED, Reason.HAND_LOST)
            if not ended and not self._engine.health.draining:
                _log.error("a time-out was not carried out", error=str(error))
                self._clocks.set(hand, prompt, _AGAIN_SECONDS)
