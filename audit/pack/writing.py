"""The files of a pack: one page, the table of clauses as CSV, all of it as JSON, and the raw material.

From the same log, version and policy they are the same bytes; the PDF, which a browser makes, is not.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from audit.outside import shown
from audit.pack.clauses import Clause
from audit.pack.records import Judged, Material, judge
from audit.report import stats_json, stats_words, subject, verify_json
from audit.report.code_digest import CACHES
from audit.stats.bits import uniform_bits
from audit.stats.results import Chunk
from audit.stats.sources import DeckKind

FORMAT = "cutcard-pack/v1"
HOW_TO_RUN = ".venv/bin/python -m pytest {}"
"""In a checkout of the version that the pack names, after `make setup`."""
PACKAGES = ("audit", "dealer")
CHECK_AGAINST_ORIGINAL = "A paraphrase was read, not the clause's own words: check against the original."
SHOWN_FINDINGS = 20
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PRINTING_SECONDS = 120

_README = """\
What lies here, and what each of it is
======================================

decks.txt     Final decks: the cards of each closed hand as they were dealt, top card first, one deck a line, in the
              order of the log. `audit stats decks.txt` reads them.
bits.bin      Bits of the same final decks, extracted so that they are exactly uniform if every order of a deck is
              equally likely (Elias). They are NOT the generator's output: they come after seed, word, refusal and swap.
              `audit bits decks.txt` makes the same bytes.
verify.json   `audit verify LOG --format json`: every check, how often it was made, every finding.
stats.json    `audit stats LOG --format json`: every test, and the tests under laboratories' names.
files.csv     Every source file of the installed packages, with lines and SHA-256: what a source review reads.

The generator's raw output, before any card, can only be taken where the dealer runs, by the function that draws seeds:

    dealer entropy --bytes 125000000 > raw.bin
    dealer entropy --bytes 125000000 --form ascii > raw.txt

64 bytes at a time, tested beside and never filtered: no raw bit is discarded. Words that the shuffle refuses, so that
no card is favoured, are counted in the table of clauses ("refused words").
"""


def source_files(packages: Sequence[str] = PACKAGES) -> Iterator[tuple[str, int, str]]:
    """Yields path, lines and SHA-256 in hex of each file of the installed packages; one not there is left out."""
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*"), key=lambda path: path.relative_to(root).as_posix().encode()):
            if path.is_file() and CACHES not in path.relative_to(root).parts:
                data = path.read_bytes()
                name = f"{package}/{path.relative_to(root).as_posix()}"
                yield name, data.count(b"\n"), hashlib.sha256(data).hexdigest()


def write(
    folder: Path,
    clauses: Sequence[Clause],
    names: Sequence[str],
    material: Material,
    decks: Iterable[Chunk],
    kind: DeckKind,
) -> None:
    """Writes a pack into a folder that is there and empty.

    Args:
        folder: where.
        clauses: what is asked.
        names: the sources asked for.
        material: what was found.
        decks: the final decks once more; none if nothing was tested.
        kind: their deck kind.
    """
    judged = [judge(clause, material) for clause in clauses]
    raw = folder / "raw"
    raw.mkdir()
    _write_raw(raw, material, decks, kind)
    (folder / "clauses.csv").write_text(_csv(judged), encoding="utf-8")
    (folder / "pack.html").write_text(_html(judged, names, material), encoding="utf-8")
    (folder / "pack.json").write_text(_json(judged, names, material, _digests(folder)), encoding="utf-8")
    sums = "".join(f"{digest}  {name}\n" for name, digest in _digests(folder).items())
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")


def _write_raw(raw: Path, material: Material, decks: Iterable[Chunk], kind: DeckKind) -> None:
    (raw / "README.txt").write_text(_README, encoding="utf-8")
    verified = verify_json.render(material.report, material.about)
    (raw / "verify.json").write_text(verified + "\n", encoding="utf-8")
    (raw / "stats.json").write_text(stats_json.as_json(material.result, material.about) + "\n", encoding="utf-8")
    files = [("file", "lines", "sha256"), *source_files()]
    (raw / "files.csv").write_text(_table(files), encoding="utf-8")
    with (raw / "decks.txt").open("w", encoding="ascii", newline="\n") as text:

        def told() -> Iterator[Any]:
            for chunk in decks:
                text.writelines(" ".join(kind.cards[card] for card in deck) + "\n" for deck in chunk.decks.tolist())
                yield chunk.decks

        with (raw / "bits.bin").open("wb") as bits:
            bits.writelines(uniform_bits(told()))


def _digests(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 in hex of each file that is there, by its path from the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _table(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def _csv(judged: Sequence[Judged]) -> str:
    heading = ("clause", "source", "asks", "status", "reason", "evidence", "tests", "records")
    rows = [
        (
            each.clause.clause,
            each.clause.source,
            each.clause.asks,
            each.status,
            each.reason,
            each.clause.evidence,
            "; ".join(each.clause.tests),
            "; ".join(f"{record.name}: {record.text}" for record in each.records),
        )
        for each in judged
    ]
    return _table([heading, *rows])


def _json(judged: Sequence[Judged], names: Sequence[str], material: Material, digests: dict[str, str]) -> str:
    value = {
        "format": FORMAT,
        "of": subject.as_json(material.about),
        "for": list(names),
        "verify": material.report.verdict,
        "stats": material.result.verdict,
        "clauses": [
            {
                "clause": each.clause.clause,
                "source": each.clause.source,
                "names": list(each.clause.names),
                "asks": each.clause.asks,
                "status": each.status,
                "reason": each.reason,
                "evidence": each.clause.evidence,
                "tests": [{"id": test, "run": HOW_TO_RUN.format(test)} for test in each.clause.tests],
                "records": [
                    {"name": record.name, "value": record.text, "bearing": record.bearing, "check": record.check}
                    for record in each.records
                ],
            }
            for each in judged
        ],
        "files": [{"name": name, "sha256": digest} for name, digest in digests.items()],
    }
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _gated(value: Any) -> Any:
    return shown(value) if type(value) is str else value


def _html(judged: Sequence[Judged], names: Sequence[str], material: Material) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, finalize=_gated, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(p=stats_words.p_text, whole=lambda value: f"{value:,}")
    report, result = material.report, material.result
    counts = {status: sum(each.status == status for each in judged) for status in ("fulfilled", "partly", "not")}
    return environment.get_template("pack.html.j2").render(
        judged=judged,
        names=names,
        report=report,
        result=result,
        sentence=stats_words.verdict_sentence(result),
        view_sentence=stats_words.view_sentence,
        bad=report.verdict in ("invalid", "unreadable") or result.verdict in ("fail", "unreadable"),
        findings=report.findings[:SHOWN_FINDINGS],
        about=material.about,
        rows=list(subject.rows(material.about)),
        counts=counts,
        how_to_run=HOW_TO_RUN,
        check_against_original=CHECK_AGAINST_ORIGINAL,
    )


def print_pdf(page: Path, pdf: Path) -> bool:
    """Prints a page with a browser, if there is one.

    Returns:
        Whether the PDF was written.
    """
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return False
    # Root has no sandbox to work in. The page is ours and fetches nothing.
    alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as profile:
        words = [
            browser, "--headless", "--disable-gpu", "--disable-background-networking", "--disable-sync", *alone,
            f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={pdf.resolve()}",
            page.resolve().as_uri(),
        ]  # fmt: skip
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=_PRINTING_SECONDS)
        except (OSError, subprocess.SubprocessError):
            return False
    return pdf.is_file()
