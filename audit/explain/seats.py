"""Sealed seats of an explained hand: whose key a digest is of, and the cards that their owner may open (SEATS.md)."""

from __future__ import annotations

from collections.abc import Sequence

from audit import protocol
from audit.errors import CheckError
from audit.explain.steps import Explanation, Part, Step, card_step, hash_step
from audit.hand import seat_hashes
from audit.hand.kept import derived_list
from audit.hand.seat import OwnSeat, SeatKey, open_card
from audit.record.entries import Commit


def explain_seats(told: Explanation, keys: Sequence[SeatKey], own: OwnSeat | None = None) -> None:
    """Adds the steps and notes of sealed seats.

    Args:
        told: the explained hand.
        keys: players' keys: the seat whose digest is one's is named.
        own: a player's envelope and sealed cards, from a hand file.
    """
    opening, hand = told.opening, told.opening.hand
    if opening.seat_keys:
        told.notes.append(f"sealed seats: {', '.join(str(seat) for seat, _ in opening.seat_keys)}")
    for key in [*keys, *([own.key] if own is not None else [])]:
        seat = key.seat(hand, opening.seat_keys)
        if seat is None:
            told.notes.append(f"the seat key {key.public.hex()} (public half) is no seat's of this hand")
            continue
        parts = (
            Part("tag", protocol.tag("seat-key")),
            Part("hand", hand),
            Part(f"seat {seat}", protocol.u16(seat)),
            Part("public key", key.public),
        )
        preimage = seat_hashes.seat_key_preimage(hand, seat, key.public)
        stated = dict(opening.seat_keys)[seat]
        told.steps.append(hash_step(f"Digest of seat {seat}'s key", parts, preimage, stated))
    if own is not None and isinstance(opening, Commit) and own.key.seat(hand, opening.seat_keys) == own.seat:
        _open_cards(told, opening, own)


def _open_cards(told: Explanation, commit: Commit, own: OwnSeat) -> None:
    if own.envelope is None:
        told.notes.append(f"the hand file has no envelope: the cards of seat {own.seat} stay closed")
        return
    try:
        secret = own.key.open(commit.hand, own.seat, own.envelope)
    except CheckError as error:
        told.notes.append(f"seat {own.seat}: {error}")
        return
    info = seat_hashes.seat_envelope_info(commit.hand, own.seat, own.key.public)
    told.notes.append(f"the envelope of seat {own.seat} opens by HPKE with info {info.hex()} to {secret.hex()}")
    listed = told.close.card_commitments if told.close is not None else None
    listed = listed or derived_list(commit, told.outcome)
    for position, sealed in own.sealed:
        parts = (
            Part("tag", protocol.tag("seat-card")),
            Part("hand", commit.hand),
            Part(f"position {position}", protocol.u16(position)),
            Part("seat secret", secret),
        )
        key = seat_hashes.seat_card_key(commit.hand, position, secret)
        told.steps.append(Step(f"Key of seat {own.seat}'s card {position}", "sha256", parts, key))
        if listed is None:
            told.notes.append(f"card {position} opens with its commitment, and the hand is not closed yet")
            continue
        stated = listed[32 * position : 32 * position + 32]
        try:
            card, salt = open_card(commit.hand, position, secret, stated, sealed)
        except CheckError as error:
            told.notes.append(f"card {position}: {error}")
            continue
        told.steps.append(card_step(commit.hand, position, card, salt, stated))
