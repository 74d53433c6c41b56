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


@pytest.mark.parametrize("lay", ["rank", "suit"])
@pytest.mark.parametrize("counted", ["rank", "suit"])
def test_every_file_is_hinted_at_until_it_is_read_as_it_is(lay, counted):
    cards = np.argsort(read_order(lay, STANDARD52)).astype(np.uint8)[riffled(200)]
    indexes = np.argsort(read_indexes(counted, STANDARD52)).astype(np.uint8)[cards]
    right = set()
    for as_indexes in ("rank", "suit"):
        for order in ("rank", "suit"):
            read = read_indexes(as_indexes, STANDARD52)[indexes]
            hint = hint_of_order(read, Reading(STANDARD52, as_indexes, order, frozenset({"index"})))
            if not hint:
                right.add((as_indexes, order))
                continue
            assert f"--indexes {counted} --order {lay}" in hint.partition(" than with ")[0]
            assert f"than with --indexes {as_indexes} --order {order}:" in hint
    assert (counted, lay) in right
    assert len(right) == (2 if counted == lay else 1)


@pytest.mark.parametrize("name", ["riffle-5", "sort-insertion", "swap-never-itself", "unshuffled"])
def test_the_clearest_traces_get_a_hint_as_well(name):
    decks = np.tile(np.arange(52, dtype=np.uint8), (9_000, 1))
    if name in GALLERY:
        decks = GALLERY[name].make(np.random.default_rng(1), 9_000)
    named = frozenset({"card"})
    assert "--order suit" in hint_of_order(BY_SUIT[decks], Reading(STANDARD52, "rank", "rank", named))
    assert hint_of_order(BY_SUIT[decks], Reading(STANDARD52, "rank", "suit", named)) == ""
    assert hint_of_order(decks, Reading(STANDARD52, "rank", "rank", named)) == ""


@pytest.mark.parametrize("name", [name for name, each in GALLERY.items() if (each.goal or 0) <= 1_000])
def test_a_crooked_shuffle_of_the_order_given_gets_no_hint(name):
    decks = GALLERY[name].make(np.random.default_rng(2), 1_000)
    assert hint_of_order(decks, Reading(STANDARD52, "rank", "rank", frozenset({"index"}))) == ""


def test_names_and_indexes_beside_each_other_have_hints_of_their_own(tmp_path):
    np.save(tmp_path / "few.npy", fair(20, 5))
    np.save(tmp_path / "decks.npy", fair(120, 6))
    lines = [" ".join(STANDARD52.cards[card] for card in deck) for deck in BY_SUIT[riffled()]]
    (tmp_path / "few.txt").write_text("\n".join(lines[:20]) + "\n")
    (tmp_path / "decks.txt").write_text("\n".join(lines[20:]) + "\n")
    found = answer(*(str(tmp_path / name) for name in ("few.npy", "few.txt", "decks.npy", "decks.txt")))
    (hint,) = [note for note in found["notes"] if "hint" in note]
    assert "with --order suit than" in hint


def test_too_few_decks_get_no_hint():
    reading = Reading(STANDARD52, "rank", "suit", frozenset({"index"}))
    assert hint_of_order(riffled(99), reading) == ""
