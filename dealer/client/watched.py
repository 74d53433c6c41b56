"""A referee's hand as one who watches it sees it: every event is checked before anything of it is handed on."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from dealer.client import checks, evidence, hand_file
from dealer.client.calls import Caller
from dealer.client.checks import require
from dealer.client.contribution import Contribution
from dealer.client.errors import HAND_LOST, CallError, CheckError, LostError
from dealer.client.found import asked_again
from dealer.client.history import history_of
from dealer.client.log import LogView
from dealer.client.receipts import Proven, family_of
from dealer.client.sealed import Sealed
from dealer.client.values import Card, commit_index, offer_index, read_void_reason, street_value, void_value
from dealer.core import hand as machine
from dealer.core.hand import Dealt, Face, HandState, Reveal, Status
from dealer.core.ids import hand_text
from dealer.errors import Refused
from dealer.log.acknowledgement import Acknowledgement
from dealer.table.phh import Heading
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

_OF_A_HAND = ("street_dealt", "seat_acted", "hand_shown", "hand_finished")


class WatchedHand:
    """Follows the stream of `TableService.WatchHand` from its first event.

    Attributes:
        cards: every card that has come, by position; of others' down cards only where they lie.
        offer, commit, closed: the hand's log entries with their receipts, proven; None as long as there is none.
        deck: the whole deck, once a public hand is over.
        sequence: number of the last event.
        envelopes: of the sealed seats, once the deck is committed; each is its player's to open.
        stacks: what every seat brought, and has once the hand is over, in dealing order.
    """

    def __init__(
        self,
        log: LogView,
        asked: checks.Asked | None = None,
        eyes: int = 0,
        *,
        table: str | None = None,
        number: int = 1,
        exact: bool = False,
        contribution: Contribution | None = None,
        own: Sealed | None = None,
        reveal: Reveal | None = None,
    ) -> None:
        """Begins before the first event.

        Args:
            log: what it has shown so far.
            asked: the hand that was asked for; None: what its first entry says, if it is as the following ask.
            eyes: the seat whose down cards have to come; 0: nobody's, the rail's.
            table: the table at which it has to be; None: any.
            number: the least number that it may have.
            exact: whether it is the only one.
            contribution: what its offer has to hold; None: nothing in particular.
            own: the sealed seat whose eyes these are; None: they have an open seat's, or the rail's.
            reveal: the policy that it has to be played with; None: any.
        """
        self._log, self._asked, self._eyes = log, asked, eyes
        self._table, self._number, self._contribution = table, number, contribution
        self._own, self._reveal, self._exact = own, reveal, exact
        self._seen: list[pb.TableEvent] = []
        self._family = family_of(log.verifier)
        self._evidence = evidence.Evidence(log.key)
        self._acknowledged: dict[str, bytes] = {}
        self._state: HandState
        self._committed: checks.Committed
        self.sequence = 0
        self.cards: dict[int, Card] = {}
        self._places: dict[str, int] = {}  # of the cards that are open, by name
        self.offer: Proven | None = None
        self.commit: Proven | None = None
        self.closed: Proven | None = None
        self.deck: tuple[str, ...] | None = None
        self.envelopes: dict[int, bytes] = {}
        self.stacks: dict[int, int] = {}

    @property
    def state(self) -> HandState:
        """Where the certified hand stands; there once the first event has come."""
        return self._state

    def checked(self, cards: Sequence[types_pb2.Card] = ()) -> AbstractContextManager[None]:
        """Gives a check that fails its evidence: all that is known of the hand, and the cards at hand."""
        keeping = evidence.keeping(self._evidence, self._log.folder.evidence, cards)
        return keeping if self._own is None else self._own.held(keeping)

    async def take(self, event: pb.TableEvent) -> tuple[Card, ...]:
        """Checks an event: receipts, positions, commitments, and at the end what the close reveals.

        Returns:
            The cards that came with it, each that is open checked against its commitment.

        Raises:
            CheckError: something does not hold.
            CallError: the dealer did not answer when it was asked for a consistency proof.
        """
        messages = event.street_dealt.cards or event.hand_shown.cards
        with self.checked(messages):
            require(
                event.sequence == self.sequence + 1, "dealing", f"event {event.sequence} came after {self.sequence}"
            )
            self._seen.append(event)
            cards = await self._take_event(event)
        self.sequence = event.sequence
        return cards

    async def _take_event(self, event: pb.TableEvent) -> tuple[Card, ...]:
        kind = event.WhichOneof("event")
        self._require_in_order(str(kind))
        try:
            match kind:
                case "hand_offered":
                    await self._offered(event.hand_offered)
                case "hand_started":
                    await self._begin(event.hand_started)
                case "street_dealt":
                    return self._dealt(event.street_dealt)
                case "seat_acted" if event.seat_acted.action == pb.ACTION_FOLD:
                    self._state, _ = machine.fold(self._state, event.seat_acted.seat)
                case "hand_shown":
                    return self._shown(event.hand_shown.cards)
                case "hand_finished":
                    await self._finish(event.hand_finished)
                case "hand_voided":
                    await self._void(event.hand_voided)
        except Refused as refused:
            raise CheckError("dealing", f"the dealer did what the rules do not allow: {refused}") from refused
        return ()

    def _require_in_order(self, kind: str) -> None:
        """Refuses a hand that begins twice or not at all, and one that goes on after its end."""
        require(self.closed is None, "dealing", f"{kind} came after the hand's end")
        if kind == "hand_offered":
            require(self.sequence == 0, "dealing", "hand_offered came after the hand's start")
        elif kind in ("hand_started", *_OF_A_HAND):
            begun = self.commit is not None
            when = "after" if begun else "before"
            require(begun == (kind != "hand_started"), "dealing", f"{kind} came {when} the hand's start")
        elif kind == "hand_voided":
            require(self.sequence > 0, "dealing", "hand_voided came before the hand's start")

    def _told(self, offer: Proven | None, commit: Proven | None) -> checks.Asked:
        """Returns what the hand's first entry says that it is, if that is a hand for this player."""
        told = asked_again(offer, commit)
        table, eyes = self._table, self._eyes
        require(table in (None, told.table), "lifecycle", f"table: expected {table}, found {told.table}")
        require(told.number >= self._number, "lifecycle", f"hand {told.number} of the table was played before")
        expected = not self._exact or told.number == self._number
        require(expected, "lifecycle", f"hand {self._number} of the table was asked for, and {told.number} came")
        require(not eyes or eyes in told.seats, "lifecycle", f"seat {eyes} was not dealt in")
        policy = self._reveal in (None, told.reveal)
        require(policy, "reveal", f"a hand with a {self._reveal} reveal was asked for, and this one's is {told.reveal}")
        if (mine := self._contribution) is not None:
            invited = (mine.contributor, mine.commitment) in told.invited
            require(invited, "entropy", f"the hand does not hold the commitment of {mine.contributor}")
        return told

    async def _offered(self, offered: pb.HandOffered) -> None:
        hand = offered.hand
        self._evidence.take_opened(hand)
        offer = await self._log.accept(hand.offer_entry, hand.offer_receipt, offer_index(hand))
        asked = self._asked or self._told(offer, None)
        require(bool(asked.invited), "entropy", "contributors were invited whom nobody asked for")
        self._state = checks.check_opened(hand, asked, offer)
        checks.check_offer(offer, self._state, self._family)
        if self._own is not None:
            self._own.require_key(self._state)
        self._take_stacks(offered.seats)
        self._keep("offer", offer)
        self.offer = offer

    async def _begin(self, started: pb.HandStarted) -> None:
        hand = started.hand
        self._evidence.take_opened(hand)
        commit = await self._log.accept(hand.commit_entry, hand.receipt, commit_index(hand))
        if self.offer is None:
            asked = self._asked or self._told(None, commit)
            require(not asked.invited, "entropy", "the hand started and was never offered to its contributors")
            state = checks.check_opened(hand, asked, commit)
        else:
            state = machine.lock(self._state, hand.deck_commitment)
            checks.check_hand(hand, state, self.offer, commit)
        self._take_commit(commit, hand, state)
        self.envelopes = {each.seat: each.envelope for each in hand.envelopes}
        if self._own is not None:
            self._own.take_envelope(state.hand, hand.envelopes)
            self._log.folder.take_number(state.table, state.number)
        self._take_stacks(started.seats)

    def _take_commit(self, commit: Proven, hand: types_pb2.Hand, state: HandState) -> None:
        self._evidence.card_commitments = hand.card_commitments
        self._committed = checks.check_commit(
            commit, state, hand.card_commitments, self.offer, self._acknowledged, self._family
        )
        if self._own is not None:
            self._own.require_key(state)
        self._state, self.commit = state, commit
        self._keep("commit", commit)

    def acknowledge(self, contributor: str, value: bytes, note: str) -> None:
        """Checks the dealer's word that it took a value, and holds the deck to it.

        Raises:
            CheckError: `entropy`: the note does not hold, or the deck was committed without the value.
        """
        with self.checked():
            hand = hand_text(self._state.hand)
            checks.check_acknowledgement(note, Acknowledgement(hand, contributor, value), self._log.verifier)
            self._acknowledged[contributor] = value
            self._evidence.acknowledgements.append(note)
            self._log.folder.keep_acknowledgement(hand, contributor, note)
            if self.commit is not None:
                given = self.commit.content["contributions"]
                taken = {"contributor": contributor, "value": value.hex()} in given
                require(taken, "entropy", f"the value of {contributor} was acknowledged and is not in the deck")

    def _dealt(self, street: pb.StreetDealt) -> tuple[Card, ...]:
        names = {street_value(each.name): each.name for each in self._state.game.streets}
        require(street.street in names, "dealing", f"{street.street} is no street of this game")
        state, event = machine.deal_street(self._state, names[street.street])
        cards = self._take(street.cards, event.cards)
        for card in cards:
            mine = card.seat == self._eyes and self._eyes
            require(not mine or bool(card.name), "opening", f"the card at position {card.position} was kept back")
        self._state = state
        return cards

    def _shown(self, messages: Sequence[types_pb2.Card]) -> tuple[Card, ...]:
        state, event = machine.show(self._state, [card.position for card in messages])
        dealt = state.dealt
        cards = self._take(messages, [dealt[position]._replace(face=Face.UP) for position in event.positions])
        self._state = state
        return cards

    def _take(self, messages: Sequence[types_pb2.Card], due: Sequence[Dealt]) -> tuple[Card, ...]:
        cards = checks.check_cards(
            messages,
            due,
            self._state,
            self._committed.card_commitments,
            self._places,
            blanks=True,
            opens=self._own,
        )
        if self._own is not None:
            self._own.believe(cards)
        self.cards.update((card.position, card) for card in cards)
        self._places.update((card.name, card.position) for card in cards if card.name)
        return cards

    async def _finish(self, finished: pb.HandFinished) -> None:
        chips = sum(each.stack for each in finished.stacks)
        brought = sum(self.stacks.values())
        require(chips == brought, "dealing", f"{brought} chips were brought, and {chips} are left")
        self._require_history(finished.history_phh)
        history = sha256(finished.history_phh.encode("utf-8")).digest()
        state = machine.complete(self._state)
        await self._end(state, finished.close_entry, finished.close_receipt, history)
        self._take_stacks(finished.stacks)

    def _require_history(self, told: str) -> None:
        """Checks that the history which the close hashes is that of the events that came: of no other course."""
        state = self._state
        try:
            made = history_of(Heading(hand_text(state.hand), state.table, state.number), self._seen)
        except (ValueError, KeyError, TypeError) as error:
            raise CheckError("dealing", f"the events that came make no history: {type(error).__name__}") from error
        require(made == told, "lifecycle", "the hand's history is not that of the events that came")

    async def _void(self, voided: pb.HandVoided) -> None:
        if self.commit is None:  # it was locked and committed first
            hand = voided.hand
            self._evidence.take_opened(hand)
            commit = await self._log.accept(hand.commit_entry, hand.receipt, commit_index(hand))
            state = machine.lock(self._state, hand.deck_commitment)
            checks.check_hand(hand, machine.void(state), self.offer, commit)
            self._take_commit(commit, hand, state)
        left = [(each.seat, each.stack) for each in voided.stacks]
        require(left == list(self.stacks.items()), "dealing", "a void hand did not give back what its seats brought")
        await self._end(machine.void(self._state), voided.close_entry, voided.close_receipt, None)
        assert self.closed is not None
        reason = read_void_reason(self.closed.content)
        require(reason is not None and void_value(reason) == voided.reason, "lifecycle", "the log has another reason")

    async def _end(self, state: HandState, entry: bytes, receipt: str, history: bytes | None) -> None:
        self._evidence.entries["close"] = (entry, receipt)
        close = await self._log.accept(entry, receipt)
        reason = read_void_reason(close.content) if state.status is Status.VOID else None
        self.deck = checks.check_close(close, state, reason, self._committed, self.cards, self._family, history)
        self._state, self.closed = state, close
        self._keep("close", close)

    def _take_stacks(self, stacks: Sequence[pb.SeatStack]) -> None:
        found = [each.seat for each in stacks]
        require(found == [*self._state.seats], "dealing", f"stacks of the seats {found} came")
        self.stacks = {each.seat: each.stack for each in stacks}

    def _keep(self, name: str, proven: Proven) -> None:
        folder, hand = self._log.folder, hand_text(self._state.hand)
        if folder.kept(hand, name) != proven.entry:
            folder.keep(hand, name, proven)

    def save(self, path: Path | str) -> None:
        """Writes the hand file of the seat whose eyes these are; of the rail's it has no cards.

        Raises:
            UsageError: the hand has no commit yet.
            FolderError: it cannot be written.
        """
        mine = [card for _, card in sorted(self.cards.items()) if card.seat == self._eyes and self._eyes]
        entries = {"offer": self.offer, "commit": self.commit, "close": self.closed}
        notes = self._evidence.acknowledgements
        hand_file.save(
            path,
            key=self._log.key,
            state=self._state,
            entries=entries,
            cards=mine,
            own=self._own,
            acknowledgements=notes,
        )

    def lost(self, error: CallError) -> LostError:
        """Keeps what is left of a hand that the dealer has lost."""
        said = f"the hand cannot be played on: {error}"
        return LostError(error, said, evidence.write(self._evidence.content("lost", said), self._log.folder.evidence))


