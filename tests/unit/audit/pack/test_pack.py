"""A whole pack: the same bytes from the same log, what stands on its first page, how it ends, what it refuses."""

import csv
import hashlib
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.pack.clauses import CLAUSES
from tests.attacks.maker import Book, many


@pytest.fixture(scope="module")
def book() -> Book:
    return many(200, 4)


@pytest.fixture(scope="module")
def log(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(book.write(tmp_path_factory.mktemp("pack") / "log"))


def packed(log: Path, out: Path, *words: str, key: str = "") -> Result:
    settings = ["--key", key] if key else []
    return CliRunner().invoke(
        cli, ["pack", str(log), "--out", str(out), "--for", "all", "--no-pdf", "--jobs", "1", *settings, *words]
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_log_gives_the_same_bytes_wherever_it_lies(log, book, tmp_path):
    key = str(book.signer.verifier)
    (tmp_path / "room.vkey").write_text(key)
    shutil.copytree(log, tmp_path / "elsewhere")
    one = packed(log, tmp_path / "one", key=key)
    two = packed(tmp_path / "elsewhere", tmp_path / "two", key=str(tmp_path / "room.vkey"))
    assert one.exit_code == two.exit_code == 0, one.output + two.output
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert str(tmp_path).encode() not in b"".join(contents(tmp_path / "one").values())


def test_a_pack_holds_what_it_names(log, book, tmp_path):
    assert packed(log, tmp_path / "pack", "--date", "2026-01-02", key=str(book.signer.verifier)).exit_code == 0
    files = contents(tmp_path / "pack")
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "SHA256SUMS"}
    told = json.loads(files["pack.json"])
    assert told["of"]["date"] == "2026-01-02"
    assert (told["verify"], told["stats"]) == ("valid", "pass")
    assert [each["clause"] for each in told["clauses"]] == [each.clause for each in CLAUSES]
    table = list(csv.DictReader(io.StringIO(files["clauses.csv"].decode())))
    assert [row["status"] for row in table] == [each["status"] for each in told["clauses"]]
    page = files["pack.html"].decode()
    for each in told["clauses"]:
        assert each["tests"]
        assert each["records"]
        assert each["tests"][0]["id"] in page
    assert page.count("check against the original") == sum(each.paraphrased for each in CLAUSES)
    assert told["of"]["root"] in page
    # What a pack says can be made again from its own raw material.
    decks = tmp_path / "pack" / "raw" / "decks.txt"
    assert len(decks.read_text().splitlines()) == 200
    again = CliRunner().invoke(cli, ["stats", str(decks), "--jobs", "1", "--json"])
    ours = json.loads(files["raw/stats.json"])
    assert [test["p"] for test in json.loads(again.stdout)["tests"]] == [test["p"] for test in ours["tests"]]
    assert [view["name"] for view in ours["views"]] == ["547.14", "gli-19", "pa"]
    bits = subprocess.run(
        [sys.executable, "-m", "audit.cli", "bits", str(decks)], capture_output=True, check=True, timeout=60
    ).stdout
    assert bits == files["raw/bits.bin"]


def test_a_record_that_fails_says_so_first_and_takes_its_clauses_along(book, tmp_path):
    spoilt = Path(book.write(tmp_path / "log"))
    tile = next(path for path in sorted((spoilt / "tile" / "entries").rglob("*")) if path.is_file())
    tile.write_bytes(tile.read_bytes().replace(b'"completed"', b'"complete!"', 1))
    result = packed(spoilt, tmp_path / "pack", key=str(book.signer.verifier))
    assert result.exit_code == CliRunner().invoke(cli, ["verify", str(spoilt)]).exit_code != 0
    page = (tmp_path / "pack" / "pack.html").read_text()
    assert page.index("This record does not stand") < page.index("What this pack is of") < page.index("Each clause")
    told = json.loads((tmp_path / "pack" / "pack.json").read_text())
    assert told["stats"] == "unreadable"
    assert not any(
        each["status"] == "fulfilled" and each["records"][0]["name"] == "battery" for each in told["clauses"]
    )


def test_a_shuffle_with_evidence_against_it_says_so_first(log, book, tmp_path):
    # At this alpha every shuffle rings the alarm, the fair one of this log as well.
    result = packed(log, tmp_path / "pack", "--alpha", "0.999999", key=str(book.signer.verifier))
    assert result.exit_code == 1
    page = (tmp_path / "pack" / "pack.html").read_text()
    assert (
        page.index("This record does not stand")
        < page.index("evidence against it")
        < page.index("What this pack is of")
    )
    told = json.loads((tmp_path / "pack" / "pack.json").read_text())
    held = {each["clause"]: each["status"] for each in told["clauses"]}
    assert held["25 CFR 547.14(b)(2)"] == "not"
    assert held["GLI-19 4.4.4; Oregon OAR 177-200-0070; Oklahoma 325:85-15-50(9)"] == "fulfilled"


def test_without_a_key_it_ends_as_verify_does(log, tmp_path):
    result = packed(log, tmp_path / "pack")
    assert result.exit_code == CliRunner().invoke(cli, ["verify", str(log)]).exit_code


@pytest.mark.parametrize(
    ("words", "says"),
    [(["--for", "gli-11"], "'gli-11' is not one of: 547.14"), (["--for", ","], "no name given")],
)
def test_wrong_names_are_wrong_usage(log, tmp_path, words, says):
    result = packed(log, tmp_path / "pack", *words)
    assert result.exit_code == 2
    assert says in result.output
    assert not (tmp_path / "pack").exists()


def test_a_folder_that_holds_something_is_left_alone(log, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    result = packed(log, tmp_path)
    assert result.exit_code == 2
    assert contents(tmp_path) == {"note.txt": b"mine"}


def test_what_cannot_be_read_gives_no_pack(tmp_path):
    (tmp_path / "empty").mkdir()
    for log in ("empty", "nowhere"):
        result = packed(tmp_path / log, tmp_path / "pack")
        assert result.exit_code == 4, result.output
        assert not (tmp_path / "pack").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty"]
