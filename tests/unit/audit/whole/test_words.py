"""Refused words are counted as section 4 has them, over a whole log, in whatever number of processes."""

import hashlib
import json
import os

import pytest
from click.testing import CliRunner

from audit import protocol
from audit.cli import cli
from audit.hand import words
from audit.logs.folder import FolderLog
from audit.record.entries import Close, Commit
from audit.record.reading import parse
from audit.tlog.tiles import WIDTH
from audit.whole.verify import Options, verify
from tests.attacks.maker import many

HANDS = 400


def naive(cards: int, source: bytes) -> int:
    """Section 4, word by word."""
    stream = hashlib.shake_256(protocol.tag("shuffle") + source).digest(4096)
    refused = at = 0
    for bound in range(cards, 1, -1):
        while int.from_bytes(stream[at : at + 2], "big") >= 65536 - 65536 % bound:
            refused, at = refused + 1, at + 2
        at += 2
    return refused


@pytest.mark.parametrize("cards", [36, 52])
def test_each_refused_word_is_counted(cards):
    sources = [os.urandom(96) for _ in range(1_500)]
    found = [words.refused_words(cards, source) for source in sources]
    assert found == [sum(not below for _, _, _, below in words.words_used(cards, source)) for source in sources]
    assert found == [naive(cards, source) for source in sources]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_log_s_words_are_the_sum_over_its_hands(tmp_path, processes):
    book = many(HANDS, 3)
    log = FolderLog(book.write(tmp_path / "log"))
    report = verify(log, Options(book.signer.verifier, processes=processes))
    commits, refused = {}, 0
    size = report.checkpoint.size
    for number in range((size + WIDTH - 1) // WIDTH):
        for raw in log.entries(number, min(WIDTH, size - number * WIDTH)):
            entry = parse(raw)
            if isinstance(entry, Commit):
                commits[entry.hand] = entry
            elif isinstance(entry, Close):
                commit = commits[entry.hand]
                source = protocol.material(commit.hand, commit.entropy_digest, entry.seed)
                refused += sum(not below for _, _, _, below in words.words_used(52, source))
    assert (report.words_used, report.words_refused) == (51 * HANDS, refused)
    assert refused > 0


def test_every_report_of_a_log_says_them(tmp_path):
    book = many(120, 3)
    log = str(book.write(tmp_path / "log"))
    key = ["--key", str(book.signer.verifier)]
    runner = CliRunner()
    told = json.loads(runner.invoke(cli, ["verify", log, *key, "--format", "json"]).stdout)["of"]
    assert told["words_used"] == 120 * 51
    words = f"{told['words_used']:,} used by shuffles, {told['words_refused']:,} refused"
    page = tmp_path / "report.html"
    assert words in runner.invoke(cli, ["verify", log, *key]).stdout
    assert words in " ".join(runner.invoke(cli, ["stats", log, *key, "--report", str(page)]).stdout.split())
    assert words in page.read_text()
    stats = json.loads(runner.invoke(cli, ["stats", log, *key, "--format", "json"]).stdout)["of"]
    assert (stats["words_used"], stats["words_refused"]) == (told["words_used"], told["words_refused"])
