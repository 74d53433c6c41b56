"""The same client without asyncio: a thin layer that runs the asynchronous one on a loop in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar, overload
from uuid import UUID, uuid4

import grpc

from dealer.client.calls import Retry
from dealer.client.client import Client
from dealer.client.contribution import Contribution
from dealer.client.hand import Hand
from dealer.client.hand_seat import HandSeat
from dealer.client.receipts import Proven
from dealer.client.sealed import SeatKey
from dealer.client.seat import Seat, Through
from dealer.client.table import Table
from dealer.client.values import Card, HandInPlay, Opener
from dealer.client.watched import Seen
from dealer.core.hand import Face, Reveal, Status, VoidReason
from dealer.core.seed import Entropy
from dealer.log.checkpoint import Checkpoint
from dealer.table.betting import Action, Option
from dealer.table.stakes import Stakes

T = TypeVar("T")
_NOBODY: Mapping[str, bytes] = MappingProxyType({})
_NO_KEYS: Mapping[int, bytes] = MappingProxyType({})


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cutcard-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work to its end and returns what it gives; an interrupted caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @property
    def stopped(self) -> bool:
        """Whether the thread has ended."""
        return self._loop.is_closed()

    def stop(self) -> None:
        """Ends the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SyncClient:
    """`Client` for code without asyncio; see there for every argument and error."""

    def __init__(
        self,
        address: str | Sequence[str],
        key: str,
        *,
        server_name: str | None = None,
        folder: Path | str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        retry: Retry | None = None,
        stream: bool = False,
        policy: Path | str | None = None,
        witnessed: str | None = None,
        witness_seconds: float = 10.0,
        on_unwitnessed: Callable[["SyncHand"], object] | None = None,
        request_ids: Callable[[], UUID] = uuid4,
        entropy: Entropy = os.urandom,
    ) -> None:
        """Starts the loop's thread; the arguments are those of `Client`. Callbacks come on a thread of their own."""
        self._loop = _Loop()

        def unwitnessed(hand: Hand) -> None:
            if on_unwitnessed is not None:
                call = partial(on_unwitnessed, SyncHand(hand, self._loop))
                threading.Thread(target=call, name="cutcard-unwitnessed", daemon=True).start()

        async def make() -> Client:
            return Client(
                address,
                key,
                server_name=server_name,
                folder=folder,
                credentials=credentials,
                retry=retry,
                stream=stream,
                policy=policy,
                witnessed=witnessed,
                witness_seconds=witness_seconds,
                on_unwitnessed=unwitnessed,
                request_ids=request_ids,
                entropy=entropy,
            )

        try:
            self._client = self._loop.run(make())
        except BaseException:
            self._loop.stop()
            raise

    def __enter__(self) -> "SyncClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the connection, once. Hands in play stay in play."""
        if not self._loop.stopped:
            self._loop.run(self._client.aclose())
            self._loop.stop()

    @property
    def checkpoint(self) -> Checkpoint | None:
        """See `Client.checkpoint`."""
        return self._client.checkpoint

    def refresh(self) -> Checkpoint:
        """See `Client.refresh`."""
        return self._loop.run(self._client.refresh())

    def next_number(self, table: str) -> int:
        """See `Client.next_number`."""
        return self._loop.run(self._client.next_number(table))

    @overload
    def resume(self, hand_id: str) -> "SyncHand": ...

    @overload
    def resume(self, *, table: str) -> "SyncHand | None": ...

    def resume(self, hand_id: str | None = None, *, table: str | None = None) -> "SyncHand | None":
        """See `Client.resume`."""
        hand = self._loop.run(self._client.resume(hand_id, table=table))  # type: ignore[call-overload]
        return None if hand is None else SyncHand(hand, self._loop)

    def start_hand(
        self,
        table: str,
        stacks: Mapping[int, int],
        stakes: Stakes,
        *,
        game: str = "seven-card-stud",
        reveal: Reveal | str = Reveal.PUBLIC,
        action_seconds: int = 0,
        number: int | None = None,
        contribute_as: Sequence[str] = (),
        invited: Mapping[str, bytes] = _NOBODY,
        seat_keys: Mapping[int, bytes] = _NO_KEYS,
        request_id: UUID | None = None,
    ) -> "SyncTable":
        """See `Client.start_hand`."""
        started = self._client.start_hand(
            table,
            stacks,
            stakes,
            game=game,
            reveal=reveal,
            action_seconds=action_seconds,
            number=number,
            contribute_as=contribute_as,
            invited=invited,
            seat_keys=seat_keys,
            request_id=request_id,
        )
        return SyncTable(self._loop.run(started), self._loop)

    @overload
    def resume_table(self, hand_id: str) -> "SyncTable": ...

    @overload
    def resume_table(self, *, table: str) -> "SyncTable | None": ...

    def resume_table(self, hand_id: str | None = None, *, table: str | None = None) -> "SyncTable | None":
        """See `Client.resume_table`."""
        found = self._loop.run(self._client.resume_table(hand_id, table=table))  # type: ignore[call-overload]
        return None if found is None else SyncTable(found, self._loop)

    def seat(
        self, hand_id: str, seat: int, token: bytes, *, table: str, contribution: Contribution | None = None
    ) -> "SyncSeat":
        """See `Client.seat`."""
        return SyncSeat(self._client.seat(hand_id, seat, token, table=table, contribution=contribution), self._loop)

    def sealed_seat(
        self,
        hand_id: str,
        seat: int,
        key: SeatKey,
        *,
        table: str,
        reveal: Reveal | str,
        number: int | None = None,
        envelope: bytes = b"",
        contribution: Contribution | None = None,
        through: Through | None = None,
        resumed: bool = False,
        allow_test: bool = False,
    ) -> "SyncSeat":
        """See `Client.sealed_seat`."""
        made = self._client.sealed_seat(
            hand_id,
            seat,
            key,
            table=table,
            reveal=reveal,
            number=number,
            envelope=envelope,
            contribution=contribution,
            through=through,
            resumed=resumed,
            allow_test=allow_test,
        )
        return SyncSeat(made, self._loop)

    def hand_seat(
        self,
        seat: int,
        key: SeatKey,
        *,
        table: str,
        number: int | None = None,
        contribution: Contribution | None = None,
        resumed: bool = False,
        allow_test: bool = False,
    ) -> "SyncHandSeat":
        """See `Client.hand_seat`."""
        made = self._client.hand_seat(
            seat,
            key,
            table=table,
            number=number,
            contribution=contribution,
            resumed=resumed,
            allow_test=allow_test,
        )
        return SyncHandSeat(made, self._loop)

    def hands_in_play(self) -> tuple[HandInPlay, ...]:
        """See `Client.hands_in_play`."""
        return self._loop.run(self._client.hands_in_play())

    def open_hand(
        self,
        table: str,
        seats: Sequence[int],
        *,
        game: str = "seven-card-stud",
        deck: str = "standard52",
        reveal: Reveal | str = Reveal.PUBLIC,
        number: int | None = None,
        contribute_as: Sequence[str] = (),
        invited: Mapping[str, bytes] = _NOBODY,
        seat_keys: Mapping[int, bytes] = _NO_KEYS,
        request_id: UUID | None = None,
    ) -> "SyncHand":
        """See `Client.open_hand`."""
        opened = self._client.open_hand(
            table,
            seats,
            game=game,
            deck=deck,
            reveal=reveal,
            number=number,
            contribute_as=contribute_as,
            invited=invited,
            seat_keys=seat_keys,
            request_id=request_id,
        )
        return SyncHand(self._loop.run(opened), self._loop)


