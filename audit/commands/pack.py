"""`audit pack LOG --for NAMES --out FOLDER`: all that a laboratory or regulator follows clause by clause."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

from audit.commands.deck_options import EXIT_CODES as STATS_CODES
from audit.commands.deck_options import alpha_option
from audit.commands.options import (
    allow_test_option,
    ca_option,
    demand,
    escrow_key_option,
    escrow_keys,
    key_option,
    max_age_option,
    policy_option,
    since_option,
)
from audit.commands.progress import deck_bars, working
from audit.commands.run import command_line, inputs
from audit.commands.verify import processes
from audit.errors import InputError
from audit.pack.clauses import NAMES, chosen
from audit.pack.records import Material, named
from audit.pack.writing import print_pdf, source_files, write
from audit.report.subject import Subject, subject
from audit.stats.counting.count import count_source
from audit.stats.judging.battery import judge, no_decks, unreadable
from audit.stats.judging.reading import Reading
from audit.stats.judging.views import VIEWS, view_of
from audit.stats.results import BatteryResult
from audit.stats.sources import DECK_KINDS, DeckKind, log_opener, open_source
from audit.stats.sources.files import Part
from audit.stats.sources.logs import LogFailsError
from audit.stats.sources.opening import Decks
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy
from audit.whole.report import Report
from audit.whole.verify import Options

EPILOG = """\b
Exit codes: those of `audit verify`, and if it ends with 0 those of `audit stats`; 2 wrong usage. The pack is written
with any verdict, which then stands on its first page; not of a log that cannot be read (4)."""

LOG = "LOG"
"""What a pack calls its log, which its origin, size and root name: the place where it lay is no part of the pack."""


class _Names(click.ParamType[tuple[str, ...]]):
    """Sources of clauses, separated by commas."""

    name = "NAME,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Splits at commas, and refuses what is no source."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
        for name in names:
            if name not in (*NAMES, "all"):
                self.fail(f"{name!r} is not one of: {', '.join(NAMES)}, all", param, ctx)
        if not names:
            self.fail("no name given", param, ctx)
        return names


@click.command(epilog=EPILOG)
@click.argument("log", metavar="LOG")
@click.option("--for", "names", type=_Names(), required=True, help=f"Whose clauses: {', '.join(NAMES)}, or all.")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The pack's folder, which is made; one that holds something is refused.",
)
@key_option
@escrow_key_option
@since_option
@policy_option
@max_age_option
@ca_option
@allow_test_option
@alpha_option
@click.option("--deck", type=click.Choice(sorted(DECK_KINDS)), default="standard52", show_default=True)
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d"]), help="The pack's date. [default: the newest entry's]")
@click.option("--jobs", type=click.IntRange(min=1), default=processes, show_default="all cores", help="Processes.")
@click.option("--pdf/--no-pdf", default=True, help="Whether to print the page with Chromium, where that is.")
@click.pass_context
def pack(
    ctx: click.Context,
    log: str,
    names: tuple[str, ...],
    folder: Path,
    key: VerifierKey | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    since: tuple[tuple[str, bytes], ...],
    policy: Policy | None,
    max_age: int | None,
    ca: tuple[str, bytes] | None,
    allow_test: bool,
    alpha: float,
    deck: str,
    day: date | None,
    jobs: int,
    pdf: bool,
) -> None:
    """Write a pack of LOG: each clause with its status, the tests that show it and what the log's record says.

    It verifies LOG, tests its decks and writes pack.html, pack.pdf if Chromium is there, clauses.csv, pack.json and the
    raw material. From the same log, version and policy it writes the same bytes, but for the PDF.
    """
    _refuse_full(folder)
    options = Options(key, escrow_keys(escrow_key_files), since, allow_test, jobs, demand(policy, max_age, key))
    kind = DECK_KINDS[deck]
    command = [
        "audit",
        "pack",
        LOG,
        "--for",
        ",".join(names),
        "--out",
        "FOLDER",
        "--alpha",
        f"{alpha:g}",
        "--deck",
        deck,
    ]
    command += ["--key", "KEY"] if key is not None else []
    command += ["--escrow-key", "ESCROW"] if escrow_key_files else []
    command += ["--since", "EARLIER"] if since else []
    command += ["--policy", "POLICY"] if policy is not None else []
    command += ["--max-age", str(max_age)] if max_age is not None else []
    command += ["--allow-test"] if allow_test else []
    opened = _open(log, kind, options, None if ca is None else ca[1])
    report, result = _audited(opened, kind, alpha, jobs)
    about = _about(report, command, alpha, day, policy is not None)
    files = sum(1 for _ in source_files())
    material = Material(named(report, LOG), result, about, files)
    _written(folder, names, material, opened, kind, pdf)
    _say(folder, report, result)
    ctx.exit(report.exit_code or STATS_CODES[result.verdict])


def _refuse_full(folder: Path) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise click.BadParameter(f"{folder} is there and not an empty folder", param_hint="--out")
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"{folder}: {error.strerror}", param_hint="--out") from None


def _open(address: str, kind: DeckKind, options: Options, ca: bytes | None) -> Decks:
    with deck_bars() as bars:
        opener = log_opener(options, ca=ca, progress=bars.verified)

    def opened(address: str, kind: DeckKind) -> Part:
        part = opener(address, kind)
        part.name = LOG
        return part

    if "://" not in address and not Path(address).is_dir():
        raise InputError(f"{address}: no log: a pack is of a log's folder or its address")
    return open_source([address], kind=kind, open_log=opened)


def _audited(source: Decks, kind: DeckKind, alpha: float, jobs: int) -> tuple[Report, BatteryResult]:
    """Returns the audit of the log, and what the battery says of its decks, under every laboratory's names too."""
    try:
        with working("verifying and counting"):
            corpus = count_source(source, processes=jobs)
    except LogFailsError as error:
        return error.report, unreadable(
            alpha, [LOG], why=str(error), findings=error.report.findings, logs=[error.sample]
        )
    with working("judging"):
        result = judge(corpus, alpha) if corpus is not None else no_decks(alpha, source)
    views = tuple(view_of(view, result.tests) for view in VIEWS.values())
    read_as = str(Reading(kind, "rank", "rank", source.named)) if corpus is not None else ""
    return source.reports[0], replace(result, views=views, read_as=read_as)


