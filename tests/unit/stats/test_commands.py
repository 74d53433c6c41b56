"""`audit stats`, `audit count` and `audit merge`: exit codes, JSON and what people read (API.md, Commands)."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from tests.unit.stats.decks import fair

_NAMES = np.array([rank + suit for rank in "23456789TJQKA" for suit in "cdhs"])


def _run(*arguments: object, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=given)


def _riffled(count: int) -> np.ndarray:
    keys = np.random.default_rng(1).integers(0, 128, (count, 52))
    return np.argsort(keys, axis=1, kind="stable").argsort(axis=1).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "fair.npy", fair(400, 3))
    np.save(tmp_path / "riffled.npy", _riffled(400))
    np.save(tmp_path / "few.npy", fair(20, 3))
    return tmp_path


def test_exit_codes_say_pass_fail_and_too_few(folder: Path) -> None:
    assert _run("stats", folder / "fair.npy", "--jobs", 1).exit_code == 0
    assert _run("stats", folder / "riffled.npy", "--jobs", 1).exit_code == 1
    assert _run("stats", folder / "few.npy", "--jobs", 1).exit_code == 3


def test_the_exit_code_does_not_depend_on_the_format(folder: Path) -> None:
    for name, code in (("fair", 0), ("riffled", 1), ("few", 3)):
        for form in (["--format", "json"], ["--json"], ["--format", "text"]):
            assert _run("stats", folder / f"{name}.npy", "--jobs", 1, *form).exit_code == code


def test_json_has_the_members_that_were_promised(folder: Path) -> None:
    result = json.loads(_run("stats", folder / "riffled.npy", "--format", "json", "--jobs", 1).output)
    assert {"verdict", "decks", "alpha", "tests", "detectable"} <= result.keys()
    assert (result["verdict"], result["decks"], result["alpha"]) == ("fail", 400, 1e-6)
    for test in result["tests"]:
        assert {"name", "statistic", "p", "p_adjusted", "decks_used", "needs", "verdict"} <= test.keys()
        assert test["verdict"] in ("pass", "fail", "insufficient")
        assert 0 <= test["p"] <= 1
    worst = min(result["tests"], key=lambda test: test["p_adjusted"])
    assert worst["name"] == "permutation: rising sequences"


def test_json_of_too_few_decks_says_what_is_needed(folder: Path) -> None:
    result = json.loads(_run("stats", folder / "few.npy", "--json", "--jobs", 1).output)
    assert result["verdict"] == "insufficient"
    for test in result["tests"]:
        assert (test["p"], test["verdict"], test["needs"], test["detail"]) == (
            None,
            "insufficient",
            100,
            "needs 100, has 20",
        )


def test_people_read_the_verdict_first_and_what_could_not_be_seen(folder: Path) -> None:
    text = _run("stats", folder / "fair.npy", "--jobs", 1).output
    assert text.startswith("PASS")
    assert "What could not have been seen" in text
    assert "random" not in text
    assert _run("stats", folder / "riffled.npy", "--jobs", 1).output.startswith("FAIL")
    assert "needs 100, has 20" in _run("stats", folder / "few.npy", "--jobs", 1).output


def test_text_on_standard_input_is_read(folder: Path) -> None:
    lines = "".join(" ".join(_NAMES[deck]) + "\n" for deck in _riffled(150))
    assert _run("stats", "-", "--jobs", 1, given=lines).exit_code == 1
    assert _run("stats", "-", "--jobs", 1, given="").exit_code == 3


def test_a_deck_that_is_none_is_unreadable(folder: Path) -> None:
    bad = "2c 2c " + " ".join(_NAMES[2:])
    result = _run("stats", "-", given=bad + "\n")
    assert result.exit_code == 4
    assert "line 1: the deck is no permutation" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats"],
        ["stats", "decks", "--alpha", "0"],
        ["stats", "decks", "--alpha", "1"],
        ["stats", "decks", "--strata", "day"],
        ["stats", "decks", "--tests", "astrology"],
        ["stats", "decks", "--by", "planet"],
        ["stats", "decks", "--jobs", "0"],
        ["stats", "decks", "--sequential", "--by", "day"],
        ["count", "decks"],
        ["merge"],
    ],
)
def test_wrong_usage_is_two(arguments: list[str]) -> None:
    assert _run(*arguments).exit_code == 2


def test_an_order_that_is_told_is_undone(folder: Path) -> None:
    by_suit = np.array([4 * rank + suit for suit in range(4) for rank in range(13)], dtype=np.uint8)
    np.save(folder / "suit.npy", by_suit[_riffled(300)])
    told = json.loads(_run("stats", folder / "suit.npy", "--order", "suit", "--json", "--jobs", 1).output)
    assert min(told["tests"], key=lambda test: test["p_adjusted"])["name"] == "permutation: rising sequences"
    listed = folder / "order.txt"
    listed.write_text("\n".join(_NAMES[by_suit]))
    as_file = json.loads(_run("stats", folder / "suit.npy", "--order", listed, "--json", "--jobs", 1).output)
    assert as_file["tests"] == told["tests"]


def test_strata_from_a_file_are_tested_and_named(folder: Path) -> None:
    decks = np.concatenate([fair(300, 5), _riffled(200)])
    np.save(folder / "days.npy", decks)
    (folder / "days.txt").write_text("".join(f"{'good' if row < 300 else 'bad'}\n" for row in range(500)))
    result = json.loads(
        _run("stats", folder / "days.npy", "--strata", f"day={folder / 'days.txt'}", "--json", "--jobs", 1).output
    )
    failing = {test["stratum"] for test in result["tests"] if test["verdict"] == "fail" and test["dimension"] == "day"}
    assert "bad" in failing
    assert "good" not in failing
    assert result["strata"] == {"day": {"good": 300, "bad": 200}}


def test_counted_parts_merge_to_the_same_json(folder: Path) -> None:
    decks = fair(700, 8)
    np.save(folder / "all.npy", decks)
    np.save(folder / "a.npy", decks[:290])
    np.save(folder / "b.npy", decks[290:])
    for name in "ab":
        result = _run("count", folder / f"{name}.npy", "-o", folder / f"{name}.part", "--jobs", 1)
        assert result.exit_code == 0
    merged = json.loads(_run("merge", folder / "a.part", folder / "b.part", "--json").output)
    whole = json.loads(_run("stats", folder / "all.npy", "--json", "--jobs", 1).output)
    for one in (merged, whole):
        del one["sources"], one["of"]
    assert merged == whole


def test_each_answer_says_of_what_it_is(folder: Path) -> None:
    told = json.loads(_run("stats", folder / "fair.npy", "--json", "--jobs", 1, "--report", folder / "r.html").output)
    digest = hashlib.sha256((folder / "fair.npy").read_bytes()).hexdigest()
    assert told["of"]["inputs"] == [{"name": str(folder / "fair.npy"), "sha256": digest}]
    assert told["of"]["alpha"] == 1e-6
    for text in (_run("stats", folder / "fair.npy", "--jobs", 1).output, (folder / "r.html").read_text()):
        assert digest in text.replace("\n", "").replace(" ", "")
        assert told["of"]["code_digest"] in text.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("watching", [[], ["--sequential"]])
def test_the_digest_of_standard_input_stands_in_the_report(watching: list[str]) -> None:
    text = "".join(" ".join(_NAMES[deck]) + "\n" for deck in fair(150, 3))
    of = json.loads(_run("stats", "-", "--jobs", 1, "--json", *watching, given=text).output)["of"]
    assert of["inputs"] == [{"name": "standard input", "sha256": hashlib.sha256(text.encode()).hexdigest()}]


def test_what_was_not_read_of_standard_input_is_not_in_its_digest() -> None:
    text = "".join(" ".join(_NAMES[deck]) + "\n" for deck in _riffled(40_000))
    of = json.loads(_run("stats", "-", "--json", "--sequential", given=text).output)["of"]
    (given,) = of["inputs"]
    count = int(given["name"].removeprefix("standard input, its first ").removesuffix(" bytes").replace(",", ""))
    assert 0 < count < len(text)
    assert given["sha256"] == hashlib.sha256(text.encode()[:count]).hexdigest()


def test_no_line_of_a_report_is_broken_in_a_pipe(folder: Path) -> None:
    path = folder / ("a name that is longer than a screen is wide, with words to break at " * 2 + ".npy")
    np.save(path, fair(120, 3))
    lines = _run("stats", path, "--jobs", 1).output.splitlines()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"  input    sha256 {digest}  {path}" in lines
    unseen = json.loads(_run("stats", path, "--jobs", 1, "--json").output)["detectable"]
    assert unseen
    assert {f"  {each['sentence']}" for each in unseen} <= {*lines}


def test_sequential_says_when_it_rang(folder: Path) -> None:
    result = json.loads(_run("stats", folder / "riffled.npy", "--sequential", "--json").output)
    assert result["verdict"] == "fail"
    assert result["alarm"]["decks"] == 128
    assert _run("stats", folder / "riffled.npy", "--sequential").exit_code == 1
    assert _run("stats", folder / "fair.npy", "--sequential").exit_code == 0
    assert _run("stats", folder / "few.npy", "--sequential").exit_code == 3


def test_a_report_is_written_beside_the_answer(folder: Path) -> None:
    assert _run("stats", folder / "riffled.npy", "--jobs", 1, "--report", folder / "r.html").exit_code == 1
    assert "<html" in (folder / "r.html").read_text()


def test_a_list_that_one_stream_holds_twice_fails_and_the_report_says_what_may_have_happened(folder: Path) -> None:
    text = "".join(" ".join(_NAMES[deck]) + "\n" for deck in fair(150, 5))
    result = _run("stats", "-", "--json", "--jobs", 1, given=text * 2)
    assert result.exit_code == 1
    (note,) = json.loads(result.output)["notes"]
    assert note.startswith("each deck stands in it twice: a list that was exported twice looks like this, and so does")


def test_one_list_turned_round_is_no_evidence(folder: Path) -> None:
    np.save(folder / "turned.npy", fair(400, 3)[::-1])
    result = _run("stats", folder / "fair.npy", folder / "turned.npy", "--json", "--jobs", 1)
    assert result.exit_code == 0
    report = json.loads(result.output)
    assert report["decks"] == 400
    assert "turned.npy: all its 400 decks stand in" in report["notes"][0]
    for name in ("fair", "turned"):
        assert _run("count", folder / f"{name}.npy", "-o", folder / name, "--jobs", 1).exit_code == 0
    merged = json.loads(_run("merge", folder / "fair", folder / "turned", "--json").output)
    assert (merged["decks"], merged["verdict"]) == (400, "pass")
    assert "turned: all its decks stand in" in merged["notes"][0]


def test_lists_that_overlap_are_said_as_well(folder: Path) -> None:
    decks = np.concatenate([fair(400, 3)[200:], fair(100, 9)])
    np.save(folder / "late.npy", decks)
    result = _run("stats", folder / "fair.npy", folder / "late.npy", "--json", "--jobs", 1)
    assert result.exit_code == 1
    assert any("come again in the same order" in note for note in json.loads(result.output)["notes"])


@pytest.mark.parametrize("watching", [[], ["--sequential"]])
def test_a_source_without_a_deck_is_named(folder: Path, watching: list[str]) -> None:
    (folder / "empty.txt").write_text("")
    result = _run("stats", folder / "empty.txt", "--json", "--jobs", 1, *watching)
    assert result.exit_code == 3
    assert json.loads(result.output)["sources"] == [str(folder / "empty.txt")]
