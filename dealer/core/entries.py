"""Log entries: the exact bytes of offer, commit and close (PROTOCOL.md, section 6)."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from dealer.core.deck import Deck
from dealer.core.hand import Deal, Draw, Event, Fold, HandState, Reveal, Show, Status, VoidReason
from dealer.core.ids import hand_text, timestamp
from dealer.core.seed import Seed

CERTIFIED = "cutcard/v1"
TEST = "cutcard-test/v1"
"""Schema family of the test double, whose records no auditor calls valid (PROTOCOL.md, section 11)."""
MAX_ENTRY = 65_535

Escrow = Mapping[str, str]
"""`{"key": hex, "digest": hex}`."""


def canonical(entry: Mapping[str, Any]) -> bytes:
    """Encodes an entry of ASCII text and integers as RFC 8785 has it."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode("ascii")


def _written(entry: Mapping[str, Any]) -> bytes:
    """Returns the same bytes, more quickly, for an entry of ours: all its text is ASCII without control characters."""
    return orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)


def _opening(state: HandState, escrow: Escrow | None, milliseconds: int) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "hand": hand_text(state.hand),
        "table": state.table,
        "number": state.number,
        "game": state.game.name,
        "deck": state.deck,
        "seats": state.seats,
        "reveal": state.reveal,
        "seed_commitment": state.seed_commitment.hex(),
        "time": timestamp(milliseconds),
    }
    if escrow is not None:
        entry["escrow"] = escrow
    if state.seat_keys:
        entry["seat_keys"] = [[seat, digest.hex()] for seat, digest in state.seat_keys]
    return entry


def offer_entry(state: HandState, escrow: Escrow | None, milliseconds: int, family: str = CERTIFIED) -> bytes:
    """Returns the offer of a hand that invites contributions."""
    entry = _opening(state, escrow, milliseconds)
    entry["schema"] = f"{family}/offer"
    entry["contributors"] = [{"contributor": name, "commitment": hash_.hex()} for name, hash_ in state.invited]
    return _written(entry)


def commit_entry(
    state: HandState,
    escrow: Escrow | None,
    milliseconds: int,
    *,
    offer: int | None,
    values: Mapping[str, bytes],
    entropy_digest: bytes,
    deck_commitment: bytes,
    family: str = CERTIFIED,
) -> bytes:
    """Returns the commit of a hand.

    Args:
        state: the hand.
        escrow: key and digest of a sealed hand's escrow.
        milliseconds: Unix time.
        offer: index of the hand's offer entry.
        values: the values taken, by contributor.
        entropy_digest: over these, in the offer's order.
        deck_commitment: the deck's.
        family: schema family.
    """
    entry = _opening(state, escrow, milliseconds)
    entry["schema"] = f"{family}/commit"
    if offer is not None:
        entry["offer"] = offer
    invited = [name for name, _ in state.invited]
    entry["contributions"] = [{"contributor": n, "value": values[n].hex()} for n in invited if n in values]
    entry["withheld"] = [name for name in invited if name not in values]
    entry["entropy_digest"] = entropy_digest.hex()
    entry["deck_commitment"] = deck_commitment.hex()
    return _written(entry)


def close_entry(
    state: HandState,
    milliseconds: int,
    *,
    commit: int,
    reason: VoidReason | None,
    deck: Deck,
    seed: Seed,
    escrow_ciphertext: bytes,
    history: bytes | None,
    family: str = CERTIFIED,
) -> bytes:
    """Returns the close of a hand: a public one gives the seed, a sealed one opens what the table saw.

    Args:
        state: the hand, closed or void.
        milliseconds: Unix time.
        commit: index of the hand's commit entry.
        reason: why the hand is void; None for a completed one.
        deck: the hand's deck.
        seed: the hand's seed.
        escrow_ciphertext: of a sealed hand.
        history: SHA-256 of the referee's public history, for a hand that it ran.
        family: schema family.
    """
    entry = _ending(state, milliseconds, "completed" if state.status is Status.CLOSED else "void", family)
    entry["commit"] = commit
    if reason is not None:
        entry["reason"] = reason
    if history is not None:
        entry["history"] = history.hex()
    if state.reveal is Reveal.PUBLIC:
        entry["seed"] = seed.value.hex()
    else:
        entry["card_commitments"] = base64.b64encode(deck.card_commitments).decode("ascii")
        entry["openings"] = [[p, deck.cards[p], deck.salt(p).hex()] for p in state.seen]
        entry["escrow"] = base64.b64encode(escrow_ciphertext).decode("ascii")
    if family == TEST:
        entry["deck"] = " ".join(deck.cards)
    return _written(entry)


def lost_entry(
    state: HandState, milliseconds: int, *, offer: int | None, commit: int | None, family: str = CERTIFIED
) -> bytes:
    """Returns the close of a lost hand, which reveals nothing: its commit, or without one its offer, and its events.

    Args:
        state: the hand.
        milliseconds: Unix time.
        offer: index of the hand's offer entry.
        commit: index of its commit entry.
        family: schema family.
    """
    entry = _ending(state, milliseconds, "lost", family)
    entry |= {"offer": offer} if commit is None else {"commit": commit}
    return _written(entry)


def _ending(state: HandState, milliseconds: int, outcome: str, family: str) -> dict[str, Any]:
    return {
        "schema": f"{family}/close",
        "hand": hand_text(state.hand),
        "outcome": outcome,
        "events": [_event(event) for event in state.events],
        "time": timestamp(milliseconds),
    }


def _event(event: Event) -> dict[str, Any]:
    match event:
        case Deal(street, cards):
            return {"deal": street, "cards": [list(card) for card in cards]}
        case Draw(cards):
            return {"draw": [list(card) for card in cards]}
        case Fold(seat):
            return {"fold": seat}
        case Show(positions):
            return {"show": list(positions)}


def decode(entry: bytes) -> dict[str, Any]:
    """Reads back an entry that this dealer wrote."""
    content: dict[str, Any] = orjson.loads(entry)
    return content


def decode_stacked(content: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Returns the chosen deck that the close of a test double's hand names; None for a certified hand."""
    return tuple(content["deck"].split(" ")) if "deck" in content else None


def decode_commitments(content: Mapping[str, Any]) -> bytes:
    """Returns the card commitments, joined, of a sealed hand's close."""
    return base64.b64decode(content["card_commitments"])


def decode_openings(content: Mapping[str, Any]) -> dict[int, tuple[str, bytes]]:
    """Returns card and salt of each position that a sealed hand's close opens."""
    openings: Sequence[tuple[int, str, str]] = content["openings"]
    return {position: (card, bytes.fromhex(salt)) for position, card, salt in openings}