def _about(report: Report, command: list[str], alpha: float, day: date | None, by_policy: bool) -> Subject:
    """Returns the pack's identity, in which nothing depends on where or when it was made.

    Of what was read besides the log the policy stands in it: a key stands there by its id, as text or from a file.
    """
    about = subject(shlex.join(command), [named(report, LOG)], alpha=alpha)
    policy = _policy_file() if by_policy else None
    read = tuple(replace(each, name="POLICY") for each in inputs() if each.name == policy)
    when = day.strftime("%Y-%m-%d") if day is not None else report.last or "no entry was read"
    return replace(about, date=when, inputs=(*about.inputs, *read))


def _policy_file() -> str | None:
    """Returns the policy's file as the command line has it."""
    words = shlex.split(command_line())
    for at, word in enumerate(words):
        if word == "--policy":
            return words[at + 1]
        if word.startswith("--policy="):
            return word.partition("=")[2]
    return None


def _written(
    folder: Path, names: tuple[str, ...], material: Material, source: Decks, kind: DeckKind, pdf: bool
) -> None:
    """Writes the pack beside its place and moves it there whole."""
    decks = source if material.result.decks else ()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
        whole = Path(made) / "pack"
        whole.mkdir()
        write(whole, chosen(names), names, material, decks, kind)
        if pdf and not print_pdf(whole / "pack.html", whole / "pack.pdf"):
            click.echo(
                "audit: no PDF: Chromium was not found, or did not print; pack.html prints from any browser", err=True
            )
        if folder.exists():
            folder.rmdir()
        shutil.move(whole, folder)


def _say(folder: Path, report: Report, result: BatteryResult) -> None:
    click.echo(f"{folder}: record {report.verdict}, statistics {result.verdict}")
