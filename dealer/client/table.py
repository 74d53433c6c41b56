"""The room's side of a referee's hand: starts it, passes values on, gives it up, and sees what the rail sees."""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from google.protobuf.message import DecodeError

from dealer.client import checks
from dealer.client.calls import Caller
from dealer.client.contribution import Contribution
from dealer.client.errors import CallError, UsageError
from dealer.client.log import LogView
from dealer.client.receipts import Proven
from dealer.client.sealed import Sealed, SeatKey
from dealer.client.seat import Seat, Token, sealed_seat
from dealer.client.values import Card, parse_void_reason, void_value
from dealer.client.watched import Seen, WatchedHand, Watching
from dealer.core.hand import Status, VoidReason
from dealer.v1 import table_pb2 as pb

_LOCKED = "HAND_LOCKED"
_PASSED_ON: Mapping[str, Any] = MappingProxyType(
    {"Act": pb.ActRequest, "LeaveHand": pb.LeaveHandRequest, "WatchHand": pb.WatchHandRequest}
)


class Table:
    """A referee's hand, for its room.

    Attributes:
        hand_id: UUID of the hand.
        tokens: each seat's token, in dealing order: for its player alone. None are there of a hand that was resumed,
            and none of a sealed seat.
        acknowledgements: the dealer's word for each value that it took, by contributor.
    """

    def __init__(
        self,
        stub: Any,
        calls: Caller,
        log: LogView,
        hand_id: str,
        asked: checks.Asked | None,
        tokens: Mapping[int, bytes],
    ) -> None:
        self._stub, self._calls, self._log, self._asked = stub, calls, log, asked
        self._watched = WatchedHand(log, asked)
        request = pb.WatchHandRequest(hand_id=hand_id)
        self._watching = Watching(calls, stub.WatchHand, request, self._watched)
        self.hand_id, self.tokens = hand_id, dict(tokens)
        self.acknowledgements: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Table {self.table}, hand {self.number}: {self.status}>"

    @property
    def table(self) -> str:
        """The table's id."""
        return self._watched.state.table

    @property
    def number(self) -> int:
        """The table's hand count."""
        return self._watched.state.number

    @property
    def status(self) -> Status:
        """Where the certified hand stands, as far as its events have come."""
        return self._watched.state.status

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats still in, in dealing order."""
        return self._watched.state.live

    @property
    def stacks(self) -> dict[int, int]:
        """What every seat brought and, once the hand is over, has."""
        return self._watched.stacks

    @property
    def cards(self) -> dict[int, Card]:
        """Every card that has come, by position; of down cards only where they lie, until they are shown."""
        return self._watched.cards

    @property
    def envelopes(self) -> dict[int, bytes]:
        """Of each sealed seat what its player alone can open, once the deck is committed.

        A player needs its own to watch at the dealer's public listener.
        """
        return self._watched.envelopes

    @property
    def offer(self) -> Proven | None:
        """The offer with its receipt."""
        return self._watched.offer

    @property
    def commit(self) -> Proven | None:
        """The commit with its receipt."""
        return self._watched.commit

    @property
    def closed(self) -> Proven | None:
        """The close with its receipt; None as long as the hand is in play."""
        return self._watched.closed

    @property
    def deck(self) -> tuple[str, ...] | None:
        """The whole deck, once a public hand is over."""
        return self._watched.deck

    async def begin(self, own: Sequence[Contribution] = ()) -> None:
        """Waits for the hand's first event and checks it; contributes, and locks if nobody else is to contribute.

        `Client.start_hand` and `Client.resume_table` call it.
        """
        await self.next()
        await self._watching.pause()
        if self.offer is None or self.commit is not None or not own:
            return
        try:
            for contribution in own:
                await self.submit(contribution.contributor, contribution.release(self.offer))
        except CallError as error:
            if error.reason != _LOCKED:
                raise
            # The deadline has passed meanwhile: who was late is listed as withheld, and the hand goes on.
        if self._asked is not None and len(own) == len(self._asked.invited):
            await self.lock()

    async def next(self) -> Seen | None:
        """Returns what happened next, as the rail sees it, checked; None once the hand is over.

        Raises:
            CheckError: something does not hold.
            LostError: the dealer has lost the hand.
            CallError: the dealer refused, or did not answer.
        """
        return await self._watching.next()

    async def events(self) -> AsyncIterator[Seen]:
        """Yields everything that happens from here on, to the end of the hand; see `next`."""
        while (seen := await self.next()) is not None:
            yield seen

    async def submit(self, contributor: str, value: bytes) -> str:
        """Gives a contributor's value to an offered hand.

        Args:
            contributor: id as invited.
            value: 32 bytes, as `Contribution.release` or `Seat.value` gave it.

        Returns:
            The dealer's acknowledgement, a signed note: the contributor should keep it.

        Raises:
            CallError: refused: the value does not match, or the deck is locked.
            CheckError: the acknowledgement does not hold.
        """
        request = pb.SubmitTableEntropyRequest(hand_id=self.hand_id, contributor=contributor, value=value)
        answer: pb.SubmitTableEntropyResponse = await self._calls.change(
            "SubmitTableEntropy", self._stub.SubmitTableEntropy, request
        )
        self._watched.acknowledge(contributor, value, answer.acknowledgement)
        self.acknowledgements[contributor] = answer.acknowledgement
        return answer.acknowledgement

    async def lock(self) -> None:
        """Ends the contributions and checks the commit; also if the dealer's deadline has ended them already.

        Raises:
            UsageError: the hand was started already.
            CallError: refused.
            CheckError: the commit does not hold, or lacks a value that was acknowledged.
        """
        if self.commit is not None:
            raise UsageError("the deck of this hand is locked already")
        try:
            request = pb.LockTableDeckRequest(hand_id=self.hand_id)
            await self._calls.change("LockTableDeck", self._stub.LockTableDeck, request)
        except CallError as error:
            if error.reason != _LOCKED:
                raise
        while self.commit is None and await self.next() is not None:
            pass
        await self._watching.pause()

    async def void(self, reason: VoidReason | str = VoidReason.OPERATOR) -> Proven:
        """Gives the hand up, in any state: everybody has what they brought; it is revealed and checked like any other.

        Args:
            reason: "operator", "timeout", "misdeal" or "failure".

        Returns:
            The close entry with its receipt.
        """
        why = parse_void_reason(reason)
        request = pb.VoidTableHandRequest(hand_id=self.hand_id, reason=void_value(why))
        await self._calls.change("VoidTableHand", self._stub.VoidTableHand, request)
        return await self.finish()

    async def pass_on(self, method: str, request: bytes) -> bytes:
        """Hands a sealed seat's request on to the dealer and the answer back: for a player who reaches this room alone.

        Args:
            method: "Act" or "LeaveHand".
            request: as `Through` gave it; the proof in it is the player's, and cannot be changed or used again.

        Raises:
            UsageError: another method, or another hand's request.
            CallError: refused, or not answered.
        """
        kind, call = self._passed_on(method, request)
        answer: Any = await self._calls.ask(method, call, kind)
        return bytes(answer.SerializeToString())

    async def relay(self, request: bytes) -> AsyncIterator[bytes]:
        """Yields what a sealed seat may see, from the start or from where its player says: its down cards are sealed.

        Args:
            request: as `Through` gave it.

        Raises:
            UsageError: another hand's request.
            CallError: refused, or not answered.
        """
        asked, call = self._passed_on("WatchHand", request)
        sequence = asked.after

        def rest() -> Any:
            asked.after = sequence
            return asked

        async for response in self._calls.follow("WatchHand", call, rest):
            sequence = response.event.sequence
            yield response.SerializeToString()

    def _passed_on(self, method: str, data: bytes) -> tuple[Any, Any]:
        if method not in _PASSED_ON:
            raise UsageError(f"{method!a} is nothing that a player asks for")
        try:
            request = _PASSED_ON[method].FromString(data)
        except DecodeError:
            raise UsageError(f"these bytes are no {method}Request") from None
        if request.hand_id != self.hand_id:
            raise UsageError("this request is for another hand")
        return request, getattr(self._stub, method)

    async def finish(self) -> Proven:
        """Waits until the hand is over, everything checked, and returns its close entry with its receipt."""
        while await self.next() is not None:
            pass
        if self.closed is None:
            raise AssertionError("a hand that is over has its close entry")
        return self.closed

    def seat(
        self,
        number: int,
        contribution: Contribution | None = None,
        key: SeatKey | None = None,
        *,
        allow_test: bool = False,
    ) -> Seat:
        """Returns a seat's side of this hand, by its token; of a sealed seat by its player's key.

        A room that has players' keys can read their cards: the key is for a player who shares this program.

        Raises:
            UsageError: this room does not have the seat's token, or the log is a test double's, and that not allowed.
        """
        if key is not None:
            return sealed_seat(
                self._stub,
                self._calls,
                self._log,
                self.hand_id,
                Sealed(number, key),
                asked=self._asked,
                contribution=contribution,
                allow_test=allow_test,
            )
        if number not in self.tokens:
            raise UsageError(f"the token of seat {number} is not here: StartHand's answer has it, and the player")
        watched = WatchedHand(self._log, self._asked, number)
        token = Token(self.tokens[number])
        return Seat(self._stub, self._calls, watched, self.hand_id, number, token, contribution)
