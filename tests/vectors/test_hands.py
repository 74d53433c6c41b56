"""The core against hands made by an independent implementation, refused words included."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dealer.core.deck import derive_deck
from dealer.core.seed import Seed, contribution_commitment, entropy_digest
from tests.vectors.places import FOREIGN

OWN = Path(__file__).parent / "hands.json"


def vectors() -> list[Any]:
    cases = []
    for path in (OWN, FOREIGN / "hands.json"):
        content = json.loads(path.read_text())
        cases += [
            pytest.param(content["commitments_are_for"], h, id=f"{path.parent.name}-{h['name']}")
            for h in content["hands"]
        ]
    return cases


@pytest.mark.parametrize(("place", "vector"), vectors())
def test_a_hand_is_derived_to_the_byte(place: dict[str, Any], vector: dict[str, Any]) -> None:
    hand = bytes.fromhex(vector["hand_id"])
    seed = Seed(bytes.fromhex(vector["seed"]))
    contributions = [(c["contributor"], bytes.fromhex(c["value"])) for c in vector["contributions"]]
    for contribution, (contributor, value) in zip(vector["contributions"], contributions, strict=True):
        if "commitment" in contribution:
            made = contribution_commitment(place["table"], place["number"], contributor, value)
            assert made.hex() == contribution["commitment"]
    digest = entropy_digest(hand, contributions)
    deck = derive_deck(vector["deck_kind"], hand, digest, seed)
    assert seed.commitment(hand).hex() == vector["seed_commitment"]
    assert digest.hex() == vector["entropy_digest"]
    assert " ".join(deck.cards) == vector["deck"]
    assert deck.salt(0).hex() == vector["first_salt"]
    assert deck.salt(len(deck.cards) - 1).hex() == vector["last_salt"]
    assert deck.card_commitments[:32].hex() == vector["first_card_commitment"]
    assert deck.card_commitments[-32:].hex() == vector["last_card_commitment"]
    assert deck.commitment.hex() == vector["deck_commitment"]


def test_some_vector_has_refused_words() -> None:
    own = json.loads(OWN.read_text())["hands"]
    assert any(h["words_consumed"] > len(h["deck"].split()) - 1 for h in own)
    assert len({hashlib.sha256(h["deck"].encode()).digest() for h in own}) == len(own)