class SyncTable:
    """`Table` for code without asyncio; see there."""

    def __init__(self, table: Table, loop: _Loop) -> None:
        self._table, self._loop = table, loop

    def __repr__(self) -> str:
        return repr(self._table)

    @property
    def hand_id(self) -> str:
        """UUID of the hand."""
        return self._table.hand_id

    @property
    def tokens(self) -> dict[int, bytes]:
        """Each seat's token, for its player alone."""
        return self._table.tokens

    @property
    def acknowledgements(self) -> dict[str, str]:
        """The dealer's word for each value that it took, by contributor."""
        return self._table.acknowledgements

    @property
    def table(self) -> str:
        """The table's id."""
        return self._table.table

    @property
    def number(self) -> int:
        """The table's hand count."""
        return self._table.number

    @property
    def status(self) -> Status:
        """Where the certified hand stands, as far as its events have come."""
        return self._table.status

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats still in, in dealing order."""
        return self._table.seats

    @property
    def stacks(self) -> dict[int, int]:
        """What every seat brought and, once the hand is over, has."""
        return self._table.stacks

    @property
    def cards(self) -> dict[int, Card]:
        """Every card that has come, by position."""
        return self._table.cards

    @property
    def envelopes(self) -> dict[int, bytes]:
        """Of each sealed seat what its player alone can open, once the deck is committed."""
        return self._table.envelopes

    @property
    def offer(self) -> Proven | None:
        """The offer with its receipt."""
        return self._table.offer

    @property
    def commit(self) -> Proven | None:
        """The commit with its receipt."""
        return self._table.commit

    @property
    def closed(self) -> Proven | None:
        """The close with its receipt."""
        return self._table.closed

    @property
    def deck(self) -> tuple[str, ...] | None:
        """The whole deck, once a public hand is over."""
        return self._table.deck

    def next(self) -> Seen | None:
        """See `Table.next`."""
        return self._loop.run(self._table.next())

    def events(self) -> Iterator[Seen]:
        """See `Table.events`."""
        return iter(self.next, None)

    def submit(self, contributor: str, value: bytes) -> str:
        """See `Table.submit`."""
        return self._loop.run(self._table.submit(contributor, value))

    def lock(self) -> None:
        """See `Table.lock`."""
        self._loop.run(self._table.lock())

    def void(self, reason: VoidReason | str = VoidReason.OPERATOR) -> Proven:
        """See `Table.void`."""
        return self._loop.run(self._table.void(reason))

    def finish(self) -> Proven:
        """See `Table.finish`."""
        return self._loop.run(self._table.finish())

    def seat(
        self,
        number: int,
        contribution: Contribution | None = None,
        key: SeatKey | None = None,
        *,
        allow_test: bool = False,
    ) -> "SyncSeat":
        """See `Table.seat`."""
        return SyncSeat(self._table.seat(number, contribution, key, allow_test=allow_test), self._loop)

    def pass_on(self, method: str, request: bytes) -> bytes:
        """See `Table.pass_on`."""
        return self._loop.run(self._table.pass_on(method, request))

    def relay(self, request: bytes) -> Iterator[bytes]:
        """See `Table.relay`."""
        events = self._table.relay(request)

        async def next_event() -> bytes | None:
            return await anext(events, None)

        return iter(lambda: self._loop.run(next_event()), None)


class SyncSeat:
    """`Seat` for code without asyncio; see there."""

    def __init__(self, seat: Seat, loop: _Loop) -> None:
        self._seat, self._loop = seat, loop

    def __repr__(self) -> str:
        return repr(self._seat)

    @property
    def hand_id(self) -> str:
        """UUID of the hand."""
        return self._seat.hand_id

    @property
    def seat(self) -> int:
        """The seat's number."""
        return self._seat.seat

    @property
    def options(self) -> tuple[Option, ...]:
        """What the seat may do now; empty if it is not asked."""
        return self._seat.options

    @property
    def offer(self) -> Proven | None:
        """The offer with its receipt."""
        return self._seat.offer

    @property
    def commit(self) -> Proven | None:
        """The commit with its receipt."""
        return self._seat.commit

    @property
    def closed(self) -> Proven | None:
        """The close with its receipt."""
        return self._seat.closed

    @property
    def deck(self) -> tuple[str, ...] | None:
        """The whole deck, once a public hand is over."""
        return self._seat.deck

    @property
    def stacks(self) -> dict[int, int]:
        """What every seat brought and, once the hand is over, has."""
        return self._seat.stacks

    @property
    def cards(self) -> dict[int, Card]:
        """Every card that has come, by position."""
        return self._seat.cards

    def cards_of(self, seat: int) -> tuple[Card, ...]:
        """The cards of a seat, in the order dealt; seat 0 is the board."""
        return self._seat.cards_of(seat)

    def next(self) -> Seen | None:
        """See `Seat.next`."""
        return self._loop.run(self._seat.next())

    def events(self) -> Iterator[Seen]:
        """See `Seat.events`."""
        return iter(self.next, None)

    def value(self) -> bytes:
        """See `Seat.value`."""
        return self._seat.value()

    def acknowledged(self, note: str) -> None:
        """See `Seat.acknowledged`."""
        self._seat.acknowledged(note)

    def act(self, action: Action | str, amount: int | None = None) -> None:
        """See `Seat.act`."""
        self._loop.run(self._seat.act(action, amount))

    def leave(self) -> None:
        """See `Seat.leave`."""
        self._loop.run(self._seat.leave())

    def save(self, path: Path | str) -> None:
        """See `Seat.save`."""
        self._seat.save(path)


