"""A player's side of a referee's hand: sees what its seat may see, each thing checked, and acts."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dealer.client.calls import Caller
from dealer.client.checks import Asked, require
from dealer.client.contribution import Contribution
from dealer.client.ending import Ending
from dealer.client.errors import UsageError
from dealer.client.history import read_action
from dealer.client.log import LogView
from dealer.client.receipts import Proven, family_of
from dealer.client.sealed import Sealed
from dealer.client.values import Card
from dealer.client.watched import Seen, WatchedHand, Watching
from dealer.core.entries import TEST
from dealer.core.hand import Reveal
from dealer.core.seats import LEAVE
from dealer.table.betting import Action, Option
from dealer.v1 import table_pb2 as pb


class Signer(Protocol):
    """Proves to the dealer whose a seat's requests are: everything that depends on it is asked here, nowhere else."""

    def sign(self, request: Any, prompt: int) -> None:
        """Puts the proof into a request to act, to leave or to watch.

        Args:
            request: the request, whole but for the proof.
            prompt: sequence number of the prompt that it answers; 0 for those that answer none.
        """


@dataclass(frozen=True, slots=True)
class Token:
    """An open seat's: the token that `StartHand` gave."""

    token: bytes = field(repr=False)

    def sign(self, request: Any, prompt: int) -> None:
        """See `Signer.sign`."""
        request.token = self.token


@dataclass(frozen=True, slots=True)
class Proofs:
    """A sealed seat's: a proof under the secret that its player shares with the dealer, one for each prompt.

    A room on the way could keep the first back, and choose between it and a second.
    """

    own: Sealed
    _given: dict[int, tuple[str, int]] = field(default_factory=dict, repr=False)

    def sign(self, request: Any, prompt: int) -> None:
        """See `Signer.sign`."""
        if isinstance(request, pb.WatchHandRequest):
            request.proof = self.own.prove_watching()
        elif isinstance(request, pb.LeaveHandRequest):
            request.proof = self.own.prove(0, LEAVE, 0)
        else:
            name = pb.Action.Name(request.action).removeprefix("ACTION_").lower()
            given = self._given.get(prompt, (name, request.amount))
            if given != (name, request.amount):
                told = f"seat {self.own.seat} has proven {given[0]} {given[1]} for this prompt, and proves nothing else"
                raise UsageError(told)
            request.proof = self.own.prove(prompt, name, request.amount)
            self._given[prompt] = given


class Watch:
    """Holds what is said of a sealed seat's actions to what its player did, in this run of its program.

    Attributes:
        resumed: whether an earlier run may have acted: then what it did is not known here.
    """

    def __init__(self, seat: int, *, resumed: bool) -> None:
        self._seat, self.resumed = seat, resumed
        self._asked = 0
        self._sent: dict[int, Option] = {}
        self._taken: set[int] = set()
        self._left = False

    def sends(self, prompt: int, option: Option) -> None:
        """Notes what goes out for a prompt."""
        self._sent[prompt] = option

    def taken(self, prompt: int) -> None:
        """Notes that the dealer said that it took what went out."""
        self._taken.add(prompt)

    def leaves(self) -> None:
        """Notes that the player leaves."""
        self._left = True

    def follow(self, seen: Seen) -> None:
        """Checks one event.

        Raises:
            CheckError: `dealing`: the seat is said to have done what its player did not.
        """
        if seen.kind == "seat_prompted" and seen.event.seat_prompted.seat == self._seat:
            self._asked = seen.event.sequence
        elif seen.kind == "seat_left" and seen.event.seat_left.seat == self._seat:
            require(self._left or self.resumed, "dealing", f"seat {self._seat} is said to have left, and did not")
        elif seen.kind == "seat_acted" and seen.event.seat_acted.seat == self._seat and not self.resumed:
            acted = seen.event.seat_acted
            asked, self._asked = self._asked, 0
            sent, said = self._sent.get(asked), _option(acted)
            if acted.cause == pb.CAUSE_PLAYER:
                mine = "nothing" if sent is None else f"{sent.action} {sent.amount}"
                told = f"seat {self._seat} is said to {said.action} {said.amount}, and its player chose {mine}"
                require(sent == said, "dealing", told)
            elif acted.cause == pb.CAUSE_TIMEOUT:
                told = f"the clock is said to have acted for seat {self._seat}, after the dealer had taken its action"
                require(asked not in self._taken, "dealing", told)
                told = f"the clock is said to have acted for seat {self._seat}, which was not asked"
                require(asked > 0, "dealing", told)
            else:
                require(self._left, "dealing", f"seat {self._seat} is said to have left, and did not")


