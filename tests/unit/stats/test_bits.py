"""Bits from decks: each deck has one number, and uniform decks give exactly uniform bits."""

from collections import Counter
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.commands.bits import bits
from audit.errors import InputError
from audit.stats.bits import deck_numbers, uniform_bits
from audit.stats.bits import in_form as ours
from audit.stats.gallery import GALLERY
from audit.stats.sources import STANDARD52
from dealer.cli import main as dealer
from dealer.raw_forms import in_form as dealers


def fair(count):
    return GALLERY["fair"].make(np.random.default_rng(9), count)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_every_deck_has_a_number_of_its_own(n):
    decks = np.array(list(permutations(range(n))), dtype=np.uint8)
    assert sorted(deck_numbers(decks)) == list(range(factorial(n)))


@pytest.mark.parametrize("n", [36, 52, 64])
def test_numbers_of_long_decks(n):
    in_order = np.arange(n, dtype=np.uint8)
    assert list(deck_numbers(np.stack([in_order, in_order[::-1]]))) == [0, factorial(n) - 1]


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_all_decks_together_give_every_word_of_each_length_equally_often(n):
    words = {}
    for deck in permutations(range(n)):
        number = next(deck_numbers(np.array([deck], dtype=np.uint8)))
        length = (number ^ factorial(n)).bit_length() - 1
        words.setdefault(length, Counter())[number % 2**length] += 1
    for length, seen in words.items():
        assert len(seen) == 2**length
        assert set(seen.values()) == {1}


def test_bits_are_those_of_the_numbers_in_turn():
    decks = fair(3)
    expected = ""
    for number in deck_numbers(decks):
        length = (number ^ factorial(52)).bit_length() - 1
        expected += format(number % 2**length, f"0{length}b")
    found = b"".join(uniform_bits([decks]))
    assert format(int.from_bytes(found, "big"), f"0{8 * len(found)}b") == expected[: 8 * len(found)]
    assert len(found) == len(expected) // 8


def test_chunks_make_no_difference():
    decks = fair(500)
    assert b"".join(uniform_bits([decks])) == b"".join(uniform_bits(np.array_split(decks, 7)))


def test_about_224_bits_a_deck():
    assert len(b"".join(uniform_bits([fair(20_000)]))) * 8 / 20_000 == pytest.approx(224.02, abs=0.1)


def test_fair_decks_give_balanced_bits():
    ones = np.bitwise_count(np.frombuffer(b"".join(uniform_bits([fair(20_000)])), np.uint8)).mean() / 8
    assert ones == pytest.approx(0.5, abs=6 * 0.5 / (20_000 * 224) ** 0.5)


def run(args, stdin=b""):
    return CliRunner().invoke(bits, args, input=stdin)


def test_the_command_writes_raw_bytes(tmp_path):
    decks = fair(50)
    np.save(tmp_path / "decks.npy", decks)
    text = "\n".join(" ".join(STANDARD52.cards[card] for card in deck) for deck in decks).encode()
    expected = b"".join(uniform_bits([decks]))
    assert run([str(tmp_path / "decks.npy")]).stdout_bytes == expected
    assert run(["-"], text).stdout_bytes == expected


def test_the_command_refuses_what_it_cannot_read():
    assert isinstance(run(["-"], b"").exception, InputError)
    assert isinstance(run(["-"], b"2c 2d\n").exception, InputError)
    assert run([]).exit_code == 2


@pytest.mark.parametrize("in_form", [ours, dealers], ids=["audit", "dealer"])
def test_forms_are_the_same_bits(in_form):
    data = bytes(range(256)) * 3 + b"end"
    for cut in (1, 3, 64, 1000):
        parts = [data[at : at + cut] for at in range(0, len(data), cut)]
        assert b"".join(in_form(parts, "raw")) == data
        assert b"".join(in_form(parts, "ascii")) == "".join(f"{byte:08b}" for byte in data).encode()
        words = b"".join(in_form(parts, "words")).decode().splitlines()
        assert b"".join(int(word).to_bytes(4, "big") for word in words) == data[: len(data) // 4 * 4]


def test_each_command_says_whose_bits_they_are(tmp_path):
    np.save(tmp_path / "decks.npy", fair(20))
    told = CliRunner().invoke(cli, ["bits", str(tmp_path / "decks.npy"), "--form", "ascii"])
    assert set(told.stdout) == {"0", "1"}
    assert "bits of final decks" in told.stderr
    assert "`dealer entropy`" in told.stderr
    raw = CliRunner().invoke(dealer, ["entropy", "--bytes", "64", "--form", "words"])
    assert len(raw.stdout.splitlines()) == 16
    assert "raw output of the seed source" in raw.stderr
    assert "`audit bits`" in raw.stderr
