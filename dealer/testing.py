"""The test double for pytest: the fixture `stacked_dealer`, a real dealer whose decks the test chooses.

The plugin is there as soon as cutcard is installed. Every test that asks for `stacked_dealer` gets a double of its own:
own port, own log and key, own store, gone when the test ends. docs/test-double.md is a walk-through.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from dealer.errors import CutcardError

if TYPE_CHECKING:
    from dealer.client import Client, SyncClient

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
            raise StackError("the test double needs the dealer's parts: pip install 'cutcard[testing]'")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dealer.double.host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
        """Takes a double that runs, such as one of `dealer double`."""
        import grpc

        from dealer.v1 import double_pb2_grpc

        self.address, self.key = address, key
        self._held = ExitStack()
        channel = self._held.enter_context(grpc.insecure_channel(address))
        self._stub = double_pb2_grpc.TestDoubleServiceStub(channel)

    def close(self) -> None:
        """Closes the clients that it gave, and its own connection."""
        self._held.close()

    def stack(self, table: str, deck: str | Sequence[str]) -> int:
        """Chooses the deck of the table's next hand, from the top; the rest follows in the deck's reference order.

        Args:
            table: table id.
            deck: cards such as "As Kd 7c", top first; a top part is enough.

        Returns:
            The number of the hand that will be dealt from it.

        Raises:
            StackError: a card twice, or something that is no card; names it.
        """
        from dealer.v1 import double_pb2 as pb

        text = deck if isinstance(deck, str) else " ".join(deck)
        number: int = self._call("StackDeck", pb.StackDeckRequest(table=table, deck=text)).number
        return number

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
            seventh: one card down; seat 0 is the board, where the deck is too short for a card each.

        Returns:
            The deck that was worked out, top first.

        Raises:
            StackError: the hand cannot be dealt like that; names the card or the seat.
        """
        from dealer.v1 import double_pb2 as pb
        from dealer.v1 import types_pb2

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
        request = pb.StackSeatsRequest(table=table, seats=tuple(seats or third), streets=streets)
        return tuple(self._call("StackSeats", request).deck.split(" "))

    def reset(self) -> None:
        """Drops what is stacked, voids the hands in play, and lets the clock run again."""
        from dealer.v1 import double_pb2 as pb

        self._call("Reset", pb.ResetRequest())

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

        try:
            return getattr(self._stub, method)(request, timeout=30)
        except grpc.RpcError as error:
            raise StackError(str(error.details())) from None


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
def stacked_dealer(stacked_dealer_host: DoubleHost) -> Iterator[StackedDealer]:
    """A test double of this test's own."""
    started = stacked_dealer_host.order(do="start")
    dealer = StackedDealer(started["address"], started["key"])
    yield dealer
    dealer.close()
    stacked_dealer_host.order(do="stop", double=started["double"])
