"""A hand as the service holds it: its state, where it stands in the log, and its secrets while it is in play."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson
import structlog

from dealer.core.codec import load_state
from dealer.core.deck import Deck, commit_deck, derive_deck
from dealer.core.hand import Game, HandState, Status
from dealer.core.history import state_as_opened, state_from_log
from dealer.core.seats import seat_key_digests, seat_secret
from dealer.core.seed import Seed, entropy_digest
from dealer.store.at_rest import AtRest
from dealer.store.interface import HandRow, Sealed, StoreError
from dealer.store.vault import Purpose, SealLost

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not leave while a hand is in play. Prints as `<secrets>`.

    Attributes:
        seed: the hand's.
        escrow: ciphertext for the auditor; empty for a public hand.
        escrow_key: id of the auditor's key, 8 bytes.
        values: contributions taken so far; they become public with the commit.
        seat_keys: public keys of the sealed seats.
        envelopes: the secret of each sealed seat under its key, once the deck is committed.
        stacked: the cards of a test double's hand.
    """

    seed: Seed
    escrow: bytes = b""
    escrow_key: bytes = b""
    values: Mapping[str, bytes] = field(default_factory=dict)
    seat_keys: Mapping[int, bytes] = field(default_factory=dict)
    envelopes: Mapping[int, bytes] = field(default_factory=dict)
    stacked: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return "<secrets>"

    def dump(self) -> bytes:
        """Writes them for sealing."""
        content = {
            "seed": self.seed.value.hex(),
            "escrow": self.escrow.hex(),
            "escrow_key": self.escrow_key.hex(),
            "values": {name: value.hex() for name, value in self.values.items()},
            "stacked": self.stacked,
            "seat_keys": _dump_bytes(self.seat_keys),
            "envelopes": _dump_bytes(self.envelopes),
        }
        return orjson.dumps(content)

    @classmethod
    def load(cls, data: bytes) -> "Secrets":
        """Reads what `dump` wrote."""
        content = orjson.loads(data)
        return cls(
            seed=Seed(bytes.fromhex(content["seed"])),
            escrow=bytes.fromhex(content["escrow"]),
            escrow_key=bytes.fromhex(content["escrow_key"]),
            values={name: bytes.fromhex(value) for name, value in content["values"].items()},
            stacked=tuple(content["stacked"]) if content["stacked"] else None,
            seat_keys=_load_bytes(content.get("seat_keys", ())),  # which older versions did not write
            envelopes=_load_bytes(content.get("envelopes", ())),
        )


def _dump_bytes(of_seats: Mapping[int, bytes]) -> list[tuple[int, str]]:
    return [(seat, value.hex()) for seat, value in of_seats.items()]


def _load_bytes(rows: Iterable[tuple[int, str]]) -> dict[int, bytes]:
    return {seat: bytes.fromhex(value) for seat, value in rows}


@dataclass(frozen=True)  # without slots: see `but`
class LiveHand:
    """A hand. `secrets` are there while it is in play, `deck` while it is committed.

    Attributes:
        state: what happened.
        referee: whether the referee runs it.
        secrets: None once it is over, and of a hand that is about to be closed as lost.
        sealed: the same, encrypted at rest; None: to be sealed anew.
        deck: the committed deck.
        seat_secrets: what the sealed seats share with the dealer, as long as there is a deck.
        offer, commit, close: indexes of its log entries.
        key: id of the key at rest that seals its secrets; None: one is to be taken.
    """

    state: HandState
    referee: bool = False
    secrets: Secrets | None = None
    sealed: Sealed | None = field(default=None, repr=False)
    deck: Deck | None = field(default=None, repr=False)
    seat_secrets: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    offer: int | None = None
    commit: int | None = None
    close: int | None = None
    key: int | None = None

    def but(self, **changes: Any) -> "LiveHand":
        """Returns the hand with other values of these fields, several times as quickly as `replace`."""
        made: LiveHand = object.__new__(LiveHand)
        made.__dict__.update(self.__dict__, **changes)
        if len(made.__dict__) != len(self.__dict__):
            raise TypeError(f"a live hand has no field for one of {', '.join(changes)}")
        return made

    def known_secrets(self) -> Secrets:
        """Returns the secrets of a hand in play."""
        if self.secrets is None:
            raise AssertionError("a hand in play has its secrets")
        return self.secrets

    def known_deck(self) -> Deck:
        """Returns the deck of a committed hand in play; of one read back it is derived when first asked for."""
        if (deck := self.deck) is None:
            deck = self.__dict__["deck"] = make_deck(self.state, self.known_secrets())
        return deck