class SyncHandSeat:
    """`HandSeat` for code without asyncio; see there."""

    def __init__(self, seat: HandSeat, loop: _Loop) -> None:
        self._seat, self._loop = seat, loop

    def __repr__(self) -> str:
        return repr(self._seat)

    @property
    def hand_id(self) -> str:
        """UUID of the hand."""
        return self._seat.hand_id

    @property
    def seat(self) -> int:
        """The seat's number."""
        return self._seat.seat

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats still in, in dealing order."""
        return self._seat.seats

    @property
    def street(self) -> str | None:
        """The street last dealt."""
        return self._seat.street

    @property
    def cards(self) -> dict[int, Card]:
        """Every card that lies there, by position."""
        return self._seat.cards

    @property
    def offer(self) -> Proven | None:
        """The offer with its receipt."""
        return self._seat.offer

    @property
    def commit(self) -> Proven | None:
        """The commit with its receipt."""
        return self._seat.commit

    @property
    def closed(self) -> Proven | None:
        """The close with its receipt."""
        return self._seat.closed

    def cards_of(self, seat: int) -> tuple[Card, ...]:
        """The cards of a seat, in the order dealt; seat 0 is the board."""
        return self._seat.cards_of(seat)

    def take(self, view: bytes) -> None:
        """See `HandSeat.take`."""
        self._loop.run(self._seat.take(view))

    def finish(self, closing: bytes) -> Proven:
        """See `HandSeat.finish`."""
        return self._loop.run(self._seat.finish(closing))

    def consent(self, positions: Sequence[int]) -> bytes:
        """See `HandSeat.consent`."""
        return self._loop.run(self._seat.consent(positions))

    def consent_to_showdown(self) -> bytes:
        """See `HandSeat.consent_to_showdown`."""
        return self._loop.run(self._seat.consent_to_showdown())

    def require_in_play(self) -> None:
        """See `HandSeat.require_in_play`."""
        self._loop.run(self._seat.require_in_play())

    def folds(self) -> None:
        """See `HandSeat.folds`."""
        self._seat.folds()

    def value(self) -> bytes:
        """See `HandSeat.value`."""
        return self._seat.value()

    def acknowledged(self, note: str) -> None:
        """See `HandSeat.acknowledged`."""
        self._seat.acknowledged(note)

    def save(self, path: Path | str) -> None:
        """See `HandSeat.save`."""
        self._seat.save(path)


class SyncHand:
    """`Hand` for code without asyncio; see there."""

    def __init__(self, hand: Hand, loop: _Loop) -> None:
        self._hand, self._loop = hand, loop

    def __repr__(self) -> str:
        return repr(self._hand)

    @property
    def hand_id(self) -> str:
        """UUID of the hand."""
        return self._hand.hand_id

    @property
    def table(self) -> str:
        """The table's id."""
        return self._hand.table

    @property
    def number(self) -> int:
        """The table's hand count."""
        return self._hand.number

    @property
    def status(self) -> Status:
        """Where the hand stands."""
        return self._hand.status

    @property
    def in_play(self) -> bool:
        """Whether the hand is neither closed nor void nor lost."""
        return self._hand.in_play

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats still in, in dealing order."""
        return self._hand.seats

    @property
    def street(self) -> str | None:
        """The street last dealt."""
        return self._hand.street

    @property
    def cards_left(self) -> int:
        """How many cards are not dealt yet."""
        return self._hand.cards_left

    @property
    def cards(self) -> dict[int, Card]:
        """Every card dealt so far, by position."""
        return self._hand.cards

    @property
    def opener(self) -> Opener | None:
        """Who opens the betting of the street last dealt."""
        return self._hand.opener

    @property
    def deck(self) -> tuple[str, ...] | None:
        """The whole deck, once a public hand is over."""
        return self._hand.deck

    @property
    def offer(self) -> Proven | None:
        """The offer with its receipt."""
        return self._hand.offer

    @property
    def commit(self) -> Proven | None:
        """The commit with its receipt."""
        return self._hand.commit

    @property
    def closed(self) -> Proven | None:
        """The close with its receipt."""
        return self._hand.closed

    @property
    def acknowledgements(self) -> dict[str, str]:
        """The dealer's word for each value that it took, by contributor."""
        return self._hand.acknowledgements

    def cards_of(self, seat: int) -> tuple[Card, ...]:
        """The cards of a seat, in the order dealt; seat 0 is the board."""
        return self._hand.cards_of(seat)

    def submit(self, contributor: str, value: bytes) -> str:
        """See `Hand.submit`."""
        return self._loop.run(self._hand.submit(contributor, value))

    def lock(self) -> None:
        """See `Hand.lock`."""
        self._loop.run(self._hand.lock())

    def deal_street(self, street: str) -> tuple[Card, ...]:
        """See `Hand.deal_street`."""
        return self._loop.run(self._hand.deal_street(street))

    def draw(self, wanted: Sequence[tuple[int, Face | str]]) -> tuple[Card, ...]:
        """See `Hand.draw`."""
        return self._loop.run(self._hand.draw(wanted))

    def fold(self, seat: int) -> None:
        """See `Hand.fold`."""
        self._loop.run(self._hand.fold(seat))

    def show(self, positions: Sequence[int], consents: Sequence[bytes] = ()) -> tuple[Card, ...]:
        """See `Hand.show`."""
        return self._loop.run(self._hand.show(positions, consents))

    def view(self, seat: int) -> bytes:
        """See `Hand.view`."""
        return self._hand.view(seat)

    def closing(self) -> bytes:
        """See `Hand.closing`."""
        return self._hand.closing()

    def save(self, path: Path | str, seat: int | None = None) -> None:
        """See `Hand.save`."""
        self._hand.save(path, seat)

    def witnessed(self, timeout: float | None = None) -> Proven | None:
        """See `Hand.witnessed`."""
        return self._loop.run(self._hand.witnessed(timeout))

    def close(self) -> Proven:
        """See `Hand.close`."""
        return self._loop.run(self._hand.close())

    def void(self, reason: VoidReason | str = VoidReason.OPERATOR) -> Proven:
        """See `Hand.void`."""
        return self._loop.run(self._hand.void(reason))
