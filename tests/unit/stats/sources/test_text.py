"""Decks as text: read as they stand, and refused with line, position and what stands there."""

import io
import subprocess
import sys

import numpy as np
import pytest

from audit.errors import InputError
from audit.stats.results import CHUNK
from audit.stats.sources import STANDARD52, open_source

NEW_DECK = list(STANDARD52.cards)


def shuffled(count, seed=1):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(52, dtype=np.uint8), (count, 1)), axis=1)


def as_lines(decks, end="\n", between=" "):
    return "".join(between.join(NEW_DECK[card] for card in deck) + end for deck in decks)


def read(text, tmp_path, **options):
    path = tmp_path / "decks.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    source = open_source([str(path)], **options)
    chunks = list(source)
    return np.concatenate([chunk.decks for chunk in chunks]) if chunks else np.empty((0, 52)), chunks, source


def refusal(line, tmp_path):
    """What is said of a line that stands third, after two good ones."""
    with pytest.raises(InputError) as caught:
        read((as_lines(shuffled(2)) + line + "\n").encode(), tmp_path)
    assert "decks.txt: line 3: " in str(caught.value)
    return str(caught.value).split("line 3: ")[1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("between", [" ", "  ", "\t"])
def test_reads_what_was_written(end, between, tmp_path):
    decks = shuffled(50)
    found, _, source = read(as_lines(decks, end, between), tmp_path)
    assert np.array_equal(found, decks)
    assert source.cards == 52
    assert source.total in (50, None)


@pytest.mark.parametrize("text", ["", "\n", "\n\n \n"])
def test_no_decks_are_no_error(text, tmp_path):
    found, chunks, source = read(text, tmp_path)
    assert len(found) == 0
    assert chunks == []
    assert source.cards is None


def test_the_last_line_needs_no_end(tmp_path):
    decks = shuffled(3)
    found, _, source = read(as_lines(decks)[:-1], tmp_path)
    assert np.array_equal(found, decks)
    assert source.total == 3


def test_empty_lines_may_follow_the_last_deck(tmp_path):
    assert np.array_equal(read(as_lines(shuffled(3)) + "\n \n", tmp_path)[0], shuffled(3))


def test_an_empty_line_between_decks_is_refused(tmp_path):
    assert "empty" in refusal("\n" + as_lines(shuffled(1)), tmp_path)


def test_chunks_are_in_order_and_of_one_size(tmp_path):
    decks = shuffled(CHUNK + 100)
    found, chunks, _ = read(as_lines(decks), tmp_path)
    assert [(chunk.first, len(chunk.decks)) for chunk in chunks] == [(0, CHUNK), (CHUNK, 100)]
    assert np.array_equal(found, decks)


def test_the_line_number_is_right_in_a_later_chunk(tmp_path):
    text = as_lines(shuffled(CHUNK + 20)).split("\n")
    text[CHUNK + 9] = text[CHUNK + 9].replace("Ah", "Ax")
    with pytest.raises(InputError, match=f"line {CHUNK + 10}: position"):
        read("\n".join(text), tmp_path)


def test_51_and_53_cards(tmp_path):
    assert refusal(" ".join(NEW_DECK[:51]), tmp_path) == "51 cards, a deck has 52"
    assert refusal(" ".join([*NEW_DECK, "As"]), tmp_path) == "53 cards, a deck has 52"


def test_a_card_twice(tmp_path):
    twice = [*NEW_DECK]
    twice[7] = "2c"
    assert refusal(" ".join(twice), tmp_path) == (
        "the deck is no permutation: 2c stands at positions 0 and 7 (from 0), and 3s is missing"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("10h", "'10h' is no card: a ten is Th"),
        ("\u0410s", "U+0410 (CYRILLIC CAPITAL LETTER A); write A"),
        ("A\u0441", "U+0441 (CYRILLIC SMALL LETTER ES); write c"),
        ("\uff34h", "U+FF34 (FULLWIDTH LATIN CAPITAL LETTER T); write T"),
        ("A\u2660", "U+2660 (BLACK SPADE SUIT); write s"),
        ("\ufeff2c", "U+FEFF (ZERO WIDTH NO-BREAK SPACE)"),
        ("A\x00", "U+0000 (a control character)"),
        ("as", "write As"),
        ("AS", "write As"),
        ("1c", "a card is a rank of 23456789TJQKA and a suit of cdhs"),
        ("Ash", "a card is a rank of"),
    ],
)
def test_what_is_no_card_is_named_with_its_position(wrong, said, tmp_path):
    line = [*NEW_DECK]
    line[4] = wrong
    answer = refusal(" ".join(line), tmp_path)
    assert answer.startswith("position 4 (from 0): ")
    assert said in answer


