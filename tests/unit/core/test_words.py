"""The shuffle's supply of words: how many are read at once changes nothing, and a refused word is lost."""

import hashlib

import pytest

from dealer.core import deck
from dealer.core.cards import DECK_KINDS
from dealer.core.seed import tag

MATERIALS = [hashlib.sha512(b"words %d" % number).digest() + bytes(48) for number in range(1000)]


def plainly_shuffled(kind: str, material: bytes) -> tuple[tuple[str, ...], int]:
    """PROTOCOL.md, section 4, word by word; and how many words were refused."""
    cards, refused = list(DECK_KINDS[kind]), 0
    stream = hashlib.shake_256(tag("shuffle") + material).digest(8192)
    place = 0
    for i in range(len(cards) - 1, 0, -1):
        b = i + 1
        while (word := int.from_bytes(stream[place : place + 2], "big")) >= 65536 - 65536 % b:
            place += 2
            refused += 1
        place += 2
        j = word % b
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards), refused


@pytest.mark.parametrize("kind", DECK_KINDS)
@pytest.mark.parametrize("at_once", [1, 51, 64, 1000])
def test_any_number_of_words_at_once_gives_the_same_decks(
    kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deck, "_WORDS", at_once)
    expected = [plainly_shuffled(kind, material) for material in MATERIALS]
    assert [deck.shuffle(DECK_KINDS[kind], material) for material in MATERIALS] == [cards for cards, _ in expected]
    assert any(refused for _, refused in expected), "some of the decks meet a refused word"
