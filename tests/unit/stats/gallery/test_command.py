"""`audit gallery`: what it lists and writes, that `audit stats` reads it, and that the page says what was measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.stats.gallery import GALLERY
from tests.pages import ROOT


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def _failed(path: Path, *arguments: object) -> tuple[int, set[str]]:
    """The exit code of `audit stats`, and the families that found something."""
    result = _run("stats", path, "--jobs", 1, "--json", *arguments)
    return result.exit_code, {
        test["family"] for test in json.loads(result.stdout)["tests"] if test["verdict"] == "fail"
    }


def test_it_lists_every_shuffler_with_its_verdict() -> None:
    lines = _run("gallery").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(GALLERY)
    for line, shuffler in zip(lines, GALLERY.values(), strict=True):
        said = f"caught by {shuffler.goal:,} decks" if shuffler.goal else "fair" if shuffler.fair else "not by decks"
        assert said in line
        assert line.endswith(shuffler.story)


@pytest.mark.parametrize(
    ("name", "decks", "family"),
    [
        ("mt-device-repeats", 1_000, "duplicates"),
        ("mt-device-repeats", 1_000, "between decks"),
        ("mt-threads-one-word", 100, "duplicates"),
        ("jitter-10", 10_000, "duplicates"),
        ("not-reset-52", 100, "between decks"),
        pytest.param("mt-word-a-deck", 300_000, "duplicates", marks=pytest.mark.soak),
    ],
)
def test_what_decks_show_is_found_by_the_family_that_is_named(
    tmp_path: Path, name: str, decks: int, family: str
) -> None:
    assert _run("gallery", name, "-o", tmp_path / "decks.npy", "--decks", decks).exit_code == 0
    assert _failed(tmp_path / "decks.npy", "--tests", family) == (1, {family})


@pytest.mark.parametrize("name", ["browser", "mt-threads"])
def test_what_only_derivation_shows_passes(tmp_path: Path, name: str) -> None:
    assert _run("gallery", name, "-o", tmp_path / "decks.npy", "--decks", 1_000).exit_code == 0
    assert _failed(tmp_path / "decks.npy") == (0, set())


def test_text_is_the_same_decks(tmp_path: Path) -> None:
    for name in ("decks.npy", "decks.txt"):
        assert _run("gallery", "riffle-7", "-o", tmp_path / name, "--decks", 120, "--seed", 9).exit_code == 0
    cards = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
    written = [line.split() for line in (tmp_path / "decks.txt").read_text().splitlines()]
    assert np.load(tmp_path / "decks.npy").tolist() == [[cards.index(card) for card in deck] for deck in written]
    one, other = (_failed(tmp_path / name, "--tests", "permutation") for name in ("decks.npy", "decks.txt"))
    assert one == other == (1, {"permutation"})


def test_labels_lie_beside_and_are_named(tmp_path: Path) -> None:
    out = tmp_path / "decks.npy"
    said = _run("gallery", "day-ace-10", "-o", out, "--decks", 300)
    assert f"--strata day={out}.day" in said.stderr
    assert len((tmp_path / "decks.npy.day").read_text().splitlines()) == 300
    assert _run("stats", out, "--strata", f"day={out}.day", "--tests", "aces", "--jobs", 1).exit_code == 0


def test_the_default_is_enough_to_be_caught(tmp_path: Path) -> None:
    _run("gallery", "riffle-8", "-o", tmp_path / "decks.npy")
    assert len(np.load(tmp_path / "decks.npy")) == GALLERY["riffle-8"].goal


def test_wrong_usage_writes_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there.npy"
    there.write_bytes(b"mine")
    for arguments in (
        ["no-such", "-o", tmp_path / "new.npy"],
        ["fair"],
        ["-o", tmp_path / "new.npy"],
        ["fair", "-o", there, "--decks", 10],
        ["fair", "-o", tmp_path / "no" / "folder.npy", "--decks", 10],
        ["fair", "-o", tmp_path / "new.npy", "--decks", 0],
    ):
        assert _run("gallery", *arguments).exit_code == 2, arguments
    assert there.read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["there.npy"]


def test_the_page_says_what_was_measured() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    power = (ROOT / "docs" / "power.md").read_text("utf-8")
    shown, hidden = page.partition("## What decks alone cannot show")[::2]
    rows = re.findall(r"^\| [^|]+ \| `([^`]+)` \| ([\d,]+) \| ([^|]+) \|$", shown, re.MULTILINE)
    assert len(rows) == 5
    for name, decks, _ in rows:
        assert f"\n| {name} | {GALLERY[name].goal:,} | {decks} | caught |" in power
    names = re.findall(r"^\| [^|]+ \| `([^`]+)` \|", hidden, re.MULTILINE)[1:]
    assert set(names) == {"mt-threads", "browser", "jitter-20", "keys-32"}
    assert all(GALLERY[name].goal is None and not GALLERY[name].fair for name in names)
