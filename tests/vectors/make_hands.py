"""Makes hands.json from fixed labels, once for each protocol version: `python -m tests.vectors.make_hands`."""

import hashlib
import json
from pathlib import Path
from typing import Any

from dealer.core.cards import DECK_KINDS
from dealer.core.deck import derive_deck
from dealer.core.seed import Seed, contribution_commitment, entropy_digest, tag

TABLE, NUMBER = "table-7", 3


def _bytes(label: str, length: int) -> bytes:
    return hashlib.shake_256(f"cutcard own vectors: {label}".encode()).digest(length)


def words_consumed(material: bytes, n: int) -> int:
    """Counts the words that a shuffle takes, told once more in the plainest way."""
    stream = hashlib.shake_256(tag("shuffle") + material).digest(4096)
    taken = 0
    for bound in range(n, 1, -1):
        while True:
            word = int.from_bytes(stream[2 * taken : 2 * taken + 2], "big")
            taken += 1
            if word < 65536 - 65536 % bound:
                break
    return taken


def make(name: str, kind: str, contributors: list[str]) -> dict[str, Any]:
    hand, seed = _bytes(f"{name} hand", 16), Seed(_bytes(f"{name} seed", 64))
    values = [(c, _bytes(f"{name} {c}", 32)) for c in contributors]
    digest = entropy_digest(hand, values)
    deck = derive_deck(kind, hand, digest, seed)
    n = len(DECK_KINDS[kind])
    return {
        "name": name,
        "deck_kind": kind,
        "hand_id": hand.hex(),
        "seed": seed.value.hex(),
        "contributions": [
            {"contributor": c, "value": v.hex(), "commitment": contribution_commitment(TABLE, NUMBER, c, v).hex()}
            for c, v in values
        ],
        "seed_commitment": seed.commitment(hand).hex(),
        "entropy_digest": digest.hex(),
        "words_consumed": words_consumed(hand + digest + seed.value, n),
        "deck": " ".join(deck.cards),
        "first_salt": deck.salt(0).hex(),
        "last_salt": deck.salt(n - 1).hex(),
        "first_card_commitment": deck.card_commitments[:32].hex(),
        "last_card_commitment": deck.card_commitments[-32:].hex(),
        "deck_commitment": deck.commitment.hex(),
    }


def main() -> None:
    hands = [make(f"standard {i}", "standard52", []) for i in range(4)]
    hands += [make(f"short {i}", "short36", []) for i in range(2)]
    hands += [
        make("one contributor", "standard52", ["seat-1"]),
        make("three", "standard52", ["seat-1", "seat-2", "w.x"]),
    ]
    refused = (h for i in range(10_000) if (h := make(f"refused {i}", "standard52", []))["words_consumed"] > 51)
    hands += [next(refused) for _ in range(3)]
    content = {"protocol": "cutcard/v1", "commitments_are_for": {"table": TABLE, "number": NUMBER}, "hands": hands}
    Path(__file__).with_name("hands.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
