"""What one log shows of a clause: figures that anybody can make again, and whether they bear it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isnan
from typing import Literal

from audit.pack.clauses import Clause, Status
from audit.plural import counted
from audit.report.stats_words import p_text, verdict_sentence, view_sentence
from audit.report.subject import Subject
from audit.stats.results import BatteryResult
from audit.whole.report import Report

Bearing = Literal["holds", "fails", "not shown"]


@dataclass(frozen=True)
class Record:
    """What a log shows.

    Attributes:
        name: of what.
        text: the figures, for people.
        bearing: whether they bear a clause out.
        check: how to make them again; LOG stands for the log.
    """

    name: str
    text: str
    bearing: Bearing
    check: str


@dataclass(frozen=True)
class Judged:
    """A clause, held against a log.

    Attributes:
        clause: which.
        status: no better than the clause's own.
        reason: why.
        records: what the log shows.
    """

    clause: Clause
    status: Status
    reason: str
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Material:
    """All that a pack is made of.

    Attributes:
        report: the log's audit.
        result: what the battery said of its decks, views included.
        about: the pack's identity.
        files: how many files of source are listed.
    """

    report: Report
    result: BatteryResult
    about: Subject
    files: int


def judge(clause: Clause, material: Material) -> Judged:
    """Holds a clause against a log: what fails there makes it `not`, what is not shown there at most `partly`."""
    records = tuple(record for name in clause.records for record in records_of(name, material))
    failed = [record.name for record in records if record.bearing == "fails"]
    unseen = [record.name for record in records if record.bearing == "not shown"]
    if failed:
        return Judged(clause, "not", f"This log does not bear it out: {', '.join(failed)}. {clause.reason}", records)
    if unseen and clause.status == "fulfilled":
        reason = f"This log does not show all of it: {', '.join(unseen)}. {clause.reason}"
        return Judged(clause, "partly", reason, records)
    return Judged(clause, clause.status, clause.reason, records)


def records_of(name: str, material: Material) -> Iterator[Record]:
    """Yields the records that a clause names; `checks:a,b`, `families:a,b` and `view:a` say of what."""
    kind, _, what = name.partition(":")
    return _KINDS[kind](material, what)


def _checks(material: Material, what: str) -> Iterator[Record]:
    counts = {check.name: check for check in material.report.checks}
    for name in what.split(","):
        check = counts[name]
        text = f"made {check.made:,} times, {counted(check.failed, 'finding')}"
        # Of a record that is incomplete, or fails elsewhere, nobody knows that a check was made of everything.
        whole = check.made and material.report.verdict == "valid"
        bearing: Bearing = "fails" if check.failed else "holds" if whole else "not shown"
        yield Record(f"check {name}", text, bearing, "audit verify LOG --key KEY")


def _battery(material: Material, _: str) -> Iterator[Record]:
    result = material.result
    bearing: Bearing = {"pass": "holds", "fail": "fails"}.get(result.verdict, "not shown")  # type: ignore[assignment]
    text = f"{result.verdict}. {verdict_sentence(result)}"
    yield Record("battery", text, bearing, f"audit stats LOG --key KEY --alpha {result.alpha:g}")


def _families(material: Material, what: str) -> Iterator[Record]:
    for family in what.split(","):
        tests = [each for each in material.result.tests if each.family == family and not each.dimension]
        made = [each for each in tests if not isnan(each.p)]
        failed = sum(each.verdict == "fail" for each in made)
        bearing: Bearing = "fails" if failed else "holds" if made else "not shown"
        text = "no test made, too few decks"
        if made:
            least = p_text(min(each.p_adjusted for each in made))
            text = f"{counted(len(made), 'test')} made, {failed} failed, least p with all looks paid {least}"
        # Not --tests: with fewer looks to pay for, the p-values would be others.
        check = f'audit stats LOG --key KEY --format json, the tests of "family": "{family}"'
        yield Record(f"family {family}", text, bearing, check)


def _view(material: Material, what: str) -> Iterator[Record]:
    for view in material.result.views:
        if view.name == what:
            made = any(row.verdict != "insufficient" for row in view.rows)
            text = view_sentence(view)
            # A view decides nothing: a fair room may fail it. What it shows is that its tests were made.
            yield Record(
                f"view {what}", text, "holds" if made else "not shown", f"audit stats LOG --key KEY --view {what}"
            )
            return
    yield Record(f"view {what}", "no test made", "not shown", f"audit stats LOG --key KEY --view {what}")


def _hands(material: Material, _: str) -> Iterator[Record]:
    hands = material.report.hands
    text = (
        f"{hands.total:,}: {hands.completed:,} completed, {hands.void:,} void, {hands.lost:,} lost, {hands.open:,} open"
    )
    yield Record("hands", text, "holds" if hands.total else "not shown", "audit verify LOG --key KEY --tables")


def _voids(material: Material, _: str) -> Iterator[Record]:
    reasons: dict[str, int] = {}
    for rates in material.report.tables.values():
        for reason, count in rates.life.void.items():
            reasons[reason] = reasons.get(reason, 0) + count
    told = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items())) or "none"
    text = f"void by reason: {told}; lost: {material.report.hands.lost:,}"
    yield Record("void and lost hands", text, "holds", "audit verify LOG --key KEY --tables")


def _contributions(material: Material, _: str) -> Iterator[Record]:
    hands = material.report.hands
    with_some = hands.total - hands.without_contributions
    text = f"{with_some:,} of {hands.total:,} hands had a contribution"
    yield Record("contributions", text, "holds" if with_some else "not shown", "audit verify LOG --key KEY --tables")


def _tree(material: Material, _: str) -> Iterator[Record]:
    tree = material.report.checkpoint
    if tree is None:
        yield Record("checkpoint", "none", "fails", "audit verify LOG --key KEY")
        return
    text = f"{tree.origin}, {tree.size:,} entries, root {tree.root.hex()}"
    yield Record("checkpoint", text, "holds", "audit verify LOG --key KEY")


def _code(material: Material, _: str) -> Iterator[Record]:
    text = f"cutcard {material.about.version}, code digest of audit {material.about.code_digest}"
    yield Record("code", text, "holds", "audit verify LOG --key KEY (line auditor); dealer status for the dealer's own")


def _files(material: Material, _: str) -> Iterator[Record]:
    text = f"{material.files:,} files with lines and SHA-256 in raw/files.csv"
    yield Record("source", text, "holds", "sha256sum of the files of the installed packages")


def _refused(material: Material, _: str) -> Iterator[Record]:
    check = "audit verify LOG --key KEY; for one hand audit explain LOG HAND"
    used, refused = material.report.words_used, material.report.words_refused
    text = f"{refused:,} refused of {used + refused:,} words"
    yield Record("refused words", text, "holds" if used else "not shown", check)


def _raw(material: Material, _: str) -> Iterator[Record]:
    text = f"raw/decks.txt and raw/bits.bin of {material.result.decks:,} final decks"
    bearing: Bearing = "holds" if material.result.decks else "not shown"
    yield Record("raw material", text, bearing, "audit stats raw/decks.txt; audit bits raw/decks.txt | sha256sum")


_KINDS: dict[str, Callable[[Material, str], Iterator[Record]]] = {
    "checks": _checks,
    "battery": _battery,
    "families": _families,
    "view": _view,
    "hands": _hands,
    "voids": _voids,
    "contributions": _contributions,
    "tree": _tree,
    "code": _code,
    "files": _files,
    "refused": _refused,
    "raw": _raw,
}
"""How each kind of record is made."""


def named(report: Report, name: str) -> Report:
    """Returns a report that calls its log by another name: a pack's bytes must not depend on where the log lay."""
    return replace(report, address=name)
