"""What a client holds the dealer to: pure functions that raise if something does not hold (section 10)."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard
from uuid import UUID

from dealer.client.errors import CheckError
from dealer.client.receipts import Proven, compare
from dealer.client.values import (
    Card,
    Opener,
    commit_index,
    game_value,
    offer_index,
    read_card,
    read_status,
    reveal_value,
    street_value,
)
from dealer.core import entries
from dealer.core.cards import DECK_KINDS
from dealer.core.deck import SALT_BYTES, Deck, commit_deck, derive_deck
from dealer.core.entries import TEST, Escrow
from dealer.core.hand import BOARD, Dealt, Face, Game, HandState, Reveal, Status, VoidReason
from dealer.core.ids import MAX_INTEGER, hand_text
from dealer.core.seats import ENVELOPE_BYTES, SEALED_BYTES, SeatKeys, seat_key_digests
from dealer.core.seed import SEED_BYTES, VALUE_BYTES, Seed, contribution_commitment, entropy_digest, escrow_digest, tag
from dealer.games.showing import highest_showing, lowest_door
from dealer.log.acknowledgement import Acknowledgement, open_acknowledgement
from dealer.log.errors import LogError
from dealer.log.note import NoteVerifier
from dealer.v1 import types_pb2

HASH_BYTES = 32
_CARD_TAG = tag("card")
_NAMES = {kind: {name: name.encode("ascii") for name in deck} for kind, deck in DECK_KINDS.items()}
_ESCROW_BYTES = 112
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_CHECKS = {
    "contributions": "entropy",
    "contributors": "entropy",
    "withheld": "entropy",
    "entropy_digest": "entropy",
    "deck_commitment": "deck",
    "deck": "deck",
    "events": "dealing",
    "openings": "opening",
    "card_commitments": "opening",
    "seed_commitment": "seed",
    "seed": "seed",
    "escrow": "reveal",
    "reveal": "reveal",
    "schema": "schema",
}
"""The check that each member of an entry belongs to, if it is not `lifecycle`."""
_OF_A_HAND = (
    ("lifecycle", "hand"),
    ("lifecycle", "table"),
    ("lifecycle", "number"),
    ("lifecycle", "game"),
    ("lifecycle", "deck kind"),
    ("lifecycle", "seats"),
    ("lifecycle", "state"),
    ("reveal", "policy"),
    ("seed", "seed commitment"),
    ("deck", "deck commitment"),
    ("dealing", "seats still in"),
    ("dealing", "street"),
    ("dealing", "cards left"),
    ("lifecycle", "offer's index"),
    ("lifecycle", "commit's index"),
    ("lifecycle", "sealed seats"),
)
"""What of the dealer's view of a hand is compared, each with the check that it belongs to."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The hand that was asked for; `number` is 0 if any later than `after` will do.

    `seat_keys` are the keys of the seats that are to be sealed; of a hand that somebody else asked for `digests` are
    what the log has of them.
    """

    table: str
    number: int
    after: int
    game: Game
    deck: str
    seats: tuple[int, ...]
    reveal: Reveal
    invited: tuple[tuple[str, bytes], ...]
    seat_keys: SeatKeys = ()
    digests: SeatKeys | None = None

    def sealed(self, hand: bytes) -> SeatKeys:
        """Returns the sealed seats with the digests of their keys, in the order of the seats."""
        if self.digests is not None:
            return self.digests
        return seat_key_digests(hand, self.seats, dict(self.seat_keys))


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit that holds has bound the dealer to.

    Attributes:
        index: of the commit entry.
        card_commitments: n x 32 bytes, position 0 first.
        digest: the entropy digest, 32 bytes.
        escrow: key and digest of a sealed hand's escrow.
    """

    index: int
    card_commitments: bytes
    digest: bytes
    escrow: Escrow | None


class Opens(Protocol):
    """Opens the down cards of one sealed seat."""

    seat: int

    def open(self, card: Card, commitments: bytes) -> Card:
        """Returns a card with its name and salt.

        Raises:
            CheckError: `opening`: it was kept back, or does not open.
        """


def require(holds: bool, check: str, detail: str) -> None:
    """Raises `CheckError` if something does not hold."""
    if not holds:
        raise CheckError(check, detail)


