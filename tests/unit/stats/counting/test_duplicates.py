"""Decks and blocks that come again are found, exactly and only these."""

import numpy as np

from audit.stats.batch import Batch
from audit.stats.counting.corpus import Corpus, Plan
from audit.stats.counting.key_store import KeyStore
from audit.stats.families.duplicates import DUPLICATES, deck_keys, key_kinds
from tests.unit.stats.decks import fair


def _found(decks: np.ndarray, in_memory: int = 1 << 21, step: int = 100) -> dict[str, int]:
    store = KeyStore(decks.shape[1], in_memory)
    for first in range(0, len(decks), step):
        store.add(deck_keys(Batch(decks[first : first + step])))
    return {kind.name: store.repeats(kind) for kind in key_kinds(decks.shape[1])}


def test_fair_decks_have_no_equal_keys() -> None:
    assert set(_found(fair(5_000, 1)).values()) == {0}


def test_a_deck_dealt_again_is_equal_in_every_key() -> None:
    decks = fair(500, 2)
    decks[[400, 450]] = decks[3]
    assert set(_found(decks).values()) == {2}


def test_a_cut_deck_is_equal_up_to_the_cut() -> None:
    decks = fair(500, 3)
    decks[499] = np.roll(decks[0], 17)
    found = _found(decks)
    assert found["decks up to a cut"] == 1
    assert found["whole decks"] == 0
    assert sum(count for name, count in found.items() if name.startswith("positions")) == 0


def test_a_deck_dealt_again_from_the_bottom_is_equal_from_either_end() -> None:
    decks = fair(500, 9)
    decks[499] = decks[2][::-1]
    found = _found(decks)
    assert found["decks from either end"] == 1
    assert sum(found.values()) == 1


def test_twenty_cards_on_top_are_two_equal_blocks() -> None:
    decks = fair(500, 4)
    decks[499] = np.concatenate([decks[7][:20], np.roll(decks[7][20:], 5)])
    found = _found(decks)
    assert found["positions 0 to 9"] == found["positions 10 to 19"] == 1
    assert found["whole decks"] == found["positions 20 to 29"] == 0


def test_keys_on_disk_find_what_keys_in_memory_find() -> None:
    decks = fair(3_000, 5)
    decks[1_000:1_200] = decks[:200]
    decks[2_990] = np.roll(decks[5], 9)
    assert _found(decks, in_memory=500) == _found(decks)


def test_all_keys_of_a_store_can_be_taken_to_another() -> None:
    store = KeyStore(52, in_memory=150)
    decks = fair(400, 6)
    for first in range(0, 400, 100):
        store.add(deck_keys(Batch(decks[first : first + 100])))
    assert np.array_equal(np.concatenate(list(store.blocks()), axis=1), deck_keys(Batch(decks)))


def test_one_repeat_among_a_thousand_decks_is_beyond_chance() -> None:
    decks = fair(1_000, 7)
    decks[999] = decks[0]
    corpus = Corpus.empty(Plan(52))
    corpus.whole.passed(decks)
    corpus.keys.add(deck_keys(Batch(decks)))
    outcomes = DUPLICATES.rows(corpus)
    assert outcomes
    assert all(outcome.p < 1e-9 for outcome in outcomes)


def test_small_decks_repeat_by_chance_and_are_left_alone() -> None:
    assert deck_keys(Batch(fair(100, 8, n=8))).shape == (0, 100)
    assert not DUPLICATES.is_for(8)
    assert DUPLICATES not in Plan(8).battery


def _list_comes_again(decks: np.ndarray) -> bool:
    store = KeyStore(52)
    for first in range(0, len(decks), 64):
        store.add(deck_keys(Batch(decks[first : first + 64])))
    return store.list_comes_again(10)


def test_ten_decks_in_a_row_that_come_again_are_a_list_given_twice() -> None:
    decks = fair(600, 10)
    assert not _list_comes_again(decks)
    for count, said in ((9, False), (10, True)):
        again = decks.copy()
        again[300 : 300 + count] = decks[40 : 40 + count]
        assert _list_comes_again(again) == said


def test_decks_that_come_again_in_another_order_or_at_once_are_no_list() -> None:
    decks = fair(600, 11)
    decks[300:400] = decks[:100][::-1]
    decks[500:] = decks[499]
    assert not _list_comes_again(decks)
