"""A player's side of a referee's hand: sees what its seat may see, each thing checked, and acts."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from dealer.client.calls import Caller
from dealer.client.contribution import Contribution
from dealer.client.errors import UsageError
from dealer.client.receipts import Proven
from dealer.client.values import Card
from dealer.client.watched import Seen, WatchedHand, Watching
from dealer.table.betting import Action, Option
from dealer.v1 import table_pb2 as pb


@dataclass(frozen=True, slots=True)
class Token:
    """Proves to the dealer whose a seat's requests are, by the token that `StartHand` gave.

    What proves a sealed seat takes its place: everything that depends on it is asked here, and nowhere else.
    """

    token: bytes = field(repr=False)

    def sign(self, request: Any, prompt: int) -> None:
        """Puts the proof into a request to act, to leave or to watch.

        Args:
            request: the request, whole but for the proof.
            prompt: sequence number of the prompt that it answers; 0 for those that answer none.
        """
        request.token = self.token


class Seat:
    """One seat of a referee's hand, for its player.

    ```python
    async for seen in seat.events():
        if seat.options:
            await seat.act(choose(seat.options).action)
    ```

    Attributes:
        hand_id: UUID of the hand.
        seat: the seat's number.
        options: what the seat may do, as of the last event; empty if it is not asked. One that comes late to a hand is
            told of prompts that are over as well: to answer one is refused with `OUT_OF_TURN`.
    """

    def __init__(
        self,
        stub: Any,
        calls: Caller,
        watched: WatchedHand,
        hand_id: str,
        seat: int,
        proof: Token,
        contribution: Contribution | None = None,
    ) -> None:
        self._stub, self._calls, self._watched, self._proof = stub, calls, watched, proof
        self._contribution = contribution
        self._value: bytes | None = None
        request = pb.WatchHandRequest(hand_id=hand_id, seat=seat)
        proof.sign(request, 0)
        self._watching = Watching(calls, stub.WatchHand, request, watched)
        self._prompt = 0
        self.hand_id, self.seat = hand_id, seat
        self.options: tuple[Option, ...] = ()

    def __repr__(self) -> str:
        return f"<Seat {self.seat} of hand {self.hand_id}>"

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

    @property
    def stacks(self) -> dict[int, int]:
        """What every seat brought and, once the hand is over, has."""
        return self._watched.stacks

    @property
    def cards(self) -> dict[int, Card]:
        """Every card that has come, by position; of others' down cards only where they lie."""
        return self._watched.cards

    def cards_of(self, seat: int) -> tuple[Card, ...]:
        """The cards of a seat, in the order dealt; seat 0 is the board."""
        return tuple(card for _, card in sorted(self.cards.items()) if card.seat == seat)

    async def next(self) -> Seen | None:
        """Returns what happened next, checked; None once the hand is over.

        Raises:
            CheckError: something does not hold: do not play on.
            LostError: the dealer has lost the hand.
            CallError: the dealer refused, or did not answer.
        """
        seen = await self._watching.next()
        if seen is not None:
            self._follow(seen)
        return seen

    async def events(self) -> AsyncIterator[Seen]:
        """Yields everything that happens from here on, to the end of the hand; see `next`."""
        while (seen := await self.next()) is not None:
            yield seen

    def _follow(self, seen: Seen) -> None:
        if seen.kind == "seat_prompted":
            mine = seen.event.seat_prompted.seat == self.seat
            self._prompt = seen.event.sequence if mine else 0
            self.options = tuple(map(_option, seen.event.seat_prompted.options)) if mine else ()
        elif seen.kind in ("seat_acted", "hand_finished", "hand_voided"):
            self._prompt, self.options = 0, ()

    def value(self) -> bytes:
        """Returns the seat's own contribution, for the room to submit, once the proven offer binds the dealer.

        Raises:
            UsageError: the seat has none, or the offer has not come yet.
            CheckError: the offer does not hold it.
        """
        if self._contribution is None or self.offer is None:
            raise UsageError("no value goes out before the offer has come that holds its commitment")
        self._value = self._contribution.release(self.offer)
        return self._value

    def acknowledged(self, note: str) -> None:
        """Checks the dealer's word that it took the seat's value, and holds the deck to it.

        Raises:
            UsageError: no value went out.
            CheckError: the note does not hold, or the deck was committed without the value.
        """
        if self._contribution is None or self._value is None:
            raise UsageError("no value of this seat has gone out yet")
        self._watched.acknowledge(self._contribution.contributor, self._value, note)

    async def act(self, action: Action | str, amount: int | None = None) -> None:
        """Does one of the seat's options; what follows comes with the events.

        Args:
            action: "bring-in", "complete", "check", "bet", "call", "raise" or "fold".
            amount: the seat's total on this street afterwards; None: the option's own, if it has one of this name.

        Raises:
            UsageError: the seat is not asked, or not that.
            CallError: refused, such as `OUT_OF_TURN` if its time ran out meanwhile; or not answered.
        """
        chosen = [each for each in self.options if each.action == action and amount in (None, each.amount)]
        if len(chosen) != 1:
            may = ", ".join(f"{each.action} {each.amount}" for each in self.options) or "nothing"
            raise UsageError(f"seat {self.seat} may {may}, and not {action} {'' if amount is None else amount}".strip())
        (option,) = chosen
        wire = pb.Action.Value("ACTION_" + option.action.upper().replace("-", "_"))
        request = pb.ActRequest(hand_id=self.hand_id, seat=self.seat, action=wire, amount=option.amount)
        asked = self._prompt
        self._proof.sign(request, asked)
        await self._calls.change("Act", self._stub.Act, request)
        if self._prompt == asked:  # answered, before the event that says so has come
            self._prompt, self.options = 0, ()

    async def leave(self) -> None:
        """Leaves the hand: the seat is folded when its turn comes, its bring-in posted first."""
        request = pb.LeaveHandRequest(hand_id=self.hand_id, seat=self.seat)
        self._proof.sign(request, 0)
        await self._calls.change("LeaveHand", self._stub.LeaveHand, request)


def _option(option: pb.ActionOption) -> Option:
    name = pb.Action.Name(option.action).removeprefix("ACTION_").lower().replace("_", "-")
    return Option(Action(name), option.amount)
