"""The hands that the referee runs: their records, who watches them, and their action clocks.

What is done to a hand happens on the writer's thread, in a unit of change. Once it is durable the loop is told, which
wakes the watchers and sets the clocks. A clock runs on the monotonic clock and does not outlive the process: after a
restart the seat to act has its whole time again.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from hmac import compare_digest
from typing import Any

import structlog

from dealer.core.hand import Status, VoidReason, over
from dealer.errors import CutcardError, Reason, Refused
from dealer.service.referee import record, steps
from dealer.service.referee.record import Play
from dealer.service.rpc.status import draining
from dealer.service.writer import hands
from dealer.service.writer.change import Unit
from dealer.service.writer.engine import Engine
from dealer.table.betting import Turn

_log = structlog.get_logger()
_AGAIN_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class Watcher:
    """Somebody who watches a hand: the newest state of it, whether that is news, and why there will be no more."""

    newest: Play | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    ended: Refused | None = None

    def end(self, why: Refused) -> None:
        """Sends the watcher away once it has seen everything."""
        self.ended = why
        self.news.set()


@dataclass(frozen=True, slots=True)
class _Clock:
    """The time of the seat to act: for which prompt, until when on the loop's clock."""

    prompt: int
    deadline: float
    timer: asyncio.TimerHandle