def check_opened(hand: types_pb2.Hand, asked: Asked, proven: Proven) -> HandState:
    """Checks that a hand is the one that was asked for, and returns its state.

    Args:
        hand: as it came.
        asked: the hand that was asked for.
        proven: its offer if contributors were invited, its commit otherwise.

    Raises:
        CheckError: own table, next number, seats in order, game, deck or policy are not as asked.
    """
    state = opened_state(hand, asked)
    check_hand(hand, state, *((proven, None) if asked.invited else (None, proven)))
    return state


def opened_state(hand: types_pb2.Hand, asked: Asked) -> HandState:
    """Returns the state that a hand that was asked for has before anything happens; its entries are not looked at.

    Raises:
        CheckError: the hand's id is none, or table, number or seed commitment are not as asked.
    """
    require(_UUID7.fullmatch(hand.hand_id) is not None, "schema", f"{hand.hand_id!a} is no hand id")
    wanted = "a number greater than " + str(asked.after) if not asked.number else f"number {asked.number}"
    right = hand.number == asked.number if asked.number else asked.after < hand.number <= MAX_INTEGER
    require(hand.table == asked.table, "lifecycle", f"table: expected {asked.table}, found {hand.table}")
    require(right, "lifecycle", f"the hand's number: expected {wanted}, found {hand.number}")
    require(len(hand.seed_commitment) == HASH_BYTES, "seed", "the seed commitment is not 32 bytes")
    id_ = UUID(hand.hand_id).bytes
    return HandState(
        hand=id_,
        table=asked.table,
        number=hand.number,
        game=asked.game,
        deck=asked.deck,
        seats=asked.seats,
        reveal=asked.reveal,
        status=Status.OFFERED if asked.invited else Status.COMMITTED,
        seed_commitment=hand.seed_commitment,
        deck_commitment=b"" if asked.invited else hand.deck_commitment,
        invited=asked.invited,
        seat_keys=asked.sealed(id_),
    )


def check_hand(hand: types_pb2.Hand, state: HandState, offer: Proven | None, commit: Proven | None) -> None:
    """Checks that the dealer's view of a hand is ours, member by member.

    Args:
        hand: as it came.
        state: as it has to be.
        offer: the hand's offer; None if there is none.
        commit: the hand's commit; None before the deck is locked.
    """
    whole = bool(hand.commit_entry or hand.offer_entry or hand.seat_keys)  # otherwise the answer may leave keys out
    expected = (
        hand_text(state.hand),
        state.table,
        state.number,
        game_value(state.game),
        state.deck,
        [*state.seats],
        state.status,
        reveal_value(state.reveal),
        state.seed_commitment,
        state.deck_commitment,
        [*state.live],
        street_value(state.street),
        state.cards_left,
        offer and offer.index,
        commit and commit.index,
        [*state.seat_keys],
    )
    found = (
        hand.hand_id,
        hand.table,
        hand.number,
        hand.game,
        hand.deck,
        [*hand.seats],
        read_status(hand),
        hand.reveal,
        hand.seed_commitment,
        hand.deck_commitment,
        [*hand.live_seats],
        hand.street,
        hand.cards_left,
        offer_index(hand),
        commit_index(hand),
        [(each.seat, each.digest) for each in hand.seat_keys] if whole else [*state.seat_keys],
    )
    if expected != found:
        for (check, name), ours, theirs in zip(_OF_A_HAND, expected, found, strict=True):
            if ours != theirs:
                raise CheckError(check, f"{name}: expected {_shown(ours)}, found {_shown(theirs)}")
    check_envelopes(hand, state)


def check_envelopes(hand: types_pb2.Hand, state: HandState, *, whole: bool = False) -> None:
    """Checks that envelopes are there for sealed seats alone, in their form and order; `whole`: for each of them."""
    sealed = [seat for seat, _ in state.seat_keys]
    found = [each.seat for each in hand.envelopes]
    right = found == (sealed if whole else [seat for seat in sealed if seat in found])
    require(right, "lifecycle", f"envelopes came for the seats {found}, and the seats {sealed} are sealed")
    cut = [each.seat for each in hand.envelopes if len(each.envelope) != ENVELOPE_BYTES]
    require(not cut, "lifecycle", f"the envelope of seat {cut[0] if cut else 0} is not {ENVELOPE_BYTES} bytes")


