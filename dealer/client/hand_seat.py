"""A player's side of a hand that a room deals: it checks what the room passes on, and gives its word."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from dealer.client import checks, evidence, hand_file
from dealer.client import found as found_again
from dealer.client.checks import require
from dealer.client.contribution import Contribution
from dealer.client.ending import Ending
from dealer.client.errors import CheckError, LostError, UsageError, lost_hand
from dealer.client.log import LogView
from dealer.client.receipts import Proven, family_of
from dealer.client.sealed import Sealed
from dealer.client.values import Card, commit_index, offer_index, read_card, read_status, read_void_reason
from dealer.core import hand as machine
from dealer.core.hand import Deal, Draw, Face, HandState, Reveal, Show, Status
from dealer.core.ids import hand_text
from dealer.errors import Refused
from dealer.log.acknowledgement import Acknowledgement
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2

M = TypeVar("M", bound=Message)
T = TypeVar("T")


class HandSeat:
    """One sealed seat of a hand at DealerService, for its player. The room passes on `Hand.view` and `Hand.closing`.

    ```python
    await seat.take(view)  # after everything that happens
    room.send(await seat.consent([0, 3]))  # when it wants to be seen
    await seat.finish(closing)
    ```

    Attributes:
        seat: the seat's number.
        offer, commit, closed: the hand's log entries with their receipts, proven; None as long as there is none.
        cards: every card that lies there, by position; of others' down cards only where they lie.
    """

    def __init__(
        self,
        log: LogView,
        own: Sealed,
        table: str,
        number: int,
        contribution: Contribution | None = None,
        *,
        exact: bool = False,
        resumed: bool = False,
    ) -> None:
        """Begins before the hand is opened; see `Client.hand_seat`."""
        self._log, self._own, self._table, self._number, self._exact = log, own, table, number, exact
        self._contribution = contribution
        self._value: bytes | None = None
        self._family = family_of(log.verifier)
        self._evidence = evidence.Evidence(log.key)
        self._acknowledged: dict[str, bytes] = {}
        self._ending = Ending(log)
        self._resumed = resumed
        self._state: HandState | None = None
        self._start: HandState | None = None
        self._committed: checks.Committed | None = None
        self._consented: set[int] = set()
        self._showdown = self._folded = False
        self.seat = own.seat
        self.offer: Proven | None = None
        self.commit: Proven | None = None
        self.closed: Proven | None = None
        self.cards: dict[int, Card] = {}

    def __repr__(self) -> str:
        return f"<HandSeat {self.seat} of table {self._table}>"

    @property
    def hand_id(self) -> str:
        """UUID of the hand.

        Raises:
            UsageError: nothing of it has come yet.
        """
        return hand_text(self._known().hand)

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats still in, in dealing order."""
        return self._known().live

    @property
    def street(self) -> str | None:
        """The street last dealt."""
        return self._known().street

    def cards_of(self, seat: int) -> tuple[Card, ...]:
        """The cards of a seat, in the order dealt; seat 0 is the board."""
        return tuple(card for _, card in sorted(self.cards.items()) if card.seat == seat)

    async def take(self, view: bytes) -> None:
        """Takes the hand as the room passes it on, and checks all of it against the log and what came before.

        Args:
            view: as `Hand.view` gave it.

        Raises:
            CheckError: something does not hold: do not play on.
            LostError: the dealer has lost the hand.
            UsageError: these bytes are no view, or the hand is over.
        """
        found = _read(pb.GetHandResponse, view)
        if self.closed is not None:
            raise UsageError("the hand is over")
        with self._checked(found.cards):
            if self._state is None or (self.commit is None and commit_index(found.hand) is not None):
                await self._begin(found.hand)
            state = self._known()
            require(found.hand.hand_id == hand_text(state.hand), "lifecycle", "another hand was passed on")
            if read_status(found.hand) is Status.LOST:
                raise LostError(lost_hand(), f"hand {state.number} of {state.table} is lost", None)
            if self._committed is None or self._start is None:
                checks.check_hand(found.hand, state, self.offer, None)
                return
            self._look(found, self._start, self._committed)

    async def _begin(self, hand: types_pb2.Hand) -> None:
        """Takes the offer, or the commit: each under its receipt, before anything else is looked at."""
        self._evidence.take_opened(hand)
        if self.offer is None and offer_index(hand) is not None:
            offer = await self._log.accept(hand.offer_entry, hand.offer_receipt, offer_index(hand))
            state = self._opened(hand, self._told(offer, None))
            checks.check_offer(offer, state, self._family)
            self._own.require_key(state)
            self._state, self.offer = state, offer
            self._keep("offer", offer)
        if commit_index(hand) is None:
            return
        commit = await self._log.accept(hand.commit_entry, hand.receipt, commit_index(hand))
        if self.offer is None:
            require(self._contribution is None, "entropy", "the hand was never offered to its contributors")
            start = self._opened(hand, self._told(None, commit))
        else:
            start = machine.lock(self._known(), hand.deck_commitment)
        self._evidence.card_commitments = hand.card_commitments
        committed = checks.check_commit(
            commit, start, hand.card_commitments, self.offer, self._acknowledged, self._family
        )
        self._own.require_key(start)
        self._own.take_envelope(start.hand, hand.envelopes)
        self._state = self._start = start
        self._committed, self.commit = committed, commit
        self._keep("commit", commit)
        self._log.folder.take_number(self._table, start.number)

    def _told(self, offer: Proven | None, commit: Proven | None) -> checks.Asked:
        told = found_again.asked_again(offer, commit)
        require(told.table == self._table, "lifecycle", f"table: expected {self._table}, found {told.table}")
        right = told.number == self._number if self._exact else told.number >= self._number
        require(right, "lifecycle", f"hand {self._number} of the table was expected, and {told.number} came")
        require(told.reveal is Reveal.SEALED, "reveal", "a seat is sealed only where the hand's reveal is")
        if (mine := self._contribution) is not None:
            invited = (mine.contributor, mine.commitment) in told.invited
            require(invited, "entropy", f"the hand does not hold the commitment of {mine.contributor}")
        return told

    def _opened(self, hand: types_pb2.Hand, asked: checks.Asked) -> HandState:
        state = checks.opened_state(hand, asked)
        require(self.seat in state.seats, "lifecycle", f"seat {self.seat} was not dealt in")
        return state

    def _look(self, found: pb.GetHandResponse, start: HandState, committed: checks.Committed) -> None:
        """Checks the cards that lie there, and that nothing was taken back and nothing done in this seat's name."""
        cards = [card for card in map(read_card, found.cards) if card is not None]
        state, _ = _followed(lambda: found_again.follow(start, cards, found.hand.live_seats))
        lying = found_again.lying(state)
        checked = checks.check_cards(
            found.cards, lying, state, committed.card_commitments, {}, blanks=True, opens=self._own
        )
        status = read_status(found.hand)
        over = status in (Status.CLOSED, Status.VOID)  # the room may pass it on once more before its end
        checks.check_hand(found.hand, state.later(status=status) if over else state, self.offer, self.commit)
        self._require_further(state)
        self._require_own_word(state)
        self._own.believe(checked)
        known = {card.position: card for card in checked}
        for position, before in self.cards.items():
            same = not before.name or not known[position].name or before.name == known[position].name
            require(same, "opening", f"the card at position {position} is another than before")
        self.cards, self._state = known, state

    def _require_further(self, state: HandState) -> None:
        """Checks that a later view goes on from the one before."""
        before = self._known()
        dealt = state.dealt[: len(before.dealt)] == before.dealt
        require(
            dealt and set(state.live) <= set(before.live), "dealing", "what was dealt or folded has been taken back"
        )
        require(before.shown <= state.shown, "dealing", "what was shown has been taken back")

    def _require_own_word(self, state: HandState) -> None:
        """Checks that this seat was neither folded nor shown without its player's word, as far as this run gave it."""
        if self._resumed:
            return
        if not self._folded and self.seat not in state.live:
            raise CheckError("dealing", f"seat {self.seat} was folded, and its player did not fold")
        own = {card.position for card in state.dealt if card.seat == self.seat and card.face is Face.DOWN}
        shown = sorted((state.shown & own) - self._consented)
        if shown and not (self._showdown and _is_last(state)):
            raise CheckError("dealing", f"cards of seat {self.seat} were shown without its consent: {shown}")

    async def finish(self, closing: bytes) -> Proven:
        """Takes the hand's end: outcome and events have to be what this player saw, and the log's.

        Args:
            closing: as `Hand.closing` gave it.

        Returns:
            The close entry with its receipt.

        Raises:
            CheckError: it does not hold, or tells of something that this player did not see or did not do.
            UsageError: these bytes are no end, or no commit has come.
        """
        answer = _read(pb.CloseHandResponse, closing)
        state, start, committed = self._known(), self._start, self._committed
        if start is None or committed is None:
            raise UsageError("no commit of the hand has come")
        with self._checked():
            self._evidence.entries["close"] = (answer.entry, answer.receipt)
            close = await self._log.accept(answer.entry, answer.receipt)
            void = read_status(answer.hand) is Status.VOID
            told = _followed(lambda: found_again.replay(start, found_again.events_of(close)))
            self._require_own_word(told)
            seen = (found_again.lying(told), told.live) == (found_again.lying(state), state.live)
            require(seen, "dealing", "the log's events are not those that were passed on")
            self._require_showdown(told)
            ended = _followed(lambda: machine.void(told) if void else machine.complete(told))
            checks.check_hand(answer.hand, ended, self.offer, self.commit)
            reason = read_void_reason(close.content) if void else None
            checks.check_close(close, ended, reason, committed, self.cards, self._family)
        self._state, self.closed = ended, close
        self._keep("close", close)
        return close

    def _require_showdown(self, told: HandState) -> None:
        """Checks that what a consent to the showdown opened came with the showdown, not before."""
        if self._resumed:  # an earlier run may have consented to more
            return
        own = {card.position for card in told.dealt if card.seat == self.seat and card.face is Face.DOWN}
        dealt = 0
        for event in told.events:
            if isinstance(event, Show) and set(event.positions) & own - self._consented:
                come = dealt == len(told.dealt) and _is_last(told)
                require(come, "dealing", f"seat {self.seat} was shown before the showdown")
            dealt += len(event.cards) if isinstance(event, Deal | Draw) else 0

    async def consent(self, positions: Sequence[int]) -> bytes:
        """Consents to have exactly these down cards of its own turned up in one request, for `Hand.show`.

        It is good whenever the room presents it: it is given when the player wants to be seen.

        Raises:
            UsageError: these are not cards of its own, none has opened yet, or a check has failed.
            CheckError: `lifecycle`: the hand is closed in the log.
        """
        await self._require_in_play()
        given = self._own.consent(positions).SerializeToString()
        self._consented |= set(positions)
        return given

    async def consent_to_showdown(self) -> bytes:
        """Consents to the showdown, at any time; it is honoured once no other sealed seat can bet any more.

        Raises:
            UsageError: no card of its own has opened yet, or a check has failed.
            CheckError: `lifecycle`: the hand is closed in the log.
        """
        await self._require_in_play()
        given = self._own.consent_to_showdown().SerializeToString()
        self._showdown = True
        return given

    async def require_in_play(self) -> None:
        """Looks into the log before its player bets: nothing is to be bet in a hand that is closed there.

        Raises:
            CheckError: `lifecycle`: it is.
        """
        await self._require_in_play()

    def folds(self) -> None:
        """Notes that the player folds, before the room is told: a fold that was not noted is somebody else's."""
        self._folded = True

    async def _require_in_play(self) -> None:
        if self.commit is None:
            raise UsageError("no word is given before the commit has come")
        with self._checked():
            await self._ending.require_none(self.hand_id, self.commit.index)

    def value(self) -> bytes:
        """Returns the player's own contribution, for the room to submit, once the proven offer binds the dealer.

        Raises:
            UsageError: it has none, or the offer has not come yet.
            CheckError: the offer does not hold it.
        """
        if self._contribution is None or self.offer is None:
            raise UsageError("no value goes out before the offer has come that holds its commitment")
        self._value = self._contribution.release(self.offer)
        return self._value

    def acknowledged(self, note: str) -> None:
        """Checks the dealer's word that it took the player's value, and holds the deck to it.

        Raises:
            UsageError: no value went out.
            CheckError: the note does not hold, or the deck was committed without the value.
        """
        if self._contribution is None or self._value is None:
            raise UsageError("no value of this seat has gone out yet")
        name, value = self._contribution.contributor, self._value
        with self._checked():
            checks.check_acknowledgement(note, Acknowledgement(self.hand_id, name, value), self._log.verifier)
            self._acknowledged[name] = value
            self._evidence.acknowledgements.append(note)
            self._log.folder.keep_acknowledgement(self.hand_id, name, note)
            if self.commit is not None:
                taken = {"contributor": name, "value": value.hex()} in self.commit.content["contributions"]
                require(taken, "entropy", f"the value of {name} was acknowledged and is not in the deck")

    def save(self, path: Path | str) -> None:
        """Writes the hand file of this seat, `cutcard-hand/v1`, for its owner's eyes; whole once the hand is over.

        Raises:
            UsageError: the hand has no commit yet.
            FolderError: it cannot be written.
        """
        entries: Mapping[str, Proven | None] = {"offer": self.offer, "commit": self.commit, "close": self.closed}
        hand_file.save(
            path,
            key=self._log.key,
            state=self._known(),
            entries=entries,
            cards=self.cards_of(self.seat),
            own=self._own,
            acknowledgements=self._evidence.acknowledgements,
        )

    def _known(self) -> HandState:
        if self._state is None:
            raise UsageError("nothing of the hand has come yet")
        return self._state

    def _keep(self, name: str, proven: Proven) -> None:
        folder = self._log.folder
        if folder.kept(self.hand_id, name) != proven.entry:
            folder.keep(self.hand_id, name, proven)

    def _checked(self, cards: Sequence[types_pb2.Card] = ()) -> AbstractContextManager[None]:
        return self._own.held(evidence.keeping(self._evidence, self._log.folder.evidence, cards))


def _is_last(state: HandState) -> bool:
    """Whether the last street is dealt; free-draw has none."""
    return (state.street,) == state.game.street_names[-1:]


def _read(kind: type[M], data: bytes) -> M:
    try:
        return kind.FromString(data)
    except DecodeError:
        raise UsageError(f"these bytes are no {kind.DESCRIPTOR.name}: give them on as they came") from None


def _followed(command: Callable[[], T]) -> T:
    try:
        return command()
    except Refused as refused:
        raise CheckError("dealing", f"the dealer did what the rules forbid: {refused}") from refused
