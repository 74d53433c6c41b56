"""From the service's values to messages on the wire."""

from collections.abc import Iterable, Mapping
from typing import Any

from dealer.core import entries
from dealer.core import hand as machine
from dealer.core.hand import BOARD, Deal, Dealt, Face, HandState, Reveal, Status
from dealer.core.ids import hand_text, uuid7_milliseconds
from dealer.core.seed import Seed
from dealer.games.showing import COUNTS, highest_counts, lowest_door
from dealer.service.rpc.requests import FACES, GAMES_BY_ENUM, REVEALS, STREETS, VOID_REASONS
from dealer.service.rpc.splice import Named, Opener, WholeHand, hand_part
from dealer.service.writer.change import Unit
from dealer.service.writer.hands import Faces, faces_from_openings, faces_of, faces_of_deck
from dealer.service.writer.live import LiveHand, deck_of
from dealer.service.writer.seats import Seals, no_seals, seals_of
from dealer.v1 import types_pb2

_GAME = {game.name: value for value, game in GAMES_BY_ENUM.items()}  # by name: a game takes long to hash
_REVEAL = {reveal: value for value, reveal in REVEALS.items()}
FACE = {face: value for value, face in FACES.items()}
STREET = {street: value for value, street in STREETS.items()}
VOID_REASON = {reason: value for value, reason in VOID_REASONS.items()}
_STATE = {
    Status.OFFERED: types_pb2.HAND_STATE_OFFERED,
    Status.COMMITTED: types_pb2.HAND_STATE_COMMITTED,
    Status.CLOSED: types_pb2.HAND_STATE_CLOSED,
    Status.VOID: types_pb2.HAND_STATE_VOID,
    Status.LOST: types_pb2.HAND_STATE_LOST,
}


def hand_message(live: LiveHand) -> types_pb2.Hand:
    """Returns a hand without its list of commitments and receipts."""
    state = live.state
    street = state.street
    return types_pb2.Hand(
        hand_id=hand_text(state.hand),
        table=state.table,
        number=state.number,
        game=_GAME[state.game.name],
        deck=state.deck,
        seats=state.seats,
        live_seats=state.live,
        state=_STATE[state.status],
        street=STREET[street] if street else types_pb2.STREET_UNSPECIFIED,
        cards_left=state.cards_left,
        reveal=_REVEAL[state.reveal],
        seed_commitment=state.seed_commitment,
        deck_commitment=state.deck_commitment,
        commit_index=live.commit,
        offer_index=live.offer,
    )


def hand_bytes(live: LiveHand) -> bytes:
    """Returns the bytes of `hand_message`."""
    return hand_part(live.state, _named(live.state), live.commit, live.offer)


def _named(state: HandState) -> Named:
    street = STREET[state.street] if state.street else types_pb2.STREET_UNSPECIFIED
    return _GAME[state.game.name], _STATE[state.status], street, _REVEAL[state.reveal]


def in_play_message(unit: Unit, live: LiveHand, *, room: bool = False) -> types_pb2.HandInPlay:
    """Returns a hand in play as its room finds it again; `room` says whose it is, which is for operators."""
    state = live.state
    table = unit.table(state.table) if room else None
    return types_pb2.HandInPlay(
        hand_id=hand_text(state.hand),
        table=state.table,
        number=state.number,
        state=_STATE[state.status],
        street=STREET[state.street] if state.street else types_pb2.STREET_UNSPECIFIED,
        referee=live.referee,
        opened_seconds=_seconds(unit.now - uuid7_milliseconds(state.hand)),
        idle_seconds=_seconds(unit.now - unit.touched(state.hand)),
        room="" if table is None else table.owner,
    )


def _seconds(milliseconds: int) -> int:
    return max(0, milliseconds) // 1000  # a clock may have been set back meanwhile


def card_messages(
    dealt: Iterable[Dealt], faces: Faces, seals: Seals, shown: frozenset[int] = frozenset()
) -> list[types_pb2.Card]:
    """Returns cards with all that is needed to check them; those that were shown lie up, a sealed seat's are sealed."""
    messages = []
    for each in dealt:
        turned = each.position in shown
        face = FACE[Face.UP if turned else each.face]
        message = types_pb2.Card(position=each.position, seat=each.seat, face=face)
        if not turned and (sealed := seals(each)):
            message.sealed = sealed
        else:
            message.card, message.salt = faces(each.position)
        messages.append(message)
    return messages


