"""How decks were read is said, and an implausible order gets a hint: never a guess, and never of fair decks."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.stats.gallery import GALLERY
from audit.stats.judging.reading import Reading, hint_of_order
from audit.stats.sources import DECK_KINDS, STANDARD52, open_source, read_indexes, read_order
from tests.unit.stats.decks import fair

BY_SUIT = read_indexes("suit", STANDARD52)


def riffled(count: int = 500) -> np.ndarray:
    """Decks of a deck that lay in order of its indexes."""
    return GALLERY["riffle-6"].make(np.random.default_rng(1), count)


@pytest.mark.parametrize("kind", DECK_KINDS.values())
def test_an_index_by_suit_is_the_card_at_its_place_by_suit(kind):
    assert sorted(read_indexes("suit", kind)) == [*range(kind.size)]
    assert list(read_order("suit", kind)[read_indexes("suit", kind)]) == [*range(kind.size)]


def test_an_array_that_counts_suit_by_suit_is_the_same_decks(tmp_path):
    ours = fair(200, 3)
    np.save(tmp_path / "decks.npy", np.argsort(BY_SUIT).astype(np.uint8)[ours])
    (chunk,) = open_source([str(tmp_path / "decks.npy")], indexes="suit")
    assert np.array_equal(chunk.decks, ours)


def answer(*words: str) -> dict:
    return json.loads(CliRunner().invoke(cli, ["stats", "--jobs", "1", "--format", "json", *words]).stdout)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "index 0 = 2♣, 12 = 5♣; order before the shuffle: rank"),
        (["--indexes", "suit"], "index 0 = 2♣, 12 = A♣; order before the shuffle: rank"),
        (["--order", "suit"], "index 0 = 2♣, 12 = 5♣; order before the shuffle: suit"),
    ],
)
def test_stats_says_how_it_read(tmp_path, options, said):
    np.save(tmp_path / "decks.npy", fair(120, 4))
    found = answer(str(tmp_path / "decks.npy"), *options)
    assert found["read_as"] == said
    assert not any("hint" in note for note in found["notes"])


def test_text_says_that_cards_have_names(tmp_path):
    lines = [" ".join(STANDARD52.cards[card] for card in deck) for deck in BY_SUIT[riffled()]]
    (tmp_path / "decks.txt").write_text("\n".join(lines) + "\n")
    found = answer(str(tmp_path / "decks.txt"))
    assert found["read_as"] == "cards by name; order before the shuffle: rank"
    (hint,) = [note for note in found["notes"] if "hint" in note]
    assert "with --order suit than with --order rank" in hint
    assert not any("hint" in note for note in answer(str(tmp_path / "decks.txt"), "--order", "suit")["notes"])


@pytest.mark.parametrize("named", ["index", "card"])
@pytest.mark.parametrize("order", ["rank", "suit"])
def test_fair_decks_get_no_hint(named, order):
    reading = Reading(STANDARD52, "rank", order, frozenset({named}))
    assert [hint_of_order(fair(1_000, seed), reading) for seed in range(8)] == [""] * 8


def test_two_readings_that_cannot_be_told_apart_are_named_together():
    reading = Reading(STANDARD52, "rank", "suit", frozenset({"index"}))
    hint = hint_of_order(riffled(), reading)
    assert "--indexes rank --order rank or --indexes suit --order suit" in hint


def test_too_few_decks_get_no_hint():
    reading = Reading(STANDARD52, "rank", "suit", frozenset({"index"}))
    assert hint_of_order(riffled(99), reading) == ""