class Seat:
    """One seat of a referee's hand, for its player.

    ```python
    async for seen in seat.events():
        if seat.options:
            await seat.act(*choose(seat.options))  # an action and its amount: an open pair may bet either of two
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
        signer: Signer,
        contribution: Contribution | None = None,
        ending: Ending | None = None,
        resumed: bool = False,
    ) -> None:
        self._stub, self._calls, self._watched, self._signer = stub, calls, watched, signer
        self._contribution = contribution
        self._value: bytes | None = None
        self._ending = ending
        self._watch = Watch(seat, resumed=resumed or ending is None)
        request = pb.WatchHandRequest(hand_id=hand_id, seat=seat)
        signer.sign(request, 0)
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
            CheckError: something does not hold: do not play on. Of a sealed seat also: its key was swapped or dropped,
                its envelope or a card does not open, or it is said to have done what it did not.
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
        with self._watched.checked():
            self._watch.follow(seen)
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
            UsageError: the seat is not asked, or not that; or it is sealed, and has proven another answer, no card of
                its own has opened, or a check has failed.
            CheckError: `lifecycle`: a sealed seat's hand is closed in the log, and played on to its player.
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
        await self._require_in_play()
        self._signer.sign(request, asked)
        self._watch.sends(asked, option)
        await self._calls.change("Act", self._stub.Act, request)
        self._watch.taken(asked)
        if self._prompt == asked:  # answered, before the event that says so has come
            self._prompt, self.options = 0, ()

    async def leave(self) -> None:
        """Leaves the hand: the seat is folded when its turn comes, its bring-in posted first."""
        request = pb.LeaveHandRequest(hand_id=self.hand_id, seat=self.seat)
        await self._require_in_play()
        self._signer.sign(request, 0)
        self._watch.leaves()
        await self._calls.change("LeaveHand", self._stub.LeaveHand, request)

    async def _require_in_play(self) -> None:
        """A sealed seat's player says nothing in a hand whose close is in the log."""
        if self._ending is not None and self.commit is not None:
            with self._watched.checked():
                await self._ending.require_none(self.hand_id, self.commit.index)

    def save(self, path: Path | str) -> None:
        """Writes the hand file of this seat, `cutcard-hand/v1`, for its owner's eyes; whole once the hand is over.

        Raises:
            UsageError: the hand has no commit yet.
            FolderError: it cannot be written.
        """
        self._watched.save(path)


class Through:
    """A player's way to the dealer through its room, which passes on what it can neither read nor make.

    It stands in for the dealer's TableService; a program that can reach the dealer itself needs none.
    """

    def __init__(
        self,
        ask: Callable[[str, bytes], Awaitable[bytes]],
        watch: Callable[[bytes], AsyncIterator[bytes]],
    ) -> None:
        """Takes the way to the room: what sends a method's request and gives its answer, and what gives the events.

        Args:
            ask: of "Act" and "LeaveHand"; ends at `Table.pass_on`.
            watch: ends at `Table.relay`.
        """
        self._ask, self._watch = ask, watch

    async def Act(self, request: pb.ActRequest, **options: Any) -> pb.ActResponse:  # noqa: N802 - the stub's name
        """Acts; see `dealer.v1.TableService`."""
        return pb.ActResponse.FromString(await self._ask("Act", request.SerializeToString()))

    async def LeaveHand(  # noqa: N802 - the stub's name
        self, request: pb.LeaveHandRequest, **options: Any
    ) -> pb.LeaveHandResponse:
        """Leaves; see `dealer.v1.TableService`."""
        return pb.LeaveHandResponse.FromString(await self._ask("LeaveHand", request.SerializeToString()))

    def WatchHand(self, request: pb.WatchHandRequest) -> "_Passed":  # noqa: N802 - the stub's name
        """Watches; see `dealer.v1.TableService`."""
        return _Passed(self._watch(request.SerializeToString()))


class _Passed:
    """Events as the room passes them on."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        self._events = events

    async def __aiter__(self) -> AsyncIterator[pb.WatchHandResponse]:
        async for event in self._events:
            yield pb.WatchHandResponse.FromString(event)

    def cancel(self) -> None:
        """Nothing is held open here: the iterator ends with whoever reads it."""


def sealed_seat(
    stub: Any,
    calls: Caller,
    log: LogView,
    hand_id: str,
    own: Sealed,
    *,
    asked: Asked | None = None,
    table: str | None = None,
    number: int = 1,
    exact: bool = False,
    reveal: Reveal | None = None,
    contribution: Contribution | None = None,
    resumed: bool = False,
    allow_test: bool = False,
) -> Seat:
    """Returns a sealed seat's side of a hand; `Client.sealed_seat` and `Table.seat` call it.

    Raises:
        UsageError: the log is a test double's, and that was not allowed.
    """
    require_certified(log, allow_test=allow_test)
    watched = WatchedHand(
        log,
        asked,
        own.seat,
        table=table,
        number=number,
        exact=exact,
        contribution=contribution,
        own=own,
        reveal=reveal,
    )
    return Seat(stub, calls, watched, hand_id, own.seat, Proofs(own), contribution, Ending(log), resumed)


def require_certified(log: LogView, *, allow_test: bool) -> None:
    """Refuses a test double's records where they were not asked for.

    Raises:
        UsageError: the log's key is a test double's.
    """
    if family_of(log.verifier) == TEST and not allow_test:
        raise UsageError("the key is a test double's: its decks are chosen, and nobody is to play for money on them")


def _option(said: pb.ActionOption | pb.SeatActed) -> Option:
    return Option(read_action(said.action), said.amount)