def opener(live: LiveHand) -> Opener | None:
    """Names who opens the street just dealt, by the up cards alone (STUD.md, section 2); None with one seat left."""
    state, cards = live.state, live.known_deck().cards
    seats = state.live
    if len(seats) < 2:
        return None
    if state.street == state.game.street_names[0]:
        doors = {
            seat: cards[position] for event in state.events if isinstance(event, Deal) for seat, position in event.up
        }
        return lowest_door(doors, seats), types_pb2.OPENER_REASON_LOWEST_CARD
    counts = dict.fromkeys((BOARD, *state.seats), 0)
    for event in state.events:
        if isinstance(event, Deal):
            for seat, position in event.up:
                counts[seat] += COUNTS[cards[position]]
    return highest_counts(counts, seats), types_pb2.OPENER_REASON_HIGHEST_SHOWING


class FullHand:
    """A hand with its list of commitments, its entries and their receipts, and its cards."""

    def __init__(self, unit: Unit, live: LiveHand, envelopes: Mapping[int, bytes] | None = None) -> None:
        """Reads what the log has of the hand; `envelopes` are there after its end too where its referee keeps them."""
        self._unit, self._live = unit, live
        self._commit = unit.entry(live.commit) if live.commit is not None else b""
        close = entries.decode(unit.entry(live.close)) if live.close is not None else {}
        self._faces, self._commitments = self._read(close)
        kept = {} if live.secrets is None else live.secrets.envelopes
        self._envelopes = kept if envelopes is None else envelopes

    def _read(self, close: Mapping[str, Any]) -> tuple[Faces, bytes]:
        live = self._live
        if live.state.status in (Status.OFFERED, Status.LOST):
            return faces_from_openings({}), b""
        if live.state.in_play:
            return faces_of(live), live.known_deck().card_commitments
        if live.state.reveal is Reveal.SEALED:
            return faces_from_openings(entries.decode_openings(close)), entries.decode_commitments(close)
        digest = bytes.fromhex(entries.decode(self._commit)["entropy_digest"])
        seed = Seed(bytes.fromhex(close["seed"]))
        deck = deck_of(live.state, digest, seed, entries.decode_stacked(close))
        return faces_of_deck(deck), deck.card_commitments

    @property
    def offered(self) -> bool:
        """Whether contributors were invited to the hand."""
        return self._live.offer is not None

    def write(self, message: types_pb2.Hand) -> None:
        """Writes the hand into its place in an answer, with commitments and entries; asks for the receipts."""
        self._write(message, self._live)

    def write_as_it_began(self, message: types_pb2.Hand) -> None:
        """Writes the hand as it was once it was committed and before its first card."""
        self._write(message, self._live.but(state=machine.as_it_began(self._live.state)))

    def write_as_offered(self, message: types_pb2.Hand) -> None:
        """Writes the hand as it was while contributions were awaited."""
        live = self._live.but(state=machine.as_offered(self._live.state), commit=None)
        message.MergeFrom(hand_message(live))
        self._enter(message, live)

    def _write(self, message: types_pb2.Hand, live: LiveHand) -> None:
        message.MergeFrom(hand_message(live))
        message.card_commitments = self._commitments
        self._enter(message, live)

    def spliced(self) -> WholeHand:
        """Returns the same as `write` makes, to be encoded from bytes."""
        live = self._live
        hand = WholeHand.of(live.state, _named(live.state), self._commitments, live.commit, live.offer)
        self._enter(hand, live)
        return hand

    def _enter(self, message: types_pb2.Hand | WholeHand, live: LiveHand) -> None:
        unit = self._unit
        message.seat_keys.extend(
            types_pb2.SeatKeyDigest(seat=seat, digest=digest) for seat, digest in live.state.seat_keys
        )
        if live.commit is not None:
            message.envelopes.extend(
                types_pb2.SeatEnvelope(seat=seat, envelope=envelope) for seat, envelope in self._envelopes.items()
            )
        if live.commit is not None:
            message.commit_entry = self._commit
            unit.receipt_into(message, "receipt", live.commit)
        if live.offer is not None:
            message.offer_entry = unit.entry(live.offer)
            unit.receipt_into(message, "offer_receipt", live.offer)

    def cards(self) -> list[types_pb2.Card]:
        """Returns the cards dealt that may be known: of a sealed hand that is over those opened, of a lost one none."""
        state = self._live.state
        if state.status is Status.LOST:
            return []
        dealt: Iterable[Dealt] = state.dealt
        if state.reveal is Reveal.SEALED and not state.in_play:
            seen = set(state.seen)
            dealt = [card for card in dealt if card.position in seen]
        seals = seals_of(self._live) if state.status is Status.COMMITTED else no_seals
        return card_messages(dealt, self._faces, seals, state.shown)