def _shown(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def check_offer(offer: Proven, state: HandState, family: str) -> None:
    """Checks that an offer binds the dealer to this hand, its seed and everybody's commitment."""
    escrow = _escrow(offer.content, state)
    compare("offer", offer, entries.offer_entry(state, escrow, 0, family), _CHECKS)


def check_acknowledgement(note: str, expected: Acknowledgement, verifier: NoteVerifier) -> None:
    """Checks that the dealer has acknowledged exactly the value that was sent to it."""
    try:
        found = open_acknowledgement(note, verifier)
    except LogError as error:
        raise CheckError("entropy", f"the acknowledgement does not hold: {error}") from error
    require(found == expected, "entropy", "the acknowledgement is for another hand, contributor or value")


def check_commit(
    commit: Proven,
    state: HandState,
    commitments: bytes,
    offer: Proven | None,
    acknowledged: Mapping[str, bytes],
    family: str,
) -> Committed:
    """Checks that a commit binds the dealer to this hand and to the list of card commitments that it gave.

    Args:
        commit: the entry, proven.
        state: the hand, with the deck commitment that the dealer named.
        commitments: the list, joined.
        offer: the hand's offer, if contributors were invited.
        acknowledged: the values by their contributors; each has to be in the deck.
        family: schema family of the log.

    Raises:
        CheckError: something does not hold.
    """
    size = len(DECK_KINDS[state.deck])
    require(len(commitments) == size * HASH_BYTES, "deck", f"the list of commitments is not {size} hashes long")
    made = hashlib.sha256(tag("deck") + state.hand + size.to_bytes(2, "big") + commitments).digest()
    require(made == state.deck_commitment, "deck", "the card commitments do not give the deck commitment")
    values = _values(commit.content, state)
    for name, value in acknowledged.items():
        require(values.get(name) == value, "entropy", f"the value of {name} was acknowledged and is not in the deck")
    digest = entropy_digest(state.hand, [(name, values[name]) for name, _ in state.invited if name in values])
    escrow = _escrow(commit.content, state)
    if offer is not None:
        require(offer.index < commit.index, "lifecycle", "the offer stands behind its commit")
        require(offer.content.get("escrow") == escrow, "reveal", "the commit's escrow is not that of the offer")
    expected = entries.commit_entry(
        state,
        escrow,
        0,
        offer=None if offer is None else offer.index,
        values=values,
        entropy_digest=digest,
        deck_commitment=state.deck_commitment,
        family=family,
    )
    compare("commit", commit, expected, _CHECKS)
    return Committed(commit.index, commitments, digest, escrow)


def _values(content: Mapping[str, Any], state: HandState) -> dict[str, bytes]:
    """The values that a commit says were taken, each against its commitment; their order is compared later."""
    commitments, values = dict(state.invited), dict[str, bytes]()
    contributions = content.get("contributions")
    require(isinstance(contributions, list), "schema", "the commit has no contributions")
    for each in contributions or ():
        name, value = (each.get("contributor"), each.get("value")) if isinstance(each, dict) else (None, None)
        if not isinstance(name, str) or not _is_hex(value, VALUE_BYTES):
            raise CheckError("schema", "a contribution is malformed")
        require(name in commitments, "entropy", f"{name} was not invited and is said to have contributed")
        raw = bytes.fromhex(value)
        made = contribution_commitment(state.table, state.number, name, raw)
        require(made == commitments[name], "entropy", f"the value of {name} does not match its commitment")
        values[name] = raw
    return values


def _escrow(content: Mapping[str, Any], state: HandState) -> Escrow | None:
    escrow = content.get("escrow")
    if state.reveal is Reveal.PUBLIC:
        require(escrow is None, "reveal", "a public hand has an escrow")
        return None
    if (
        not isinstance(escrow, dict)
        or escrow.keys() != {"key", "digest"}
        or not _is_hex(escrow["key"], 8)
        or not _is_hex(escrow["digest"], HASH_BYTES)
    ):
        raise CheckError("reveal", "a sealed hand has no escrow, or a malformed one")
    return escrow


def check_cards(
    messages: Sequence[types_pb2.Card],
    dealt: Sequence[Dealt],
    state: HandState,
    commitments: bytes,
    places: Mapping[str, int],
    *,
    blanks: bool = False,
    opens: Opens | None = None,
) -> tuple[Card, ...]:
    """Checks cards against what has to be dealt, and each against its commitment.

    Args:
        messages: the cards as they came.
        dealt: positions, seats and faces that the rules give, in order; of cards that are shown, face up.
        state: the hand.
        commitments: the list, joined.
        places: positions of the cards seen before, by name.
        blanks: whether down cards may come without card and salt: to one who watches, others' do; to a room, none.
        opens: opens a sealed seat's down cards for its player, who must get them; None: they stay closed.

    Raises:
        CheckError: `dealing` for a wrong position, seat or face, or cards too few or too many; `opening` for a card
            that is kept back, is not in the deck kind, came before, or does not match its commitment.
    """
    require(len(messages) == len(dealt), "dealing", f"{len(dealt)} cards were to come, and {len(messages)} came")
    cards: list[Card] = []
    opened, sealed = [], {seat for seat, _ in state.seat_keys}
    for message, due in zip(messages, dealt, strict=True):
        card = read_card(message)
        if card is None or card.position != due.position or card.seat != due.seat or card.face is not due.face:
            expected = (due.position, due.seat, str(due.face))
            found = card and (card.position, card.seat, str(card.face))
            raise CheckError("dealing", f"expected position, seat and face {expected}, found {found}")
        hidden = due.face is Face.DOWN and due.seat in sealed
        if hidden:
            card = _kept_closed(card, commitments, opens, blanks=blanks)
        elif card.sealed:
            raise CheckError("opening", f"the card at position {due.position} is sealed, and has to lie open")
        if card.name or card.salt or not (blanks or hidden) or card.face is Face.UP:
            opened.append(card)
        cards.append(card)
    check_openings(opened, state, commitments)
    fresh: dict[str, int] = {}
    for card in opened:
        place = places.get(card.name, fresh.setdefault(card.name, card.position))
        if place != card.position:
            raise CheckError("opening", f"{card.name} lies at position {place} and at position {card.position}")
    return tuple(cards)


def _kept_closed(card: Card, commitments: bytes, opens: "Opens | None", *, blanks: bool) -> Card:
    """Checks that a down card of a sealed seat came as such; returns it, opened if its player asks."""
    at = card.position
    require(not card.name and not card.salt, "opening", f"the card of a sealed seat at position {at} came in the clear")
    if opens is not None and opens.seat == card.seat:
        return opens.open(card, commitments)
    require(
        len(card.sealed) == SEALED_BYTES or (blanks and not card.sealed), "opening", f"the sealed card at {at} is cut"
    )
    return card


def check_openings(cards: Sequence[Card], state: HandState, commitments: bytes) -> None:
    """Checks cards against their commitments."""
    kind, sha256 = _NAMES[state.deck], hashlib.sha256
    begin = _CARD_TAG + state.hand
    for card in cards:
        position, name, salt = card.position, kind.get(card.name), card.salt
        if name is None:
            raise CheckError("opening", f"{card.name!a} at position {position} is no card of {state.deck}")
        if len(salt) != SALT_BYTES:
            raise CheckError("opening", f"the salt at position {position} is not {SALT_BYTES} bytes")
        made = sha256(begin + position.to_bytes(2, "big") + name + salt).digest()
        expected = commitments[HASH_BYTES * position : HASH_BYTES * (position + 1)]
        if made != expected:
            raise CheckError(
                "opening",
                f"{card.name} at position {position} does not match its commitment: "
                f"expected {expected.hex()}, found {made.hex()}",
            )


def check_opener(found: types_pb2.Opener, state: HandState, cards: Mapping[int, Card]) -> Opener | None:
    """Checks who is said to open the street last dealt, by the cards alone; returns it, or None with one seat left.

    Raises:
        CheckError: `dealing`: it is another seat, or for another reason.
    """
    due = opener_of(state, cards)
    if due is not None:
        seat, reason = due.seat, types_pb2.OPENER_REASON_HIGHEST_SHOWING
        if due.lowest_card:
            reason = types_pb2.OPENER_REASON_LOWEST_CARD
        require(found.seat == seat, "dealing", f"seat {seat} opens by the cards, and not {found.seat}")
        require(found.reason == reason, "dealing", f"why seat {seat} opens: expected {reason}, found {found.reason}")
    return due


def opener_of(state: HandState, cards: Mapping[int, Card]) -> Opener | None:
    """Names who opens the street last dealt, by the cards alone; None with one seat left, and in free-draw."""
    live = state.live
    if len(live) < 2 or state.street is None:
        return None
    up: dict[int, list[str]] = {seat: [] for seat in (BOARD, *state.seats)}
    for each in state.dealt:
        if each.face is Face.UP:
            up[each.seat].append(cards[each.position].name)
    third = state.street == state.game.streets[0].name
    seat = lowest_door({seat: up[seat][0] for seat in live}, live) if third else highest_showing(up, live)
    return Opener(seat, third)


def check_close(
    close: Proven,
    state: HandState,
    reason: VoidReason | None,
    committed: Committed,
    known: Mapping[int, Card],
    family: str,
    history: bytes | None = None,
) -> tuple[str, ...] | None:
    """Checks a hand's end: what is revealed is what its policy asks, and everything that was seen is true.

    Args:
        close: the entry, proven.
        state: the hand, closed or void, with everything that happened.
        reason: why it is void; None if it was completed.
        committed: what the commit bound the dealer to.
        known: the cards that were seen, by position.
        family: schema family of the log.
        history: SHA-256 of the rail's PHH file, of a hand that the referee ran.

    Returns:
        The whole deck of a public hand; None for a sealed one.

    Raises:
        CheckError: something does not hold.
    """
    content = close.content
    require(close.index > committed.index, "lifecycle", "the close stands before its commit")
    if state.reveal is Reveal.PUBLIC:
        seed = content.get("seed")
        require(_is_hex(seed, SEED_BYTES), "reveal", "the close of a public hand gives no seed")
        drawn = Seed(bytes.fromhex(str(seed)))
        require(drawn.commitment(state.hand) == state.seed_commitment, "seed", "the seed does not match its commitment")
        deck, ciphertext = _derived(content, state, committed, drawn, family), b""
        for position, card in known.items():
            if card.name and (card.name != deck.cards[position] or card.salt != deck.salt(position)):
                raise CheckError("opening", f"{card.name} at position {position} is not the derived deck's card")
    else:
        drawn, deck = Seed(bytes(SEED_BYTES)), _seen_deck(content, state, committed, known, family)
        ciphertext = _ciphertext(content)
        digest = escrow_digest(state.hand, ciphertext).hex()
        require(committed.escrow is not None and digest == committed.escrow["digest"], "seed", "the escrow is another")
    expected = entries.close_entry(
        state,
        0,
        commit=committed.index,
        reason=reason,
        deck=deck,
        seed=drawn,
        escrow_ciphertext=ciphertext,
        history=history,
        family=family,
    )
    compare("close", close, expected, _CHECKS)
    return deck.cards if state.reveal is Reveal.PUBLIC else None


def _derived(content: Mapping[str, Any], state: HandState, committed: Committed, seed: Seed, family: str) -> Deck:
    if family == TEST:
        deck = commit_deck(_named_deck(content, state), state.hand, state.hand + committed.digest + seed.value)
    else:
        deck = derive_deck(state.deck, state.hand, committed.digest, seed)
    require(
        deck.card_commitments == committed.card_commitments, "deck", "the seed gives another deck than was committed"
    )
    return deck


def _named_deck(content: Mapping[str, Any], state: HandState) -> tuple[str, ...]:
    """The deck that a test record's close names."""
    cards = tuple(str(content.get("deck")).split(" "))
    require(sorted(cards) == sorted(DECK_KINDS[state.deck]), "deck", "the deck is no permutation of its kind")
    return cards


def _seen_deck(
    content: Mapping[str, Any], state: HandState, committed: Committed, known: Mapping[int, Card], family: str
) -> Deck:
    """The deck of a sealed hand as far as it was seen: what the close may and has to open."""
    size = len(DECK_KINDS[state.deck])
    names = [known[p].name if p in known else "" for p in range(size)]
    salts = [known[p].salt if p in known and known[p].salt else bytes(SALT_BYTES) for p in range(size)]
    if family == TEST:
        named = _named_deck(content, state)
        for position, name in enumerate(names):
            require(name in ("", named[position]), "opening", f"the deck has not {name} at position {position}")
        names = list(named)
    return Deck(tuple(names), b"".join(salts), committed.card_commitments, state.deck_commitment)


def _ciphertext(content: Mapping[str, Any]) -> bytes:
    try:
        text = str(content.get("escrow"))
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data, text = b"", ""
    canonical = len(data) == _ESCROW_BYTES and base64.b64encode(data).decode("ascii") == text
    require(canonical, "reveal", "the close of a sealed hand gives no escrow")
    return data


def _is_hex(text: Any, length: int) -> TypeGuard[str]:
    return isinstance(text, str) and len(text) == 2 * length and re.fullmatch(r"[0-9a-f]*", text) is not None
