"""A referee's hand as one who watches it sees it: every event is checked before anything of it is handed on."""

from collections.abc import Sequence
from hashlib import sha256

from dealer.client import checks
from dealer.client.checks import require
from dealer.client.errors import CheckError
from dealer.client.log import LogView
from dealer.client.receipts import Proven, family_of
from dealer.client.values import Card, commit_index, street_value
from dealer.core import hand as machine
from dealer.core.hand import Dealt, Face, HandState
from dealer.errors import Refused
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2

_OF_A_HAND = ("hand_started", "street_dealt", "seat_acted", "hand_shown", "hand_finished")


class WatchedHand:
    """Follows the stream of `TableService.WatchHand` from its first event.

    Attributes:
        cards: every card that has come, by position; of others' down cards only where they lie.
        commit, closed: the hand's log entries with their receipts, proven; None as long as there is none.
        deck: the whole deck, once a public hand is over.
    """

    def __init__(self, log: LogView, asked: checks.Asked) -> None:
        """Begins before the first event, with what the log has shown so far and the hand that was asked for."""
        self._log, self._asked = log, asked
        self._family = family_of(log.verifier)
        self._state: HandState
        self._committed: checks.Committed
        self._sequence = 0
        self.cards: dict[int, Card] = {}
        self._places: dict[str, int] = {}  # of the cards that are open, by name
        self.commit: Proven | None = None
        self.closed: Proven | None = None
        self.deck: tuple[str, ...] | None = None

    async def take(self, event: pb.TableEvent) -> tuple[Card, ...]:
        """Checks an event: receipts, positions, commitments, and at the end what the close reveals.

        Returns:
            The cards that came with it, each that is open checked against its commitment.

        Raises:
            CheckError: something does not hold.
            CallError: the dealer did not answer when it was asked for a consistency proof.
        """
        require(event.sequence == self._sequence + 1, "dealing", f"event {event.sequence} came after {self._sequence}")
        self._sequence = event.sequence
        kind = event.WhichOneof("event")
        if kind in _OF_A_HAND:
            begun = self.commit is not None
            when = "after" if begun else "before"
            require(begun == (kind != "hand_started"), "dealing", f"{kind} came {when} the hand's start")
        try:
            match kind:
                case "hand_started":
                    await self._begin(event.hand_started.hand)
                case "street_dealt":
                    return self._dealt(event.street_dealt)
                case "seat_acted" if event.seat_acted.action == pb.ACTION_FOLD:
                    self._state, _ = machine.fold(self._state, event.seat_acted.seat)
                case "hand_shown":
                    return self._shown(event.hand_shown.cards)
                case "hand_finished":
                    await self._finish(event.hand_finished)
        except Refused as refused:
            raise CheckError("dealing", f"the dealer did what the rules do not allow: {refused}") from refused
        return ()

    async def _begin(self, hand: types_pb2.Hand) -> None:
        commit = await self._log.accept(hand.commit_entry, hand.receipt, commit_index(hand))
        self._state = checks.check_opened(hand, self._asked, commit)
        self._committed = checks.check_commit(commit, self._state, hand.card_commitments, None, {}, self._family)
        self.commit = commit

    def _dealt(self, street: pb.StreetDealt) -> tuple[Card, ...]:
        names = {street_value(each.name): each.name for each in self._state.game.streets}
        require(street.street in names, "dealing", f"{street.street} is no street of this game")
        self._state, event = machine.deal_street(self._state, names[street.street])
        return self._take(street.cards, event.cards)

    def _shown(self, cards: Sequence[types_pb2.Card]) -> tuple[Card, ...]:
        self._state, event = machine.show(self._state, [card.position for card in cards])
        dealt = self._state.dealt
        return self._take(cards, [dealt[position]._replace(face=Face.UP) for position in event.positions])

    def _take(self, messages: Sequence[types_pb2.Card], due: Sequence[Dealt]) -> tuple[Card, ...]:
        cards = checks.check_cards(
            messages, due, self._state, self._committed.card_commitments, self._places, blanks=True
        )
        self.cards.update((card.position, card) for card in cards)
        self._places.update((card.name, card.position) for card in cards if card.name)
        return cards

    async def _finish(self, finished: pb.HandFinished) -> None:
        state = machine.complete(self._state)
        close = await self._log.accept(finished.close_entry, finished.close_receipt)
        history = sha256(finished.history_phh.encode("utf-8")).digest()
        self.deck = checks.check_close(close, state, None, self._committed, self.cards, self._family, history)
        self._state, self.closed = state, close