@dataclass(frozen=True, slots=True)
class Seen:
    """Something that happened at the table, checked.

    Attributes:
        kind: its name in the proto, such as `street_dealt`, `seat_prompted`, `hand_finished`.
        event: `dealer.v1.table_pb2.TableEvent`, as it came.
        cards: the cards that came with it.
    """

    kind: str
    event: pb.TableEvent
    cards: tuple[Card, ...] = ()


@dataclass(slots=True)
class Watching:
    """One watcher's stream, taken up again where it broke, and checked event by event.

    Attributes:
        calls: makes the call.
        watch: the stub's `WatchHand`.
        request: the request for all that comes, without its `after`.
        hand: what is known of the hand.
    """

    calls: Caller
    watch: Any
    request: Any
    hand: WatchedHand
    _stream: AsyncGenerator[pb.WatchHandResponse, None] | None = field(default=None, repr=False)

    async def next(self) -> Seen | None:
        """Returns what happened next, as soon as it has; None once the hand is over.

        Raises:
            CheckError: it does not hold.
            LostError: the dealer has lost the hand.
            CallError: the dealer refused, or did not answer.
        """
        if self.hand.closed is not None:
            return None
        if self._stream is None:
            self._stream = self.calls.follow("WatchHand", self.watch, self._rest)
        try:
            response = await anext(self._stream, None)
        except CallError as error:
            self._stream = None
            if error.reason == HAND_LOST:
                raise self.hand.lost(error) from error
            raise
        if response is None:
            self._stream = None
            raise CheckError("dealing", "the dealer ended the stream before the hand was over")
        cards = await self.hand.take(response.event)
        return Seen(str(response.event.WhichOneof("event")), response.event, cards)

    async def pause(self) -> None:
        """Lets go of the stream; `next` takes it up again behind the last event."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.aclose()

    def _rest(self) -> Any:
        self.request.after = self.hand.sequence
        return self.request
