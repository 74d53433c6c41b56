"""Several sources, labels and orders: nothing counted twice, no label put on another deck."""

import io

import numpy as np
import pytest

from audit.errors import InputError
from audit.stats.decks import whole_deck_keys
from audit.stats.sources import SHORT36, STANDARD52, open_source, read_order
from audit.stats.sources.copies import DeckLists
from tests.unit.stats.sources.test_text import as_lines, shuffled


def decks_of(source):
    return np.concatenate([chunk.decks for chunk in source])


@pytest.fixture
def files(tmp_path):
    """Writes named lists of decks and gives their paths."""

    def write(**lists):
        paths = []
        for name, decks in lists.items():
            (tmp_path / f"{name}.txt").write_text(as_lines(decks))
            paths.append(str(tmp_path / f"{name}.txt"))
        return paths

    return write


def test_one_after_the_other(files):
    a, b = shuffled(30, seed=1), shuffled(20, seed=2)
    source = open_source(files(a=a, b=b))
    assert source.total == 50
    chunks = list(source)
    assert [chunk.first for chunk in chunks] == [0, 30]
    assert np.array_equal(np.concatenate([chunk.decks for chunk in chunks]), np.concatenate([a, b]))
    assert source.notes == []


def test_one_file_named_twice_counts_once(files, tmp_path):
    (path,) = files(a=shuffled(30))
    (tmp_path / "link.txt").symlink_to(path)
    source = open_source([path, str(tmp_path / "link.txt")])
    assert len(decks_of(source)) == 30
    assert "given twice, counted once" in source.notes[0]


def test_one_list_in_two_files_counts_once(files, tmp_path):
    (path,) = files(a=shuffled(30))
    np.save(tmp_path / "a.npy", shuffled(30))
    source = open_source([path, str(tmp_path / "a.npy")])
    assert np.array_equal(decks_of(source), shuffled(30))
    assert source.notes == [f"{tmp_path / 'a.npy'}: all its 30 decks stand in {path} as well, counted once"]


def test_a_list_in_another_order_counts_once_whichever_is_given_first(files):
    a, fresh = shuffled(30), shuffled(5, seed=2)
    paths = files(some=a[::-2], all=np.concatenate([fresh, a[np.random.default_rng(1).permutation(30)]]))
    for given in (paths, paths[::-1]):
        source = open_source(given)
        assert len(decks_of(source)) == 35
        (note,) = source.notes
        assert "some.txt: all its 15 decks stand in" in note


def test_halves_beside_the_whole_count_once(files):
    whole = shuffled(40)
    source = open_source(files(one=whole[:20], whole=whole, two=whole[20:]))
    assert np.array_equal(decks_of(source), whole)
    assert len(source.notes) == 2


def test_nine_decks_that_come_again_are_evidence(files):
    a = shuffled(30)
    assert len(decks_of(open_source(files(a=a, again=a[:9])))) == 39


def test_a_list_whose_decks_come_twice_within_it_is_no_copy(files):
    a = shuffled(30)
    source = open_source(files(a=a, twice=np.concatenate([a, a])))
    assert len(decks_of(source)) == 60
    assert "a.txt: all its 30 decks stand in" in source.notes[0]
    source = open_source(files(a=np.concatenate([a, shuffled(5, seed=3)]), twice=np.concatenate([a, a])))
    assert len(decks_of(source)) == 95


def test_lists_too_long_for_memory_are_compared_in_parts():
    decks = shuffled(4000)
    lists = DeckLists(in_memory=300)
    for some in (decks[:500], decks[::-1], decks[600:], shuffled(700, seed=9)):
        lists.begin()
        for first in range(0, len(some), 128):
            lists.add(whole_deck_keys(some[first : first + 128]))
    assert lists.copies() == {0: 1, 2: 1}


