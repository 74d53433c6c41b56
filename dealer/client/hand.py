"""One hand as its client sees it: every answer is checked before anything of it is handed on."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError

from dealer.client import checks, evidence, hand_file
from dealer.client import found as found_again
from dealer.client.calls import Caller
from dealer.client.contribution import Contribution
from dealer.client.cosigned import COMMIT, NOT_YET, Wanted, cosigned_receipt
from dealer.client.errors import ANSWER_LOST, HAND_LOST, CallError, CheckError, LostError, UsageError, lost_hand
from dealer.client.folder import Folder
from dealer.client.log import LogView
from dealer.client.receipts import Proven, family_of, read_entry
from dealer.client.turns import Turns
from dealer.client.values import (
    Card,
    Opener,
    commit_index,
    face_value,
    offer_index,
    parse_face,
    parse_street,
    parse_void_reason,
    read_card,
    read_status,
    read_void_reason,
    status_value,
    street_value,
    void_value,
    write_card,
)
from dealer.core import hand as machine
from dealer.core.hand import Dealt, Face, HandState, Reveal, Status, VoidReason
from dealer.core.ids import hand_text
from dealer.errors import Refused
from dealer.log.acknowledgement import Acknowledgement, open_acknowledgement
from dealer.log.errors import LogError
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2

T = TypeVar("T")
_LOCKED, _NOT_FOUND = "HAND_LOCKED", "HAND_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Shared:
    """What all hands of a client share."""

    stub: Any
    calls: Caller
    log: LogView
    folder: Folder
    key: str
    wanted: Wanted | None = None
    background: set["asyncio.Task[Any]"] = field(default_factory=set)


class Hand:
    """A hand that this client has opened. Its calls are made one after the other.

    Attributes:
        offer, commit, closed: its log entries with their receipts, proven; None as long as there is none.
        cards: every card dealt so far, by position.
        opener: who opens the betting of the street last dealt; None with one seat left, in free-draw, and of a hand
            that was over when it was found again.
        deck: the whole deck, once a public hand is over.
        acknowledgements: the dealer's word for each value that it took, by contributor.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._acknowledged: dict[str, bytes] = {}
        self._family = family_of(shared.log.verifier)
        self._evidence = evidence.Evidence(shared.key)
        self._turns = Turns(shared.calls)
        self._state: HandState
        self._whole = types_pb2.Hand()  # with entries, receipts, commitments and envelopes, as it came
        self._closing = b""
        self._committed: checks.Committed | None = None
        self._found: tuple[HandState, HandState] | None = None  # the hand after its commit, and where it was found
        self._lost: LostError | None = None
        self._cosigning: asyncio.Task[Proven | None] | None = None
        self._cosigned_commit = False
        self.offer: Proven | None = None
        self.commit: Proven | None = None
        self.closed: Proven | None = None
        self.cards: dict[int, Card] = {}
        self._places: dict[str, int] = {}
        self.opener: Opener | None = None
        self.deck: tuple[str, ...] | None = None
        self.acknowledgements: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Hand {self.number} of {self.table}: {self._state.status}>"

    @property
    def hand_id(self) -> str:
        """UUID of the hand."""
        return hand_text(self._state.hand)

    @property
    def table(self) -> str:
        """The table's id."""
        return self._state.table

    @property
    def number(self) -> int:
        """The table's hand count."""
        return self._state.number

    @property
    def status(self) -> Status:
        """Where the hand stands."""
        return self._state.status

    @property
    def in_play(self) -> bool:
        """Whether the hand is neither closed nor void nor lost."""
        return self._state.in_play

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats still in, in dealing order."""
        return self._state.live

    @property
    def street(self) -> str | None:
        """The street last dealt."""
        return self._state.street

    @property
    def cards_left(self) -> int:
        """How many cards are not dealt yet."""
        return self._state.cards_left

    def cards_of(self, seat: int) -> tuple[Card, ...]:
        """The cards of a seat, in the order dealt; seat 0 is the board."""
        return tuple(card for _, card in sorted(self.cards.items()) if card.seat == seat)

    async def begin(self, opened: types_pb2.Hand, asked: checks.Asked, own: Sequence[Contribution]) -> None:
        """Checks the answer that opened the hand; contributes, and locks the deck if nobody else is to contribute.

        `Client.open_hand` calls it.
        """
        self._evidence.hand = opened.hand_id
        with self._checked():
            # The log comes first: of a dealer that was rolled back everything else is wrong as well.
            proven = await (self._prove_offer(opened) if asked.invited else self._prove_commit(opened))
            self._state = checks.check_opened(opened, asked, proven)
            if not asked.invited:
                self._take_commit(proven, opened, self._state)
                return
            checks.check_offer(proven, self._state, self._family)
            self.offer, self._whole = proven, opened
            self._shared.folder.keep(self.hand_id, "offer", proven)
        try:
            for contribution in own:
                with self._checked():
                    value = contribution.release(proven)
                await self.submit(contribution.contributor, value)
        except CallError as error:
            if error.reason != _LOCKED:
                raise
            # The deadline has passed meanwhile. Who was late is listed as withheld, and the hand goes on.
        if len(own) == len(asked.invited):
            await self.lock()

    async def take_up(self, found: pb.GetHandResponse) -> None:
        """Rebuilds a hand that was found again, everything checked as when it was played.

        `Client.resume` calls it.

        Raises:
            LostError: the dealer has lost the hand.
            CheckError: something does not hold, or is not what was kept of the hand.
        """
        hand = found.hand
        self._evidence.hand = hand.hand_id
        with self._checked(found.cards):
            offer = await self._prove_again("offer", hand) if offer_index(hand) is not None else None
            commit = await self._prove_again("commit", hand) if commit_index(hand) is not None else None
            start = checks.opened_state(hand, found_again.asked_again(offer, commit))
            if offer is not None:
                checks.check_offer(offer, start, self._family)
            self._state, self.offer, self._whole = start, offer, hand
            self._remember_acknowledgements()
            if read_status(hand) is Status.LOST:
                error = lost_hand()
                self._lost = self._lose(error)
                raise self._lost from error
            if commit is None:
                self._check_view(hand, start)
                return
            if offer is not None:
                start = machine.lock(start, hand.deck_commitment)
            self._take_commit(commit, hand, start)
            if read_status(hand) is Status.COMMITTED:
                self._take_up_in_play(found, start)
            else:
                await self._take_up_over(found, start, commit)

    def _take_up_in_play(self, found: pb.GetHandResponse, start: HandState) -> None:
        cards = [card for card in map(read_card, found.cards) if card is not None]
        state, at_street = self._followed(lambda: found_again.follow(start, cards, found.hand.live_seats))
        self._take(found.cards, found_again.lying(state), found.hand, state)
        self._found = start, state
        self.opener = checks.opener_of(at_street, self.cards)

    async def _take_up_over(self, found: pb.GetHandResponse, start: HandState, commit: Proven) -> None:
        close = await self._find_close(commit.index)
        state = self._followed(lambda: found_again.replay(start, found_again.events_of(close)))
        due = found_again.lying(state)
        if state.reveal is Reveal.SEALED:
            due = [card for card in due if card.face is Face.UP]
        void = read_status(found.hand) is Status.VOID
        ended = self._followed(lambda: machine.void(state) if void else machine.complete(state))
        reason = read_void_reason(close.content) if void else None
        cards = checks.check_cards(found.cards, due, state, self._bound().card_commitments, {})
        self._check_view(found.hand, ended)
        self.cards.update((card.position, card) for card in cards)
        self.deck = checks.check_close(close, ended, reason, self._bound(), self.cards, self._family)
        self._state, self.closed = ended, close
        self._shared.folder.keep(self.hand_id, "close", close)

    async def _find_close(self, commit: int) -> Proven:
        """Looks for the hand's close in the log, behind its commit."""
        mark, index = f'"hand":"{self.hand_id}"'.encode(), commit
        async for entry in self._shared.log.entries(commit + 1):
            index += 1
            if mark in entry and read_entry(entry).get("schema") == f"{self._family}/close":
                proven = await self._shared.log.receipt(index)
                self._evidence.entries["close"] = (proven.entry, proven.receipt)
                return proven
        raise CheckError("lifecycle", "the dealer says that the hand is over, and the log has no close of it")

    async def _prove_again(self, name: str, hand: types_pb2.Hand) -> Proven:
        """Proves an entry of a hand that was found again, and holds it against what was kept of the hand."""
        proven = await (self._prove_offer(hand) if name == "offer" else self._prove_commit(hand))
        kept = self._shared.folder.kept(hand.hand_id, name)
        checks.require(kept in (None, proven.entry), "lifecycle", f"the hand's {name} is another than the one kept")
        self._shared.folder.keep(hand.hand_id, name, proven)
        return proven

    def _remember_acknowledgements(self) -> None:
        """Takes what the dealer acknowledged to an earlier run of this client: it holds for the deck."""
        for note in self._shared.folder.acknowledgements(self.hand_id):
            with suppress(LogError):  # a file that is no such note proves nothing
                said = open_acknowledgement(note, self._shared.log.verifier)
                self._acknowledged[said.contributor] = said.value
                self.acknowledgements[said.contributor] = note
                self._evidence.acknowledgements.append(note)

    async def submit(self, contributor: str, value: bytes) -> str:
        """Gives a contributor's value to an offered hand.

        Args:
            contributor: id as invited.
            value: 32 bytes, as `Contribution.release` gave it.

        Returns:
            The dealer's acknowledgement, a signed note: the contributor should keep it.

        Raises:
            CallError: refused: the value does not match, or the deck is locked.
            CheckError: the acknowledgement does not hold.
        """

        async def step() -> str:
            request = pb.SubmitEntropyRequest(hand_id=self.hand_id, contributor=contributor, value=value)
            answer: pb.SubmitEntropyResponse = await self._change("SubmitEntropy", request)
            with self._checked():
                self._check_view(answer.hand, self._state)
                given = Acknowledgement(self.hand_id, contributor, value)
                checks.check_acknowledgement(answer.acknowledgement, given, self._shared.log.verifier)
            self._acknowledged[contributor] = value
            self.acknowledgements[contributor] = answer.acknowledgement
            self._evidence.acknowledgements.append(answer.acknowledgement)
            self._shared.folder.keep_acknowledgement(self.hand_id, contributor, answer.acknowledgement)
            return answer.acknowledgement

        return await self._take_turn(step, "submit", contributor, value)

    async def lock(self) -> None:
        """Ends the contributions and checks the commit; also if the dealer's deadline has ended them already.

        Raises:
            CallError: refused.
            CheckError: the commit does not hold, or lacks a value that was acknowledged.
        """

        async def step() -> None:
            if self._state.status is not Status.OFFERED:
                raise UsageError("the deck of this hand is locked already")
            try:
                answer: pb.LockDeckResponse = await self._change("LockDeck", pb.LockDeckRequest(hand_id=self.hand_id))
                locked = answer.hand
            except CallError as error:
                if error.reason != _LOCKED:
                    raise
                locked = (await self._get()).hand
            with self._checked():
                state = replace(machine.lock(self._state), deck_commitment=locked.deck_commitment)
                commit = await self._prove_commit(locked)
                checks.check_hand(locked, state, self.offer, commit)
                self._take_commit(commit, locked, state)

        await self._take_turn(step, "lock")

    async def deal_street(self, street: str) -> tuple[Card, ...]:
        """Deals the next street of stud: "third", "fourth", "fifth", "sixth" or "seventh".

        Returns:
            The cards in the order dealt, each checked against its commitment.

        Raises:
            CallError: refused: not the next street, or one seat is left.
            CheckError: a card does not hold.
        """

        async def step() -> tuple[Card, ...]:
            self._require_committed()
            await self._require_cosigned()
            request = pb.DealStreetRequest(hand_id=self.hand_id, street=parse_street(street))
            answer: pb.DealStreetResponse = await self._change("DealStreet", request)
            with self._checked(answer.cards):
                state, event = self._followed(lambda: machine.deal_street(self._state, street))
                return self._take(answer.cards, event.cards, answer.hand, state, answer.opener)

        return await self._take_turn(step, "deal", street)

    async def draw(self, wanted: Sequence[tuple[int, Face | str]]) -> tuple[Card, ...]:
        """Draws cards in free-draw.

        Args:
            wanted: seat (0: the board) and "down" or "up" of each card, in dealing order.

        Returns:
            The cards in this order, each checked against its commitment.
        """
        pairs = [(seat, parse_face(face)) for seat, face in wanted]

        async def step() -> tuple[Card, ...]:
            self._require_committed()
            await self._require_cosigned()
            draws = [pb.Draw(seat=seat, face=face_value(face)) for seat, face in pairs]
            request = pb.DrawCardsRequest(hand_id=self.hand_id, draws=draws)
            answer: pb.DrawCardsResponse = await self._change("DrawCards", request)
            with self._checked(answer.cards):
                state, event = self._followed(lambda: machine.draw(self._state, pairs))
                return self._take(answer.cards, event.cards, answer.hand, state)

        return await self._take_turn(step, "draw", *pairs)

    async def fold(self, seat: int) -> None:
        """Folds a seat: it gets no more cards."""

        async def step() -> None:
            self._require_committed()
            request = pb.FoldSeatRequest(hand_id=self.hand_id, seat=seat)
            answer: pb.FoldSeatResponse = await self._change("FoldSeat", request)
            with self._checked():
                state, _ = self._followed(lambda: machine.fold(self._state, seat))
                self._take((), (), answer.hand, state)

        await self._take_turn(step, "fold", seat)

    async def show(self, positions: Sequence[int], consents: Sequence[bytes] = ()) -> tuple[Card, ...]:
        """Turns up down cards of seats still in; returns them by ascending position.

        Args:
            positions: of the cards.
            consents: of sealed seats, as their players gave them; see `HandSeat.consent`.

        Raises:
            UsageError: one of these is no consent.
            CallError: refused, such as `CONSENT_MISSING`.
        """
        try:
            given = [pb.SeatConsent.FromString(each) for each in consents]
        except DecodeError:
            raise UsageError("these bytes are no consent of a seat") from None

        async def step() -> tuple[Card, ...]:
            self._require_committed()
            request = pb.ShowCardsRequest(hand_id=self.hand_id, positions=positions, consents=given)
            answer: pb.ShowCardsResponse = await self._change("ShowCards", request)
            with self._checked(answer.cards):
                state, event = self._followed(lambda: machine.show(self._state, positions))
                dealt = state.dealt
                due = [dealt[position]._replace(face=Face.UP) for position in event.positions]
                return self._take(answer.cards, due, answer.hand, state)

        return await self._take_turn(step, "show", *positions, *consents)

    async def close(self) -> Proven:
        """Completes the hand, and checks what it reveals against everything that was seen.

        Returns:
            The close entry with its receipt. A public hand's whole deck is in `deck` from now on.
        """

        async def step() -> Proven:
            self._require_committed()
            answer: pb.CloseHandResponse = await self._change("CloseHand", pb.CloseHandRequest(hand_id=self.hand_id))
            with self._checked():
                state = self._followed(lambda: machine.complete(self._state))
                return await self._take_close(answer, state, None)

        return await self._take_turn(step, "close")

    async def void(self, reason: VoidReason | str = VoidReason.OPERATOR) -> Proven:
        """Gives the hand up, in any state; it is revealed and checked like any other.

        Args:
            reason: "operator", "timeout", "misdeal" or "failure".
        """
        why = parse_void_reason(reason)

        async def step() -> Proven:
            value = void_value(why)
            answer: pb.VoidHandResponse = await self._change(
                "VoidHand", pb.VoidHandRequest(hand_id=self.hand_id, reason=value)
            )
            with self._checked():
                if self._state.status is Status.OFFERED:
                    given_up = (await self._get()).hand  # it was locked and committed first
                    locked = replace(machine.lock(self._state), deck_commitment=given_up.deck_commitment)
                    commit = await self._prove_commit(given_up)
                    checks.check_hand(given_up, machine.void(locked), self.offer, commit)
                    self._take_commit(commit, given_up, locked)
                state = self._followed(lambda: machine.void(self._state))
                return await self._take_close(answer, state, why)

        return await self._take_turn(step, "void", why)

    async def _take_turn(self, step: Callable[[], Awaitable[T]], *what: object) -> T:
        """Makes a call in its turn; of a hand that is lost, none any more.

        Raises:
            LostError: the hand is lost, or what has become of it.
        """
        if self._lost is not None:
            raise self._lost.with_traceback(None)
        try:
            return await self._turns.take(step, *what)
        except CallError as error:
            if error.reason not in (HAND_LOST, ANSWER_LOST):
                raise
            self._lost = self._lose(error)
            raise self._lost from error

    def _lose(self, error: CallError) -> LostError:
        """Keeps what is left of a hand."""
        if error.reason == HAND_LOST and self._state.in_play:
            self._state = machine.lose(self._state)
        said = f"hand {self.number} of {self.table} cannot be played on: {error}"
        return LostError(
            error, said, evidence.write(self._evidence.content("lost", said), self._shared.folder.evidence)
        )

    async def _change(self, method: str, request: Any) -> Any:
        with self._checked():
            try:
                return await self._turns.send(method, getattr(self._shared.stub, method), request)
            except CallError as error:
                if error.reason == _NOT_FOUND:  # and it stands in the log: unless that was rolled back
                    with suppress(CallError):
                        await self._shared.log.refresh()
                raise

    async def _get(self) -> pb.GetHandResponse:
        request = pb.GetHandRequest(hand_id=self.hand_id)
        with self._checked():
            answer: pb.GetHandResponse = await self._shared.calls.ask("GetHand", self._shared.stub.GetHand, request)
        if answer.hand.hand_id == self.hand_id and read_status(answer.hand) is Status.LOST:
            raise lost_hand()
        return answer

    async def _prove_offer(self, hand: types_pb2.Hand) -> Proven:
        return await self._prove("offer", hand.offer_entry, hand.offer_receipt, offer_index(hand))

    async def _prove_commit(self, hand: types_pb2.Hand) -> Proven:
        self._evidence.card_commitments = hand.card_commitments
        return await self._prove("commit", hand.commit_entry, hand.receipt, commit_index(hand))

    async def _prove(self, name: str, entry: bytes, receipt: str, index: int | None) -> Proven:
        """Proves that an entry stands in the log as it has been seen; one that was not sent along is asked for."""
        self._evidence.entries[name] = (entry, receipt)
        if entry and receipt:
            return await self._shared.log.accept(entry, receipt, index)
        if index is None:
            raise CheckError("checkpoint", f"the dealer gave neither the {name} entry nor its index")
        proven = await self._shared.log.receipt(index)
        self._evidence.entries[name] = (proven.entry, proven.receipt)
        return proven

    def _take_commit(self, commit: Proven, hand: types_pb2.Hand, state: HandState) -> None:
        self._committed = checks.check_commit(
            commit, state, hand.card_commitments, self.offer, self._acknowledged, self._family
        )
        checks.check_envelopes(hand, state, whole=read_status(hand) is Status.COMMITTED)
        self._state, self.commit, self._whole = state, commit, hand
        self._shared.folder.keep(self.hand_id, "commit", commit)

    async def _take_close(
        self, answer: pb.CloseHandResponse | pb.VoidHandResponse, state: HandState, reason: VoidReason | None
    ) -> Proven:
        self._check_view(answer.hand, state)
        close = await self._prove("close", answer.entry, answer.receipt, None)
        if self._found is not None:
            state = found_again.as_logged(*self._found, state, close)
        self.deck = checks.check_close(close, state, reason, self._bound(), self.cards, self._family)
        self._state, self.closed = state, close
        self._closing = answer.SerializeToString()
        self._shared.folder.keep(self.hand_id, "close", close)
        if self._shared.wanted is not None:
            self._cosigning = asyncio.ensure_future(self._ask_cosigned(self._shared.wanted, close))
            self._shared.background.add(self._cosigning)
            self._cosigning.add_done_callback(self._let_go)
        return close

    async def witnessed(self, timeout: float | None = None) -> Proven | None:  # noqa: ASYNC109
        """Waits until witnesses enough, by the client's policy, have cosigned a tree that holds the hand's close.

        Args:
            timeout: seconds to wait; None: as long as the client waits by itself, 60 and two of the dealer's paces.

        Returns:
            The close with a receipt that says so; None where none came in time.

        Raises:
            UsageError: the client has no policy, or the hand is not over.
            CheckError: `witness` if a cosignature is wrong; or what else does not hold.
            CallError: the dealer asks no witnesses, or did not answer.
        """
        wanted, close = self._shared.wanted, self.closed
        if wanted is None or close is None:
            raise UsageError("only a hand that is over, of a client with a policy, is cosigned by witnesses")
        seconds = wanted.seconds if timeout is None else timeout
        if self._cosigning is not None:
            await asyncio.wait((self._cosigning,), timeout=seconds)
            if not self._cosigning.done():
                return None
            if (found := self._cosigning.result()) is not None:
                return found
        return await self._cosigned("close", wanted, close, seconds)

    def _let_go(self, task: "asyncio.Task[Any]") -> None:
        self._shared.background.discard(task)
        if not task.cancelled():
            task.exception()  # `witnessed` raises it, if anybody asks

    async def _ask_cosigned(self, wanted: Wanted, close: Proven) -> Proven | None:
        """Asks in the background, and says so where no cosignatures come: by `witnessed` too what went wrong."""
        found: Proven | None = None
        try:
            found = await self._cosigned("close", wanted, close, wanted.seconds)
        finally:
            if found is None and not self._shared.log.closed:
                wanted.on_unwitnessed(self)
        return found

    async def _cosigned(self, name: str, wanted: Wanted, entry: Proven, seconds: float) -> Proven | None:
        with self._checked():
            found = await cosigned_receipt(self._shared.log, wanted, entry, seconds)
        if found is not None:
            self._shared.folder.keep(self.hand_id, f"{name}-witnessed", found)
        return found

    async def _require_cosigned(self) -> None:
        """Holds the first card back until the commit is cosigned, where the client is to wait for that."""
        wanted = self._shared.wanted
        if wanted is None or wanted.mode != COMMIT or self._cosigned_commit or self.commit is None:
            return
        if await self._cosigned("commit", wanted, self.commit, wanted.seconds) is None:
            code = grpc.StatusCode.FAILED_PRECONDITION
            said = f"the commit has not got its cosignatures in {wanted.seconds:.0f} seconds: no card was asked for"
            raise CallError("GetReceipt", code, NOT_YET, said)
        self._cosigned_commit = True

    def view(self, seat: int) -> bytes:
        """Returns the hand as a seat may see it now, for `HandSeat.take`: of down cards its own alone.

        A room hands it on after each thing that happens; it cannot read the sealed cards in it.
        """
        state, seen = self._state, types_pb2.Hand()
        seen.CopyFrom(self._whole)
        del seen.live_seats[:], seen.envelopes[:]
        seen.live_seats.extend(state.live)
        seen.envelopes.extend(each for each in self._whole.envelopes if each.seat == seat)
        seen.state = status_value(state.status)
        seen.street, seen.cards_left = street_value(state.street), state.cards_left
        cards = [
            write_card(card, open_=card.face is Face.UP or card.seat == seat) for _, card in sorted(self.cards.items())
        ]
        return pb.GetHandResponse(hand=seen, cards=cards).SerializeToString()

    def closing(self) -> bytes:
        """Returns the hand's end, for `HandSeat.finish`.

        Raises:
            UsageError: the hand is in play, or was over when it was found again: then it stands in the log.
        """
        if not self._closing:
            raise UsageError("this hand has not been closed here")
        return self._closing

    def save(self, path: Path | str, seat: int | None = None) -> None:
        """Writes a hand file, `cutcard-hand/v1`, for its owner's eyes.

        Args:
            path: where to.
            seat: whose cards it has; None: all that this client saw.

        Raises:
            UsageError: the hand has no commit yet.
            FolderError: it cannot be written.
        """
        cards = [card for _, card in sorted(self.cards.items()) if seat in (None, card.seat)]
        hand_file.save(
            path,
            key=self._shared.key,
            state=self._state,
            entries={"offer": self.offer, "commit": self.commit, "close": self.closed},
            cards=cards,
            acknowledgements=self.acknowledgements.values(),
        )

    def _check_view(self, hand: types_pb2.Hand, state: HandState) -> None:
        checks.check_hand(hand, state, self.offer, self.commit)

    def _take(
        self,
        messages: Sequence[types_pb2.Card],
        due: Sequence[Dealt],
        hand: types_pb2.Hand,
        state: HandState,
        opener: types_pb2.Opener | None = None,
    ) -> tuple[Card, ...]:
        """Checks what an answer says, and only then makes it what is known; `opener` comes with a street."""
        cards = checks.check_cards(messages, due, state, self._bound().card_commitments, self._places)
        self._check_view(hand, state)
        known = self.cards | {card.position: card for card in cards}
        if opener is not None:
            self.opener = checks.check_opener(opener, state, known)
        self._state = state
        self.cards.update(known)
        self._places.update((card.name, card.position) for card in cards if card.name)
        return cards

    def _bound(self) -> checks.Committed:
        if self._committed is None:
            raise UsageError("no card before the commit of the hand has been checked: lock the deck first")
        return self._committed

    def _require_committed(self) -> None:
        self._bound()
        if self._state.status is not Status.COMMITTED:
            raise UsageError(f"the hand is {self._state.status}")

    def _followed(self, command: Callable[[], T]) -> T:
        """Carries out here what the dealer says it has carried out."""
        try:
            return command()
        except Refused as refused:
            raise CheckError("dealing", f"the dealer did what the rules forbid: {refused}") from refused

    def _checked(self, cards: Sequence[types_pb2.Card] = ()) -> AbstractContextManager[None]:
        """Gives a failed check its evidence: what is known of the hand, and the cards of the answer at hand."""
        return evidence.keeping(self._evidence, self._shared.folder.evidence, cards)
