"""Decks as a `.npy` array: mapped as they are, refused with the reason."""

from pathlib import Path

import numpy as np
import pytest

from audit.errors import InputError
from audit.stats.results import CHUNK
from audit.stats.sources import open_source
from tests.unit.stats.sources.test_text import shuffled


def saved(array, tmp_path, name="decks.npy"):
    np.save(tmp_path / name, array)
    return str(tmp_path / name)


@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_what_was_saved(order, tmp_path):
    decks = shuffled(CHUNK + 5)
    source = open_source([saved(np.asarray(decks, order=order), tmp_path)])
    assert source.total == len(decks)
    assert np.array_equal(np.concatenate([chunk.decks for chunk in source]), decks)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (shuffled(3).astype(np.int64), "of int64; card indexes are uint8"),
        (shuffled(3)[:, :51], r"shape is \(3, 51\); decks are \(N, 52\)"),
        (np.zeros((3, 53), np.uint8), r"shape is \(3, 53\)"),
        (shuffled(1)[0], r"shape is \(52,\)"),
        (np.array([{}], dtype=object), "not a whole .npy array.* of Python objects"),
    ],
)
def test_wrong_shape_or_type(array, said, tmp_path):
    with pytest.raises(InputError, match=said):
        open_source([saved(array, tmp_path)])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [(5, 52, "position 5 holds 52, cards are 0 to 51"), (51, None, "stands at positions 0 and 51 (from 0)")],
)
def test_a_row_that_is_no_permutation(column, value, said, tmp_path):
    decks = shuffled(CHUNK + 9)
    row = decks[CHUNK + 7]
    row[column] = row[0] if value is None else value
    with pytest.raises(InputError) as caught:
        list(open_source([saved(decks, tmp_path)]))
    assert f"row {CHUNK + 7} (from 0): the deck is no permutation" in str(caught.value)
    assert said in str(caught.value)


def test_an_archive_of_arrays(tmp_path):
    np.savez(tmp_path / "decks.npz", shuffled(3))
    for name in ("decks.npz", "renamed.npy", "renamed.txt"):
        path = tmp_path / name
        path.write_bytes((tmp_path / "decks.npz").read_bytes())
        with pytest.raises(InputError, match=f"{name}: an archive .* give one .npy array"):
            open_source([str(path)])


def test_half_a_file(tmp_path):
    whole = Path(saved(shuffled(4), tmp_path, "whole.npy")).read_bytes()
    path = tmp_path / "half.npy"
    path.write_bytes(whole[:-60])
    with pytest.raises(InputError, match="not a whole"):
        open_source([str(path)])


@pytest.mark.parametrize(
    ("piece", "instead"),
    [
        (b"'shape'", b"'shape"),
        (b"(4, 52)", b"(4, 5("),
        (b"{", b"["),
        (b"|u1", b"\xff\xff\xff"),
        (b"(4, 52)", b"4 ,,52)"),
    ],
)
def test_a_header_that_cannot_be_read_whatever_numpy_raises_over_it(piece, instead, tmp_path):
    whole = Path(saved(shuffled(4), tmp_path, "whole.npy")).read_bytes()
    assert piece in whole
    path = tmp_path / "broken.npy"
    path.write_bytes(whole.replace(piece, instead, 1))
    with pytest.raises(InputError, match="not a whole"):
        open_source([str(path)])


def test_text_with_the_name_of_an_array(tmp_path):
    (tmp_path / "text.npy").write_text("2c 2d\n")
    with pytest.raises(InputError, match=r"not a whole .* text has a name without \.npy") as caught:
        open_source([str(tmp_path / "text.npy")])
    assert "pickle" not in str(caught.value)