def digest_of_values(state: HandState, values: Mapping[str, bytes]) -> bytes:
    """Returns the entropy digest of the values taken, in the offer's order."""
    return entropy_digest(state.hand, [(name, values[name]) for name, _ in state.invited if name in values])


def make_deck(state: HandState, secrets: Secrets) -> Deck:
    """Derives the deck of a locked hand, or commits the test double's."""
    return deck_of(state, digest_of_values(state, secrets.values), secrets.seed, secrets.stacked)


def deck_of(state: HandState, digest: bytes, seed: Seed, stacked: tuple[str, ...] | None) -> Deck:
    """Derives the deck that a hand's entropy digest and seed give, or commits the test double's cards."""
    if stacked is not None:
        return commit_deck(stacked, state.hand, state.hand + digest + seed.value)
    return derive_deck(state.deck, state.hand, digest, seed)


def seat_secrets(hand: LiveHand) -> dict[int, bytes]:
    """Returns what the dealer shares with the sealed seats of a hand in play."""
    state = hand.state
    return {seat: seat_secret(state.hand, seat, hand.known_secrets().seed) for seat, _ in state.seat_keys}


def sealed(hand: LiveHand, vault: AtRest, owner: str) -> LiveHand:
    """Returns a hand whose secrets are encrypted at rest, under the key that it has or takes."""
    context = vault.context(hand.state.hand, hand.state.table, owner)
    made = vault.seal_hand(hand.key, hand.known_secrets().dump(), context)
    return hand.but(sealed=made, key=made.key)


def load_hand(row: HandRow, games: Mapping[str, Game], vault: AtRest, entry: Callable[[int], bytes]) -> LiveHand:
    """Reads a hand back. One in play that can never be dealt from comes without secrets: it is lost.

    No deck is derived yet: with thousands of hands in play that would hold up the first answer.

    Args:
        row: what the store has of it.
        games: by name.
        vault: the keys at rest.
        entry: reads an entry of the log, which holds all of a hand that is over.

    Raises:
        StoreError: it is to be closed as lost, and its row does not say where the log has it.
        VaultError: its key cannot be read at the moment.
    """
    secrets = None
    if row.close is not None:
        offer, commit = _opening(row, entry)
        state = state_from_log(offer, commit, entry(row.close), games)
    else:
        state, secrets = _in_play(row, games, vault, entry)
    key = None if row.secrets is None else row.secrets.key
    live = LiveHand(
        state, row.referee, secrets, row.secrets, offer=row.offer, commit=row.commit, close=row.close, key=key
    )
    committed = secrets is not None and state.status is Status.COMMITTED
    return live.but(seat_secrets=seat_secrets(live)) if committed else live


def _opening(row: HandRow, entry: Callable[[int], bytes]) -> tuple[bytes | None, bytes | None]:
    """Returns a hand's offer and commit entry."""
    return (
        None if row.offer is None else entry(row.offer),
        None if row.commit is None else entry(row.commit),
    )


def _in_play(
    row: HandRow, games: Mapping[str, Game], vault: AtRest, entry: Callable[[int], bytes]
) -> tuple[HandState, Secrets | None]:
    """Reads a hand in play; without secrets it is lost, and its state is one that the log bears out."""
    state = None
    try:
        state = load_state(row.state or "", games)
        if row.secrets is None:
            state = None  # nobody vouches for it
            raise SealLost("its row was not written by a dealer")
        secrets = Secrets.load(vault.open(Purpose.SEED, row.secrets, vault.context(row.hand, state.table, row.owner)))
        if secrets.seed.commitment(row.hand) != state.seed_commitment:
            raise SealLost("the seed is not the one that the log commits to")
        return state.later(seat_keys=seat_key_digests(row.hand, state.seats, secrets.seat_keys)), secrets
    except SealLost as error:
        why = str(error)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # of a row that somebody has changed
        state, why = None, f"its row does not read ({type(error).__name__})"
    try:
        opened = state_as_opened(*_opening(row, entry), games)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(_unplaced(row.hand)) from error
    if opened.hand != row.hand:
        raise StoreError(_unplaced(row.hand))
    if state is None or replace(state, events=(), seat_keys=opened.seat_keys) != opened:
        state = opened
    state = state.later(seat_keys=opened.seat_keys)  # rows do not repeat what the log has
    _log.error("a hand in play is lost", table=state.table, number=state.number, error=why)
    return state, None


def _unplaced(hand: bytes) -> str:
    return (
        f"the row of hand {UUID(bytes=hand)} was changed from outside, and does not say where the log has the hand: "
        "put the row's `offered` and `committed` right, to the indexes of its entries"
    )
