"""Sealed seats of `seats.json`, by the auditor and by the dealer: digests, secrets, envelopes, cards and MACs."""

import json
from typing import Any

import pytest

from audit import protocol
from audit.hand import seat_hashes
from audit.hand.seat import SeatKey, open_card
from audit.record.fields import hand_bytes
from dealer.core import seats
from dealer.core.seed import Seed
from tests.vectors.places import FOREIGN

HANDS: list[dict[str, Any]] = json.loads((FOREIGN / "seats.json").read_text("utf-8"))["hands"]
SEATS = [(hand, seat) for hand in HANDS for seat in hand["seats"]]


@pytest.mark.parametrize(("hand", "seat"), SEATS)
def test_the_auditor_derives_and_opens_what_a_seat_has(hand: dict[str, Any], seat: dict[str, Any]) -> None:
    id_, number = hand_bytes(hand["hand"]), seat["seat"]
    key = SeatKey.parse(seat["private_key"])
    assert key.public.hex() == seat["key"]
    assert key.private.hex() not in repr(key)
    digest = seat_hashes.seat_key_digest(id_, number, key.public)
    assert digest.hex() == seat["digest"]
    assert key.seat(id_, ((9, bytes(32)), (number, digest))) == number
    secret = seat_hashes.seat_secret(id_, number, bytes.fromhex(hand["seed"]))
    assert secret.hex() == seat["secret"]
    assert key.open(id_, number, bytes.fromhex(seat["envelope"])) == secret
    for card in seat["cards"]:
        position, commitment = card["position"], bytes.fromhex(card["commitment"])
        assert seat_hashes.seat_card_key(id_, position, secret).hex() == card["card_key"]
        opened = open_card(id_, position, secret, commitment, bytes.fromhex(card["sealed"]))
        assert opened == (card["card"], bytes.fromhex(card["salt"]))
        assert protocol.card_commitment(id_, position, *opened) == commitment


@pytest.mark.parametrize(("hand", "seat"), SEATS)
def test_the_dealer_makes_the_same(hand: dict[str, Any], seat: dict[str, Any]) -> None:
    id_, number, seed = hand_bytes(hand["hand"]), seat["seat"], Seed(bytes.fromhex(hand["seed"]))
    assert seats.seat_key_digest(id_, number, bytes.fromhex(seat["key"])).hex() == seat["digest"]
    secret = seats.seat_secret(id_, number, seed)
    assert secret.hex() == seat["secret"]
    for card in seat["cards"]:
        place = card["position"], secret, bytes.fromhex(card["commitment"])
        sealed = seats.seal_card(id_, *place, card["card"], bytes.fromhex(card["salt"]))
        assert sealed.hex() == card["sealed"]
        assert seats.open_card(id_, *place, sealed) == (card["card"], bytes.fromhex(card["salt"]))
        assert seats.open_card(id_, card["position"], bytes(32), place[2], sealed) is None
    for consent in seat["consents"]:
        assert seats.show_consent(id_, secret, consent["positions"]).hex() == consent["mac"]
        assert seats.show_consent(id_, secret, consent["positions"][::-1]).hex() == consent["mac"]
    assert seats.showdown_consent(id_, secret).hex() == seat["showdown"]
    for proof in seat["proofs"]:
        made = seats.act_proof(id_, secret, proof["sequence"], proof["action"], proof["amount"])
        assert made.hex() == proof["mac"]
