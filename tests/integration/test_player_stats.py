"""`audit stats FOLDER` of hand files: each verified, third street alone, by exact odds."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.stats.judging import own_hands
from tests.attacks.maker import Book, Draft, Signer
from tests.integration.test_player_package import content_of

SEAT = 2


def folder_of(tmp_path: Path, count: int, edit: Any = None) -> Path:
    folder = tmp_path / "hands"
    folder.mkdir()
    for number in range(count):
        hand = Draft(f"own {number}", table=f"t{number}").deal(folds={"fifth": [3]})
        book = Book().play(hand)
        content = content_of(book, book.raws(), book.signer, hand.id)
        rows = [row for event in hand.events for row in event.get("cards", []) if row[1] == SEAT]
        content["cards"] = [
            {"position": p, "seat": s, "face": f, "card": hand.dealt[p], "salt": hand.salts[32 * p : 32 * p + 32].hex()}
            for p, s, f in rows
        ]
        if edit is not None:
            edit(number, content)
        (folder / f"{number}.json").write_text(json.dumps(content))
    return folder


def stats(folder: Path, *words: str, key: str | None = None) -> Any:
    pinned = str(Signer().verifier) if key is None else key
    return CliRunner().invoke(cli, ["stats", str(folder), *(["--key", pinned] if pinned else []), *words])


def test_honest_hands_pass_and_the_words_say_what_so_few_can_show(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 25)
    done = stats(folder, "--format", "json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert (said["verdict"], said["hands"], said["left_out"]) == ("pass", 25, 0)
    assert {test["hands"] for test in said["tests"]} == {25}
    assert len(said["tests"]) == 6
    text = stats(folder).output
    assert "Only third street counts" in text
    assert "would find" in text


def test_too_few_are_insufficient_and_a_key_is_needed(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 3)
    assert stats(folder).exit_code == 3
    assert stats(folder, key="").exit_code == 2
    assert stats(folder, "--sequential").exit_code == 2


def test_a_file_that_fails_a_check_is_named_and_nothing_is_tested(tmp_path: Path) -> None:
    def lie(number: int, content: dict[str, Any]) -> None:
        if number == 2:
            content["cards"][0]["card"] = content["cards"][1]["card"]

    done = stats(folder_of(tmp_path, 3, lie))
    assert done.exit_code == 4
    assert "2.json: card 1" in done.stderr


def test_another_log_s_hands_are_not_believed(tmp_path: Path) -> None:
    other = Signer(private=bytes(31) + b"7").verifier
    assert stats(folder_of(tmp_path, 1), key=str(other)).exit_code == 4


def dealt(three: tuple[str, str, str], others: tuple[str, ...] = ("9c", "9d")) -> own_hands.ThirdStreet:
    return own_hands.ThirdStreet(three[:2], three[2], (three[2], *others))


def test_a_dealer_that_pairs_a_player_s_hole_cards_is_found() -> None:
    hands = [dealt(("Ac", "Ad", "7h")) if n % 3 == 0 else dealt(("2c", "Kd", "7h")) for n in range(300)]
    tests = {test.name: test for test in own_hands.judge_own(hands, 1e-6)}
    assert tests["paired down cards"].verdict == "fail"
    assert tests["three of one suit"].p <= 1


def test_the_odds_are_those_of_all_hands_counted() -> None:
    deck = [rank + suit for rank in own_hands.RANKS for suit in own_hands.SUITS]
    threes = list(itertools.combinations(deck, 3))
    paired = sum(own_hands._paired(three) for three in threes)
    suited = sum(len({card[1] for card in three}) == 1 for three in threes)
    aces = sum(own_hands._ace(three) for three in threes)
    assert Fraction(paired, len(threes)) == own_hands._pair_in_three()
    assert Fraction(suited, len(threes)) == own_hands._one_suit()
    assert Fraction(aces, len(threes)) == own_hands._ace_in_three()


@pytest.mark.parametrize("odds", [[Fraction(1, 17)] * 40, [Fraction(1, 2)] * 7 + [Fraction(1, 8)] * 9])
def test_an_alarm_over_a_fair_deal_is_as_rare_as_it_says(odds: list[Fraction]) -> None:
    chances = own_hands._distribution(odds)
    assert chances.sum() == pytest.approx(1)
    assert chances @ np.arange(len(chances)) == pytest.approx(float(sum(odds)))
    ps = np.array([own_hands.two_sided(chances, seen) for seen in range(len(chances))])
    for alpha in (0.1, 0.01, 1e-4, 1e-6):
        assert chances[ps <= alpha].sum() <= alpha