class Tables:
    """What the referee's hands need beside their pure course. Made on the loop that it lives on."""

    def __init__(self, engine: Engine) -> None:
        """Takes the writer."""
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._watchers: dict[bytes, set[Watcher]] = {}
        self._clocks: dict[bytes, _Clock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def recover(self) -> None:
        """Reads the hands in play back, sets their clocks, and tells whoever watches what was missed meanwhile."""
        known = {*self._watchers, *self._clocks}

        def run(unit: Unit) -> None:
            in_play = {live.state.hand for live in self._engine.live.values() if live.referee}
            for hand in known | in_play:
                try:
                    play = self.load(unit, hand)
                except Refused as refused:
                    if hand in in_play:  # its seed can be read, but its record is gone
                        _log.error("a referee's hand cannot go on and is void", error=str(refused))
                        hands.void_hand(unit, hand, VoidReason.FAILURE)
                    else:
                        self._on_loop(self.give_up, hand, refused)
                else:
                    unit.after.append(lambda play=play: self._durable(play))  # type: ignore[misc]

        await self._engine.do(run)

    def load(self, unit: Unit, hand: bytes) -> Play:
        """Returns a hand as it stands now. On the writer's thread.

        Raises:
            Refused: the referee runs no such hand, its answers have expired, it was given up or is lost, or its record
                cannot be read any more.
        """
        live = unit.hand(hand)
        state = live.state
        if state.status is Status.LOST:
            raise over(state)
        play = unit.record_of(hand, record.read_play) if live.referee else None
        if not isinstance(play, Play):
            raise Refused(Reason.HAND_NOT_FOUND, "the referee runs no such hand")
        if play.state.waits_for is not None and not state.in_play:
            raise over(state)
        return play

    def save(self, unit: Unit, play: Play) -> None:
        """Makes a hand's new state part of a unit of change. On the writer's thread."""
        kept = replace(play, fresh=())
        unit.record(play.hand, b"".join(play.fresh), kept)
        unit.after.append(lambda: self._durable(kept))

    def change(self, unit: Unit, hand: bytes, step: Callable[[Play], Play]) -> Play:
        """Takes a step of a hand and everything that follows from it. On the writer's thread."""
        before = self.load(unit, hand)
        play = steps.follow(unit, before, step(before))
        self.save(unit, play)
        return play

    def milliseconds_left(self, play: Play) -> int:
        """What the seat to act has left: all of its time where its clock is not set yet. On any thread."""
        clock = self._clocks.get(play.hand)
        if clock is None or clock.prompt != play.prompt:
            return 1000 * play.action_seconds
        return max(0, round(1000 * (clock.deadline - self._loop.time())))

    @contextmanager
    def watching(self, hand: bytes) -> Iterator[Watcher]:
        """Has a watcher told of everything that happens to a hand from now on."""
        watcher = Watcher()
        self._watchers.setdefault(hand, set()).add(watcher)
        try:
            yield watcher
        finally:
            watchers = self._watchers[hand]
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[hand]

    async def news(self, watcher: Watcher, known: Play) -> Play:
        """Waits for more to happen than a watcher knows.

        Raises:
            Refused: the hand was given up or is lost, or the dealer shuts down.
        """
        while watcher.newest is None or len(watcher.newest.events) <= len(known.events):
            if watcher.ended is not None:
                raise watcher.ended
            watcher.news.clear()
            await watcher.news.wait()
        return watcher.newest

    def close(self) -> None:
        """Stops the clocks and sends the watchers away."""
        for clock in self._clocks.values():
            clock.timer.cancel()
        self._clocks.clear()
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.end(draining())

    def give_up(self, hand: bytes, why: Refused) -> None:
        """Stops the clock of a hand that is void or lost, and sends its watchers away."""
        if (clock := self._clocks.pop(hand, None)) is not None:
            clock.timer.cancel()
        for watcher in self._watchers.get(hand, ()):
            watcher.end(why)

    def hasten(self, seconds: float) -> None:
        """Takes so much from what every seat to act has left. Only the test double does that."""
        for hand, clock in list(self._clocks.items()):
            clock.timer.cancel()
            self._set_clock(hand, clock.prompt, max(0.0, clock.deadline - self._loop.time() - seconds))

    def _durable(self, play: Play) -> None:
        """Goes on from what is durable now. On the writer's thread."""
        self._on_loop(self._show, play)

    def _on_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody is left to be told
            self._loop.call_soon_threadsafe(call, *arguments)

    def _show(self, play: Play) -> None:
        """Wakes the watchers and sets the clock."""
        for watcher in self._watchers.get(play.hand, ()):
            if watcher.newest is None or len(watcher.newest.events) < len(play.events):
                watcher.newest = play
            watcher.news.set()
        clock = self._clocks.get(play.hand)
        if clock is not None and clock.prompt == play.prompt and play.state.waits_for is not None:
            return  # the same seat is asked the same: its time runs on
        if clock is not None:
            clock.timer.cancel()
            del self._clocks[play.hand]
        if isinstance(play.state.waits_for, Turn) and not self._engine.health.draining:
            self._set_clock(play.hand, play.prompt, play.action_seconds)

    def _set_clock(self, hand: bytes, prompt: int, seconds: float) -> None:
        timer = self._loop.call_later(seconds, self._time_is_up, hand, prompt)
        self._clocks[hand] = _Clock(prompt, self._loop.time() + seconds, timer)

    def _time_is_up(self, hand: bytes, prompt: int) -> None:
        task = self._loop.create_task(self._time_out(hand, prompt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _time_out(self, hand: bytes, prompt: int) -> None:
        """Acts for the seat whose time ran out, unless it has acted meanwhile; where that fails, soon again."""

        def run(unit: Unit) -> None:
            play = self.load(unit, hand)
            turn = play.state.waits_for
            if isinstance(turn, Turn) and play.prompt == prompt:
                self.change(unit, hand, lambda play: record.time_out(play, turn.seat))

        try:
            await self._engine.do(run)
        except CutcardError as error:
            ended = isinstance(error, Refused) and error.reason in (Reason.HAND_CLOSED, Reason.HAND_LOST)
            if not ended and not self._engine.health.draining:
                _log.error("a time-out was not carried out", error=str(error))
                self._set_clock(hand, prompt, _AGAIN_SECONDS)


def token_digest(token: bytes) -> bytes:
    """What is kept of a seat's token."""
    return sha256(token).digest()


def require_token(play: Play, seat: int, token: bytes) -> None:
    """Holds a token against the seat's.

    Raises:
        Refused: the seat is not in this hand, or the token is not its own.
    """
    kept = play.tokens.get(seat)
    if kept is None:
        raise Refused(Reason.INVALID_SEAT, f"seat {seat} is not in this hand")
    if not compare_digest(kept, token_digest(token)):
        raise Refused(Reason.WRONG_TOKEN, f"this is not the token of seat {seat} in this hand")