@pytest.mark.parametrize("turned", [False, True])
def test_a_list_that_goes_on_counts_once(files, turned):
    long = shuffled(40_000)
    paths = files(short=long[:20_000], long=long)
    source = open_source(paths[::-1] if turned else paths)
    assert np.array_equal(decks_of(source), long)
    assert len(source.notes) == 1
    assert "short.txt: all its 20,000 decks stand in" in source.notes[0]


def test_lists_that_part_are_both_counted(files):
    a, b = shuffled(30), shuffled(30)
    b[20:] = b[20:, ::-1]
    assert len(decks_of(open_source(files(a=a, b=b)))) == 60


def test_standard_input_is_compared_as_well(files):
    (path,) = files(a=shuffled(30))
    source = open_source([path, "-"], stdin=io.BytesIO(as_lines(shuffled(30)).encode()))
    assert len(decks_of(source)) == 30
    assert source.notes == [f"standard input: all its 30 decks stand in {path} as well, counted once"]


def labelled(tmp_path, text, name="days.txt"):
    (tmp_path / name).write_text(text)
    return ("day", tmp_path / name)


def test_each_deck_has_its_label(files, tmp_path):
    paths = files(a=shuffled(2), b=shuffled(3, seed=2))
    source = open_source(paths, strata=[labelled(tmp_path, "mon\nmon\ntue\nwed\nthu\n")])
    assert [chunk.labels for chunk in source] == [{"day": ["mon", "mon"]}, {"day": ["tue", "wed", "thu"]}]


def test_labels_of_a_list_given_twice_do_not_fall_to_the_next(files, tmp_path):
    paths = files(a=shuffled(10), again=shuffled(10), b=shuffled(1, seed=2))
    source = open_source(paths, strata=[labelled(tmp_path, "a\n" * 10 + "x\n" * 10 + "b\n")])
    assert [chunk.labels["day"] for chunk in source] == [["a"] * 10, ["b"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mon\n", "1 labels for more decks"),
        ("mon\ntue\nwed\n", "more labels than the 2 decks"),
        ("mon\n\n", "line 2: no label"),
    ],
)
def test_labels_that_do_not_fit(files, tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        list(open_source(files(a=shuffled(2)), strata=[labelled(tmp_path, text)]))


def test_orders(tmp_path):
    assert read_order("rank", STANDARD52).tolist() == list(range(52))
    by_suit = read_order("suit", STANDARD52)
    where = dict(zip(STANDARD52.cards, by_suit.tolist(), strict=True))
    assert [where[card] for card in ("2c", "3c", "Ac", "2d", "As")] == [0, 1, 12, 13, 51]
    (tmp_path / "order.txt").write_text("\n".join(reversed(STANDARD52.cards)))
    assert read_order(str(tmp_path / "order.txt"), STANDARD52).tolist() == list(range(51, -1, -1))
    assert sorted(read_order("suit", SHORT36).tolist()) == list(range(36))


@pytest.mark.parametrize(("text", "said"), [("2c 3c", "2 cards, a deck has 52"), ("2c " * 52, "no permutation")])
def test_an_order_that_is_no_deck(tmp_path, text, said):
    (tmp_path / "order.txt").write_text(text)
    with pytest.raises(InputError, match=said):
        read_order(str(tmp_path / "order.txt"), STANDARD52)


def test_an_order_that_is_not_there():
    with pytest.raises(InputError, match="rank, suit or a file"):
        read_order("colour", STANDARD52)


def test_a_short_deck(tmp_path):
    (tmp_path / "short.txt").write_text(" ".join(SHORT36.cards) + "\n")
    source = open_source([str(tmp_path / "short.txt")], kind=SHORT36)
    assert next(iter(source)).decks.tolist() == [list(range(36))]
    (tmp_path / "long.txt").write_text(" ".join(STANDARD52.cards) + "\n")
    with pytest.raises(InputError, match="2c' is no card of short36"):
        list(open_source([str(tmp_path / "long.txt")], kind=SHORT36))
