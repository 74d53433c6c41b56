"""The test double for pytest: the fixture `stacked_dealer`, a real dealer whose decks the test chooses.

The plugin is there as soon as cutcard is installed. Every test that asks for `stacked_dealer` gets a double of its own:
own port, own log and key, own store, gone when the test ends. docs/test-double.md is a walk-through.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from dealer.errors import CutcardError, how_to_install

if TYPE_CHECKING:
    from dealer.client import Client, SyncClient
    from dealer.double.recorded import RecordedHand

_NO_CARDS: Mapping[int, str] = {}


class StackError(CutcardError):
    """A deck that cannot be dealt, or another order that the double refuses; the message names the card or seat."""


class DoubleHost:
    """The process that a test session's doubles run in."""

    def __init__(self) -> None:
        """Starts it.

        Raises:
            StackError: the dealer's own parts are not installed.
        """
        if find_spec("structlog") is None:
            raise StackError(f"the test double needs the dealer's parts: {how_to_install('testing')}")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dealer.double.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # it ends with its input, after the tests, and not by the terminal's signals
        )
        self._turn = threading.Lock()

    def order(self, **order: Any) -> dict[str, Any]:
        """Has an order carried out; see `dealer.double.host`.

        Raises:
            StackError: it could not be.
        """
        with self._turn:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with suppress(BrokenPipeError):  # then there is no answer either
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise StackError("the test doubles' process has ended; its last words are on standard error")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise StackError(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Ends the process and every double in it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class StackedDealer:
    """One double, and what a test does with it.

    Attributes:
        address: HOST:PORT of its DealerService, TableService and LogService.
        key: verifier key of its log, whose name begins with `test.invalid/`.
    """

    def __init__(self, address: str, key: str) -> None:
        """Connects to a double that runs, such as one of `dealer double`."""
        import grpc

        from dealer.client.channel import OPTIONS
        from dealer.v1 import double_pb2_grpc

        self.address, self.key = address, key
        self._held = ExitStack()
        channel = self._held.enter_context(grpc.insecure_channel(address, options=OPTIONS))
        self._stub = double_pb2_grpc.TestDoubleServiceStub(channel)

    def close(self) -> None:
        """Closes the clients that it gave, and its own connection."""
        self._held.close()

    def stack(self, table: str, deck: str | Sequence[str], *, filler: int | None = None) -> int:
        """Chooses the deck of the table's next hand, from the top; the rest follows in the deck's reference order.

        Args:
            table: table id.
            deck: cards such as "As Kd 7c", top first; a top part is enough.
            filler: a seed from 0 below 2**64 that shuffles the rest instead, the same in every run.

        Returns:
            The number of the hand that will be dealt from it.

        Raises:
            StackError: a card twice, or something that is no card; names it.
        """
        from dealer.v1 import double_pb2 as pb

        __tracebackhide__ = True
        text = deck if isinstance(deck, str) else " ".join(deck)
        request = pb.StackDeckRequest(table=table, deck=text, filler_seed=_filler(filler))
        number: int = self._call("StackDeck", request).number
        return number

    def stack_from(self, log: Path | str, hand: UUID | str, *, table: str | None = None) -> "RecordedHand":
        """Stacks the deck of a recorded hand, so that it can be played again.

        Args:
            log: a static log folder, such as `public/` of a data folder or what `dealer export` wrote.
            hand: the hand's UUID; it is over, and its deck revealed.
            table: table id; None: the recorded hand's.

        Returns:
            The hand as it was: `seats` and `game` for `open_hand`, `folds` by the street that they come before.

        Raises:
            RecordedHandError: there is no such hand, or the log does not tell its deck.
        """
        from dealer.double.recorded import read_recorded

        __tracebackhide__ = True
        recorded = read_recorded(Path(log), hand)
        self.stack(recorded.table if table is None else table, recorded.cards)
        return recorded

    def stack_seats(
        self,
        table: str,
        seats: Sequence[int] | None = None,
        *,
        third: Mapping[int, str] = _NO_CARDS,
        fourth: Mapping[int, str] = _NO_CARDS,
        fifth: Mapping[int, str] = _NO_CARDS,
        sixth: Mapping[int, str] = _NO_CARDS,
        seventh: Mapping[int, str] = _NO_CARDS,
        filler: int | None = None,
    ) -> tuple[str, ...]:
        """Chooses the deck of the table's next stud hand by what each seat gets on each street.

        Args:
            table: table id.
            seats: the hand's seats in dealing order; None: those of `third`, as they stand there.
            third: such as `{1: "As Ad | 7c", 2: "?? ?? | 2h"}`: two down, then the door card; `??` is any card.
            fourth: one card up, or "fold": the seat folds before the street is dealt. A seat that is left out gets any
                card.
            fifth: as fourth.
            sixth: as fourth.
            seventh: one card down; seat 0 is the board, if the deck is too short for a card each.
            filler: as for `stack`.

        Returns:
            The deck that was worked out, top first.

        Raises:
            StackError: the hand cannot be dealt like that; names the card or the seat.
        """
        from dealer.v1 import double_pb2 as pb
        from dealer.v1 import types_pb2

        __tracebackhide__ = True
        streets = [
            pb.StreetCards(
                street=types_pb2.Street.Value(f"STREET_{name}"),
                seats=[pb.SeatCards(seat=seat, cards=text) for seat, text in cards.items()],
            )
            for name, cards in zip(
                ("THIRD", "FOURTH", "FIFTH", "SIXTH", "SEVENTH"), (third, fourth, fifth, sixth, seventh), strict=True
            )
            if cards
        ]
        request = pb.StackSeatsRequest(
            table=table, seats=tuple(seats or third), streets=streets, filler_seed=_filler(filler)
        )
        return tuple(self._call("StackSeats", request).deck.split(" "))

    def inject_fault(
        self,
        method: str,
        *,
        times: int = 1,
        drop: bool = False,
        delay: float | None = None,
        reason: str | None = None,
        change_card: bool = False,
    ) -> None:
        """Has the next calls of a method go wrong, in one of four ways.

        Args:
            method: of DealerService, TableService or LogService, such as "DealStreet".
            times: how many calls.
            drop: the call is carried out and its answer is lost, as if the connection broke.
            delay: the answer comes so many seconds later.
            reason: the call is refused with this reason of the catalogue, such as "STORAGE"; nothing has changed.
            change_card: the answer has a card that was not committed to. Answers without a card do not count.

        Raises:
            StackError: no such method or reason, not exactly one way, or answers that never have a card.
        """
        from dealer.v1 import double_pb2 as pb

        __tracebackhide__ = True
        request = pb.InjectFaultRequest(method=method, times=times)
        if sum((drop, delay is not None, reason is not None, change_card)) != 1:
            raise StackError("a fault is exactly one of drop, delay, reason and change_card")
        if drop:
            request.drop.SetInParent()
        elif delay is not None:
            request.delay_milliseconds = int(delay * 1000)
        elif reason is not None:
            request.reason = reason
        else:
            request.change_card.SetInParent()
        self._call("InjectFault", request)

    def reset(self) -> tuple[tuple[str, int], ...]:
        """Drops what is stacked and the faults, voids the hands in play, and lets the clock run again.

        Returns:
            Table and hand number of each stack that no hand took. After this the test's end does not complain of them.
        """
        from dealer.v1 import double_pb2 as pb

        return tuple((each.table, each.number) for each in self._call("Reset", pb.ResetRequest()).unused)

    def set_clock(self, time: datetime) -> None:
        """Stops the double's clock at a time (with a time zone)."""
        from dealer.v1 import double_pb2 as pb

        self._call("SetClock", pb.SetClockRequest(unix_milliseconds=int(time.timestamp() * 1000)))

    def advance_clock(self, seconds: float) -> None:
        """Stops the double's clock, if it runs, and moves it forward; deadlines that lie behind it then have passed."""
        from dealer.v1 import double_pb2 as pb

        self._call("AdvanceClock", pb.AdvanceClockRequest(milliseconds=int(seconds * 1000)))

    def client(self, **options: Any) -> "SyncClient":
        """Returns a client of the double; see `dealer.client.SyncClient`. It is closed with the double."""
        from dealer.client import SyncClient

        return self._held.enter_context(SyncClient(self.address, self.key, **options))

    def async_client(self, **options: Any) -> "Client":
        """Returns a client for asyncio; see `dealer.client.Client`. The test closes it."""
        from dealer.client import Client

        return Client(self.address, self.key, **options)

    def _call(self, method: str, request: Any) -> Any:
        import grpc

        __tracebackhide__ = True
        try:
            return getattr(self._stub, method)(request, timeout=30)
        except grpc.RpcError as error:
            raise StackError(str(error.details())) from None


def _filler(seed: int | None) -> int | None:
    __tracebackhide__ = True
    if seed is not None and not 0 <= seed < 2**64:
        raise StackError(f"filler is a seed from 0 below 2**64, not {seed}")
    return seed


def counting_ids(start: int = 1) -> Callable[[], UUID]:
    """Returns request ids that count, for `client(request_ids=...)`: the same in every run."""
    numbers = count(start)
    return lambda: UUID(int=next(numbers))


@pytest.fixture(scope="session")
def stacked_dealer_host() -> Iterator[DoubleHost]:
    """The process that this session's doubles (under pytest-xdist, this worker's) run in."""
    host = DoubleHost()
    yield host
    host.close()


@pytest.fixture
def stacked_dealer(stacked_dealer_host: DoubleHost, request: pytest.FixtureRequest) -> Iterator[StackedDealer]:
    """A test double of this test's own. A stack or a fault that nothing met fails the test at its end."""
    started = stacked_dealer_host.order(do="start")
    dealer = StackedDealer(started["address"], started["key"])
    request.node.stash[_COMPLAINT] = lambda: str(
        stacked_dealer_host.order(do="complain", double=started["double"])["complaint"]
    )
    yield dealer
    dealer.close()
    stacked_dealer_host.order(do="stop", double=started["double"])


_COMPLAINT = pytest.StashKey[Callable[[], str]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fails a test whose stacks or faults nothing met, and shows an error of the client at the line of the test."""
    complain = item.stash.get(_COMPLAINT, str)
    try:
        result = yield
    except (Exception, pytest.fail.Exception) as error:
        if not item.config.getoption("fulltrace"):
            _hide_client(error, set())
        with suppress(StackError):
            if complaint := complain():
                error.add_note(complaint)  # often enough the reason
        raise
    if complaint := complain():
        pytest.fail(complaint, pytrace=False)
    return result


_OURS = ("dealer.client.", "dealer.double.")


def _hide_client(error: BaseException | None, seen: set[int]) -> None:
    """Ends the traceback of each error of ours, in a chain of them, at the call that the test or game made."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    if any(base.__module__.startswith(_OURS) for base in type(error).__mro__):
        error.__traceback__ = _outside(error.__traceback__)
        error.__cause__, error.__suppress_context__ = None, True
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        _hide_client(other, seen)


def _outside(at: TracebackType | None) -> TracebackType | None:
    """Returns a traceback up to the first frame of ours; the whole, if it begins inside."""
    frames = []
    while at is not None and not at.tb_frame.f_globals.get("__name__", "").startswith(_OURS):
        frames.append(at)
        at = at.tb_next
    outside = None
    for frame in reversed(frames):
        outside = TracebackType(outside, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return outside or at
