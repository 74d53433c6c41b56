"""What can be done with a certified hand, each as one change of a unit: for rooms and for the referee alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from hmac import compare_digest
from operator import itemgetter

from dealer.core import hand as machine
from dealer.core.deck import Deck
from dealer.core.entries import Escrow, close_entry, commit_entry, lost_entry, offer_entry
from dealer.core.hand import Deal, Dealt, Face, Game, HandState, Reveal, Status, VoidReason
from dealer.core.seats import seat_key_digests
from dealer.core.seed import EntropyError, contribution_commitment, draw_seed, escrow_digest
from dealer.errors import Reason, Refused
from dealer.service.writer import seats
from dealer.service.writer.change import Unit
from dealer.service.writer.health import contradicted, ended
from dealer.service.writer.live import LiveHand, Secrets, digest_of_values, make_deck, seat_secrets
from dealer.store.interface import TableRow


@dataclass(frozen=True, slots=True)
class Opening:
    """What a hand is opened with; the form has been checked.

    `invited` are contributors and their commitments; `number` 0 takes the table's next; `seat_keys` are the keys of the
    sealed seats.
    """

    table: str
    game: Game
    deck: str
    seats: tuple[int, ...]
    reveal: Reveal
    invited: tuple[tuple[str, bytes], ...] = ()
    number: int = 0
    seat_keys: Mapping[int, bytes] = field(default_factory=dict)


def open_hand(unit: Unit, caller: str, opening: Opening, *, referee: bool = False) -> LiveHand:
    """Opens a table's next hand: offers it if contributors are invited, commits its deck otherwise.

    Raises:
        Refused: the table has a hand in play, expects another number, or belongs to another room or shard; no escrow
            key; too many hands in play.
        EntropyError: the source failed, or gave a seed that was drawn before.
    """
    table = own_table(unit, opening.table, caller)
    if table.hand is not None:
        raise Refused(Reason.TABLE_BUSY, f"table {table.table} has hand {table.number} in play")
    _require_ours(unit, table)
    number = table.number + 1
    if opening.number not in (0, number):
        raise Refused(Reason.WRONG_NUMBER, f"the next hand of table {table.table} is number {number}")
    if opening.reveal is Reveal.SEALED and unit.sources.escrow is None:
        raise Refused(Reason.NO_ESCROW_KEY, "sealed hands need a dealer that runs with an auditor's escrow key")
    if unit.retired:
        raise ended()
    if unit.contradicted:
        raise contradicted()
    if not unit.admitting:
        raise Refused(Reason.DRAINING, "the dealer takes no new hands at the moment: try another, or this one later")
    if table.number == 0 and not unit.room_for_a_table(caller):
        raise Refused(Reason.TOO_MANY_TABLES, "this room has as many tables as it may")
    if not unit.room_for_a_hand(caller):
        raise Refused(Reason.TOO_MANY_HANDS, "too many hands are in play: close some first")

    seed = draw_seed(unit.sources.entropy)
    hand = unit.sources.hand_ids(unit.now)
    if unit.is_seen(seed.seen_digest()):
        raise EntropyError("the entropy source gave a seed that it had given before")
    unit.seen.add(seed.seen_digest())
    state = HandState(
        hand=hand,
        table=opening.table,
        number=number,
        game=opening.game,
        deck=opening.deck,
        seats=opening.seats,
        reveal=opening.reveal,
        status=Status.OFFERED,
        seed_commitment=seed.commitment(hand),
        invited=opening.invited,
        seat_keys=seat_key_digests(hand, opening.seats, opening.seat_keys),
    )
    secrets = Secrets(seed, seat_keys=opening.seat_keys)
    if opening.reveal is Reveal.SEALED and (key := unit.sources.escrow) is not None:
        escrow = key.seal(seed, hand, state.seed_commitment)
        secrets = replace(secrets, escrow=escrow, escrow_key=key.id)
    live = LiveHand(state, referee, secrets)
    unit.tables[table.table] = TableRow(table.table, table.owner, number, hand)
    unit.count_opened(caller, table=number == 1)
    if not opening.invited:
        return _commit(unit, live)
    entry = offer_entry(state, _escrow(live), unit.now, unit.sources.family)
    return unit.put(live.but(offer=unit.append(entry)))


def own_table(unit: Unit, name: str, caller: str) -> TableRow:
    """Returns a caller's table; one at which no hand was opened yet is the caller's.

    Raises:
        Refused: it belongs to another room.
    """
    table = unit.table(name) or TableRow(name, caller, 0, None)
    if table.owner != caller:
        raise Refused(Reason.TABLE_OF_ANOTHER_ROOM, "this table belongs to another room")
    return table


def find_table(unit: Unit, name: str, caller: str) -> TableRow:
    """Returns a caller's table as `open_hand` would find it.

    Raises:
        Refused: it belongs to another room, or, without a hand in play, to another shard.
    """
    table = own_table(unit, name, caller)
    if table.hand is None:
        _require_ours(unit, table)
    return table


def _require_ours(unit: Unit, table: TableRow) -> None:
    shards = unit.sources.shards
    if shards is not None and not shards.is_ours(table.table):
        home = shards.home(table.table)
        raise Refused(Reason.OTHER_SHARD, f"table {table.table} belongs to shard {home}", {"shard": home})


def list_hands(unit: Unit, caller: str | None, size: int, after: bytes) -> tuple[list[LiveHand], bytes]:
    """Returns a page of a caller's hands in play, or of everybody's, the oldest first.

    Hands stand in the order of their ids, which begin with their time and never change: so a hand that is in play
    throughout is on exactly one page, whatever is opened and closed meanwhile.

    Args:
        unit: the state.
        caller: whose hands; None: everybody's.
        size: so many at most.
        after: id of the last hand of the page before; b"": from the first.

    Returns:
        The hands, and where the next page goes on; b"" if there is none.
    """
    own = (
        (id_, live)
        for id_, live in unit.in_play().items()
        if id_ > after
        and (caller is None or ((table := unit.table(live.state.table)) is not None and table.owner == caller))
    )
    page = nsmallest(size + 1, own, key=itemgetter(0))
    found = [live for _, live in page[:size]]
    return found, page[size - 1][0] if len(page) > size else b""


def take_tables(unit: Unit, owners: Mapping[str, str]) -> int:
    """Takes over the owners of tables that move here from other shards (docs/shards.md).

    Args:
        unit: what changes.
        owners: by table. What belongs to another shard, or is here already, is passed over.

    Returns:
        How many tables are new here.
    """
    shards = unit.sources.shards
    new = [name for name in owners if (shards is None or shards.is_ours(name)) and unit.table(name) is None]
    for name in new:
        unit.tables[name] = TableRow(name, owners[name], 0, None)
    return len(new)


def submit_entropy(unit: Unit, hand: bytes, contributor: str, value: bytes) -> LiveHand:
    """Adds a contributor's value; the same value again changes nothing.

    Raises:
        Refused: the contributor was not invited, the value does not match, or the deck is locked.
    """
    live = unit.hand(hand)
    if live.state.status is not Status.OFFERED:
        machine.lock(live.state)  # says why not
    commitment = dict(live.state.invited).get(contributor)
    if commitment is None:
        raise Refused(Reason.INVALID_CONTRIBUTORS, "this contributor was not invited to this hand")
    made = contribution_commitment(live.state.table, live.state.number, contributor, value)
    if not compare_digest(made, commitment):
        raise Refused(Reason.INVALID_VALUE, "the value does not match its commitment")
    secrets = live.known_secrets()
    if contributor in secrets.values:
        return live
    values = {**secrets.values, contributor: value}
    return unit.put(live.but(secrets=replace(secrets, values=values), sealed=None))


def lock_deck(unit: Unit, hand: bytes) -> LiveHand:
    """Ends the contributions and commits the deck.

    Raises:
        Refused: it is locked already, or over.
    """
    live = unit.hand(hand)
    machine.lock(live.state)
    return _commit(unit, live)


def _commit(unit: Unit, live: LiveHand) -> LiveHand:
    secrets = live.known_secrets()
    if unit.sources.stacked is not None and secrets.stacked is None:
        secrets = replace(secrets, stacked=unit.sources.stacked(machine.lock(live.state)))
    if secrets.seat_keys:
        envelopes = seats.make_envelopes(live.state, secrets.seat_keys, secrets.seed)
        secrets = replace(secrets, envelopes=envelopes)
    deck = make_deck(live.state, secrets)
    state = machine.lock(live.state, deck.commitment)
    entry = commit_entry(
        state,
        _escrow(live),
        unit.now,
        offer=live.offer,
        values=secrets.values,
        entropy_digest=digest_of_values(state, secrets.values),
        deck_commitment=deck.commitment,
        family=unit.sources.family,
    )
    sealed = live.sealed if secrets is live.secrets else None
    commit = unit.append(entry)
    live = live.but(state=state, secrets=secrets, sealed=sealed, deck=deck, commit=commit)
    return unit.put(live.but(seat_secrets=seat_secrets(live)))


def _escrow(live: LiveHand) -> Escrow | None:
    secrets = live.known_secrets()
    if not secrets.escrow:
        return None
    return {"key": secrets.escrow_key.hex(), "digest": escrow_digest(live.state.hand, secrets.escrow).hex()}


def deal_street(unit: Unit, hand: bytes, street: str) -> tuple[LiveHand, Deal]:
    """Deals the next street; see `dealer.core.hand.deal_street`."""
    live = unit.hand(hand)
    state, event = machine.deal_street(live.state, street)
    if unit.sources.check_street is not None:
        unit.sources.check_street(live.state, event)
    return unit.put(live.but(state=state)), event


def draw_cards(unit: Unit, hand: bytes, wanted: Sequence[tuple[int, Face]]) -> tuple[LiveHand, tuple[Dealt, ...]]:
    """Draws cards; see `dealer.core.hand.draw`."""
    live = unit.hand(hand)
    state, event = machine.draw(live.state, wanted)
    return unit.put(live.but(state=state)), event.cards


def fold_seat(unit: Unit, hand: bytes, seat: int) -> LiveHand:
    """Folds a seat; see `dealer.core.hand.fold`."""
    live = unit.hand(hand)
    state, _ = machine.fold(live.state, seat)
    return unit.put(live.but(state=state))


def show_cards(
    unit: Unit, hand: bytes, positions: Sequence[int], consents: Sequence[seats.Consent] | None
) -> tuple[LiveHand, tuple[Dealt, ...]]:
    """Turns cards up; see `dealer.core.hand.show`.

    Args:
        unit: what changes.
        hand: its id.
        positions: of the cards.
        consents: what sealed seats say to it; None: the referee asks, and the rules make a seat show.

    Raises:
        Refused: also where a sealed seat has not consented.
    """
    live = unit.hand(hand)
    state, event = machine.show(live.state, positions)
    if consents is not None:
        seats.require_consents(live, event.positions, consents)
    dealt = state.dealt
    return unit.put(live.but(state=state)), tuple(dealt[position] for position in event.positions)


def close_hand(unit: Unit, hand: bytes, history: bytes | None = None) -> LiveHand:
    """Completes and reveals a hand; see `dealer.core.hand.complete`.

    Args:
        unit: what changes.
        hand: its id.
        history: SHA-256 of the rail's history, of a hand that the referee ran.
    """
    live = unit.hand(hand)
    return _close(unit, live, machine.complete(live.state), None, history)


def void_hand(unit: Unit, hand: bytes, reason: VoidReason, history: bytes | None = None) -> LiveHand:
    """Gives a hand up and reveals it; an offered one is locked and committed first.

    Raises:
        Refused: it is over.
    """
    live = unit.hand(hand)
    if live.state.status is Status.OFFERED:
        live = _commit(unit, live)
    return _close(unit, live, machine.void(live.state), reason, history)


def _close(unit: Unit, live: LiveHand, state: HandState, reason: VoidReason | None, history: bytes | None) -> LiveHand:
    if live.commit is None:
        raise AssertionError("a hand is committed before it is closed")
    secrets = live.known_secrets()
    entry = close_entry(
        state,
        unit.now,
        commit=live.commit,
        reason=reason,
        deck=live.known_deck(),
        seed=secrets.seed,
        escrow_ciphertext=secrets.escrow,
        history=history,
        family=unit.sources.family,
    )
    return _over(unit, live.but(state=state), entry)


def lose_hand(unit: Unit, hand: bytes) -> LiveHand:
    """Closes a hand whose seed cannot be read any more, and frees its table; see `dealer.core.hand.lose`."""
    live = unit.hand(hand)
    state = machine.lose(live.state)
    entry = lost_entry(state, unit.now, offer=live.offer, commit=live.commit, family=unit.sources.family)
    return _over(unit, live.but(state=state), entry)


def _over(unit: Unit, live: LiveHand, entry: bytes) -> LiveHand:
    name = live.state.table
    table = unit.table(name)
    if table is None:
        raise AssertionError("a hand in play has its table")
    unit.tables[name] = TableRow(table.table, table.owner, table.number, None)
    return unit.put(live.but(close=unit.append(entry)))


Faces = Callable[[int], tuple[str, bytes]]
"""Gives card and salt of a position; ("", b"") if it is not for this caller."""


def faces_of(live: LiveHand) -> Faces:
    """Returns the look-up of cards of a hand in play."""
    return faces_of_deck(live.known_deck())


def faces_of_deck(deck: Deck) -> Faces:
    """Returns the look-up of cards of a deck."""
    return lambda position: (deck.cards[position], deck.salt(position))


def faces_from_openings(openings: Mapping[int, tuple[str, bytes]]) -> Faces:
    """Returns the look-up of the cards that a sealed hand's close opens."""
    return lambda position: openings.get(position, ("", b""))