def test_a_no_break_space_does_not_separate_cards(tmp_path):
    answer = refusal(as_lines(shuffled(1))[:-1].replace(" ", "\u00a0"), tmp_path)
    assert "U+00A0 (NO-BREAK SPACE)" in answer


def test_the_first_bad_line_is_named(tmp_path):
    first, last = [*NEW_DECK], [*NEW_DECK]
    first[1], last[0] = first[0], "??"
    assert "2c stands at positions 0 and 1" in refusal(" ".join(first) + "\n" + " ".join(last), tmp_path)


def test_bytes_that_are_no_text(tmp_path):
    with pytest.raises(InputError, match="line 1: column 3: byte 0xe9 is no text"):
        read(b"2c\xe9" + as_lines(shuffled(1)).encode()[3:], tmp_path)


def test_a_folder_and_a_missing_file_are_unreadable(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        open_source([str(tmp_path / "nowhere.txt")])
    with pytest.raises(InputError, match="a log cannot be read here"):
        open_source([str(tmp_path)])


def test_standard_input():
    source = open_source(["-"], stdin=io.BytesIO(as_lines(shuffled(5)).encode()))
    assert np.array_equal(next(iter(source)).decks, shuffled(5))
    with pytest.raises(InputError, match="standard input: line 1: 1 cards"):
        list(open_source(["-"], stdin=io.BytesIO(b"2c\n")))


@pytest.mark.parametrize(
    "spelt",
    [
        lambda text: text.replace(" ", ","),
        lambda text: text.replace(" ", "; "),
        lambda text: text.replace(" ", ""),
        lambda text: text.translate(str.maketrans("cdhs", "♣♦♥♠")),
        lambda text: text.translate(str.maketrans("cdhs", "♣♦♥♠")).replace("♥", "♥\ufe0f").replace(" ", ""),
        lambda text: "\ufeff" + text,
    ],
)
def test_other_spellings_are_read_where_there_is_no_doubt(tmp_path, spelt):
    decks = shuffled(20)
    (tmp_path / "decks.csv").write_text(spelt(as_lines(decks)), encoding="utf-8")
    (chunk,) = open_source([str(tmp_path / "decks.csv")])
    assert np.array_equal(chunk.decks, decks)


def test_indexes_in_text_are_refused_with_the_command_that_turns_them_into_ours(tmp_path):
    decks = shuffled(5)
    np.savetxt(tmp_path / "decks.csv", decks, fmt="%d", delimiter=",")
    with pytest.raises(InputError, match="line 1: numbers, of which nobody can tell") as caught:
        list(open_source([str(tmp_path / "decks.csv")]))
    command = str(caught.value).rpartition(": sed")[2].replace("FILE", "decks.csv").replace("python", sys.executable)
    subprocess.run("sed" + command, shell=True, check=True, cwd=tmp_path)
    (chunk,) = open_source([str(tmp_path / "decks.npy")])
    assert np.array_equal(chunk.decks, decks)


def test_a_line_of_column_names_is_passed_over_and_said(tmp_path):
    decks = shuffled(20)
    lists = {
        "card1 to card52": (",", ",".join(f"card{at}" for at in range(1, 53))),
        "numbers from 0, as pandas writes them": (";", ";".join(map(str, range(52)))),
        "quoted, after a byte order mark": (",", "\ufeff" + ",".join(f'"Position {at:02}"' for at in range(52))),
        "one column": (" ", "deck\r"),
    }
    for between, header in lists.values():
        found, _, source = read(f"{header}\n{as_lines(decks, between=between)}", tmp_path)
        assert np.array_equal(found, decks)
        assert source.notes == [
            f"{tmp_path / 'decks.txt'}: its first line is no deck but names of columns, and is passed over"
        ]


@pytest.mark.parametrize(
    "header",
    [
        ",".join(f"card{at}" for at in range(1, 52)),
        ",".join(f"card{at}" for at in [*range(1, 52), 51]),
        ",".join(["card"] * 52),
        ",".join(card.lower() for card in NEW_DECK),
        ",".join(f"the {card}" for card in NEW_DECK),
        ",".join([*NEW_DECK[:51], "card52"]),
        "hands",
        "",
        "\0\rhands",
        'de"ck\rs',
    ],
)
def test_a_first_line_that_may_be_a_deck_or_anything_else_is_refused(header, tmp_path):
    with pytest.raises(InputError, match="line 1: "):
        read(f"{header}\n{as_lines(shuffled(3), between=',')}", tmp_path)
    with pytest.raises(InputError, match="line 1: "):
        read(f"{','.join(f'card{at}' for at in range(52))}\n", tmp_path)


def test_a_line_below_column_names_has_the_number_that_an_editor_shows(tmp_path):
    with pytest.raises(InputError, match="line 4: "):
        read("deck\n" + as_lines(shuffled(2)) + "wrong\n", tmp_path)
