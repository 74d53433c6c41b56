"""An event loop without sockets and threads, whose time is a number: what happens next is for the simulation to say."""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")


class Clock:
    """The time of all loops of a world: seconds that go on, and the calendar's, which may jump.

    Attributes:
        now: seconds since the world began; never goes back.
        calendar: Unix time in milliseconds at `now` 0.
    """

    def __init__(self, calendar: int) -> None:
        self.now = 0.0
        self.calendar = calendar

    def monotonic(self) -> float:
        """Returns `now`."""
        return self.now

    def milliseconds(self) -> int:
        """Returns Unix time in milliseconds."""
        return self.calendar + round(1000 * self.now)


class Loop:
    """One process's loop. Only what the dealer and its client use of asyncio's is there; `step` makes it go on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._itself: Any = self  # for asyncio, which asks for less than its type says
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self.tasks: list[asyncio.Task[Any]] = []
        self.failures: list[BaseException] = []

    def time(self) -> float:
        return self._clock.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._itself, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self._itself, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Is told by a timer; it goes when its time comes."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self._itself)

    def create_task(self, coro: Coroutine[Any, Any, Any], **options: Any) -> "asyncio.Task[Any]":
        task = asyncio.Task(coro, loop=self._itself, **options)
        setattr(task, "_log_destroy_pending", False)  # noqa: B010 - a process that is killed leaves all of them
        self.tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        """Does at once what would be another thread's work."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if (error := context.get("exception")) is not None:
            self.failures.append(error)

    @property
    def due(self) -> bool:
        """Whether something is to be done now."""
        return bool(self._ready) or (self.next_time is not None and self.next_time <= self._clock.now)

    @property
    def next_time(self) -> float | None:
        """When the next timer is due; None if there is none."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def step(self) -> None:
        """Makes one callback, if one is due."""
        while (when := self.next_time) is not None and when <= self._clock.now:
            self._ready.append(heapq.heappop(self._timers)[2])
        if self._ready:
            handle = self._ready.popleft()
            if not handle.cancelled():
                self.within(handle._run)

    def within(self, call: Callable[[], T]) -> T:
        """Makes a call with this loop as the one that runs."""
        asyncio._set_running_loop(self._itself)
        try:
            return call()
        finally:
            asyncio._set_running_loop(None)
